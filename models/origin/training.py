"""The networks of an origin folder: the coherence model, then the generative models, each trained, tested and kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from transformers import EncoderDecoderModel

from models.checkpoint import Checkpoint
from models.model_files import digest
from models.origin.coherence import Coherence
from models.origin.coherence_ranking import write_vectors
from models.origin.coherence_training import as_json, held_out_accuracies, order_of, train_coherence
from models.origin.corpus import Corpus
from models.origin.errors import BadCorpus, BadOrigin
from models.origin.fitting import CHECK_EVERY, Plan, Progress
from models.origin.generation import ALL, Generation
from models.origin.generation_inputs import PARTS, Marks, Part
from models.origin.generation_network import new_network, parameters, save_network, started_network
from models.origin.generation_training import Sentences, Teacher, perplexities, train_generation
from models.origin.origin_folder import (
    CORPUS,
    TOKENS,
    VOCABULARY,
    add_about,
    is_made,
    read_step_about,
    write_step_about,
)
from models.origin.origin_settings import OriginSettings
from models.origin.token_table import TokenTable
from models.origin.vocabulary import Vocabulary

COHERENCE = "coherence"
GENERATION = "generation"
SAMPLE = 200  # sentences by which two vocabularies are compared

Report = Callable[[str, int, int, str], None]
"""Told what is being done, how much of how much of it is done, and what there is to say of it."""


@dataclass(frozen=True)
class Training:
    """What is to be trained.

    Attributes:
        folder: the origin folder, with its corpus, vocabulary and tokens.
        settings: of all steps; those of the two networks are read.
        device: as torch names it.
        checkpoint: the encoder to start the generative models from; None where they start from scratch.
        check_every: steps between checkpoints.
    """

    folder: Path
    settings: OriginSettings
    device: str = "cpu"
    checkpoint: Checkpoint | None = None
    check_every: int = CHECK_EVERY

    @cached_property
    def corpus(self) -> Corpus:
        """What is trained on."""
        return Corpus.open(self.folder / CORPUS)

    @cached_property
    def held_out(self) -> Corpus:
        """What is tested on."""
        return Corpus.open(self.folder / CORPUS, "held_out")

    @cached_property
    def tokens(self) -> TokenTable:
        """Of the corpus."""
        return TokenTable.open(self.folder / TOKENS)

    @cached_property
    def held_out_tokens(self) -> TokenTable:
        """Of the held-out documents."""
        return TokenTable.open(self.folder / TOKENS, "held_out")

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The pieces of words."""
        return Vocabulary.open(self.folder / VOCABULARY)

    def made_of(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What decides what comes of a step."""
        return {
            "settings": dict(settings),
            "corpus": [self.corpus.digest, self.held_out.digest],
            "tokens": read_step_about(self.folder / TOKENS).get("made_of"),
        }

    def plan(self, made_of: Mapping[str, Any], epochs: float, steps: int, learning_rate: float) -> Plan:
        """The plan of a network, by the steps of a pass over the corpus."""
        made = digest(made_of=dict(made_of))
        return Plan(
            max(1, round(epochs * steps)), learning_rate, made, self.folder / "training" / made, self.check_every
        )


def train_networks(training: Training, report: Report) -> dict[str, dict[str, Any]]:
    """Train both kinds of networks; what is done already is left, what was cut off goes on.

    Returns:
        What came of each: also in `origin.json`.

    Raises:
        BadCorpus: it has no context, or holds out none.
        BadOrigin: a step before is missing, one of these was made of something else, or another process trains there.
        BadCheckpoint: the encoder to start from will not do.
        TrainingDiverged, CheckpointNotSaved: as `fit`.
    """
    for part in (training.corpus, training.held_out):
        if not len(part.contexts()):
            raise BadCorpus(f"{part.file} has no three sentences that follow each other")
    try:
        with FileLock(training.folder / ".training.lock", timeout=0):
            return {COHERENCE: _coherence(training, report), GENERATION: _generation(training, report)}
    except Timeout as error:
        raise BadOrigin(f"another process is training in {training.folder}") from error


def _coherence(training: Training, report: Report) -> dict[str, Any]:
    settings = training.settings.coherence
    made_of = training.made_of(settings.model_dump(mode="json"))
    folder = training.folder / COHERENCE
    if is_made(folder, made_of):
        return _results(folder)
    torch.manual_seed(settings.seed)
    network = Coherence(training.vocabulary.size, settings).to(training.device)
    order = order_of(training.corpus, settings)
    plan = training.plan(made_of, settings.epochs, order.steps, settings.learning_rate)
    train_coherence(training.corpus, training.tokens, network, plan, _steps(COHERENCE, report))
    accuracies = held_out_accuracies(network, training.held_out, training.held_out_tokens, settings.seed)
    what = {"parameters": parameters(network), "accuracy": as_json(accuracies), **_read_by(training, plan.steps)}
    with _step(training, COHERENCE, plan) as made:
        network.save(made)
        done = 0
        for more in write_vectors(network, training.tokens, training.corpus.contexts(), made):
            done += more
            report("vectors", done, len(training.tokens), "")
        write_step_about(made, made_of, what)
    return _results(folder)


def _generation(training: Training, report: Report) -> dict[str, Any]:
    settings = training.settings.generation
    start = training.checkpoint.space if training.checkpoint else None
    made_of = {**training.made_of(settings.model_dump(mode="json")), "start": start}
    folder = training.folder / GENERATION
    if is_made(folder, made_of):
        return _results(folder)
    networks: dict[Part, EncoderDecoderModel] = {}
    groups = [PARTS] if settings.one_network else [(part,) for part in PARTS]
    for group in groups:
        networks.update(dict.fromkeys(group, _trained(training, group, made_of, report)))
    generation = Generation(networks, settings.precision)
    report("perplexity", 0, 1, "")
    held_out = perplexities(generation, training.held_out.contexts(), training.held_out_tokens)
    what = {"parameters": sum(map(parameters, set(networks.values()))), "perplexity": dict(held_out)}
    with _step(training, GENERATION) as made:
        for group in groups:
            save_network(networks[group[0]], made / _name(group))
        write_step_about(made, made_of, what | _read_by(training, 0))
    return _results(folder)
