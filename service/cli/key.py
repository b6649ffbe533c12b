"""`semblance key new`: API keys."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

from semblance.service.api.edge.keys import SCOPES, entry_of
from semblance.service.names import RULE, is_name

PREFIX = "smb_"  # lets people and secret scanners recognize a key


def new(
    name: Annotated[str, typer.Argument(help="Name of the client; appears in the access log.")],
    scope: Annotated[list[str], typer.Option(help=f"Scope of the key: {', '.join(SCOPES)}; repeatable.")],
) -> None:
    """Create an API key and its entry for SEMBLANCE_API_KEYS.

    The key is shown once and not stored; the entry holds its SHA-256. The scope read allows all queries, write allows
    storing and deleting documents, admin allows creating and deleting collections. No scope includes another.

    \b
    Example:
      semblance key new ci --scope read --scope write
    """  # noqa: D301 - click reads this backspace: keep the line breaks
    if not is_name(name):
        raise SystemExit(RULE)
    if unknown := [each for each in scope if each not in SCOPES]:
        raise SystemExit(f"unknown scope {unknown[0]!r}: choose from {', '.join(SCOPES)}")
    key = PREFIX + secrets.token_urlsafe(32)
    typer.echo(f"key (shown only now): {key}")
    typer.echo(f"entry for SEMBLANCE_API_KEYS: {entry_of(name, scope, key)}")
