"""`semblance key`: keys for those who may call the service."""

from __future__ import annotations

import hashlib
import secrets
from typing import Annotated

import typer

from service.api.keys import NAME, SCOPES

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
    if not NAME.fullmatch(name):
        raise SystemExit("a name has at most 64 of a-z, 0-9, '.', '_' and '-', and begins with a letter or digit")
    if unknown := [each for each in scope if each not in SCOPES]:
        raise SystemExit(f"there is no scope {unknown[0]!r}: choose of {', '.join(SCOPES)}")
    made = PREFIX + secrets.token_urlsafe(32)
    scopes = "+".join(each for each in SCOPES if each in scope)
    typer.echo(f"key (shown only now): {made}")
    typer.echo(f"entry for SEMBLANCE_API_KEYS: {name}:{scopes}:{hashlib.sha256(made.encode()).hexdigest()}")
