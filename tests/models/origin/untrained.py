"""An origin folder whose networks have learned nothing: their scores are real, but tell nothing."""

from __future__ import annotations

import io
from pathlib import Path

import torch
from rich.console import Console

from semblance.models.origin.corpus.corpus import Corpus
from semblance.models.origin.corpus.token_table import TokenTable
from semblance.models.origin.corpus.vocabulary import Vocabulary
from semblance.models.origin.networks.coherence import Coherence
from semblance.models.origin.networks.coherence_ranking import write_vectors
from semblance.models.origin.networks.generation_inputs import Marks
from semblance.models.origin.networks.generation_network import new_network, save_network
from semblance.models.origin.origin_folder import COHERENCE, CORPUS, GENERATION, TOKENS, VOCABULARY, write_step_about
from semblance.models.origin.origin_settings import (
    CoherenceSettings,
    CorpusSettings,
    GenerationSettings,
    OriginSettings,
    VocabularySettings,
)
from semblance.models.origin.provenance import read_by_networks
from semblance.service.cli.origin.corpus_steps import make_corpus
from tests.models.origin.tiny_corpus import write_tiny_corpus

MAX_TOKENS = 24


def write_untrained(folder: Path) -> Path:
    """A new origin folder with all steps."""
    settings = OriginSettings(
        corpus=CorpusSettings(held_out=0.2),
        vocabulary=VocabularySettings(size=400, max_tokens=MAX_TOKENS),
        coherence=CoherenceSettings(embedding=16, hidden=8, rank=4),
        generation=GenerationSettings(dim=16, layers=1, heads=2),
    )
    texts = write_tiny_corpus(folder.with_name(f"{folder.name}-texts"))
    make_corpus([texts], folder, settings, ([], None), Console(file=io.StringIO()))
    corpus, vocabulary = Corpus.open(folder / CORPUS), Vocabulary.open(folder / VOCABULARY)
    torch.manual_seed(0)
    coherence = Coherence(vocabulary.size, settings.coherence).eval()
    (folder / COHERENCE).mkdir()
    coherence.save(folder / COHERENCE)
    for _ in write_vectors(coherence, TokenTable.open(folder / TOKENS), corpus.contexts(), folder / COHERENCE):
        pass
    marks = Marks(vocabulary.pad, vocabulary.start, vocabulary.end)
    network = new_network(settings.generation, vocabulary.size, MAX_TOKENS, marks)
    (folder / GENERATION).mkdir()
    save_network(network, folder / GENERATION / "all")
    for step in (COHERENCE, GENERATION):
        write_step_about(folder / step, read_by_networks(folder), {})
    return folder
