"""`semblance snapshot`: what a new replica can start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from semblance.service.cli.exits import said
from semblance.service.cli.whole_folder import whole_folder
from semblance.service.documents.sqlite import copy_database
from semblance.service.errors import NoStore
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.settings import read_settings


def snapshot(
    folder: Annotated[Path, typer.Argument(help="Where to: a folder that is new, or empty and no mount.")],
    home: Annotated[
        Path | None, typer.Option(help="SEMBLANCE_HOME of the service.", show_default="~/.semblance")
    ] = None,
) -> None:
    """Copy what a service has on its disk, while it goes on, into a folder that another can have as SEMBLANCE_HOME.

    Of a replica that is its copy of the documents in PostgreSQL; a new replica takes over only what was written since.
    Without SEMBLANCE_DATABASE_URL it is the documents themselves. The snapshots of indexes go along.

    \b
    Examples:
      semblance snapshot /seeds/replica
      SEMBLANCE_DATABASE_URL=postgresql://... semblance snapshot /seeds/replica --home /var/lib/semblance
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    settings = read_settings(home=home)
    store = settings.copy_file if settings.database_url.get_secret_value() else settings.database_file
    with said("no snapshot was made"), Console(stderr=True).status("copying"):
        if not store.is_file():
            raise NoStore(f"there is no {store}: name the folder of the service with --home")
        with whole_folder(folder, private=True) as (made, _):
            # indexes first: one that is behind the documents catches up, and one ahead of them would be of no use
            IndexFolder(settings.snapshot_folder).copy(made / settings.snapshot_folder.name)
            copy_database(store, made / store.name)
    typer.echo(f"{folder} can be the SEMBLANCE_HOME of a new service")
