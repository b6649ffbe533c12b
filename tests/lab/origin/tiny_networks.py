"""A tiny origin folder, and settings of networks that train in seconds."""

from __future__ import annotations

import io
from pathlib import Path

import torch
from rich.console import Console

from semblance_lab.cli.origin.corpus import make_corpus
from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.tokens import TokenTable, Vocabulary
from semblance_lab.origin.networks.coherence import Coherence, write_vectors
from semblance_lab.origin.origin_folder import COHERENCE, CORPUS, TOKENS, VOCABULARY
from semblance_lab.origin.origin_settings import (
    CoherenceSettings,
    CorpusSettings,
    GenerationSettings,
    OriginSettings,
    VocabularySettings,
)
from tests.lab.origin.tiny_corpus import write_tiny_corpus

SETTINGS = OriginSettings(
    corpus=CorpusSettings(held_out=0.25),
    vocabulary=VocabularySettings(size=400),
    coherence=CoherenceSettings(embedding=24, hidden=24, rank=16, epochs=20, batch_size=64, learning_rate=5e-3),
    generation=GenerationSettings(dim=32, layers=1, heads=2, epochs=4, batch_size=32, learning_rate=5e-3),
)


def write_tiny_origin(folder: Path, texts: Path | None = None, settings: OriginSettings = SETTINGS) -> Path:
    """Write a new origin folder with corpus, vocabulary and tokens."""
    texts = texts or write_tiny_corpus(folder.with_name(f"{folder.name}-texts"))
    make_corpus([texts], folder, settings, ([], None), Console(file=io.StringIO()))
    return folder


def write_untrained_coherence(folder: Path, settings: CoherenceSettings = SETTINGS.coherence) -> None:
    """Add a coherence model of random weights, and its vectors, to an origin folder."""
    torch.manual_seed(0)
    network = Coherence(Vocabulary.open(folder / VOCABULARY).size, settings).eval()
    (folder / COHERENCE).mkdir()
    network.save(folder / COHERENCE)
    corpus, tokens = Corpus.open(folder / CORPUS), TokenTable.open(folder / TOKENS)
    assert sum(write_vectors(network, tokens, corpus.contexts(), folder / COHERENCE)) == len(corpus)
