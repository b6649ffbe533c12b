"""`semblance pairs`: sentences that are weakly alike, to train on, and rankings to evaluate with."""

from __future__ import annotations

import typer

from service.cli.pairs.threads import threads
from service.cli.pairs.tweets import tweets

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Make pairs of weakly similar sentences out of conversations, and rankings held out from them.

    \b
    Examples:
      semblance pairs tweets archive/ --out pairs
      semblance pairs threads threads.tsv --out support
    """,
)
for verb in (tweets, threads):
    app.command()(verb)
