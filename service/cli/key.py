"""`semblance key`: keys for those who may call the service."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

from semblance.service.api.edge.keys import SCOPES, entry_of
from semblance.service.names import RULE, is_name

PREFIX = "smb_"  # so that a key can be told from other secrets, by people and by scanners

key = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Make keys for those who may call the service.")


@key.callback()
def group() -> None:
    """Make keys for those who may call the service."""


@key.command()
def new(
    name: Annotated[str, typer.Argument(help="Whose it is; stands in the access log.")],
    scope: Annotated[list[str], typer.Option(help=f"What it allows: {', '.join(SCOPES)}; repeatable.")],
) -> None:
    """Make a key, and the entry of SEMBLANCE_API_KEYS that admits it.

    The key is shown once and stored nowhere; the entry holds only its SHA-256. read allows all questions, write storing
    and deleting documents, admin making and deleting collections; none includes another.

    \b
    Example:
      semblance key new ci --scope read --scope write
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    if not is_name(name):
        raise SystemExit(RULE)
    if unknown := [each for each in scope if each not in SCOPES]:
        raise SystemExit(f"there is no scope {unknown[0]!r}: choose of {', '.join(SCOPES)}")
    made = PREFIX + secrets.token_urlsafe(32)
    typer.echo(f"key (shown only now): {made}")
    typer.echo(f"entry for SEMBLANCE_API_KEYS: {entry_of(name, scope, made)}")
