"""One training run from its settings to a model folder: resumable, and all or nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
import yaml
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from transformers import PrinterCallback, TrainerState

from models.checkpoint import Checkpoint
from models.evaluation.tasks import Task
from models.training.curves import Curves, curves_of, draw
from models.training.dev_sets import MEAN, DevSets
from models.training.encoded_loss import EncodedLoss
from models.training.errors import BadRecipe, BadTrainingData, CheckpointNotSaved, TrainingDiverged
from models.training.recipe import Recipe
from models.training.sentence_model import save_adapter, servable, trainable
from models.training.trainer import Reporter, Trainer, last_checkpoint
from models.training.training_rows import TrainingRows

RUN = "run.json"
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
        """Everything that decides what comes out."""
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
    _require_rows(run)
    torch.manual_seed(run.recipe.seed)  # before new weights are drawn
    trainer = _trainer(run, report)
    if trainer.is_world_process_zero():
        _claim(run)
    trainer.accelerator.wait_for_everyone()
    start = last_checkpoint(run.work)
    trainer.args.eval_on_start = bool(run.dev) and start is None
    try:
        trainer.train(resume_from_checkpoint=None if start is None else str(start))
    except TrainingDiverged as error:
        kept = last_checkpoint(run.work)
        known = "no checkpoint was reached" if kept is None else f"the last good checkpoint is {kept}"
        raise TrainingDiverged(
            f"step {trainer.state.global_step + 1}: {error}; {known}. Try a lower learning rate, or float32"
        ) from error
    progress = _progress(trainer.state, run)
    if trainer.is_world_process_zero():
        _finish(run, trainer.model, progress)
    return progress


def _require_rows(run: Run) -> None:
    batch = run.recipe.batch_size
    if len(run.rows) < batch:
        raise BadTrainingData(f"a batch is {batch} rows, but there are {len(run.rows)}: set a smaller batch_size")
    if not run.dev and run.recipe.dev:
        raise BadRecipe(f"dev names {', '.join(run.recipe.dev)}, which were not read")


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
        evaluator=DevSets(run.dev, recipe.measure) if run.dev else None,
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
    return SentenceTransformerTrainingArguments(
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
        save_total_limit=1,  # and the best one
        load_best_model_at_end=dev,
        metric_for_best_model=f"eval_{MEAN}" if dev else None,
        greater_is_better=True if dev else None,
        logging_steps=max(1, int(recipe.epochs * len(run.rows)) // (recipe.batch_size * recipe.accumulate * POINTS)),
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        report_to=[],
    )


def _progress(state: TrainerState, run: Run) -> Progress:
    return Progress(state.global_step, state.max_steps, curves_of(state.log_history, list(run.dev)))


def _claim(run: Run) -> None:
    """Make the working folder, or find that of the same run."""
    if run.out.exists():
        raise BadRecipe(f"{run.out} is there already: name another folder, or remove it")
    about = dict(run.about())
    file = run.work / RUN
    if not file.exists():
        run.work.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(about, indent=1) + "\n", "utf-8")
        return
    found = json.loads(file.read_text("utf-8"))
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
        if run.recipe.low_rank is not None:
            save_adapter(model, run.recipe.model, finished / "adapter")
        about = {**run.about(), "steps": progress.steps, "semblance": version("semblance"), "torch": torch.__version__}
        content = {**about, **progress.curves.as_json()}
        (finished / TRAINING).write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        draw(progress.curves, f"{run.name} from {run.recipe.model}", run.recipe.measure, finished / PICTURE)
        (finished / "README.md").write_text(_card(run, progress), "utf-8")
        finished.rename(run.out)
    except OSError as error:
        raise CheckpointNotSaved(
            f"{run.out} could not be written ({error}): the checkpoints in {run.work} are kept. Make room, and "
            "start it again"
        ) from error
    shutil.rmtree(run.work)


def _card(run: Run, progress: Progress) -> str:
    best = max(progress.curves.dev, key=lambda point: point[1][MEAN], default=None)
    chosen = (
        "The last weights were kept."
        if best is None
        else (
            f"Step {best[0]} was kept, the best by {run.recipe.measure} on {', '.join(run.dev)}, with "
            f"{100 * best[1][MEAN]:.2f}."
        )
    )
    settings = yaml.safe_dump(run.recipe.model_dump(mode="json"), sort_keys=False)
    return f"""# {run.out.name}

`{run.recipe.model}`, trained by `semblance train {run.name}` for {progress.steps:,} steps on {len(run.rows):,} rows.
{run.rows.removed:,} rows were left out because an evaluation asks for them. {chosen} The terms of the rows (SHA-256
`{run.rows.sha256}`) apply, as does the licence of the model that it started from.

![loss and dev figures by step]({PICTURE})

The settings, as a file for `--config`:

```yaml
{settings}```
"""
