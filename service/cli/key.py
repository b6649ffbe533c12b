"""`semblance key new`: API keys."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

from semblance.service.api.edge.key_entries import SCOPES, check_limits, entry_of
from semblance.service.callers import Permission
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.filters import OneOf
from semblance.service.names import RULE, is_name

PREFIX = "smb_"  # lets people and secret scanners recognize a key


def new(
    name: Annotated[str, typer.Argument(help="Name of the client; appears in the access log.")],
    scope: Annotated[list[str], typer.Option(help=f"Scope of the key: {', '.join(SCOPES)}; repeatable.")],
    collection: Annotated[
        list[str] | None,
        typer.Option(help="Collection that the key reaches, or a prefix of names and '*'; repeatable. Default: all."),
    ] = None,
    condition: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="FIELD=VALUE",
            help="What the metadata of a document must have, or the key does not reach it; repeatable. Default: all.",
        ),
    ] = None,
    id_prefix: Annotated[
        str, typer.Option(help="What the ids of documents that the key may store begin with. Default: any.")
    ] = "",
) -> None:
    """Create an API key and its entry for SEMBLANCE_API_KEYS.

    The key is shown once and not stored; the entry holds its SHA-256. The scope read allows all queries, write allows
    storing and deleting documents, admin allows creating and deleting collections. No scope includes another.

    With --collection, all other collections are unknown to the key. With --filter, it finds, counts and shows only
    documents whose metadata match, and stores, replaces and deletes only those that have exactly this value. With
    --id-prefix, keys that share a collection do not learn of each other's ids. Both exclude the scope admin.

    \b
    Examples:
      semblance key new ci --scope read --scope write
      semblance key new hr --scope read --collection faq --collection 'hr-*'
      semblance key new acme --scope read --scope write --filter tenant=acme --id-prefix acme-
    """  # noqa: D301 - click reads this backspace: keep the line breaks
    if not is_name(name):
        raise SystemExit(RULE)
    if unknown := [each for each in scope if each not in SCOPES]:
        raise SystemExit(f"unknown scope {unknown[0]!r}: choose from {', '.join(SCOPES)}")
    permission = Permission(tuple(collection or ()), tuple(map(_condition, condition or ())), id_prefix)
    with exit_on(ValueError):
        check_limits(scope, permission)
    key = PREFIX + secrets.token_urlsafe(32)
    typer.echo(f"key (shown only now): {key}")
    typer.echo(f"entry for SEMBLANCE_API_KEYS: {entry_of(name, scope, key, permission)}")


def _condition(text: str) -> OneOf:
    """A condition of the form FIELD=VALUE; the value may contain any character."""
    field, equals, value = text.partition("=")
    if not equals:
        raise SystemExit(f"--filter {text!r} is not of the form FIELD=VALUE")
    return OneOf(field, (value,))
