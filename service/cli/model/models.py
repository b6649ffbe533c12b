"""`semblance models`: the models that would be served, and those that were pulled."""

from __future__ import annotations

import os
from pathlib import Path

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from semblance.models.errors import BadCheckpoint
from semblance.service.cli.toolbox.console import TextTable, print_line, print_table
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import Served
from semblance.service.model_loading.builtin import PACKAGE
from semblance.service.model_loading.pulled import pulled_models
from semblance.service.model_loading.refused_models import RefusedModels
from semblance.service.model_loading.registry import read_rerankers, read_served
from semblance.service.settings import read_settings


def _short(folder: Path) -> str:
    """A folder of the installed package without those above it.

    >>> _short(Path("/opt/venv/lib/semblance_assets/model")), _short(Path("/models/mine"))
    ('semblance_assets/model', '/models/mine')
    """
    _, inside, below = str(folder).rpartition(f"{os.sep}{PACKAGE}{os.sep}")
    return f"{PACKAGE}{os.sep}{below}" if inside else below


def models(model: Served = None) -> None:
    """Check and list the models that would be served.

    The files of each model are checked; word vectors themselves are read only when the model is loaded. A second table
    lists the models that `semblance pull` fetched. Models that cannot be served are named with the reason, and end the
    command with status 1.

    \b
    Example:
      semblance models --model minilm-graded --model mine=/models/mine
      semblance models --model 'cls=minilm?pooling=cls' --model 'tuned=minilm?adapter=runs/x/adapter'
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with exit_on(BadCheckpoint):
        settings = read_settings(models=",".join(model) if model else None)
        refused = RefusedModels(fatal=settings.require_models)
        served = read_served(settings.models, refused)
        rerankers = read_rerankers(settings.rerank_models, served, refused)
    table = Table("name", "pooling", "max tokens", "space", title="Served models (the first is the default)")
    table.add_column("files", overflow="fold")
    for name, files in served.items():
        table.add_row(
            name,
            files.pooling,
            str(files.max_tokens or "as the network"),
            files.space[:12],
            _short(files.location),
        )
    for name, reranker in rerankers.items():
        network = reranker.network
        limit = str(network.max_tokens or "as the network")
        table.add_row(name, "none (rerank model)", limit, network.space[:12], str(network.folder))
    Console().print(table)
    for name, reason in refused.items():
        print_line(Console(stderr=True), f"{name} cannot be served: {reason}")
    if found := pulled_models():
        rows = tuple((str(each.name), each.commit, decimal(each.size), str(each.folder)) for each in found)
        print_table(TextTable("Models from a hub (semblance pull)", ("name", "commit", "size", "folder"), rows))
    if refused:
        raise typer.Exit(1)
