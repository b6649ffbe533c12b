"""`semblance show`: a collection, or a document of it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from semblance.service.cli.ask.asking import asking, plain
from semblance.service.cli.toolbox.console import printing
from semblance.service.cli.toolbox.options import AsJson, OpenedHome, ServiceAddress


def show(
    collection: Annotated[str, typer.Argument(help="Collection, or an alias of one.")],
    document: Annotated[str | None, typer.Argument(metavar="[ID]", help="Document of it.")] = None,
    *,
    json: AsJson = False,
    url: ServiceAddress = None,
    home: OpenedHome = None,
) -> None:
    """Show a collection, or a document of it.

    A running service is asked; without one, ~/.semblance is opened in this process. If the service requires a key,
    SEMBLANCE_CLIENT_KEY must have the scope read.

    \b
    Examples:
      semblance show help
      semblance show help shipping-001
      semblance show help shipping-001 --json
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with asking(url, home) as client:
        shown = client.collection(collection) if document is None else client.document(document, collection)
    if json:
        typer.echo(shown.model_dump_json())
        return
    console = printing()
    for field, value in shown.model_dump(mode="json").items():
        console.print(Text.assemble((f"{field}: ", "bold"), plain(value)))
