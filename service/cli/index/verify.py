"""`semblance index verify`: whether all that is stored is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from semblance.models.errors import SemblanceError
from semblance.service.composition.embedded_store import embedded_store
from semblance.service.settings import read_settings
from semblance.service.usecases.verify import verify as verified

SHOWN = 20  # faults of a collection that are shown one by one


def verify(
    home: Annotated[
        Path | None,
        typer.Option(help="Folder of the documents; no service may run on it.", show_default="~/.semblance"),
    ] = None,
) -> None:
    """Check that the database is sound, that every document has its vector, and that the indexes hold just those.

    What is wrong is listed, and the exit status is 1 then; no document is changed. `semblance index rebuild` mends
    indexes.

    \b
    Example:
      semblance index verify --home /var/lib/semblance
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    settings = read_settings(home=home)
    console = Console()
    table = Table("collection", "documents", "version", "snapshot", "faults")
    faults: list[str] = []
    try:
        with embedded_store(settings) as (store, indexes), console.status("checking"):
            faults += store.damage()
            for each in verified(store, indexes) if not faults else ():  # a damaged database fails halfway
                table.add_row(each.name, f"{each.documents:,}", each.version, each.snapshot, str(len(each.faults)))
                faults += [f"{each.name}: {fault}" for fault in each.faults]
    except SemblanceError as error:
        raise SystemExit(str(error)) from error
    console.print(table)
    for fault in faults[:SHOWN]:
        console.print(fault, markup=False)
    if len(faults) > SHOWN:
        console.print(f"... and {len(faults) - SHOWN:,} more")
    if faults:
        raise typer.Exit(1)
    console.print("Everything is whole.")
