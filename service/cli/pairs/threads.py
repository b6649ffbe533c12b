"""`semblance pairs threads`: the same of threads whose links are known, such as those of a service desk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semblance.models.errors import SemblanceError
from semblance.service.cli.pairs.options import Memory, Most, Out, Seed, Threads
from semblance.service.cli.train_extra import needing_train


def threads(  # noqa: PLR0913 - one parameter an option
    *,
    file: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="Table with a pair of linked texts a row."),
    ],
    out: Out,
    held_out: Annotated[int, typer.Option(min=0, help="Most threads that are held out, for a query each.")] = 500,
    positives: Annotated[int, typer.Option(min=1, help="Positives of a query.")] = 1,
    negatives: Annotated[int, typer.Option(min=1, help="Negatives of a query.")] = 29,
    pairs: Most = 250_000,
    seed: Seed = 42,
    memory_mb: Memory = 1_000,
    threads: Threads = None,
) -> None:
    """Make pairs of texts that follow each other in a thread, and a ranking of whole threads held out from them.

    Reads a table by tabs with the columns tweet_id1, text1 (what came first), tweet_id2 and text2. Threads are all that
    such rows connect. Writes threads.tsv (columns text_a, text_b, id_a, id_b), ranking/threads.jsonl, whose queries ask
    for other texts of their thread, and about.json. The folder appears once all is written.

    \b
    Examples:
      semblance pairs threads threads.tsv --out support --held-out 500
      semblance pairs threads threads.tsv --out support --positives 5 --negatives 25
      semblance evaluate --sets ranking:support/ranking/threads.jsonl
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with needing_train("pairs"):
        from semblance.models.corpora import held_out as benchmarks  # noqa: PLC0415 - as in `semblance pairs tweets`
        from semblance.models.corpora import pair_sets  # noqa: PLC0415
        from semblance.models.corpora.sets import Plan  # noqa: PLC0415
        from semblance.models.corpora.threads import link_threads  # noqa: PLC0415
        from semblance.service.cli.pairs.making import Resources, make  # noqa: PLC0415

    sizes = benchmarks.Sizes(held_out, positives, negatives)
    plan = Plan((benchmarks.OF_THREADS,), (pair_sets.OF_THREADS,), sizes, pairs, seed)
    try:
        make(
            [file],
            lambda tables, tally, advance: {"threads": link_threads(tables, file, tally, advance)},
            plan,
            Resources(memory_mb, threads),
            out,
        )
    except (SemblanceError, OSError) as error:
        raise SystemExit(str(error)) from error
