"""What `semblance origin train` does once its options are read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.origin.networks.coherence_training import knows_order
from semblance.models.origin.networks.training import Training, train_networks
from semblance.models.origin.origin_folder import COHERENCE, GENERATION
from semblance.service.cli.origin.settings_file import settings_of
from semblance.service.cli.progress import counting
from semblance.service.cli.tables import show_counts
from semblance.service.model_loading.device import torch_device
from semblance.service.model_loading.registry import source_of
from semblance.service.settings import read_settings


def train_folder(folder: Path, config: Path | None, device: str | None, console: Console) -> None:
    """Train what is not there yet, with bars, and print what came of it.

    Raises:
        SemblanceError: the folder, the settings, the device or the encoder to start from will not do.
    """
    settings = settings_of(folder, config)
    model = settings.generation.model
    training = Training(
        folder,
        settings,
        torch_device(read_settings(device=device)),
        None if model is None else read_transformer(source_of(model)),
    )
    with counting(console) as bars:
        tasks: dict[str, Any] = {}

        def report(what: str, done: int, total: int, more: str) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, description=f"{what} {more}")

        made = train_networks(training, report)
    show_counts("the networks of Origin", (_figures(name, made[name]) for name in (COHERENCE, GENERATION)), "figure")
    if not knows_order(made[COHERENCE]["held_out_accuracy"]):
        console.print(
            "warning: on held-out documents the coherence model does no better than chance. Either the corpus has no "
            "order, or there is too little of it, or interaction is none",
            style="yellow",
        )


def _figures(name: str, made: Mapping[str, Any]) -> dict[str, int | str]:
    """What came of a network."""
    counts = {f"{name}: {what.replace('_', ' ')}": made[what] for what in ("training_tokens", "parameters", "steps")}
    accuracies = {
        f"{name}: held-out accuracy, {kind}, %": f"{100 * each['estimate']:.1f} "
        f"[{100 * each['low']:.1f}, {100 * each['high']:.1f}]"
        for kind, each in made.get("held_out_accuracy", {}).items()
    }
    perplexities = {
        f"{name}: held-out perplexity, {part}": f"{figure:,.1f}"
        for part, figure in made.get("held_out_perplexity", {}).items()
    }
    return counts | accuracies | perplexities
