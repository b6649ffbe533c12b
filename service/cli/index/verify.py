"""`semblance index verify`: check stored data for damage."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table

from semblance.models.errors import BadCheckpoint, SemblanceError
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import StoppedHome
from semblance.service.composition.stores import open_embedded_store
from semblance.service.model_loading.registry import read_served
from semblance.service.settings import Settings, read_settings
from semblance.service.usecases.maintenance.verify import verify as verify_collections

SHOWN = 20  # faults that are listed


def verify(
    home: StoppedHome = None,
) -> None:
    """Check the database, its vectors and its indexes.

    Every document must have its vector, and the indexes must hold exactly these. Faults are listed, with exit status 1;
    no document is changed. `semblance index rebuild` repairs indexes.

    \b
    Example:
      semblance index verify --home /var/lib/semblance
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    settings = read_settings(home=home)
    console = Console()
    table = Table("collection", "documents", "version", "snapshot", "faults")
    faults: list[str] = []
    with exit_on(SemblanceError), open_embedded_store(settings) as (store, indexes), console.status("checking"):
        faults += store.integrity_errors()
        damaged = bool(faults)
        # reading a damaged database would fail halfway
        for each in verify_collections(store, indexes, _tables_of_words(settings)) if not faults else ():
            table.add_row(each.name, f"{each.documents:,}", each.version, each.snapshot, str(len(each.faults)))
            faults += [f"{each.name}: {fault}" for fault in each.faults]
    console.print(table)
    for fault in faults[:SHOWN]:
        console.print(fault, markup=False)
    if len(faults) > SHOWN:
        console.print(f"... and {len(faults) - SHOWN:,} more")
    if damaged:
        console.print(f"Move {settings.database_file}* to another folder, then", soft_wrap=True)
        console.print("restore a backup: semblance restore FOLDER (docs/recovery.md)")
    if faults:
        raise typer.Exit(1)
    console.print("No faults found.")


def _tables_of_words(settings: Settings) -> list[str]:
    """Spaces of the served tables of words; none if a served model cannot be read."""
    try:
        return [each.space for each in read_served(settings.models).values() if not each.needs_device]
    except BadCheckpoint:
        return []
