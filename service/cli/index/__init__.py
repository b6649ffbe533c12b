"""`semblance index`: filling collections, and looking after them."""

from __future__ import annotations

import typer
from typer.core import TyperGroup

from semblance.service.cli.index.add import add
from semblance.service.cli.index.rebuild import rebuild
from semblance.service.cli.index.reembed import reembed
from semblance.service.cli.index.verify import verify


class _AddsByDefault(TyperGroup):
    """`semblance index FILE` means `semblance index add FILE`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # Typer's own kind
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["add", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_AddsByDefault,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Store documents, re-embed them under another model, and check or rebuild the indexes of a service that does
    not run.

    \b
    Examples:
      semblance index help.jsonl --collection help
      semblance index reembed help --model minilm
      semblance index verify
      semblance index rebuild --collection help
    """,
)
for verb in (add, reembed, verify, rebuild):
    app.command()(verb)
