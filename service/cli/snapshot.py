"""`semblance snapshot`: a seed for a new replica."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from semblance.service.cli.toolbox.exits import exit_on_failure
from semblance.service.cli.toolbox.outputs import atomic_folder
from semblance.service.documents.databases.sqlite import copy_database
from semblance.service.errors import NoStore
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.settings import read_settings


def snapshot(
    folder: Annotated[Path, typer.Argument(help="Folder to create; it may exist if it is empty and no mount point.")],
    home: Annotated[
        Path | None, typer.Option(help="SEMBLANCE_HOME of the service.", show_default="~/.semblance")
    ] = None,
) -> None:
    """Copy the data of a running service for a new replica.

    The folder can serve as SEMBLANCE_HOME of another service. With SEMBLANCE_DATABASE_URL it holds the replica's copy
    of the documents, so that a new replica only fetches later writes; without it, the documents themselves. Index
    snapshots are included.

    \b
    Examples:
      semblance snapshot /seeds/replica
      SEMBLANCE_DATABASE_URL=postgresql://... semblance snapshot /seeds/replica --home /var/lib/semblance
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    settings = read_settings(home=home)
    store = settings.copy_file if settings.database_url.get_secret_value() else settings.database_file
    with exit_on_failure("no snapshot was made"), Console(stderr=True).status("copying"):
        if not store.is_file():
            raise NoStore(f"no such file: {store}; name the folder of the service with --home")
        with atomic_folder(folder, private=True) as (result, _):
            # indexes first: an index behind the documents catches up, one ahead of them is unusable
            IndexFolder(settings.snapshot_folder).copy(result / settings.snapshot_folder.name)
            copy_database(store, result / store.name)
    typer.echo(f"{folder} can serve as SEMBLANCE_HOME of a new service")
