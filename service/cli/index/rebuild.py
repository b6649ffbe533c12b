"""`semblance index rebuild`: indexes made anew from the stored vectors."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.composition.embedded_store import embedded_store
from semblance.service.replication.local_node import LocalCollections
from semblance.service.settings import read_settings


def rebuild(
    collection: Annotated[
        list[str] | None, typer.Option(help="Collection to rebuild; may be given several times.", show_default="all")
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option(help="Folder of the documents; no service may run on it.", show_default="~/.semblance"),
    ] = None,
) -> None:
    """Build the indexes of collections anew from the stored vectors; no text is encoded again.

    A running service does so by itself when an index no longer suits its collection.

    \b
    Examples:
      semblance index rebuild
      semblance index rebuild --collection help --home /var/lib/semblance
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    settings = read_settings(home=home)
    console = Console()
    try:
        with embedded_store(settings) as (store, indexes):
            local = LocalCollections(store, indexes)
            for name in collection or [each.name for each in store.collections()]:
                with console.status(f"rebuilding {name}"):
                    asyncio.run(local.rebuild(name))
                console.print(f"{name}: {len(asyncio.run(local.follow(name))):,} documents", markup=False)
            local.close()
    except SemblanceError as error:
        raise SystemExit(str(error)) from error
