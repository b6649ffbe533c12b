"""`semblance train`: an encoder, by the recipe of a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from semblance.models import catalogue
from semblance.models.errors import SemblanceError
from semblance.service.cli.comma_lists import entries
from semblance.service.cli.train.asked import RECIPES, Asked
from semblance.service.cli.train_extra import needing_train


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
        list[str],
        typer.Option(
            help="Sets whose texts no row may hold, comma-separated; `evaluation` is every set in --data that is not "
            "meant for training. Case, punctuation and spaces make no difference."
        ),
    ] = [],  # noqa: B006 - Typer copies it
    data: Annotated[
        Path | None, typer.Option(envvar="SEMBLANCE_DATA", help="Folder of benchmark data, for dev sets and --exclude.")
    ] = None,
) -> None:
    """Train an encoder, and save it as a folder for `semblance serve --model` and for sentence-transformers.

    Settings that the file does not name keep their defaults, the paper's where it says one; docs/training.md lists
    them, and the columns of each recipe's rows. clrcmd and sbert_regression choose among checkpoints by stsb_dev, which
    is read from --data. Checkpoints lie in OUT.training until the model is finished: the same command goes on from the
    last one after a crash or Ctrl-C. For several GPUs: torchrun --nproc-per-node 4 --no-python semblance train ...

    \b
    Examples:
      semblance train clrcmd --rows triplets.tsv --config clrcmd.yaml --data DATA --out runs/clrcmd
      semblance train sbert_regression --rows "$SEMBLANCE_DATA/stsb/stsb.train.tsv" --out runs/stsb
      semblance train clrcmd --rows triplets.tsv --exclude evaluation --data DATA --out runs/clean
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with needing_train("train"):
        from semblance.service.cli.train.run import run  # noqa: PLC0415 - it loads all there is to train with

    try:
        run(Asked(recipe, config, rows, out, entries(exclude), data), Console(stderr=True))
    except SemblanceError as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        raise SystemExit("stopped: the same command goes on from the last checkpoint") from None
