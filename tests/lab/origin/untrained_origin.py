"""A complete origin folder with untrained networks."""

from __future__ import annotations

from pathlib import Path

from semblance_lab.origin.corpus.tokens import Vocabulary
from semblance_lab.origin.networks.generation_network import SpecialIds, new_network, save_network
from semblance_lab.origin.origin_folder import COHERENCE, GENERATION, VOCABULARY, network_inputs, write_step_about
from semblance_lab.origin.origin_settings import (
    CoherenceSettings,
    CorpusSettings,
    GenerationSettings,
    OriginSettings,
    VocabularySettings,
)
from tests.lab.origin.tiny_networks import write_tiny_origin, write_untrained_coherence

MAX_TOKENS = 20


def write_untrained(folder: Path) -> Path:
    """Write a new origin folder with all steps."""
    settings = OriginSettings(
        corpus=CorpusSettings(held_out=0.2),
        vocabulary=VocabularySettings(size=400, max_tokens=MAX_TOKENS),
        coherence=CoherenceSettings(embedding=16, hidden=8, rank=4),
        generation=GenerationSettings(dim=16, layers=1, heads=2),
    )
    write_tiny_origin(folder, settings=settings)
    write_untrained_coherence(folder, settings.coherence)
    vocabulary = Vocabulary.open(folder / VOCABULARY)
    special = SpecialIds(vocabulary.pad, vocabulary.start, vocabulary.end)
    network = new_network(settings.generation, vocabulary.size, MAX_TOKENS, special)
    (folder / GENERATION).mkdir()
    save_network(network, folder / GENERATION / "all")
    for step in (COHERENCE, GENERATION):
        write_step_about(folder / step, network_inputs(folder), {})
    return folder
