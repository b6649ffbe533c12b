"""Requests of the verbs: to a running service, or without one to the documents of a home."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import typer
from rich.console import Console
from semblance_client import Client, NotFound
from semblance_client import SemblanceError as ServiceError
from semblance_client.vocabulary.responses import RequestWarning

from semblance.service.cli.toolbox.console import print_line
from semblance.service.cli.toolbox.exits import exit_on, exit_on_failure
from semblance.service.cli.toolbox.options import LOCAL_URL, known_address
from semblance.service.names import did_you_mean

Documents: TypeAlias = Literal["read", "written", "unused"]

PROBE_S = 2.0  # for a connection on this machine


@contextmanager
def asking(url: str | None, home: Path | None, *, documents: Documents = "read") -> Iterator[Client]:
    """A client of the service at `url`, or of `home`, which this process opens and locks.

    Without an address, it is that of SEMBLANCE_URL, of the service that has the home, or of the default address if a
    service runs there; otherwise the home is opened. A failure ends the process with a message.

    Args:
        url: address of a service.
        home: folder of documents.
        documents: whether the home must have them; a home in which they are written is created, and named.
    """
    if url is not None and home is not None:
        raise typer.BadParameter("name a service or a folder, not both", param_hint="--url, --home")
    with exit_on(ServiceError, ValueError), ExitStack() as stack:
        address = url or known_address(home) or (LOCAL_URL if home is None and _is_running() else None)
        client = stack.enter_context(Client(address)) if address else _opened(home, stack, documents)
        try:
            yield client
        except NotFound as error:
            if error.code != "unknown_collection":
                raise
            raise SystemExit(_unknown_collection(client, error)) from error


def _unknown_collection(client: Client, error: NotFound) -> str:
    """The message about an unknown collection, with a similar name, as the verbs create none."""
    said = error.message.partition(": create it")[0]
    names = [each.name for each in client.collections()]
    return said + (did_you_mean(said.split()[-1].strip("'"), names) or "; `semblance collections` lists them")


def _is_running() -> bool:
    """Whether anything listens at the default address."""
    host, port = LOCAL_URL.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port)), PROBE_S).close()
    except OSError:
        return False
    return True


def _opened(home: Path | None, stack: ExitStack, documents: Documents) -> Client:
    from semblance.service.cli.ask.in_process import serving  # noqa: PLC0415 - imports the service
    from semblance.service.errors import StoreInUse  # noqa: PLC0415 - likewise
    from semblance.service.settings import read_settings  # noqa: PLC0415 - likewise

    reason = f"no service runs at {LOCAL_URL}" if home is None else f"{home} cannot be opened"
    settings = read_settings(home=home)
    with exit_on_failure(reason), Console(stderr=True).status("loading the model"):
        try:
            transport = stack.enter_context(serving(settings, documents=documents == "read"))
        except StoreInUse as error:
            raise StoreInUse(f"{error}, or name the address of that service with --url") from error
    if documents == "written" and home is None:
        print_line(Console(stderr=True), f"{settings.home}: opened, since {reason}")
    return stack.enter_context(Client(LOCAL_URL, transport=transport))


def lines_of(text: str) -> list[str]:
    """The text itself; of - the lines of standard input that are not blank."""
    if text != "-":
        return [text]
    return [line.rstrip("\r\n") for line in sys.stdin if line.strip()]


def read_text(text: str) -> str:
    """The text itself; of - all of standard input."""
    return sys.stdin.read().strip() if text == "-" else text


def plain(value: object) -> str:
    """A value as people read it: text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def one_line(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


def print_warnings(warnings: Iterable[RequestWarning]) -> None:
    """Print the warnings of a response to standard error."""
    for each in warnings:
        print_line(Console(stderr=True), f"warning: {each.pointer}: {each.detail}")
