"""`semblance origin evaluate`: how well Origin and what is left of it agree with people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semblance.models.errors import SemblanceError
from semblance.service.cli.comma_lists import entries
from semblance.service.cli.origin.options import Config, Device, Folder, Form, Size
from semblance.service.cli.train_extra import needing_train


def evaluate(  # noqa: PLR0913 - one parameter an option
    folder: Folder,
    *,
    sets: Annotated[list[str], typer.Option(help="Sets of graded pairs, comma-separated; or pairs:PATH.")] = [  # noqa: B006 - Typer copies it
        "stsb_dev,stsb"
    ],
    pairs: Annotated[
        int, typer.Option(min=3, help="Pairs of each set, drawn at random; all where it has fewer.")
    ] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Of that draw.")] = 0,
    variants: Annotated[
        list[str],
        typer.Option(
            help="Comma-separated, as below; the first is what the others are compared with.",
            show_default="all that the size allows",
        ),
    ] = [],  # noqa: B006
    form: Form = "cosine",
    data: Annotated[
        Path | None, typer.Option(envvar="SEMBLANCE_DATA", help="Folder of benchmark data (docs/measures.md).")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write all figures to this file.", dir_okay=False)] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write report.md with plots to this folder.", file_okay=False)
    ] = None,
    draws: Annotated[int, typer.Option(min=100, help="Resamples for the intervals.")] = 2_000,
    config: Config = None,
    size: Size = None,
    device: Device = None,
) -> None:
    """Correlate scores with grades, with BCa bootstrap intervals, for Origin and with parts of it taken out.

    A variant is a form alone, `cosine` or `centred`, or what is done otherwise: `random` contexts; sets
    `without_diversity`, of the best by score alone; `contexts_20`, `contexts_100` or `contexts_500`, the first of each
    set; `without_coherence`, `without_centre`, `without_left`, `without_right` or `without_sides`, terms that count
    neither in the choice nor in the score. These are of the --form, unless they name one, as `random_centred`.

    Also prints what the scores are made of: why one form tells sentences apart, and the other does not.

    \b
    Examples:
      semblance origin evaluate runs/origin --pairs 300
      semblance origin evaluate runs/origin --sets stsb --variants centred,random,contexts_20 --form centred
      semblance origin evaluate runs/origin --size 500 --pairs 50 --json figures.json --report report
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with needing_train("origin evaluate"):
        from semblance.models.evaluation.statistics.bootstrap import Resampling  # noqa: PLC0415 - with it comes torch
        from semblance.service.cli.origin.evaluated import Asked, tabulate  # noqa: PLC0415
        from semblance.service.cli.origin.opened import Opening  # noqa: PLC0415

    named, chosen = entries(variants), entries(sets)
    if (variants and not named) or not chosen:
        raise typer.BadParameter("name at least one", param_hint="--variants and --sets")
    asked = Asked(named, chosen, form, pairs, seed, data, Resampling(draws), json, report)
    try:
        tabulate(Opening(folder, config, size, device), asked)
    except (SemblanceError, OSError) as error:
        raise SystemExit(str(error)) from error
