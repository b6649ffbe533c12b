"""Run a training from its settings to a model folder: resumable, and all or nothing."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from importlib.metadata import version
from typing import Any

import torch
import yaml
from datasets import Dataset
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from torch import Tensor
from transformers import PrinterCallback, TrainerState

from semblance.models.errors import SemblanceError
from semblance.models.files.resumable import resumable_folder
from semblance_lab.training.errors import BadRecipe, BadTrainingData, CheckpointNotSaved, TrainingDiverged
from semblance_lab.training.losses.drawn_texts import AlignedWords, KeptVectors
from semblance_lab.training.losses.encoded_loss import EncodedLoss
from semblance_lab.training.processes import join_processes
from semblance_lab.training.run import MEAN, DevSets, Run, RunProgress, curves_from_log, draw_curves
from semblance_lab.training.sentence_model import build_model, merge_adapters, prompt_tokens, save_adapter, special_ids
from semblance_lab.training.trainer import ProgressCallback, StopCallback, Trainer, last_checkpoint

RUN = "run.json"  # in a working folder: identity of its run
TRAINING = "training.json"
PICTURE = "training.png"
LOSS_POINTS = 100  # points of the loss curve, each the mean of the steps since the one before


def train(run: Run, report: Callable[[RunProgress], None]) -> RunProgress:
    """Train, select the best checkpoint by the dev sets, and write the model folder.

    Without dev sets the last checkpoint is selected. Started again, the same run resumes from its last checkpoint. The
    folder holds a model of sentence-transformers, its adapters if there are any (`adapter/`), a card, and the curves as
    `training.json` and `training.png`.

    Raises:
        BadRecipe: the settings contradict each other, or the working folder belongs to another run.
        BadTrainingData: there are fewer rows than a batch needs.
        TrainingDiverged: the loss is no longer finite.
        CheckpointNotSaved: a checkpoint could not be written, as on a full disk; the one before is kept.
        KeyboardInterrupt: Ctrl-C came; with one process, the step in which it came has a checkpoint.
    """
    processes = join_processes(run.device)
    _check_run(run, processes.num_processes)
    with resumable_folder(run.work / RUN, run.about(), BadRecipe) if processes.is_main_process else nullcontext():
        processes.wait_for_everyone()
        try:
            trainer = _run_trainer(run, report)
        except (SemblanceError, KeyboardInterrupt):
            if processes.is_main_process and last_checkpoint(run.work) is None:
                shutil.rmtree(run.work)  # there is nothing to resume from
            raise
        progress = _progress(trainer.state, run)
        if processes.is_main_process:
            write_model_folder(run, trainer.model, progress)
    return progress


def _check_run(run: Run, processes: int) -> None:
    recipe, batch = run.recipe, run.recipe.batch_size
    if batch % processes:
        raise BadRecipe(
            f"a batch of {batch} rows cannot be shared by {processes} processes: set batch_size to a multiple"
        )
    if min(_drawn(run), default=processes) < processes:
        raise BadRecipe(f"keep and align need at least a text or pair of a batch for each of {processes} processes")
    if len(run.rows) < batch:
        raise BadTrainingData(f"{len(run.rows)} rows are fewer than a batch of {batch}: set a smaller batch_size")
    if os.path.lexists(run.out):
        raise BadRecipe(f"{run.out} already exists: choose another folder, or remove it")
    if (recipe.keep is None) != (run.running_text is None):
        raise BadRecipe("the setting keep and the option --keep need each other: give both or neither")
    if run.device not in ("cpu", "cuda", "cuda:0"):
        raise BadRecipe(f"training uses the first GPU, not {run.device}: select it by CUDA_VISIBLE_DEVICES")


def _drawn(run: Run) -> list[int]:
    """Texts or pairs in a batch of each further loss."""
    recipe = run.recipe
    losses = ((recipe.keep, run.running_text), (recipe.align, run.aligned))
    return [min(loss.batch_size, len(items)) for loss, items in losses if loss is not None and items is not None]


def _run_trainer(run: Run, report: Callable[[RunProgress], None]) -> Trainer:
    """Train to the last step, and load the weights of the selected checkpoint."""
    torch.manual_seed(run.recipe.seed)  # before new weights are drawn
    trainer = _build_trainer(run, report)
    torch.manual_seed(run.recipe.seed + trainer.args.process_index)  # else processes would drop out the same numbers
    start = last_checkpoint(run.work)
    trainer.args.eval_on_start = bool(run.dev) and start is None
    stop = StopCallback()
    trainer.add_callback(stop)
    try:
        with stop.on_interrupt(trainer):
            trainer.train(resume_from_checkpoint=None if start is None else str(start))
        trainer.require_finite()
    except TrainingDiverged as error:
        last = last_checkpoint(run.work)
        remaining = "no checkpoint was reached" if last is None else f"the last good checkpoint is {last}"
        raise TrainingDiverged(
            f"step {trainer.state.global_step + 1}: {error}; {remaining}. Try a lower learning rate, or float32"
        ) from error
    best = _progress(trainer.state, run).curves.best
    if best is not None:
        trainer.load(run.work / f"checkpoint-{best[0]}")
    return trainer


def _build_trainer(run: Run, report: Callable[[RunProgress], None]) -> Trainer:
    recipe = run.recipe
    model = build_model(run.checkpoint, recipe)
    objective = recipe.objective(int(model.get_embedding_dimension() or 0), run.rows.texts)
    loss = EncodedLoss(
        model,
        objective,
        recipe.mini_batch,
        left_out=() if recipe.special_tokens else special_ids(model),
        prompt_tokens=0 if recipe.special_tokens else prompt_tokens(model, run.checkpoint.prompts["query"]),
        further=_further_losses(run, model),
    )
    texts = list(recipe.objective_columns(run.rows.texts).values())
    columns: dict[str, Any] = {f"text_{i}": text for i, text in enumerate(texts)}
    if run.rows.labels is not None:
        columns["label"] = run.rows.labels
    elif recipe.numbered:
        columns["label"] = list(range(len(run.rows)))
    lengths = torch.tensor([sum(map(len, row)) for row in zip(*texts, strict=True)])
    trainer = Trainer(
        recipe.batches,
        lengths,
        recipe.low_rank,
        model=model,
        args=_arguments(run),
        train_dataset=Dataset.from_dict(columns),
        loss=loss,
        evaluator=DevSets(run.dev, recipe.measure, run.work, recipe.low_rank) if run.dev else None,
        data_collator=SentenceTransformerDataCollator(
            preprocess_fn=model.preprocess,
            prompts=run.checkpoint.prompts["query"] or None,
            max_length=_at_most(recipe.max_tokens, model),
        ),
        callbacks=[ProgressCallback(lambda state: report(_progress(state, run)), dev=bool(run.dev))],
    )
    trainer.remove_callback(PrinterCallback)  # `report` replaces it
    return trainer


def _further_losses(run: Run, model: SentenceTransformer) -> list[Callable[[], Tensor]]:
    keep, align = run.recipe.keep, run.recipe.align
    losses: list[Callable[[], Tensor]] = []
    if keep is not None and run.running_text is not None:
        longest = _at_most(keep.max_tokens, model)
        losses.append(KeptVectors(model, run.running_text.texts, keep.weight, keep.batch_size, longest))
    if align is not None:
        longest = _at_most(run.recipe.max_tokens, model)
        losses.append(AlignedWords(model, run.aligned, align.weight, align.batch_size, longest, align.temperature))
    return losses


def _at_most(tokens: int, model: SentenceTransformer) -> int:
    """This number of tokens, or the most that the model reads."""
    return min(tokens, model.max_seq_length or tokens)


def _arguments(run: Run) -> SentenceTransformerTrainingArguments:
    recipe, dev = run.recipe, bool(run.dev)
    on_device = "bfloat16" if run.device.startswith("cuda") else "float32"
    precision = on_device if recipe.precision == "auto" else recipe.precision
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(run.work),
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.batch_size,
        accelerator_config={"split_batches": True},  # it is the batch of all processes
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
        logging_steps=max(
            1, int(recipe.epochs * len(run.rows)) // (recipe.batch_size * recipe.accumulate * LOSS_POINTS)
        ),
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        report_to=[],
    )
    if arguments.n_gpu > 1:  # without torchrun, DataParallel would split the batch, and its in-batch negatives
        arguments._n_gpu = 1  # noqa: SLF001
    return arguments


def _progress(state: TrainerState, run: Run) -> RunProgress:
    return RunProgress(state.global_step, state.max_steps, curves_from_log(state.log_history, list(run.dev)))


def write_model_folder(run: Run, model: SentenceTransformer, progress: RunProgress) -> None:
    """Write the model folder under a temporary name, rename it, and remove the working folder.

    Raises:
        CheckpointNotSaved: it could not be written; the working folder is kept.
    """
    finished = run.work / "finished"
    shutil.rmtree(finished, ignore_errors=True)
    try:
        merge_adapters(model, run.recipe.low_rank).save_pretrained(str(finished), create_model_card=False)
        if run.recipe.low_rank is not None and _trains_only_adapters(run):
            save_adapter(model, run.recipe.model, finished / "adapter", run.recipe.low_rank)
        about = {
            **run.about(),
            "steps": progress.steps,
            "semblance": version("semblance-server"),
            "torch": torch.__version__,
        }
        content = {**about, **progress.curves.as_json()}
        (finished / TRAINING).write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        draw_curves(progress.curves, f"{run.name} from {run.recipe.model}", run.recipe.measure, finished / PICTURE)
        (finished / "README.md").write_text(_card(run, progress), "utf-8")
        finished.rename(run.out)
    except (OSError, SafetensorError) as error:
        raise CheckpointNotSaved(
            f"{run.out} could not be written ({error}): the checkpoints in {run.work} are kept. Free some space and "
            "start the run again"
        ) from error
    shutil.rmtree(run.work, ignore_errors=True)


def _trains_only_adapters(run: Run) -> bool:
    """Whether a low-rank result differs from the base model only by its adapter."""
    recipe, start = run.recipe, run.checkpoint
    modules = start.modules
    unchanged = recipe.pooling in (None, *modules.poolings) and recipe.normalize in (None, modules.normalize)
    return not recipe.head and unchanged and start.adapter is None


def _further_data(run: Run) -> str:
    further = f"It was also trained on the links of {len(run.aligned):,} word-aligned pairs.\n" if run.aligned else ""
    if run.running_text is not None:
        texts = run.running_text
        further += f"""Token vectors of {len(texts):,} running texts (SHA-256 `{texts.sha256}`) were kept near those of
`{run.recipe.model}`; {texts.removed:,} texts were left out likewise.
"""
    return further


def _card(run: Run, progress: RunProgress) -> str:
    best = progress.curves.best
    step, mean = (progress.steps, None) if best is None else best
    by = f"the best by {run.recipe.measure} on {', '.join(run.dev)}"
    selected = "the last" if mean is None else f"{by}: {100 * mean:.2f} ({progress.curves.change})"
    settings = yaml.safe_dump(run.recipe.model_dump(mode="json"), sort_keys=False)
    by_set = ", ".join(f"`{name}` {count:,}" for name, count in run.rows.removed_by.items())
    by_set = f" (by set, some by several: {by_set})" if by_set else ""
    return f"""# {run.out.name}

`{run.recipe.model}`, trained by `semblance train {run.name}` for {progress.steps:,} steps on {len(run.rows):,} rows.
{run.rows.removed:,} rows were left out because an evaluation uses their texts{by_set}.
Step {step:,} was kept, {selected}.
{_further_data(run)}The terms of the rows (SHA-256 `{run.rows.sha256}`) and the licence of the model that it started
from apply.

![loss and dev figures by step]({PICTURE})

The settings, as a file for `--config`:

```yaml
{settings}```
"""
