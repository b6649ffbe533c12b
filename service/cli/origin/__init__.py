"""`semblance origin`: similarity from contexts, from plain text to scores and their reasons."""

from __future__ import annotations

import typer

from semblance.service.cli.origin.corpus import corpus
from semblance.service.cli.origin.evaluate import evaluate
from semblance.service.cli.origin.explain import explain
from semblance.service.cli.origin.score import score
from semblance.service.cli.origin.start import start
from semblance.service.cli.origin.train import train

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Learn from plain text how alike sentences are, by the contexts that would take either.

    \b
    Examples:
      semblance origin corpus texts/ --out runs/origin
      semblance origin train runs/origin
      semblance origin explain runs/origin "A man plays a guitar." "Someone plays an instrument."
    """,
)
for verb in (corpus, train, score, evaluate, explain, start):
    app.command()(verb)
