"""What `semblance train` does once its options are read."""

from __future__ import annotations

import warnings
from pathlib import Path

from accelerate import PartialState
from rich.console import Console

from semblance.models import catalogue
from semblance.models.adaptation.adapted_files import read_model
from semblance.models.catalogue import explains
from semblance.models.evaluation.contamination import normal_form
from semblance.models.evaluation.tasks import ChunkAlignment
from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.training.dev_sets import MEAN
from semblance.models.training.errors import BadRecipe
from semblance.models.training.recipe import Recipe
from semblance.models.training.run import Progress, Run
from semblance.models.training.train import train
from semblance.models.training.trainer import last_checkpoint
from semblance.models.training.training_rows import read_rows
from semblance.service.cli.console import say
from semblance.service.cli.evaluate.held_out_texts import held_out_texts
from semblance.service.cli.evaluate.sets import read_task
from semblance.service.cli.progress import counting
from semblance.service.cli.train.asked import RECIPES, Asked
from semblance.service.cli.yaml_file import read_yaml
from semblance.service.model_loading.device import device_for
from semblance.service.model_loading.registry import source_of
from semblance.service.settings import read_settings


def run(asked: Asked, console: Console) -> None:
    """Train as asked, with a bar, and say what came of it.

    Raises:
        SemblanceError: the options, the files or the run will not do.
    """
    # of what the libraries below call of each other, a user can change nothing
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers|accelerate|peft")
    planned = read_run(asked)
    processes = PartialState(cpu=planned.device == "cpu")
    console.quiet = not processes.is_main_process  # under torchrun all processes come here
    rows = planned.rows
    left = f"{rows.removed:,} left out as evaluated, {rows.unlabelled:,} as unlabelled"
    say(console, f"{asked.rows}: {len(rows):,} rows ({left})")
    if start := last_checkpoint(planned.work):
        say(console, f"going on from {start}")
    done = _watched(planned, console)
    say(console, f"{asked.out}: {done.steps:,} steps{_chosen(done)}")


def read_run(asked: Asked) -> Run:
    """Everything that the options name, read and checked.

    Raises:
        SemblanceError: any of it will not do.
    """
    recipe = read_recipe(asked.recipe, asked.config)
    source = source_of(recipe.model)
    dev = {name: read_task(name, asked.data) for name in recipe.dev}
    if not explains(recipe.measure) and any(isinstance(task, ChunkAlignment) for task in dev.values()):
        raise BadRecipe(f"{recipe.measure} does not explain its scores, which the dev sets of chunks ask for")
    held_out = set(map(normal_form, held_out_texts(asked.exclude, asked.data)))
    return Run(
        name=asked.recipe,
        recipe=recipe,
        checkpoint=read_transformer(source),
        rows=read_rows(asked.rows, recipe.text_columns(), recipe.label, recipe.number, held_out),
        dev=dev,
        out=asked.out.resolve(),
        device=device_for([read_model(source)], read_settings()),
    )


def read_recipe(name: str, config: Path | None) -> Recipe:
    """The recipe of that name with the settings of a file of YAML.

    Raises:
        UnknownName: there is no such recipe.
        BadRecipe: the file cannot be read, or a setting is unknown or has no such value.
    """
    kind: type[Recipe] = catalogue.find(RECIPES, name)
    return read_yaml(config, kind, BadRecipe, f"for the recipe {name}", "docs/training.md")


def _watched(run: Run, console: Console) -> Progress:
    """Train while a bar tells the step, the loss and the last dev figure."""
    with counting(console) as bar:
        task = bar.add_task(run.name, total=None)

        def report(progress: Progress) -> None:
            curves = progress.curves
            loss = f" loss {curves.loss[-1][1]:.4f}" if curves.loss else ""
            dev = f" dev {100 * curves.dev[-1][1][MEAN]:.2f}" if curves.dev else ""
            bar.update(task, completed=progress.step, total=progress.steps, description=f"{run.name}{loss}{dev}")

        return train(run, report)


def _chosen(done: Progress) -> str:
    if done.curves.best is None:
        return ""
    step, mean = done.curves.best
    start = done.curves.dev[0][1][MEAN]
    worse = ", no better than before training" if mean <= start else ""
    return f"; step {step:,} is kept, with {100 * mean:.2f} on the dev sets (from {100 * start:.2f}{worse})"
