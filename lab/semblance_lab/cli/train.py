"""`semblance train`: train an encoder by the recipe of a paper."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Task as Bar

from semblance.models import catalogue
from semblance.models.adaptation.adapted_model import read_model
from semblance.models.catalogue import explains
from semblance.models.errors import SemblanceError
from semblance.models.formats.transformer_folder import read_transformer
from semblance.service.cli.toolbox.console import print_line, progress_bars
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import Data, Exclude, split_lists
from semblance.service.model_loading.device import device_for
from semblance.service.model_loading.registry import source_of
from semblance.service.settings import read_settings
from semblance_lab.cli.evaluate.data_sets import excluded_texts, read_task
from semblance_lab.cli.yaml_settings import read_yaml_settings
from semblance_lab.evaluation.contamination import held_out_forms, normal_form
from semblance_lab.evaluation.metrics import main_metric
from semblance_lab.evaluation.tasks import ChunkAlignment, Task, WordAlignedPair, WordAlignment
from semblance_lab.training.errors import BadRecipe
from semblance_lab.training.training_data import TrainingRows, read_rows, read_running_text

if TYPE_CHECKING:
    from semblance_lab.training.recipe import Recipe
    from semblance_lab.training.run import Curves, Run, RunProgress

RECIPES = "semblance_lab.training.recipes"
LINES = 50  # at most, of progress in a file


def train(  # noqa: PLR0913 - one parameter an option
    recipe: Annotated[str, typer.Argument(help=f"Recipe: {', '.join(catalogue.names(RECIPES))}.")],
    rows: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="Training rows: .tsv or .csv with a header.")],
    *,
    out: Annotated[Path, typer.Option(help="Folder of the trained model; must not exist.")],
    config: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="YAML file with settings of the recipe.")
    ] = None,
    keep: Annotated[
        list[Path],
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Running text whose token vectors must not move far, for the setting keep: .jsonl with the "
            "field text, or a text a line. Repeat it for several files.",
        ),
    ] = [],  # noqa: B006 - Typer copies it
    exclude: Exclude = [],  # noqa: B006 - likewise
    data: Data = None,
) -> None:
    """Train an encoder by the recipe of a paper.

    The result is a folder for `semblance serve --model` and for sentence-transformers. Settings default to the values
    of the paper where it gives one; docs/training.md lists them, and the columns of each recipe. clrcmd and
    sbert_regression select the best checkpoint by stsb_dev, read from --data. Checkpoints are kept in OUT.training
    until the model is finished; after a crash or Ctrl-C the same command resumes from the last one. For several GPUs:
    torchrun --nproc-per-node 4 --no-python semblance train ...

    \b
    Examples:
      semblance train clrcmd --rows triplets.tsv --config clrcmd.yaml --data DATA --out runs/clrcmd
      semblance train sbert_regression --rows "$SEMBLANCE_DATA/stsb/stsb.train.tsv" --out runs/stsb
      semblance train clrcmd --rows triplets.tsv --exclude evaluation --data DATA --out runs/clean
      semblance train clrcmd --rows triplets.tsv --keep books.jsonl --config kept.yaml --out runs/kept
      semblance train distillation --rows translations.tsv --config taught.yaml --out runs/taught
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with exit_on(SemblanceError, stopped="stopped before the training began"):
        options = TrainingOptions(recipe, config, rows, keep, out, split_lists(exclude), data)
        run_training(options, Console(stderr=True))


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """Options of `semblance train`."""

    recipe: str
    config: Path | None
    rows: Path
    keep: Sequence[Path]
    out: Path
    exclude: Sequence[str]
    data: Path | None


def run_training(options: TrainingOptions, console: Console) -> None:
    """Train with a progress bar, and print the result.

    Raises:
        SemblanceError: an option, a file or the state of an earlier run is invalid.
    """
    # deprecated calls between these libraries are none of the user's business
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers|accelerate|peft")
    run = plan_run(options)

    from semblance_lab.training.processes import join_processes  # noqa: PLC0415 - imports torch, which takes seconds
    from semblance_lab.training.trainer import last_checkpoint  # noqa: PLC0415 - likewise

    processes = join_processes(run.device)
    console.quiet = not processes.is_main_process  # under torchrun every process gets here
    rows = run.rows
    removed = f"{rows.removed:,} left out by --exclude, {rows.unlabeled:,} without a label"
    print_line(console, f"{options.rows}: {len(rows):,} rows ({removed})")
    if rows.removed:
        touched = ", ".join(f"{name} {count:,}" for name, count in rows.removed_by.items())
        print_line(console, f"left out by --exclude, some rows by several sets: {touched}")
    if start := last_checkpoint(run.work):
        print_line(console, f"resuming from {start}")
    try:
        progress = _train_with_bar(run, console)
    except KeyboardInterrupt:
        last = last_checkpoint(run.work)
        again = "has no checkpoint yet and begins again" if last is None else f"resumes from {last}"
        raise SystemExit(f"stopped; the same command {again}") from None
    print_line(console, f"{options.out}: {progress.steps:,} steps{_best_checkpoint(progress)}")


def plan_run(options: TrainingOptions) -> Run:
    """Read and check everything that the options name, the texts before torch is imported.

    Raises:
        SemblanceError: any of it is invalid.
    """
    recipe = read_recipe(options.recipe, options.config)
    source = source_of(recipe.model)
    dev = {name: _dev_task(name, recipe, options.data) for name in recipe.dev}
    if not explains(recipe.measure) and any(isinstance(task, ChunkAlignment) for task in dev.values()):
        raise BadRecipe(f"{recipe.measure} does not explain its scores, which dev sets of chunks require")
    held_out = held_out_forms(excluded_texts(options.exclude, options.data))
    rows = _rows(options.rows, recipe, held_out)
    running_text = read_running_text(options.keep, held_out) if options.keep else None
    aligned = [] if recipe.align is None else _aligned_pairs(recipe.align.sets, options.data, held_out)
    checkpoint = read_transformer(source)

    from semblance_lab.training.run import Run  # noqa: PLC0415 - imports torch, which takes seconds

    return Run(
        name=options.recipe,
        recipe=recipe,
        checkpoint=checkpoint,
        rows=rows,
        dev=dev,
        out=options.out.resolve(),
        device=device_for([read_model(source)], read_settings()),
        running_text=running_text,
        aligned=aligned,
    )


def _dev_task(name: str, recipe: Recipe, data: Path | None) -> Task:
    """A dev set; a table of the user has the names of columns that the table of rows has."""
    if data is None and name in type(recipe).model_fields["dev"].default:
        raise BadRecipe(f"{name} needs a folder of data: pass --data, or name pairs of yours, as dev: [pairs:FILE]")
    return read_task(name, data, recipe.own_names(), "its columns have the names that fields and label give to --rows")


def _rows(file: Path, recipe: Recipe, exclude: Mapping[str, Collection[str]]) -> TrainingRows:
    columns, in_twos = recipe.text_columns(), recipe.batches == "in_twos"
    return read_rows(file, columns, recipe.label, recipe.label_value, exclude, in_twos=in_twos)


def _aligned_pairs(sets: Sequence[str], data: Path | None, exclude: Mapping[str, object]) -> list[WordAlignedPair]:
    """The pairs of sets of aligned words, without those with a sentence that an evaluation uses."""
    pairs = []
    for name in sets:
        task = read_task(name, data)
        if not isinstance(task, WordAlignment):
            raise BadRecipe(f"align: {name} is no set of aligned words")
        pairs += [pair for pair in task.pairs if not _sentences(pair) & exclude.keys()]
    if not pairs:
        raise BadRecipe(f"align: --exclude leaves no pair of {', '.join(sets)}")
    return pairs


def _sentences(pair: WordAlignedPair) -> set[str]:
    return {normal_form(" ".join(words)) for words in (pair.left, pair.right)}


def read_recipe(name: str, config: Path | None) -> Recipe:
    """The recipe of that name with the settings of a YAML file.

    Raises:
        UnknownName: there is no such recipe.
        BadRecipe: the file cannot be read, or a setting is unknown or invalid.
    """
    kind: type[Recipe] = catalogue.find(RECIPES, name)
    return read_yaml_settings(config, kind, BadRecipe, f"for the recipe {name}", "docs/training.md")


def _train_with_bar(run: Run, console: Console) -> RunProgress:
    """Train, and show steps and losses, by a bar or in a file by lines, and new dev figures."""
    from semblance_lab.training.train import train as train_model  # noqa: PLC0415 - imports torch, which takes seconds

    with progress_bars(console) as bar:
        task = bar.add_task(run.name, total=None)
        printed, checked = 0, -1

        def report(progress: RunProgress) -> None:
            nonlocal printed, checked
            step, curves = progress.step, progress.curves
            loss = f" loss {curves.loss[-1][1]:.4f}" if curves.loss else ""
            bar.update(task, completed=step, total=progress.steps, description=f"{run.name}{loss}")
            part = LINES * step // progress.steps
            if part > printed and not console.is_terminal:
                printed = part
                print_line(console, f"step {step:,} of {progress.steps:,}{loss}{_time_left(bar.tasks[task])}")
            if curves.dev and curves.dev[-1][0] == step != checked:
                checked = step
                print_line(console, f"{f'step {step:,}' if step else 'before training'}: {_dev_figure(run, curves)}")

        return train_model(run, report)


def _time_left(bar: Bar) -> str:
    return f", {timedelta(seconds=bar.time_remaining)} left" if bar.time_remaining else ""


def _dev_figure(run: Run, curves: Curves) -> str:
    names = ", ".join(dict.fromkeys(main_metric(each) for each in run.dev.values()))
    mean = "mean of " if len(run.dev) > 1 else ""
    return f"{mean}{names} by {run.recipe.measure} {100 * curves.means[-1]:.2f} on {', '.join(run.dev)}"


def _best_checkpoint(progress: RunProgress) -> str:
    if progress.curves.best is None:
        return ""
    step, mean = progress.curves.best
    return f"; kept step {step:,}, with {100 * mean:.2f} on the dev sets ({progress.curves.change})"
