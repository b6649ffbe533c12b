"""`semblance restore`: replace all collections by those of a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from semblance.service.cli.toolbox.console import counter_bar, print_line
from semblance.service.cli.toolbox.exits import exit_on_failure
from semblance.service.cli.toolbox.place import place
from semblance.service.composition.stores import primary_to_replace
from semblance.service.documents import backup_folder
from semblance.service.documents.backup_folder import Backup
from semblance.service.ports.document_store import DocumentStore
from semblance.service.settings import read_settings
from semblance.service.usecases.maintenance.backup import restore as restore_documents


def restore(
    folder: Annotated[Path, typer.Argument(help="Folder made by `semblance backup`.")],
    home: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the documents, without PostgreSQL; no service may be running on it.",
            show_default="~/.semblance",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Replace all collections by those of a backup.

    Restores into SEMBLANCE_DATABASE_URL, where running replicas copy the restored data; or without it into --home, on
    which no service may be running. Collections that the backup lacks are deleted. Either everything is replaced or
    nothing. A backup of PostgreSQL can be restored into a folder and the reverse, to move a deployment.

    \b
    Examples:
      semblance restore /backups/monday
      semblance restore /backups/monday --yes --home /var/lib/semblance
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    settings = read_settings(home=home)
    console, into = Console(stderr=True), place(settings)
    new = "" if settings.database_url.get_secret_value() or Path(into).exists() else ", a new folder"
    with exit_on_failure("nothing was restored"):
        with console.status("checking the backup"):
            manifest = backup_folder.verify(folder)
        with primary_to_replace(settings) as store:
            print_line(console, f"into {into}{new}, from the backup made {manifest.time}:")
            console.print(_comparison(store, manifest))
            if store.collections() and not yes:
                typer.confirm(f"Replace everything that is stored now in {into}?", abort=True, err=True)
            total = sum(collection.documents for collection in manifest.collections)
            with (
                backup_folder.open_store(folder, manifest) as source,
                counter_bar(console, "restoring documents", total) as advance,
            ):
                restore_documents(source, store, advance)
    print_line(console, f"restored into {into}{new}; collections: {len(manifest.collections):,}, documents: {total:,}")


def _comparison(store: DocumentStore, backup: Backup) -> Table:
    """Table of what is stored now beside what the backup holds."""
    now = {each.name: (str(each.version), size.documents) for each, size in store.sizes()}
    then = {collection.name: (collection.version, collection.documents) for collection in backup.collections}
    table = Table("collection", "stored now", "documents", "in the backup", "documents")
    for name in sorted(now.keys() | then.keys()):
        cells = [
            cell
            for version, count in (now.get(name, ("none", 0)), then.get(name, ("none", 0)))
            for cell in (version, f"{count:,}")
        ]
        table.add_row(name, *cells)
    return table
