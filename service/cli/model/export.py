"""`semblance export`: write a model as an ordinary folder."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.toolbox.console import print_line
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import OutFolder
from semblance.service.cli.toolbox.outputs import atomic_folder
from semblance.service.model_loading.registry import source_of


def export(
    out: OutFolder,
    model: Annotated[str, typer.Option(help="A built-in name or a folder; as an option it may have ?adapter=FOLDER.")],
) -> None:
    """Write a model as a folder that sentence-transformers reads.

    Its weights are in float32, with the adapter merged, if it has one. The network must be of BERT's kind
    (docs/models.md).

    \b
    Example:
      semblance export --model multilingual --out e5-small
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    from semblance.service.model_loading.float32_folder import write_float32_folder  # noqa: PLC0415 - not needed for help

    with exit_on(SemblanceError, OSError), atomic_folder(out) as (made, _):
        write_float32_folder(source_of(model), made)
    written = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    print_line(Console(stderr=True), f"{out}: {written:,} bytes")
