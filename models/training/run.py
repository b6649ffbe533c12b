"""One training run from its settings to a model folder: resumable, and all or nothing."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import yaml
from accelerate import PartialState
from datasets import Dataset
from filelock import FileLock, Timeout
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from transformers import PrinterCallback, TrainerState

from models.checkpoint import Checkpoint
from models.errors import SemblanceError
from models.evaluation.tasks import Task
from models.model_files import read_json
from models.training.curves import Curves, curves_of, draw
from models.training.dev_sets import MEAN, DevSets
from models.training.encoded_loss import EncodedLoss
from models.training.errors import BadRecipe, BadTrainingData, CheckpointNotSaved, TrainingDiverged
from models.training.recipe import Recipe
from models.training.sentence_model import save_adapter, servable, trainable
from models.training.trainer import Reporter, Trainer, last_checkpoint
from models.training.training_rows import TrainingRows

RUN = "run.json"
LOCK = "lock"
TRAINING = "training.json"
PICTURE = "training.png"
POINTS = 100  # of the loss in a run: the mean of the steps between


@dataclass(frozen=True, slots=True)
class Run:
    """What is to be trained.

    Attributes:
        name: of the recipe.
        recipe: its settings.
        checkpoint: the files of the model to start from.
        rows: what to train on.
        dev: the dev sets by name.
        out: folder of the finished model; must not exist.
        device: as torch names it.
    """

    name: str
    recipe: Recipe
    checkpoint: Checkpoint
    rows: TrainingRows
    dev: Mapping[str, Task]
    out: Path
    device: str

    @property
    def work(self) -> Path:
        """Where checkpoints lie until the model is finished."""
        return self.out.with_name(f"{self.out.name}.training")

    def about(self) -> Mapping[str, Any]:
        """What a run that goes on has in common with the one that was cut off."""
        return {
            "recipe": self.name,
            "settings": self.recipe.model_dump(mode="json"),
            "base": self.checkpoint.space,
            "rows": len(self.rows),
            "rows_removed": self.rows.removed,
            "rows_unlabelled": self.rows.unlabelled,
            "data_sha256": self.rows.sha256,
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: step of steps, and the points so far."""

    step: int
    steps: int
    curves: Curves


def train(run: Run, report: Callable[[Progress], None]) -> Progress:
    """Train, choose the best checkpoint by the dev sets (the last one without), and write the model folder.

    The same run started again goes on from its last checkpoint. The folder holds a model of sentence-transformers, the
    adapters apart in `adapter/` where there are some, a card, and the curves as `training.json` and `training.png`.

    Raises:
        BadRecipe: the settings contradict each other, or another run lies in the working folder.
        BadTrainingData: a batch needs more rows than there are.
        TrainingDiverged: the loss is no number any more.
        CheckpointNotSaved: a disk is full, say; the checkpoint before is kept.
    """
    _require_trainable(run)
    processes = PartialState(cpu=run.device == "cpu")
    with _claimed(run) if processes.is_main_process else nullcontext():
        processes.wait_for_everyone()
        try:
            trainer = _trained(run, report)
        except SemblanceError:
            if processes.is_main_process and last_checkpoint(run.work) is None:
                shutil.rmtree(run.work)  # there is nothing to go on from
            raise
        progress = _progress(trainer.state, run)
        if processes.is_main_process:
            _finish(run, trainer.model, progress)
    return progress


def _require_trainable(run: Run) -> None:
    batch = run.recipe.batch_size
    if len(run.rows) < batch:
        raise BadTrainingData(f"a batch is {batch} rows, but there are {len(run.rows)}: set a smaller batch_size")
    if os.path.lexists(run.out):
        raise BadRecipe(f"{run.out} is there already: name another folder, or remove it")
    if run.device not in ("cpu", "cuda", "cuda:0"):
        raise BadRecipe(f"training takes the first GPU, not {run.device}: choose it by CUDA_VISIBLE_DEVICES")


def _trained(run: Run, report: Callable[[Progress], None]) -> Trainer:
    """The trainer after its last step, with the weights that are to be kept."""
    torch.manual_seed(run.recipe.seed)  # before new weights are drawn
    trainer = _trainer(run, report)
    start = last_checkpoint(run.work)
    trainer.args.eval_on_start = bool(run.dev) and start is None
    try:
        trainer.train(resume_from_checkpoint=None if start is None else str(start))
        trainer.require_finite()
    except TrainingDiverged as error:
        kept = last_checkpoint(run.work)
        known = "no checkpoint was reached" if kept is None else f"the last good checkpoint is {kept}"
        raise TrainingDiverged(
            f"step {trainer.state.global_step + 1}: {error}; {known}. Try a lower learning rate, or float32"
        ) from error
    best = _progress(trainer.state, run).curves.best
    if best is not None:
        trainer.load(run.work / f"checkpoint-{best[0]}")
    return trainer


def _trainer(run: Run, report: Callable[[Progress], None]) -> Trainer:
    recipe = run.recipe
    model = trainable(run.checkpoint, recipe)
    loss = EncodedLoss(model, recipe.objective(int(model.get_embedding_dimension() or 0)), recipe.mini_batch)
    texts = list(recipe.prepared(run.rows.texts).values())
    columns: dict[str, Any] = {f"text_{i}": each for i, each in enumerate(texts)}
    if run.rows.labels is not None:
        columns["label"] = run.rows.labels
    lengths = torch.tensor([sum(map(len, row)) for row in zip(*texts, strict=True)])
    trainer = Trainer(
        lengths if recipe.batches == "by_length" else None,
        model=model,
        args=_arguments(run),
        train_dataset=Dataset.from_dict(columns),
        loss=loss,
        evaluator=DevSets(run.dev, recipe.measure, run.work) if run.dev else None,
        data_collator=SentenceTransformerDataCollator(
            preprocess_fn=model.preprocess,
            prompts=run.checkpoint.prompts["query"] or None,
            max_length=recipe.max_tokens,
        ),
        callbacks=[Reporter(lambda state: report(_progress(state, run)), dev=bool(run.dev))],
    )
    trainer.remove_callback(PrinterCallback)  # `report` shows what there is to see
    return trainer


def _arguments(run: Run) -> SentenceTransformerTrainingArguments:
    recipe, dev = run.recipe, bool(run.dev)
    on_device = "bfloat16" if run.device.startswith("cuda") else "float32"
    precision = on_device if recipe.precision == "auto" else recipe.precision
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(run.work),
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.batch_size,
        gradient_accumulation_steps=recipe.accumulate,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=recipe.warmup,  # below 1 it is a share
        weight_decay=recipe.weight_decay,
        max_grad_norm=recipe.clip,
        bf16=precision == "bfloat16",
        fp16=precision == "float16",
        use_cpu=run.device == "cpu",
        seed=recipe.seed,
        dataloader_drop_last=True,  # a smaller last batch would have easier negatives than the others
        dataloader_pin_memory=run.device != "cpu",
        eval_strategy="steps" if dev else "no",
        eval_steps=recipe.check_every,
        save_strategy="steps",
        save_steps=recipe.check_every,
        save_total_limit=2,  # the newest and the best
        load_best_model_at_end=dev,
        metric_for_best_model=f"eval_{MEAN}" if dev else None,
        greater_is_better=True if dev else None,
        logging_steps=max(1, int(recipe.epochs * len(run.rows)) // (recipe.batch_size * recipe.accumulate * POINTS)),
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        report_to=[],
    )
    if arguments.n_gpu > 1:  # without torchrun, a batch would be cut among them, which in-batch negatives forbid
        arguments._n_gpu = 1  # noqa: SLF001
    return arguments


def _progress(state: TrainerState, run: Run) -> Progress:
    return Progress(state.global_step, state.max_steps, curves_of(state.log_history, list(run.dev)))


@contextmanager
def _claimed(run: Run) -> Iterator[None]:
    """The working folder, new or that of the same run, while no other process has it."""
    try:
        run.work.mkdir(parents=True, exist_ok=True)
        with FileLock(run.work / LOCK, timeout=0):
            _require_same(run)
            yield
    except Timeout as error:
        raise BadRecipe(f"another process is training in {run.work}") from error
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise CheckpointNotSaved(f"{run.work} cannot be written: {error}") from error


def _require_same(run: Run) -> None:
    about = json.loads(json.dumps(run.about()))
    file = run.work / RUN
    if not file.exists():
        if strangers := [each.name for each in run.work.iterdir() if each.name != LOCK]:
            raise BadRecipe(f"{run.work} holds {strangers[0]}, which no run of ours left: name another folder")
        partial = run.work / f"{RUN}.partial"
        partial.write_text(json.dumps(about, indent=1) + "\n", "utf-8")
        partial.replace(file)
        return
    found = read_json(file, dict)
    if changed := sorted(key for key in about if found.get(key) != about[key]):
        raise BadRecipe(
            f"{run.work} holds a run that was cut off, with another value of {', '.join(changed)}: start it as it was, "
            "remove that folder, or name another one"
        )


def _finish(run: Run, model: SentenceTransformer, progress: Progress) -> None:
    finished = run.work / "finished"
    shutil.rmtree(finished, ignore_errors=True)
    try:
        servable(model).save_pretrained(str(finished), create_model_card=False)
        if _is_adapter(run):
            save_adapter(model, run.recipe.model, finished / "adapter")
        about = {**run.about(), "steps": progress.steps, "semblance": version("semblance"), "torch": torch.__version__}
        content = {**about, **progress.curves.as_json()}
        (finished / TRAINING).write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        draw(progress.curves, f"{run.name} from {run.recipe.model}", run.recipe.measure, finished / PICTURE)
        (finished / "README.md").write_text(_card(run, progress), "utf-8")
        finished.rename(run.out)
    except (OSError, SafetensorError) as error:
        raise CheckpointNotSaved(
            f"{run.out} could not be written ({error}): the checkpoints in {run.work} are kept. Make room, and "
            "start it again"
        ) from error
    shutil.rmtree(run.work, ignore_errors=True)


def _is_adapter(run: Run) -> bool:
    """Whether what was trained is an adapter beside the model that it started from, and nothing else."""
    recipe, start = run.recipe, run.checkpoint
    as_it_was = recipe.pooling in (None, start.pooling) and recipe.normalize in (None, start.normalize)
    return recipe.low_rank is not None and not recipe.head and as_it_was and start.adapter is None


def _card(run: Run, progress: Progress) -> str:
    best = progress.curves.best
    kept, mean = (progress.steps, None) if best is None else best
    by = f"the best by {run.recipe.measure} on {', '.join(run.dev)}"
    chosen = "the last" if mean is None else f"{by}: {100 * mean:.2f}"
    settings = yaml.safe_dump(run.recipe.model_dump(mode="json"), sort_keys=False)
    return f"""# {run.out.name}

`{run.recipe.model}`, trained by `semblance train {run.name}` for {progress.steps:,} steps on {len(run.rows):,} rows.
{run.rows.removed:,} rows were left out because an evaluation asks for them. Step {kept:,} was kept, {chosen}.
The terms of the rows (SHA-256 `{run.rows.sha256}`) apply, as does the licence of the model that it started from.

![loss and dev figures by step]({PICTURE})

The settings, as a file for `--config`:

```yaml
{settings}```
"""
