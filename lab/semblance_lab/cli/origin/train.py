"""`semblance origin train`: train the networks of Origin."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.models.formats.transformer_folder import read_transformer
from semblance.service.cli.toolbox.console import print_counts, progress_bars
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.model_loading.device import torch_device
from semblance.service.model_loading.registry import source_of
from semblance.service.settings import read_settings
from semblance_lab.cli.origin.options import Config, Device, settings_of
from semblance_lab.origin.origin_folder import COHERENCE, GENERATION


def train(
    folder: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, metavar="FOLDER", help="Origin folder with a corpus.")
    ],
    config: Config = None,
    device: Device = None,
) -> None:
    """Train the coherence and the generative models.

    Trains on the corpus of an origin folder. Writes the folders coherence and generation, each when it is complete, and
    their accuracy and perplexity on held-out documents into origin.json. After an interruption the same command resumes
    from a checkpoint at most about a minute old; finished models are kept.

    \b
    Examples:
      semblance origin train runs/origin
      semblance origin train runs/origin --config origin.yaml --device cuda
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with exit_on(SemblanceError, OSError, stopped="stopped before the training began"):
        train_folder(folder, config, device, Console(stderr=True))


def train_folder(folder: Path, config: Path | None, device: str | None, console: Console) -> None:
    """Train the missing models with progress bars, and print their figures.

    Raises:
        SemblanceError: the folder, the settings, the device or the encoder to start from is invalid.
    """
    from semblance_lab.origin.networks.network_training import better_than_chance  # noqa: PLC0415 - imports torch, which takes seconds
    from semblance_lab.origin.networks.training import CHECKPOINTS, Training, train_networks  # noqa: PLC0415 - likewise

    settings = settings_of(folder, config)
    model = settings.generation.model
    training = Training(
        folder,
        settings,
        torch_device(read_settings(device=device)),
        None if model is None else read_transformer(source_of(model)),
    )
    with progress_bars(console) as bars:
        tasks: dict[str, Any] = {}

        def report(name: str, done: int, total: int, details: str) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done, description=f"{name} {details}")

        try:
            trained = train_networks(training, report)
        except KeyboardInterrupt:
            raise SystemExit(f"stopped; the same command {_beginning(folder / CHECKPOINTS)}") from None
    print_counts(
        "the networks of Origin", (_figures(name, trained[name]) for name in (COHERENCE, GENERATION)), "figure"
    )
    if not better_than_chance(trained[COHERENCE]["held_out_accuracy"]):
        console.print(
            "warning: on held-out documents the coherence model is no better than chance. Either the sentences of the "
            "corpus have no order, or the corpus is too small, or interaction is none",
            style="yellow",
        )


def _beginning(checkpoints: Path) -> str:
    """Where the next run begins: a finished network leaves no checkpoint."""
    last = max(checkpoints.glob("*.pt"), key=lambda file: file.stat().st_mtime, default=None)
    return "has no checkpoint yet and begins this network again" if last is None else f"resumes from {last}"


def _figures(name: str, trained: Mapping[str, Any]) -> dict[str, int | str]:
    """Size, accuracy and perplexity of a network, by label."""
    counts = {f"{name}: {what.replace('_', ' ')}": trained[what] for what in ("training_tokens", "parameters", "steps")}
    accuracies = {
        f"{name}: held-out accuracy, {kind}, %": f"{100 * each['estimate']:.1f} "
        f"[{100 * each['low']:.1f}, {100 * each['high']:.1f}]"
        for kind, each in trained.get("held_out_accuracy", {}).items()
    }
    perplexities = {
        f"{name}: held-out perplexity, {part}": f"{figure:,.1f}"
        for part, figure in trained.get("held_out_perplexity", {}).items()
    }
    return counts | accuracies | perplexities
