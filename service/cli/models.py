"""`semblance models`: what this machine would serve."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from semblance.models.errors import BadCheckpoint
from semblance.service.model_loading.registry import read_served
from semblance.service.settings import read_settings

Served = Annotated[
    list[str] | None,
    typer.Option(
        help="Model to serve: minilm-clrcmd or minilm, which are built in, or name=source?option=value&..., where the "
        "source is a built-in name, a folder or a file. May be given several times; the first is the default.",
        show_default="minilm-clrcmd, minilm",
    ),
]


def models(model: Served = None) -> None:
    """List the models that `semblance serve` would serve, after checking their files.

    Word vectors are only looked up here: the numbers in their files are read when a model is loaded.

    \b
    Example:
      semblance models --model minilm-clrcmd --model mine=/models/mine
      semblance models --model 'cls=minilm?pooling=cls' --model 'tuned=minilm?adapter=runs/x/adapter'
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    try:
        served = read_served(read_settings(models=",".join(model) if model else None).models)
    except BadCheckpoint as error:
        raise SystemExit(str(error)) from error
    table = Table("name", "pooling", "max tokens", "space", title="Served models (the first is the default)")
    table.add_column("files", overflow="fold")
    for name, files in served.items():
        table.add_row(
            name,
            files.pooling,
            str(files.max_tokens or "as the network"),
            files.space[:12],
            str(files.location),
        )
    Console().print(table)
