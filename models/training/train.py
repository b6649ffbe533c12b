"""One training run from its settings to a model folder: resumable, and all or nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from accelerate import PartialState
from datasets import Dataset
from sentence_transformers import SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from transformers import PrinterCallback, TrainerState

from semblance.models.errors import SemblanceError
from semblance.models.files.resumable import claimed
from semblance.models.training.curves import curves_of
from semblance.models.training.dev_sets import MEAN, DevSets
from semblance.models.training.encoded_loss import EncodedLoss
from semblance.models.training.errors import BadRecipe, BadTrainingData, TrainingDiverged
from semblance.models.training.finished_model import finish
from semblance.models.training.run import Progress, Run
from semblance.models.training.sentence_model import trainable
from semblance.models.training.trainer import Reporter, Trainer, last_checkpoint

RUN = "run.json"  # what the run in a working folder is made of
POINTS = 100  # of the loss in a run: the mean of the steps between


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
    with claimed(run.work / RUN, run.about(), BadRecipe) if processes.is_main_process else nullcontext():
        processes.wait_for_everyone()
        try:
            trainer = _trained(run, report)
        except SemblanceError:
            if processes.is_main_process and last_checkpoint(run.work) is None:
                shutil.rmtree(run.work)  # there is nothing to go on from
            raise
        progress = _progress(trainer.state, run)
        if processes.is_main_process:
            finish(run, trainer.model, progress)
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
            max_length=min(recipe.max_tokens, model.max_seq_length or recipe.max_tokens),
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
