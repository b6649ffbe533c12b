"""`semblance restore`: everything that is stored, as a backup holds it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from semblance.service.cli.exits import said
from semblance.service.cli.progress import bar
from semblance.service.composition.truth_store import truth_to_replace
from semblance.service.documents import backup_folder
from semblance.service.documents.backup_folder import Backup
from semblance.service.ports.documents import DocumentStore
from semblance.service.settings import read_settings
from semblance.service.usecases.backup import restore as put_back


def restore(
    folder: Annotated[Path, typer.Argument(help="What `semblance backup` made.")],
    home: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the documents, if none are in PostgreSQL; no service may run on it.",
            show_default="~/.semblance",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Replace everything that is stored by what a backup holds.

    The documents are those of SEMBLANCE_DATABASE_URL, under running replicas, which take over what was restored; or
    without one those in the folder of --home, on which no service may run. Collections that the backup lacks are gone
    afterwards. All of it is replaced, or nothing. The backup may be of the other kind of store, which moves a
    deployment.

    \b
    Examples:
      semblance restore /backups/monday
      semblance restore /backups/monday --yes --home /var/lib/semblance
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    settings = read_settings(home=home)
    console = Console(stderr=True)
    with said("nothing was restored"):
        with console.status("checking the backup"):
            found = backup_folder.check(folder)
        with truth_to_replace(settings) as store:
            console.print(_replaced(store, found))
            if store.collections() and not yes:
                typer.confirm("Replace everything that is stored now?", abort=True, err=True)
            total = sum(each.documents for each in found.collections)
            with (
                backup_folder.opened(folder, found) as source,
                bar(console, "restoring documents", total) as advance,
            ):
                put_back(source, store, advance)
    console.print(f"restored {total:,} documents in {len(found.collections):,} collections", markup=False)


def _replaced(store: DocumentStore, backup: Backup) -> Table:
    """What is stored beside what would be."""
    now = {each.name: (str(each.version), size.documents) for each, size in store.sizes()}
    then = {each.name: (each.version, each.documents) for each in backup.collections}
    table = Table("collection", "stored now", "documents", "in the backup", "documents", title=f"made {backup.time}")
    for name in sorted(now.keys() | then.keys()):
        cells = [
            cell
            for version, count in (now.get(name, ("none", 0)), then.get(name, ("none", 0)))
            for cell in (version, f"{count:,}")
        ]
        table.add_row(name, *cells)
    return table
