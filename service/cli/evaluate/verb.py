"""`semblance evaluate`: how well measures agree with people."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from semblance.models.errors import SemblanceError
from semblance.service.cli.comma_lists import entries
from semblance.service.client import ServiceError

SETS = "sts12,sts13,sts14,sts15,sts16,stsb,sickr,ists_images"
MEASURES = "cosine,rcmd,dynamax_jaccard"


def evaluate(  # noqa: PLR0913 - one parameter an option
    *,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model, as `semblance serve` takes it or by its source alone; with --url, one that is served there.",
            show_default="the first of SEMBLANCE_MODELS, or the default there",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Another model, as --model without --url: figures are compared with its own, on the same resamples."
        ),
    ] = None,
    measure: Annotated[
        list[str],
        typer.Option(help="Measures, comma-separated; the first is what others are compared with, unless --against."),
    ] = [MEASURES],  # noqa: B006 - Typer copies it
    sets: Annotated[list[str], typer.Option(help="Sets, comma-separated; KIND:PATH for a file of your own.")] = [SETS],  # noqa: B006
    data: Annotated[
        Path | None, typer.Option(envvar="SEMBLANCE_DATA", help="Folder of benchmark data (docs/measures.md).")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Evaluate the service that runs there.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write all figures to this file.", dir_okay=False)] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write report.md with plots to this folder.", file_okay=False)
    ] = None,
    reproduce: Annotated[
        str | None, typer.Option(metavar="PAPER", help="Put a paper's claims to the data instead: its name, or all.")
    ] = None,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Print precision and recall by threshold, on sets of labelled pairs.")
    ] = False,
    conditions: Annotated[
        bool,
        typer.Option(
            "--conditions", help="Print instead how far runtime and number type (docs/performance.md) are from float32."
        ),
    ] = False,
    deletion: Annotated[
        bool, typer.Option("--deletion", help="Also delete words of graded pairs, to test the explanations.")
    ] = False,
    draws: Annotated[int, typer.Option(min=100, help="Resamples for the intervals.")] = 2_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resamples.")] = 1111,
) -> None:
    """Measure how well scores and explanations agree with what people said, with BCa bootstrap intervals.

    Without --sets: the seven STS sets and the images of interpretable STS. Kinds for files of your own: pairs, labels,
    triplets, ranking, retrieval, ists; docs/measures.md tells their columns, all sets and where to get each.

    \b
    Examples:
      semblance evaluate --sets stsb
      semblance evaluate --model minilm
      semblance evaluate --model runs/mine --against minilm --measure cosine,rcmd
      semblance evaluate --measure cosine,rcmd,cmd --sets stsb,ists_images --report out
      semblance evaluate --url http://127.0.0.1:8000 --sets cranfield --measure cosine,rcmd1
      semblance evaluate --sets pairs:mine.tsv --json mine.json
      semblance evaluate --reproduce clrcmd
      semblance evaluate --calibrate --sets turl_train --measure cosine,rcmd
      semblance evaluate --conditions --model minilm
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    from semblance.models.evaluation.statistics.bootstrap import Resampling  # noqa: PLC0415 - with it come SciPy, matplotlib and torch,
    from semblance.service.cli.evaluate import run  # noqa: PLC0415 - which the other verbs need not wait for
    from semblance.service.cli.evaluate.conditions import check_conditions  # noqa: PLC0415 - the same

    if against is not None and (reproduce is not None or calibrate):
        raise typer.BadParameter("figures are compared, not claims or thresholds", param_hint="--against")
    if report is not None and (reproduce is not None or calibrate):
        raise typer.BadParameter("a report is of figures only; --json writes these", param_hint="--report")
    measures, chosen = _named(measure, "--measure"), _named(sets, "--sets")
    asked = run.Asked(model, url, measures, chosen, data, Resampling(draws, seed), json, report, deletion, against)
    try:
        if conditions:
            sys.exit(0 if all(each.holds for each in check_conditions(model, data, Resampling(draws, seed))) else 1)
        if reproduce is not None:
            run.reproduce(reproduce, asked)
        elif calibrate:
            run.calibrate(asked)
        else:
            run.tabulate(asked)
    except (SemblanceError, ServiceError) as error:
        raise SystemExit(str(error)) from error


def _named(given: list[str], option: str) -> list[str]:
    """The entries of an option that needs some."""
    found = entries(given)
    if not found:
        raise typer.BadParameter("name at least one", param_hint=option)
    return found
