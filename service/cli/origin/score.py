"""`semblance origin score`: how alike sentences are by their contexts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.origin.options import Config, Device, Folder, Form, Size
from semblance.service.cli.train_extra import needing_train


def score(  # noqa: PLR0913 - one parameter an option
    folder: Folder,
    a: Annotated[str | None, typer.Argument(metavar="A", help="A sentence.", show_default=False)] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="Another one.", show_default=False)] = None,
    *,
    rows: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Table by tabs with the columns sentence1 and sentence2."),
    ] = None,
    form: Form = "cosine",
    config: Config = None,
    size: Size = None,
    device: Device = None,
) -> None:
    """Print how alike two sentences are, or the sentences of every row of a table.

    A row that is printed holds the score and both sentences, parted by tabs.

    \b
    Examples:
      semblance origin score runs/origin "A man plays a guitar." "Someone plays an instrument."
      semblance origin score runs/origin --rows pairs.tsv --form centred --size 20 > scores.tsv
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    if (rows is None) != (a is not None and b is not None):
        raise typer.BadParameter("give two sentences, or a table of them", param_hint="A B or --rows")
    with needing_train("origin score"):
        from semblance.service.cli.origin.opened import Opening  # noqa: PLC0415 - with it comes torch
        from semblance.service.cli.origin.scored import print_scores, read_pairs  # noqa: PLC0415

    console = Console(stderr=True)
    try:
        pairs = [(str(a), str(b))] if rows is None else read_pairs(rows)
        origin = Opening(folder, config, size, device).open()
        print_scores(origin, pairs, form, console, alone=rows is None)
    except (SemblanceError, OSError) as error:
        raise SystemExit(str(error)) from error
