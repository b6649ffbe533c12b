"""`semblance models`: what this machine would serve."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from models.errors import BadCheckpoint
from service.served_models import read_checkpoints
from service.settings import read_settings


def models() -> None:
    """List the models that SEMBLANCE_MODELS names, after checking their files.

    \b
    Example:
      SEMBLANCE_MODELS=minilm,mine=/models/mine semblance models
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    try:
        checkpoints = read_checkpoints(read_settings().models)
    except BadCheckpoint as error:
        raise SystemExit(str(error)) from error
    table = Table("name", "pooling", "max tokens", "space", "folder", title="Served models (the first is the default)")
    for name, checkpoint in checkpoints.items():
        table.add_row(
            name,
            checkpoint.pooling,
            str(checkpoint.max_tokens or "as the network"),
            checkpoint.space[:12],
            str(checkpoint.folder),
        )
    Console().print(table)
