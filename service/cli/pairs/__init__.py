"""`semblance pairs`: pairs of sentences to train on, and what to evaluate with."""

from __future__ import annotations

import typer

from semblance.service.cli.pairs.harvest import harvest
from semblance.service.cli.pairs.threads import threads
from semblance.service.cli.pairs.tweets import tweets

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Make pairs to train on, out of conversations or of a harvest, and what is held out to evaluate with.

    \b
    Examples:
      semblance pairs tweets archive/ --out pairs
      semblance pairs threads threads.tsv --out support
      semblance pairs harvest runs/harvest --out runs/pairs
    """,
)
for verb in (tweets, threads, harvest):
    app.command()(verb)
