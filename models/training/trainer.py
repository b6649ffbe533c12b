"""The loop: sentence-transformers' trainer with our order of rows, our loss, and checkpoints that can be relied on."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from datasets import Dataset
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformerTrainer
from torch import Tensor, nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from semblance.models.training.batches import Batches
from semblance.models.training.encoded_loss import EncodedLoss
from semblance.models.training.errors import CheckpointNotSaved, TrainingDiverged
from semblance.models.training.sentence_model import servable

TRAINED = "trained.safetensors"
STATE = "trainer_state.json"


class Trainer(SentenceTransformerTrainer):
    """Trains an `EncodedLoss`.

    A checkpoint is a model folder that can be served as it is, with `trained.safetensors` beside it: every weight that
    is being trained, those of the objective too, so that a run that was cut off goes on where it was.

    Args:
        lengths: characters of each row, if batches are to hold rows of about one length.
        options: what SentenceTransformerTrainer takes.
    """

    def __init__(self, lengths: Tensor | None, **options: Any) -> None:
        self._lengths = lengths
        super().__init__(**options)

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """Nothing: the card is written once, at the end, and asks no hub."""

    def get_batch_sampler(  # type: ignore[override]  # the others are passed by name, and on
        self, dataset: Dataset, batch_size: int, drop_last: bool, **options: Any
    ) -> Batches:
        """Our order of rows."""
        return Batches(dataset, self._lengths, batch_size=batch_size, drop_last=drop_last, **options)

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        del state_dict
        folder = output_dir or str(self.args.output_dir)
        saved = {name: each.detach().cpu().contiguous() for name, each in self._trained()}
        servable(self.model).save_pretrained(folder, create_model_card=False)
        save_file(saved, Path(folder, TRAINED))

    def training_step(self, *arguments: Any, **options: Any) -> Tensor:
        """One batch forth and back; the gradients of the objective are averaged over processes as the encoder's are."""
        loss: Tensor = super().training_step(*arguments, **options)
        if self.accelerator.num_processes > 1 and self.accelerator.sync_gradients:
            for weights in self._weights_of_objective().values():
                if weights.grad is not None:
                    weights.grad = self.accelerator.reduce(weights.grad, "mean")
        return loss

    def _load_best_model(self) -> None:
        """Nothing: `load` does it afterwards, and says so where it fails."""

    def load(self, checkpoint: Path) -> None:
        """Take the weights of a checkpoint.

        Raises:
            CheckpointNotSaved: they are not there, or cannot be read.
        """
        try:
            self._load_from_checkpoint(str(checkpoint))
        except (OSError, SafetensorError, KeyError) as error:
            raise CheckpointNotSaved(f"the weights of {checkpoint} cannot be read: {error}") from error

    def require_finite(self) -> None:
        """Raises TrainingDiverged if any weight is no number, although the last loss was one."""
        for name, weights in self._trained():
            if not weights.isfinite().all():
                raise TrainingDiverged(f"the weights {name} are no numbers any more")

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        self.require_finite()
        folder = Path(str(self.args.output_dir), f"checkpoint-{self.state.global_step}")
        try:
            super()._save_checkpoint(model, trial)
        except (OSError, RuntimeError, SafetensorError) as error:
            if self.is_world_process_zero():
                shutil.rmtree(folder, ignore_errors=True)
            kept = last_checkpoint(folder.parent)
            known = "no earlier one was saved" if kept is None else f"{kept} is kept"
            raise CheckpointNotSaved(f"{folder} could not be written ({error}): {known}") from error

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:  # type: ignore[override]  # as its own parent
        saved = load_file(Path(checkpoint_path, TRAINED))
        for name, weights in self._trained():
            weights.data.copy_(saved[name])

    def _trained(self) -> list[tuple[str, nn.Parameter]]:
        """Every weight that is trained, by its name in the model or in the objective."""
        named = [
            *((f"model.{name}", each) for name, each in self.model.named_parameters()),
            *((f"objective.{name}", each) for name, each in self._weights_of_objective().items()),
        ]
        return [(name, each) for name, each in named if each.requires_grad]

    def _weights_of_objective(self) -> dict[str, nn.Parameter]:
        return cast("EncodedLoss", self.loss).own_weights()


class Reporter(TrainerCallback):
    """Tells somebody how far a run is, and has the dev sets looked at once more after the last step.

    Args:
        report: gets the state after every step and every look at the dev sets.
        dev: whether there are dev sets.
    """

    def __init__(self, report: Callable[[TrainerState], None], dev: bool) -> None:
        self._report = report
        self._dev = dev

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **known: Any) -> None:
        """After every step."""
        del args, known
        self._report(state)
        if self._dev and state.global_step >= state.max_steps:
            control.should_evaluate = True

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **known: Any) -> None:
        """After every look at the dev sets, and every few steps."""
        del args, control, known
        self._report(state)


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that was written to its end: its state is what is written last."""
    named = ((re.fullmatch(r"checkpoint-(\d+)", each.name), each) for each in folder.glob("checkpoint-*"))
    for _, each in sorted(((int(name[1]), each) for name, each in named if name), reverse=True):
        try:
            json.loads((each / STATE).read_text("utf-8"))
        except (OSError, ValueError):
            continue
        return each
    return None
