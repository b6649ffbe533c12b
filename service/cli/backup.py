"""`semblance backup`: everything that is stored, in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from semblance.service.cli.exits import said
from semblance.service.cli.progress import bar
from semblance.service.cli.tables import show_counts
from semblance.service.cli.whole_folder import whole_folder
from semblance.service.composition.truth_store import truth_to_read
from semblance.service.documents import backup_folder
from semblance.service.settings import read_settings
from semblance.service.usecases.backup import back_up


def backup(
    folder: Annotated[Path, typer.Argument(help="Where to: a folder that is new, or empty and no mount.")],
    home: Annotated[
        Path | None,
        typer.Option(help="Folder of the documents, if none are in PostgreSQL.", show_default="~/.semblance"),
    ] = None,
) -> None:
    """Copy all collections into a folder, while the service goes on.

    The documents are those of SEMBLANCE_DATABASE_URL, or without one those in the folder of --home. Each collection is
    copied as it was at one moment, with the vectors, so that nothing need be encoded again. The folder appears when the
    backup is complete, is closed to others, and holds a checksum that `semblance restore` asks for.

    \b
    Examples:
      semblance backup /backups/monday
      semblance backup /backups/monday --home /var/lib/semblance
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    settings = read_settings(home=home)
    console = Console(stderr=True)
    with said("no backup was made"):
        with truth_to_read(settings) as store, whole_folder(folder, private=True) as (made, _):
            total = sum(size.documents for _, size in store.sizes())
            with backup_folder.written(made) as copy, bar(console, "copying documents", total) as advance:
                back_up(store, copy, advance)
        done = backup_folder.check(folder)
    counts = {f"{each.name} at {each.version}": each.documents for each in done.collections}
    show_counts(f"backup in {folder}", [counts], "documents")
