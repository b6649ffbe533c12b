"""`semblance origin explain`: which contexts, and which terms in them, make two sentences alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.origin.options import Config, Device, Folder, Form, Size
from semblance.service.cli.train_extra import needing_train


def explain(  # noqa: PLR0913 - one parameter an option
    folder: Folder,
    a: Annotated[str, typer.Argument(metavar="A", help="A sentence.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.", show_default=False)],
    *,
    top: Annotated[int, typer.Option(min=1, help="Contexts that are shown, those that add most first.")] = 5,
    form: Form = "cosine",
    json: Annotated[Path | None, typer.Option(help="Write all parts to this file.", dir_okay=False)] = None,
    config: Config = None,
    size: Size = None,
    device: Device = None,
) -> None:
    """Print how alike two sentences are, what each term adds to that, and the contexts that add most.

    By cosine a context adds most where both sentences are least likely, since scores are logarithms; by the centred
    form it adds where both are more likely than in the mean, or both less.

    \b
    Examples:
      semblance origin explain runs/origin "A man plays a guitar." "Someone plays an instrument."
      semblance origin explain runs/origin "Stocks fell." "Prices rose." --form centred --top 10 --json why.json
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with needing_train("origin explain"):
        from semblance.models.evaluation.reporting.report import write_json  # noqa: PLC0415 - with it come matplotlib and torch
        from semblance.service.cli.origin.explained import as_json, explanation_tables  # noqa: PLC0415
        from semblance.service.cli.origin.opened import Oddities, Opening  # noqa: PLC0415
        from semblance.service.cli.tables import show  # noqa: PLC0415

    try:
        origin = Opening(folder, config, size, device).open()
        explanation = origin.explain(a, b, form)
        oddities = Oddities()
        oddities.count(origin.context_sets(sorted({a, b})))
        oddities.tell(Console(stderr=True))
        for table in explanation_tables(explanation, origin.reasons(explanation, top)):
            show(table)
        if json:
            write_json(as_json(origin, explanation, (a, b)), json)
    except (SemblanceError, OSError) as error:
        raise SystemExit(str(error)) from error
