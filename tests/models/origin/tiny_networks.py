"""A tiny origin folder, and settings of networks that train in seconds."""

from __future__ import annotations

from pathlib import Path

import torch

from semblance.models.origin.corpus.corpus import CORPUS_PARTS, Corpus
from semblance.models.origin.corpus.corpus_builder import build_corpus
from semblance.models.origin.corpus.documents import read_documents, text_files
from semblance.models.origin.corpus.token_table import TokenTable, write_token_table
from semblance.models.origin.corpus.vocabulary import Vocabulary
from semblance.models.origin.networks.coherence import Coherence
from semblance.models.origin.networks.coherence_ranking import write_vectors
from semblance.models.origin.origin_folder import COHERENCE, CORPUS, TOKENS, VOCABULARY, write_step_about
from semblance.models.origin.origin_settings import (
    CoherenceSettings,
    CorpusSettings,
    GenerationSettings,
    OriginSettings,
    VocabularySettings,
)
from tests.models.origin.tiny_corpus import write_tiny_corpus

SETTINGS = OriginSettings(
    corpus=CorpusSettings(held_out=0.25),
    vocabulary=VocabularySettings(size=400),
    coherence=CoherenceSettings(embedding=24, hidden=24, rank=16, epochs=20, batch_size=64, learning_rate=5e-3),
    generation=GenerationSettings(dim=32, layers=1, heads=2, epochs=4, batch_size=32, learning_rate=5e-3),
)


def write_tiny_origin(folder: Path, texts: Path | None = None, settings: OriginSettings = SETTINGS) -> Path:
    """Write a new origin folder with corpus, vocabulary and tokens."""
    for each in (CORPUS, TOKENS, VOCABULARY, "scratch"):
        (folder / each).mkdir(parents=True)
    files = text_files([texts or write_tiny_corpus(folder / "texts")])
    build_corpus(read_documents(files, lambda _: None), set(), settings.corpus, folder / CORPUS, folder / "scratch")
    vocabulary = Vocabulary.train(Corpus.open(folder / CORPUS), settings.vocabulary.size)
    vocabulary.save(folder / VOCABULARY)
    for part in CORPUS_PARTS:
        corpus, most = Corpus.open(folder / CORPUS, part), settings.vocabulary.max_tokens
        write_token_table(corpus, vocabulary, most, folder / TOKENS, lambda _: None)
    write_step_about(folder / TOKENS, {"max_tokens": settings.vocabulary.max_tokens}, {})
    return folder


def write_untrained_coherence(folder: Path, settings: CoherenceSettings = SETTINGS.coherence) -> None:
    """Add a coherence model of random weights, and its vectors, to an origin folder."""
    torch.manual_seed(0)
    network = Coherence(Vocabulary.open(folder / VOCABULARY).size, settings).eval()
    (folder / COHERENCE).mkdir()
    network.save(folder / COHERENCE)
    corpus, tokens = Corpus.open(folder / CORPUS), TokenTable.open(folder / TOKENS)
    assert sum(write_vectors(network, tokens, corpus.contexts(), folder / COHERENCE)) == len(corpus)
