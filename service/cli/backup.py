"""`semblance backup`: all collections as a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from semblance.service.cli.toolbox.console import counter_bar, print_counts, print_line
from semblance.service.cli.toolbox.exits import exit_on_failure
from semblance.service.cli.toolbox.outputs import atomic_folder
from semblance.service.cli.toolbox.place import place
from semblance.service.composition.stores import primary_to_read
from semblance.service.documents import backup_folder
from semblance.service.settings import read_settings
from semblance.service.usecases.maintenance.backup import back_up


def backup(
    folder: Annotated[Path, typer.Argument(help="Folder to create; it may exist if it is empty and no mount point.")],
    home: Annotated[
        Path | None,
        typer.Option(help="Folder of the documents, without PostgreSQL.", show_default="~/.semblance"),
    ] = None,
) -> None:
    """Copy all collections into a folder.

    The service may keep running. The documents are read from SEMBLANCE_DATABASE_URL, or without it from --home. Each
    collection is copied as of one point in time, with its vectors, so that nothing needs to be encoded again. The
    folder appears when the backup is complete; only its owner can read it, and `semblance restore` verifies its
    checksum.

    \b
    Examples:
      semblance backup /backups/monday
      semblance backup /backups/monday --home /var/lib/semblance
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    settings = read_settings(home=home)
    console = Console(stderr=True)
    with exit_on_failure("no backup was made"):
        with primary_to_read(settings) as store, atomic_folder(folder, private=True) as (result, _):
            total = sum(size.documents for _, size in store.sizes())
            with backup_folder.create(result) as copy, counter_bar(console, "copying documents", total) as advance:
                back_up(store, copy, advance)
        manifest = backup_folder.verify(folder)
    counts = {f"{collection.name} at {collection.version}": collection.documents for collection in manifest.collections}
    print_line(console, f"copied from {place(settings)}")
    print_counts(f"backup in {folder}", [counts], "documents")
