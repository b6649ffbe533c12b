"""`semblance index reembed`: a collection under another model."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from semblance.service.cli.progress import bar
from semblance.service.client import Client, ServiceError
from semblance.service.settings import client_key


def reembed(
    collection: Annotated[str, typer.Argument(help="Collection to re-embed.")],
    model: Annotated[
        str | None, typer.Option(help="A model that the service serves.", show_default="needed unless --drop")
    ] = None,
    drop: Annotated[bool, typer.Option("--drop", help="Forget what an unfinished one has done instead.")] = False,
    url: Annotated[str, typer.Option(help="Where the service runs.")] = "http://127.0.0.1:8000",
) -> None:
    """Re-embed a collection of a running service under another model, and switch to that.

    Searches go on with the present model until the switch; documents that are written meanwhile are embedded by both.
    When the service goes away and comes back within a minute, the work goes on where it was cut. Stopped in the middle,
    the same command goes on later, from any machine, and --drop gives up. SEMBLANCE_CLIENT_KEY is shown to a service
    that wants a key; it needs the scope admin.

    \b
    Examples:
      semblance index reembed help --model minilm
      semblance index reembed help --drop
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    if model is None and not drop:
        raise typer.BadParameter("name the model, or give --drop", param_hint="--model")
    console = Console(stderr=True)
    try:
        with Client(url, client_key()) as client:
            said = (
                _re_embedded(client, console, collection, model) if model and not drop else _dropped(client, collection)
            )
    except ServiceError as error:
        raise SystemExit(str(error)) from error
    console.print(said, markup=False, highlight=False)


def _dropped(client: Client, collection: str) -> str:
    client.insist("DELETE", f"/collections/{collection}/rollover")
    return f"{collection} stays with the model that fills it: nothing is kept of another"


def _re_embedded(client: Client, console: Console, collection: str, model: str) -> str:
    """Begin or go on, step by step, and switch; what came of it, in words."""
    begun = _begin(client, collection, model)
    if begun["rollover"] is None:
        return f"{collection} is filled by {model} already: nothing to do"
    left = begun["rollover"]["documents_left"]
    found, embedded = begun["count"] - left, 0
    with bar(console, f"re-embedding {collection}", left) as advance:
        while left:
            done = client.insist("POST", f"/collections/{collection}/rollover/step")
            embedded += done["embedded"]
            advance(left - done["left"])
            left = done["left"]
    with console.status("switching"):
        _switch(client, collection, model)
    return f"{collection} is filled by {model} now: {embedded:,} documents re-embedded, {found:,} were already"


def _begin(client: Client, collection: str, model: str) -> Any:
    return client.insist("PUT", f"/collections/{collection}/rollover", {"model": model})


def _switch(client: Client, collection: str, model: str) -> None:
    """Switch; a service that went away before it could say so has done it."""
    try:
        client.insist("POST", f"/collections/{collection}/rollover/switch")
    except ServiceError as error:
        if error.code != "no_rollover" or _begin(client, collection, model)["rollover"] is not None:
            raise
