"""What `semblance harvest` does once its options are read."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from models.origin.corpus.corpus import Corpus
from models.origin.corpus.screening import Screening
from models.origin.corpus.token_table import TokenTable
from models.origin.harvest.harvest import Plan, Progress, Share, Source, harvest
from models.origin.harvest.teacher import OriginTeacher, digests
from models.origin.origin_folder import CORPUS, SCREENING, TOKENS
from service.cli.origin.opened import Opening


def run(opening: Opening, plan: Plan, share: Share, out: Path, console: Console) -> None:
    """Harvest a shard, with a bar that tells the rate, and say what came of it.

    Raises:
        SemblanceError: the origin folder, the options or the folder of the shards will not do.
    """
    origin, folder = opening.open(), opening.folder
    lengths = TokenTable.open(folder / TOKENS).lengths
    source = Source(
        Corpus.open(folder / CORPUS),
        Screening.open(folder / SCREENING),
        lengths < origin.max_tokens,  # in the table longer ones are cut to that many
        OriginTeacher(origin, digests(folder)),
    )
    start = time.monotonic()
    done = _watched(source, plan, share, out, console)
    for damage in done.damaged:
        console.print(f"made anew: {damage}", markup=False, highlight=False, soft_wrap=True)
    seconds, new = time.monotonic() - start, done.pairs - done.found
    rate = f"; {new / seconds:,.2f} pairs/s" if new else ""
    console.print(
        f"{out}: {done.pairs:,} pairs in shard {share.number}/{share.of}, {done.found:,} of them from before{rate}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    if done.fallback:
        console.print(
            f"{done.fallback:,} of the pairs have a sentence that shares no bigram with others: it was scored in "
            "the contexts of the nearest sentences",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def _watched(source: Source, plan: Plan, share: Share, out: Path, console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    with Bar(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task, start = bar.add_task("bundles", total=None, rate=""), time.monotonic()

        def report(progress: Progress) -> None:
            rate = (progress.pairs - progress.found) / max(time.monotonic() - start, 1e-9)
            bar.update(task, completed=progress.bundles, total=progress.of, rate=f"{rate:,.2f} pairs/s")

        return harvest(source, plan, share, out, report)
