"""An origin folder with a tiny corpus, its vocabulary and its tokens, and networks that are trained in seconds."""

from __future__ import annotations

from pathlib import Path

from models.origin.corpus import PARTS, Corpus
from models.origin.corpus_builder import build_corpus
from models.origin.documents import read_documents, text_files
from models.origin.origin_folder import CORPUS, TOKENS, VOCABULARY
from models.origin.origin_settings import (
    CoherenceSettings,
    CorpusSettings,
    GenerationSettings,
    OriginSettings,
    VocabularySettings,
)
from models.origin.token_table import write_token_table
from models.origin.vocabulary import Vocabulary
from tests.models.origin.tiny_corpus import write_tiny_corpus

SETTINGS = OriginSettings(
    corpus=CorpusSettings(held_out=0.25),
    vocabulary=VocabularySettings(size=400),
    coherence=CoherenceSettings(embedding=24, hidden=24, rank=16, epochs=30, batch_size=64, learning_rate=5e-3),
    generation=GenerationSettings(dim=32, layers=1, heads=2, epochs=4, batch_size=32, learning_rate=5e-3),
)


def write_tiny_origin(folder: Path, documents: int = 60, settings: OriginSettings = SETTINGS) -> Path:
    """A new origin folder, as the command before training leaves it."""
    texts = write_tiny_corpus(folder / "texts", documents)
    for each in (CORPUS, TOKENS, VOCABULARY, "scratch"):
        (folder / each).mkdir()
    read = read_documents(text_files([texts]), lambda _: None)
    build_corpus(read, set(), settings.corpus, folder / CORPUS, folder / "scratch")
    vocabulary = Vocabulary.train(list(Corpus.open(folder / CORPUS).all_texts()), settings.vocabulary.size)
    vocabulary.save(folder / VOCABULARY)
    for part in PARTS:
        corpus = Corpus.open(folder / CORPUS, part)
        for _ in write_token_table(corpus, part, vocabulary, settings.vocabulary.max_tokens, folder / TOKENS):
            pass
    return folder
