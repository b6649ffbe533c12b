"""`semblance train`: an encoder, by the recipe of a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from models import catalogue
from models.errors import SemblanceError
from service.cli.train.asked import RECIPES, Asked


def train(
    recipe: Annotated[str, typer.Argument(help=f"What to train by: {', '.join(catalogue.names(RECIPES))}.")],
    rows: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help="Rows to train on: .tsv or .csv with a header.")
    ],
    out: Annotated[Path, typer.Option(help="Folder of the finished model; must not exist.")],
    config: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="YAML file with settings of the recipe.")
    ] = None,
    exclude: Annotated[
        str,
        typer.Option(
            help="Sets whose texts no row may hold, comma-separated; `evaluation` is every set in --data that is not "
            "meant for training. Case, punctuation and spaces make no difference."
        ),
    ] = "",
    data: Annotated[
        Path | None, typer.Option(envvar="SEMBLANCE_DATA", help="Folder of benchmark data, for dev sets and --exclude.")
    ] = None,
) -> None:
    """Train an encoder, and save it as a folder for `semblance serve --model` and for sentence-transformers.

    Settings that the file does not name are those of the paper; docs/training.md lists them. Checkpoints lie in
    OUT.training until the model is finished: the same command goes on from the last one after a crash or Ctrl-C. For
    several GPUs: torchrun --nproc-per-node 4 --no-python semblance train ...

    \b
    Examples:
      semblance train clrcmd --rows triplets.tsv --config clrcmd.yaml --out runs/clrcmd
      semblance train sbert_regression --rows "$SEMBLANCE_DATA/stsb/stsb.train.tsv" --out runs/stsb
      semblance train clrcmd --rows triplets.tsv --exclude evaluation --out runs/clean
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    try:
        from service.cli.train.run import run  # noqa: PLC0415 - it loads all there is to train with
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error.name} is not installed: training needs the extra `train` of semblance") from error

    try:
        run(Asked(recipe, config, rows, out, exclude, data), Console(stderr=True))
    except SemblanceError as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        raise SystemExit("stopped: the same command goes on from the last checkpoint") from None
