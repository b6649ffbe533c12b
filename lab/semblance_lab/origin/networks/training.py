"""Train, test and save the networks of an origin folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import EncoderDecoderModel

from semblance.models.files.atomic import publish
from semblance.models.files.digests import digest
from semblance.models.files.resumable import process_lock
from semblance.models.model_files.checkpoint import Checkpoint
from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.static_vectors import SkipGram, learn_vectors
from semblance_lab.origin.corpus.tokens import TokenTable, Vocabulary
from semblance_lab.origin.errors import BadCorpus, BadOrigin
from semblance_lab.origin.networks.coherence import Coherence, write_vectors
from semblance_lab.origin.networks.generation import ALL, Generation
from semblance_lab.origin.networks.generation_network import (
    SpecialIds,
    network_from_encoder,
    new_network,
    parameter_count,
    save_network,
)
from semblance_lab.origin.networks.loop import CHECK_EVERY, StepProgress, TrainingPlan
from semblance_lab.origin.networks.network_training import (
    GenerationBatches,
    batch_order,
    held_out_accuracies,
    perplexities,
    train_coherence,
    train_generation,
)
from semblance_lab.origin.origin_folder import (
    COHERENCE,
    CORPUS,
    GENERATION,
    PROVENANCE,
    TOKENS,
    VOCABULARY,
    add_about,
    network_inputs,
    read_step_about,
    step_is_done,
    write_step_about,
)
from semblance_lab.origin.origin_settings import OriginSettings
from semblance_lab.origin.scoring.scoring import CONTEXT_PARTS, ContextPart

CHECKPOINTS = "checkpoints"
LOCK = ".training.lock"
SAMPLE = 200  # sentences by which two vocabularies are compared

Report = Callable[[str, int, int, str], None]
"""Progress callback: receives the task, its progress, its total, and a remark."""


@dataclass(frozen=True)
class Training:
    """Inputs of the training of both networks.

    Attributes:
        folder: the origin folder, with its corpus, vocabulary and tokens.
        settings: of all steps; those of the two networks are read.
        device: as torch names it.
        checkpoint: encoder to start the generative models from; None to start from scratch.
        check_every: steps between checkpoints.
    """

    folder: Path
    settings: OriginSettings
    device: str = "cpu"
    checkpoint: Checkpoint | None = None
    check_every: int = CHECK_EVERY

    @cached_property
    def corpus(self) -> Corpus:
        """The part to train on."""
        return Corpus.open(self.folder / CORPUS)

    @cached_property
    def held_out(self) -> Corpus:
        """The part to test on."""
        return Corpus.open(self.folder / CORPUS, "held_out")

    @cached_property
    def tokens(self) -> TokenTable:
        """Of the part to train on."""
        return TokenTable.open(self.folder / TOKENS)

    @cached_property
    def held_out_tokens(self) -> TokenTable:
        """Of the part to test on."""
        return TokenTable.open(self.folder / TOKENS, "held_out")

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The networks' subwords."""
        return Vocabulary.open(self.folder / VOCABULARY)

    @cached_property
    def max_tokens(self) -> int:
        """Tokens that sentences were truncated to.

        Raises:
            BadOrigin: there are no tokens yet.
        """
        if not (about := read_step_about(self.folder / TOKENS)):
            raise BadOrigin(f"{self.folder} contains no tokens; run `semblance origin corpus`")
        return int(about[PROVENANCE]["max_tokens"])

    def provenance(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings and inputs of a network."""
        return {"settings": dict(settings), **network_inputs(self.folder)}

    def plan(self, provenance: Mapping[str, Any], epochs: float, steps: int, learning_rate: float) -> TrainingPlan:
        """Plan of a network, from its steps per epoch."""
        key = digest(**provenance)
        checkpoint = self.folder / CHECKPOINTS / f"{key[:16]}.pt"
        return TrainingPlan(max(1, round(epochs * steps)), learning_rate, key, checkpoint, self.check_every)


def train_networks(training: Training, report: Report) -> dict[str, dict[str, Any]]:
    """Train both kinds of networks; skips finished ones, and resumes interrupted ones.

    Returns:
        Entry of each in `origin.json`.

    Raises:
        BadCorpus: a part of the corpus has no context.
        BadOrigin: an earlier step is missing, the settings do not fit it, a network has another provenance, or another
            process is training there.
        BadCheckpoint: the encoder to start from cannot be used.
        TrainingDiverged, CheckpointNotSaved: as `fit`.
    """
    for part in (training.corpus, training.held_out):
        if not len(part.contexts()):
            raise BadCorpus(f"{part.file} has no three consecutive sentences")
    _check_settings(training)
    busy = BadOrigin(f"another process is training in {training.folder}")
    with process_lock(training.folder / LOCK, busy):
        for name, train in ((COHERENCE, _train_coherence), (GENERATION, _train_generation)):
            train(training, report)
            add_about(training.folder, name, read_step_about(training.folder / name))
    return {name: read_step_about(training.folder / name) for name in (COHERENCE, GENERATION)}


def _check_settings(training: Training) -> None:
    """Detect contradictions before hours of training."""
    settings = training.settings.vocabulary
    if "max_tokens" in settings.model_fields_set and settings.max_tokens != training.max_tokens:
        raise BadOrigin(
            f"vocabulary.max_tokens is {settings.max_tokens}, but the tokens in {training.folder / TOKENS} were made "
            f"with {training.max_tokens}: remove the setting, or make another folder by `semblance origin corpus`"
        )
    if training.checkpoint is not None:
        _check_vocabulary(training, training.checkpoint)


def _check_vocabulary(training: Training, checkpoint: Checkpoint) -> None:
    own, vocabulary = Vocabulary.of(checkpoint.folder), training.vocabulary
    texts = training.corpus.texts(range(min(SAMPLE, len(training.corpus))))
    encoded = (own.encode(texts, training.max_tokens), vocabulary.encode(texts, training.max_tokens))
    if own.size != vocabulary.size or not all(map(np.array_equal, *encoded)):
        raise BadOrigin(
            f"{checkpoint.folder} has another vocabulary than {training.folder / VOCABULARY}: make the corpus "
            "with the same generation.model in its settings"
        )


def _train_coherence(training: Training, report: Report) -> None:
    settings = training.settings.coherence
    provenance = training.provenance(settings.model_dump(mode="json"))
    if step_is_done(training.folder / COHERENCE, provenance):
        return
    torch.manual_seed(settings.seed)
    network = Coherence(training.vocabulary.size, settings).to(training.device)
    order = batch_order(training.corpus, settings)
    plan = training.plan(provenance, settings.epochs, order.steps, settings.learning_rate)
    if settings.start == "static" and not plan.checkpoint.exists():
        report("word vectors", 0, 1, "")
        skip_gram = SkipGram(settings.embedding, seed=settings.seed)
        network.init_embeddings(learn_vectors(training.tokens, training.vocabulary.size, skip_gram))
        report("word vectors", 1, 1, "")
    train_coherence(training.corpus, training.tokens, network, plan, _step_reporter(COHERENCE, report))
    accuracies = held_out_accuracies(network, training.held_out, training.held_out_tokens, settings.seed)
    with _step_folder(training.folder, COHERENCE) as folder:
        network.save(folder)
        done = 0
        for more in write_vectors(network, training.tokens, training.corpus.contexts(), folder):
            done += more
            report("vectors of sentences", done, len(training.tokens), "")
        results = {
            "training_tokens": training.tokens.tokens,
            "steps": plan.steps,
            "parameters": parameter_count(network),
            "held_out_accuracy": {kind: asdict(accuracy) for kind, accuracy in accuracies.items()},
        }
        write_step_about(folder, provenance, results)
    plan.checkpoint.unlink(missing_ok=True)


def _train_generation(training: Training, report: Report) -> None:
    settings = training.settings.generation
    start = training.checkpoint.space if training.checkpoint else None
    provenance = {**training.provenance(settings.model_dump(mode="json")), "start": start}
    if step_is_done(training.folder / GENERATION, provenance):
        return
    networks: dict[str, EncoderDecoderModel] = {}
    plans = []
    one_each = {part: (part,) for part in CONTEXT_PARTS}
    for name, parts in {ALL: CONTEXT_PARTS}.items() if settings.one_network else one_each.items():
        networks[name], plan = _train_writer(training, name, parts, provenance, report)
        plans.append(plan)
    generation = Generation(
        {part: networks[ALL if settings.one_network else part] for part in CONTEXT_PARTS}, settings.precision
    )
    held_out = perplexities(generation, training.held_out.contexts(), training.held_out_tokens)
    with _step_folder(training.folder, GENERATION) as folder:
        for name, network in networks.items():
            save_network(network, folder / name)
        results = {
            "training_tokens": training.tokens.tokens,
            "steps": sum(plan.steps for plan in plans),
            "parameters": sum(map(parameter_count, networks.values())),
            "held_out_perplexity": dict(held_out),
        }
        write_step_about(folder, provenance, results)
    for plan in plans:
        plan.checkpoint.unlink(missing_ok=True)


def _train_writer(
    training: Training, name: str, parts: Sequence[ContextPart], provenance: Mapping[str, Any], report: Report
) -> tuple[EncoderDecoderModel, TrainingPlan]:
    """Train a network to write these parts; also returns its plan."""
    settings = training.settings.generation
    network = _new_writer(training)
    network.to(torch.device(training.device))  # type: ignore[arg-type]  # the decorator of to() hides its signature
    positions = [CONTEXT_PARTS.index(part) for part in parts]
    contexts, lengths = training.corpus.contexts(), training.tokens.lengths
    order = GenerationBatches(contexts, positions, lengths, settings.batch_size, settings.seed)
    plan = training.plan({**provenance, "network": name}, settings.epochs, order.steps, settings.learning_rate)
    step_report = _step_reporter(f"{GENERATION} {name}", report)
    train_generation(network, training.tokens, order, settings.precision, plan, step_report)
    return network, plan


def _new_writer(training: Training) -> EncoderDecoderModel:
    vocabulary, settings = training.vocabulary, training.settings.generation
    special = SpecialIds(vocabulary.pad, vocabulary.start, vocabulary.end)
    if training.checkpoint is None:
        return new_network(settings, vocabulary.size, training.max_tokens, special)
    return network_from_encoder(training.checkpoint, settings.seed, special)


def _step_reporter(task: str, report: Report) -> Callable[[StepProgress], None]:
    return lambda progress: report(task, progress.step, progress.steps, f"loss {progress.loss:.3f}")


@contextmanager
def _step_folder(folder: Path, name: str) -> Iterator[Path]:
    """Folder for the results of a step, renamed to its final name after the block."""
    temporary = folder / f".{name}.partial"
    for old in (temporary, folder / name):  # a folder under the final name is incomplete, or the step would be skipped
        shutil.rmtree(old, ignore_errors=True)
    temporary.mkdir()
    yield temporary
    publish(temporary, folder / name)
