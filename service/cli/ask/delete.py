"""`semblance delete`: documents, or a collection."""

from __future__ import annotations

from typing import Annotated

import typer
from semblance_client import Client

from semblance.service.cli.ask.asking import asking, lines_of
from semblance.service.cli.toolbox.options import OpenedHome, ServiceAddress


def delete(
    collection: Annotated[str, typer.Argument(help="Collection.")],
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Documents of it; - reads an id a line from standard input."),
    ] = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Delete a collection without asking for its name.")] = False,
    url: ServiceAddress = None,
    home: OpenedHome = None,
) -> None:
    """Delete documents, or a whole collection.

    With ids, only these documents are deleted, at once; the exit status is 1 if some were not there. Without ids, the
    collection is deleted with all of them, once its name is typed again; --yes does not ask. A running service is
    asked; without one, ~/.semblance is opened in this process, which no service may use meanwhile. If the service
    requires a key, SEMBLANCE_CLIENT_KEY must have the scope write for documents, and read and admin for a collection.

    \b
    Examples:
      semblance delete help shipping-001 shipping-002
      semblance delete help - < ids.txt
      semblance delete help
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    documents = [line for text in ids or () for line in lines_of(text)]
    with asking(url, home) as client:
        if not ids:
            _delete_collection(client, collection, yes=yes)
        else:
            deleted = client.delete_documents(documents, collection).deleted
            typer.echo(f"{deleted:,} of {len(documents):,} documents deleted from {collection}")
            if deleted < len(set(documents)):
                raise typer.Exit(1)


def _delete_collection(client: Client, name: str, *, yes: bool) -> None:
    count = client.collection(name).count
    if not yes and typer.prompt(f"Type {name} to delete its {count:,} documents", err=True) != name:
        raise SystemExit("nothing was deleted: this is another name")
    client.delete_collection(name)
    typer.echo(f"{name} deleted, with {count:,} documents")
