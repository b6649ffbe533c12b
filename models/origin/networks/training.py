"""The networks of an origin folder: the coherence model, then the generative models, each trained, tested and kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import EncoderDecoderModel

from semblance.models.files.atomic import publish
from semblance.models.files.digests import digest
from semblance.models.files.resumable import only_process
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.origin.context_parts import PARTS, Part
from semblance.models.origin.corpus.corpus import Corpus
from semblance.models.origin.corpus.static_vectors import SkipGram, learn
from semblance.models.origin.corpus.token_table import TokenTable
from semblance.models.origin.corpus.vocabulary import Vocabulary
from semblance.models.origin.errors import BadCorpus, BadOrigin
from semblance.models.origin.networks.coherence import Coherence
from semblance.models.origin.networks.coherence_ranking import write_vectors
from semblance.models.origin.networks.coherence_training import as_json, held_out_accuracies, order_of, train_coherence
from semblance.models.origin.networks.generation import ALL, Generation
from semblance.models.origin.networks.generation_inputs import Marks
from semblance.models.origin.networks.generation_network import new_network, parameters, save_network, started_network
from semblance.models.origin.networks.generation_training import GenerationBatches, perplexities, train_generation
from semblance.models.origin.networks.loop import CHECK_EVERY, Plan, Progress
from semblance.models.origin.origin_folder import (
    COHERENCE,
    CORPUS,
    GENERATION,
    MADE_OF,
    TOKENS,
    VOCABULARY,
    add_about,
    is_made,
    read_step_about,
    write_step_about,
)
from semblance.models.origin.origin_settings import OriginSettings
from semblance.models.origin.provenance import read_by_networks

CHECKPOINTS = "checkpoints"
LOCK = ".training.lock"
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

    @cached_property
    def max_tokens(self) -> int:
        """What sentences are cut to.

        Raises:
            BadOrigin: there are no tokens yet.
        """
        if not (about := read_step_about(self.folder / TOKENS)):
            raise BadOrigin(f"{self.folder} holds no tokens: make them by `semblance origin corpus`")
        return int(about[MADE_OF]["max_tokens"])

    def made_of(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What decides what comes of a step."""
        return {"settings": dict(settings), **read_by_networks(self.folder)}

    def plan(self, made_of: Mapping[str, Any], epochs: float, steps: int, learning_rate: float) -> Plan:
        """The plan of a network, by the steps of a pass over the corpus."""
        made = digest(**made_of)
        checkpoint = self.folder / CHECKPOINTS / f"{made[:16]}.pt"
        return Plan(max(1, round(epochs * steps)), learning_rate, made, checkpoint, self.check_every)


def train_networks(training: Training, report: Report) -> dict[str, dict[str, Any]]:
    """Train both kinds of networks; what is done already is left, what was cut off goes on.

    Returns:
        What came of each, as it stands in `origin.json`.

    Raises:
        BadCorpus: it has no context, or holds out none.
        BadOrigin: a step before is missing, the settings do not fit it, one of these was made of something else, or
            another process trains there.
        BadCheckpoint: the encoder to start from will not do.
        TrainingDiverged, CheckpointNotSaved: as `fit`.
    """
    for part in (training.corpus, training.held_out):
        if not len(part.contexts()):
            raise BadCorpus(f"{part.file} has no three sentences that follow each other")
    _require_fitting(training)
    busy = BadOrigin(f"another process is training in {training.folder}")
    with only_process(training.folder / LOCK, busy):
        for name, make in ((COHERENCE, _coherence), (GENERATION, _generation)):
            make(training, report)
            add_about(training.folder, name, read_step_about(training.folder / name))
    return {name: read_step_about(training.folder / name) for name in (COHERENCE, GENERATION)}


def _require_fitting(training: Training) -> None:
    """What can be known to be wrong before hours of training."""
    asked = training.settings.vocabulary
    if "max_tokens" in asked.model_fields_set and asked.max_tokens != training.max_tokens:
        raise BadOrigin(
            f"vocabulary.max_tokens is {asked.max_tokens}, but the tokens in {training.folder / TOKENS} were made with "
            f"{training.max_tokens}: leave it out, or make another folder by `semblance origin corpus`"
        )
    if training.checkpoint is not None:
        _require_its_vocabulary(training, training.checkpoint)


def _require_its_vocabulary(training: Training, checkpoint: Checkpoint) -> None:
    own, vocabulary = Vocabulary.of(checkpoint.folder), training.vocabulary
    texts = training.corpus.texts(range(min(SAMPLE, len(training.corpus))))
    encoded = (own.encode(texts, training.max_tokens), vocabulary.encode(texts, training.max_tokens))
    if own.size != vocabulary.size or not all(map(np.array_equal, *encoded)):
        raise BadOrigin(
            f"{checkpoint.folder} has another vocabulary than {training.folder / VOCABULARY}: make the corpus "
            "with the same generation.model in its settings"
        )


def _coherence(training: Training, report: Report) -> None:
    settings = training.settings.coherence
    made_of = training.made_of(settings.model_dump(mode="json"))
    if is_made(training.folder / COHERENCE, made_of):
        return
    torch.manual_seed(settings.seed)
    network = Coherence(training.vocabulary.size, settings).to(training.device)
    order = order_of(training.corpus, settings)
    plan = training.plan(made_of, settings.epochs, order.steps, settings.learning_rate)
    if settings.start == "static" and not plan.checkpoint.exists():
        report("word vectors", 0, 1, "")
        how = SkipGram(settings.embedding, seed=settings.seed)
        network.start_from(learn(training.tokens, training.vocabulary.size, how))
        report("word vectors", 1, 1, "")
    train_coherence(training.corpus, training.tokens, network, plan, _steps(COHERENCE, report))
    accuracies = held_out_accuracies(network, training.held_out, training.held_out_tokens, settings.seed)
    with _step(training.folder, COHERENCE) as made:
        network.save(made)
        done = 0
        for more in write_vectors(network, training.tokens, training.corpus.contexts(), made):
            done += more
            report("vectors of sentences", done, len(training.tokens), "")
        what = {
            "training_tokens": training.tokens.tokens,
            "steps": plan.steps,
            "parameters": parameters(network),
            "held_out_accuracy": as_json(accuracies),
        }
        write_step_about(made, made_of, what)
    plan.checkpoint.unlink(missing_ok=True)


def _generation(training: Training, report: Report) -> None:
    settings = training.settings.generation
    start = training.checkpoint.space if training.checkpoint else None
    made_of = {**training.made_of(settings.model_dump(mode="json")), "start": start}
    if is_made(training.folder / GENERATION, made_of):
        return
    networks: dict[str, EncoderDecoderModel] = {}
    plans = []
    for name, parts in {ALL: PARTS}.items() if settings.one_network else {part: (part,) for part in PARTS}.items():
        networks[name], plan = _writer(training, name, parts, made_of, report)
        plans.append(plan)
    generation = Generation(
        {part: networks[ALL if settings.one_network else part] for part in PARTS}, settings.precision
    )
    held_out = perplexities(generation, training.held_out.contexts(), training.held_out_tokens)
    with _step(training.folder, GENERATION) as made:
        for name, network in networks.items():
            save_network(network, made / name)
        what = {
            "training_tokens": training.tokens.tokens,
            "steps": sum(plan.steps for plan in plans),
            "parameters": sum(map(parameters, networks.values())),
            "held_out_perplexity": dict(held_out),
        }
        write_step_about(made, made_of, what)
    for plan in plans:
        plan.checkpoint.unlink(missing_ok=True)


def _writer(
    training: Training, name: str, parts: Sequence[Part], made_of: Mapping[str, Any], report: Report
) -> tuple[EncoderDecoderModel, Plan]:
    """A network that has learned to write these parts, and the plan that it was trained by."""
    settings = training.settings.generation
    network = _untrained(training)
    network.to(torch.device(training.device))  # type: ignore[arg-type]  # to() is decorated in vain
    positions = [PARTS.index(part) for part in parts]
    order = (training.tokens.lengths, settings.batch_size, settings.seed)
    sentences = GenerationBatches(training.corpus.contexts(), positions, *order)
    plan = training.plan({**made_of, "network": name}, settings.epochs, sentences.steps, settings.learning_rate)
    said = _steps(f"{GENERATION} {name}", report)
    train_generation(network, training.tokens, sentences, settings.precision, plan, said)
    return network, plan


def _untrained(training: Training) -> EncoderDecoderModel:
    vocabulary, settings = training.vocabulary, training.settings.generation
    marks = Marks(vocabulary.pad, vocabulary.start, vocabulary.end)
    if training.checkpoint is None:
        return new_network(settings, vocabulary.size, training.max_tokens, marks)
    return started_network(training.checkpoint, settings.seed, marks)


def _steps(what: str, report: Report) -> Callable[[Progress], None]:
    return lambda now: report(what, now.step, now.steps, f"loss {now.loss:.3f}")


@contextmanager
def _step(folder: Path, name: str) -> Iterator[Path]:
    """A folder for what a step makes, which gets its name when all is written."""
    aside = folder / f".{name}.partial"
    for old in (aside, folder / name):  # what lies there under its name is not whole: else it would not be made again
        shutil.rmtree(old, ignore_errors=True)
    aside.mkdir()
    yield aside
    publish(aside, folder / name)
