"""`semblance origin train`: the networks of Origin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.origin.options import Device
from semblance.service.cli.train_extra import needing_train


def train(
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, metavar="FOLDER", help="The origin folder, with a corpus.")
    ],
    config: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="YAML file with settings, a section a step.",
            show_default="the settings of the corpus",
        ),
    ] = None,
    device: Device = None,
) -> None:
    """Train the coherence model, then the generative models, on the corpus of an origin folder.

    Writes the folders coherence and generation, each once it is whole, and what came of them into origin.json: accuracy
    and perplexity on the held-out documents. The same command goes on where it was cut off, from a checkpoint of about
    a minute before, and leaves what is done.

    \b
    Examples:
      semblance origin train runs/origin
      semblance origin train runs/origin --config origin.yaml --device cuda
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with needing_train("origin train"):
        from semblance.service.cli.origin.network_training import train_folder  # noqa: PLC0415 - with it comes torch

    try:
        train_folder(folder, config, device, Console(stderr=True))
    except (SemblanceError, OSError) as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        raise SystemExit("stopped: the same command goes on from the last checkpoint") from None
