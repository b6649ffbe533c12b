"""`semblance`: the verbs together."""

from __future__ import annotations

import typer

from semblance.service.cli import index, origin, pairs
from semblance.service.cli.backup import backup
from semblance.service.cli.duplicates import duplicates
from semblance.service.cli.evaluate.verb import evaluate
from semblance.service.cli.harvest import harvest
from semblance.service.cli.key import key
from semblance.service.cli.models import models
from semblance.service.cli.project import project
from semblance.service.cli.restore import restore
from semblance.service.cli.serve import serve
from semblance.service.cli.snapshot import snapshot
from semblance.service.cli.train.verb import train

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help wraps paragraphs; the other modes keep the lines of the source
    help="Sentence similarity and semantic search that show their work.",
)
for verb in (serve, models, project, evaluate, duplicates, train, harvest, backup, restore, snapshot):
    app.command()(verb)
app.add_typer(index.app, name="index")
app.add_typer(key, name="key")
app.add_typer(origin.app, name="origin")
app.add_typer(pairs.app, name="pairs")

if __name__ == "__main__":
    app()
