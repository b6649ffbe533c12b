"""Trainer of sentence-transformers with seeded batches, our loss and reliable checkpoints."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from datasets import Dataset
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformerTrainer
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.util import get_world_size
from torch import Tensor, nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from semblance_lab.training.errors import CheckpointNotSaved, TrainingDiverged
from semblance_lab.training.losses.encoded_loss import EncodedLoss
from semblance_lab.training.processes import average_gradients
from semblance_lab.training.recipe import LowRank, Order
from semblance_lab.training.sentence_model import merge_adapters

TRAINED = "trained.safetensors"
STATE = "trainer_state.json"
SORTED_BATCHES = 50  # batches sorted together: enough for similar lengths, too few for the same batches every epoch


class SeededBatchSampler(DefaultBatchSampler):
    """Batches in an order that depends on seed and epoch only, so that runs can resume.

    Args:
        dataset: with `len`.
        order: `by_length` batches rows of similar length together: windows of 50 batches are sorted and cut, and all
            batches shuffled. This saves padding, as the paper's smart batching does. `in_twos` does the same, and
            keeps rows 2k and 2k + 1 together.
        lengths: of each row.
        options: the trainer's: batch_size, drop_last, seed and others.

    Source: reimers-gurevych-2019-sbert, section 7.
    """

    def __init__(self, dataset: Any, order: Order, lengths: Tensor, **options: Any) -> None:
        super().__init__(dataset, **options)
        self._rows = len(dataset)
        self._order = order
        self._lengths = _longer_of_twos(lengths) if order == "in_twos" else lengths

    def __iter__(self) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed(self.seed + 1_000_003 * self.epoch)
        order = self._shuffled(generator)
        if self.drop_last:  # before sorting: afterwards it would always drop the longest rows
            order = order[: self._rows // self.batch_size * self.batch_size]
        if self._order != "shuffled":
            windows = torch.split(order, SORTED_BATCHES * self.batch_size)
            order = torch.cat([window[self._lengths[window].argsort(stable=True)] for window in windows])
        rows = order.tolist()
        batches = [rows[start : start + self.batch_size] for start in range(0, len(rows), self.batch_size)]
        if self._order != "shuffled":
            batches = [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
        yield from batches

    def _shuffled(self, generator: torch.Generator) -> Tensor:
        if self._order != "in_twos":
            return torch.randperm(self._rows, generator=generator)
        first = 2 * torch.randperm(self._rows // 2, generator=generator)
        last = torch.arange(self._rows - self._rows % 2, self._rows)  # without a neighbor
        return torch.cat([torch.stack([first, first + 1], dim=1).flatten(), last])

    def __len__(self) -> int:
        return self._rows // self.batch_size if self.drop_last else -(-self._rows // self.batch_size)


def _longer_of_twos(lengths: Tensor) -> Tensor:
    """The larger length of rows 2k and 2k + 1 for both; for a last row alone the largest of all."""
    even = len(lengths) - len(lengths) % 2
    longer = lengths[:even].view(-1, 2).amax(dim=1).repeat_interleave(2)
    return torch.cat([longer, lengths[even:].clamp(min=int(lengths.max()))])


class Trainer(SentenceTransformerTrainer):
    """Trains an `EncodedLoss`.

    A checkpoint is a servable model folder with `trained.safetensors` beside it: all weights that are being trained,
    those of the objective included, so that an interrupted run can resume.

    Args:
        order: how rows are batched.
        lengths: characters of each row.
        low_rank: how trained adapters are saved in the model folder of a checkpoint.
        options: of SentenceTransformerTrainer.
    """

    def __init__(self, order: Order, lengths: Tensor, low_rank: LowRank | None, **options: Any) -> None:
        self._order = order
        self._lengths = lengths
        self._low_rank = low_rank
        super().__init__(**options)
        self.add_callback(EpochCallback(self))

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Do nothing: the card is written once, at the end, without access to the hub."""

    def get_batch_sampler(  # type: ignore[override]  # the other arguments are passed on by name
        self, dataset: Dataset, batch_size: int, drop_last: bool, **options: Any
    ) -> SeededBatchSampler:
        """Create our sampler."""
        order = (self._order, self._lengths)
        self.sampler = SeededBatchSampler(dataset, *order, batch_size=batch_size, drop_last=drop_last, **options)
        return self.sampler

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        del state_dict
        folder = output_dir or str(self.args.output_dir)
        trained = {name: each.detach().cpu().contiguous() for name, each in self._trained_weights()}
        merge_adapters(self.model, self._low_rank).save_pretrained(folder, create_model_card=False)
        save_file(trained, Path(folder, TRAINED))

    def training_step(self, model: nn.Module, *arguments: Any, **options: Any) -> Tensor:
        """Process one batch; gradients are averaged over processes once, at the end of a step.

        DistributedDataParallel would average after each backward pass, of which cached gradients have many, and would
        miss the weights of the objective.
        """
        with self.accelerator.no_sync(model):
            loss: Tensor = super().training_step(model, *arguments, **options)
        if self.accelerator.sync_gradients:
            average_gradients(weights for _, weights in self._trained_weights())
        return loss

    def _save_rng_state(self, output_dir: str) -> None:
        super()._save_rng_state(output_dir)
        self.accelerator.wait_for_everyone()  # only then is the checkpoint marked as complete

    def _load_best_model(self) -> None:
        """Do nothing: `load` runs afterwards and reports failures."""

    def load(self, checkpoint: Path) -> None:
        """Load the weights of a checkpoint.

        Raises:
            CheckpointNotSaved: they are missing or cannot be read.
        """
        try:
            self._load_from_checkpoint(str(checkpoint))
        except (OSError, SafetensorError, KeyError) as error:
            raise CheckpointNotSaved(f"the weights of {checkpoint} cannot be read: {error}") from error

    def require_finite(self) -> None:
        """Raise TrainingDiverged if a weight is not finite, even if the last loss was."""
        for name, weights in self._trained_weights():
            if not weights.isfinite().all():
                raise TrainingDiverged(f"the weights {name} are not finite")

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        self.require_finite()
        folder = Path(str(self.args.output_dir), f"checkpoint-{self.state.global_step}")
        try:
            super()._save_checkpoint(model, trial)
        except (OSError, RuntimeError, SafetensorError) as error:
            if self.is_world_process_zero():
                shutil.rmtree(folder, ignore_errors=True)
            earlier = last_checkpoint(folder.parent)
            remaining = "no earlier one was saved" if earlier is None else f"{earlier} is kept"
            raise CheckpointNotSaved(f"{folder} could not be written ({error}): {remaining}") from error

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:  # type: ignore[override]  # as its own parent
        trained = load_file(Path(checkpoint_path, TRAINED))
        for name, weights in self._trained_weights():
            weights.data.copy_(trained[name])

    def _trained_weights(self) -> list[tuple[str, nn.Parameter]]:
        """Weights with gradients, by their names in the model or in the objective."""
        named = [
            *((f"model.{name}", each) for name, each in self.model.named_parameters()),
            *((f"objective.{name}", weight) for name, weight in self._objective_weights().items()),
        ]
        return [(name, each) for name, each in named if each.requires_grad]

    def _objective_weights(self) -> dict[str, nn.Parameter]:
        return cast("EncodedLoss", self.loss).objective_weights()


class ProgressCallback(TrainerCallback):
    """Reports progress, and schedules a last evaluation on the dev sets after the last step.

    Args:
        report: receives the state after every step and every evaluation.
        dev: whether there are dev sets.
    """

    def __init__(self, report: Callable[[TrainerState], None], dev: bool) -> None:
        self._report = report
        self._dev = dev

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any) -> None:
        """Report, after every step."""
        del args, others
        self._report(state)
        if self._dev and state.global_step >= state.max_steps:
            control.should_evaluate = True

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any) -> None:
        """Report, after every evaluation and every logged loss."""
        del args, control, others
        self._report(state)


class StopCallback(TrainerCallback):
    """Ends the training after the step in which Ctrl-C came, with a checkpoint of that step.

    The second Ctrl-C ends it at once, and so does the first with several processes, which would stop after different
    steps and wait for each other.
    """

    def __init__(self) -> None:
        self._asked = False

    @contextmanager
    def on_interrupt(self, trainer: Trainer) -> Iterator[None]:
        """Stop by Ctrl-C in the block, if nothing else handles it.

        Raises:
            KeyboardInterrupt: after the block, if it stopped before the last step.
        """
        earlier = signal.getsignal(signal.SIGINT)
        handles = earlier is signal.default_int_handler and get_world_size() == 1
        if handles:
            signal.signal(signal.SIGINT, self._ask)
        try:
            yield
        finally:
            if handles:
                signal.signal(signal.SIGINT, earlier)
        if self._asked and trainer.state.global_step < trainer.state.max_steps:
            raise KeyboardInterrupt

    def _ask(self, *_: object) -> None:
        self._asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any) -> None:
        """Save and stop, if asked."""
        del args, state, others
        if self._asked:
            control.should_save = control.should_training_stop = True


class EpochCallback(TrainerCallback):
    """Tells the sampler its epoch.

    The trainer does not reach it below the wrappers of a run that resumes in several processes.
    """

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **others: Any
    ) -> None:
        """Set the epoch of the sampler."""
        del args, control, others
        self._trainer.sampler.set_epoch(int(state.epoch or 0))


def last_checkpoint(folder: Path) -> Path | None:
    """Newest complete checkpoint: the trainer writes its state last."""
    named = ((re.fullmatch(r"checkpoint-(\d+)", each.name), each) for each in folder.glob("checkpoint-*"))
    for _, each in sorted(((int(name[1]), each) for name, each in named if name), reverse=True):
        try:
            json.loads((each / STATE).read_text("utf-8"))
        except (OSError, ValueError):
            continue
        return each
    return None
