"""`semblance index reembed`: re-embed a collection, or cut it into other passages."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console
from semblance_client import Call, Client, Request, Retries
from semblance_client import SemblanceError as ServiceError

from semblance.service.cli.toolbox.console import counter_bar
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import Url

Target: TypeAlias = Mapping[str, object]  # body of the request that begins

PATIENCE = Retries(attempts=sys.maxsize, total_s=60)  # through a restart of the service


def reembed(
    collection: Annotated[str, typer.Argument(help="Collection to re-embed.")],
    *,
    model: Annotated[
        str | None, typer.Option(help="Model served by the service.", show_default="the collection's")
    ] = None,
    passages: Annotated[
        str | None,
        typer.Option(help="auto, none, or the tokens of a passage.", show_default="as now"),
    ] = None,
    drop: Annotated[bool, typer.Option("--drop", help="Discard an unfinished re-embedding instead.")] = False,
    url: Url,
) -> None:
    """Re-embed a collection under another model or passages.

    The service keeps searching with the current embeddings and switches at the end; documents written meanwhile are
    embedded in both ways. A collection of an earlier release, whose long documents were truncated, gets passages by
    --passages auto. The work resumes if the service is away for less than a minute. After an interruption, the same
    command resumes it from any machine, and --drop discards it. If the service requires a key, SEMBLANCE_CLIENT_KEY
    must have the scope admin.

    \b
    Examples:
      semblance index reembed help --model minilm
      semblance index reembed help --passages auto
      semblance index reembed help --drop
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    if model is None and passages is None and not drop:
        raise typer.BadParameter("name a model or passages, or pass --drop", param_hint="--model")
    target = {"model": model, "passages": _passages(passages)}
    console = Console(stderr=True)
    with exit_on(ServiceError), Client(url, retries=PATIENCE) as client:
        result = _drop(client, collection) if drop else _reembed(client, console, collection, target)
    console.print(result, markup=False, highlight=False)


def _drop(client: Client, collection: str) -> str:
    _send(client, "DELETE", collection)
    return f"{collection} keeps its current embeddings; unfinished work was discarded"


def _passages(text: str | None) -> object:
    """The value of --passages as the service takes it."""
    if text is None or text in ("auto", "none"):
        return text
    try:
        return {"tokens": int(text)}
    except ValueError:
        raise typer.BadParameter("it must be auto, none, or a number of tokens", param_hint="--passages") from None


def _reembed(client: Client, console: Console, collection: str, target: Target) -> str:
    """Start or resume, embed step by step, and switch; returns a message for the console."""
    started = _begin(client, collection, target)
    if started["reembedding"] is None:
        return f"{collection} already uses {_shown(started)}; nothing to do"
    shown = _shown(started["reembedding"])
    left = started["reembedding"]["documents_left"]
    resumed, embedded = started["count"] - left, 0
    with counter_bar(console, f"re-embedding {collection}", left) as advance:
        while left:
            step = _send(client, "POST", collection, "/step")
            embedded += step["embedded"]
            advance(left - step["left"])
            left = step["left"]
    with console.status("switching"):
        _switch(client, collection, target)
    return f"{collection} now uses {shown}: {embedded:,} documents re-embedded, {resumed:,} had been before"


def _shown(settings: Mapping[str, Any]) -> str:
    passages = settings["passages"]
    cut = "whole documents" if passages is None else f"passages of {passages['tokens']} tokens"
    return f"{settings['model']} on {cut}"


def _begin(client: Client, collection: str, target: Target) -> Any:
    return _send(client, "PUT", collection, body=target)


def _switch(client: Client, collection: str, target: Target) -> None:
    """Switch embeddings; if the response was lost, the retry finds that it has happened."""
    try:
        _send(client, "POST", collection, "/switch")
    except ServiceError as error:
        if error.code != "no_reembedding" or _begin(client, collection, target)["reembedding"] is not None:
            raise


def _send(client: Client, method: str, collection: str, step: str = "", body: object = None) -> Any:
    """Send a request that may be served twice. Raises ServiceError."""
    content = None if body is None else json.dumps(body).encode()
    request = Request(method, f"/collections/{collection}/reembedding{step}", content)
    return client.send(Call(request, lambda answer: json.loads(answer) if answer else None))
