"""`semblance index rebuild`: rebuild indexes from stored vectors."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import StoppedHome
from semblance.service.composition.stores import open_embedded_store
from semblance.service.replication.local_node import LocalNode
from semblance.service.settings import read_settings


def rebuild(
    collection: Annotated[
        list[str] | None, typer.Option(help="Collection to rebuild; repeatable.", show_default="all")
    ] = None,
    home: StoppedHome = None,
) -> None:
    """Rebuild indexes from the stored vectors.

    No text is encoded again. A running service rebuilds an index automatically when it no longer fits its collection.

    \b
    Examples:
      semblance index rebuild
      semblance index rebuild --collection help --home /var/lib/semblance
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    settings = read_settings(home=home)
    console = Console()
    with exit_on(SemblanceError), open_embedded_store(settings) as (store, indexes):
        local = LocalNode(store, indexes)
        for name in collection or [each.name for each in store.collections()]:
            with console.status(f"rebuilding {name}"):
                asyncio.run(local.rebuild(name))
            console.print(f"{name}: {len(asyncio.run(local.refresh_index(name))):,} documents", markup=False)
        local.close()
