"""What `semblance harvest` does once its options are read."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console
from rich.progress import TextColumn

from semblance.models.origin.corpus.corpus import Corpus
from semblance.models.origin.corpus.screening import Screening
from semblance.models.origin.corpus.token_table import TokenTable
from semblance.models.origin.harvest.harvest import Plan, Progress, Share, Source, harvest
from semblance.models.origin.harvest.teacher import OriginTeacher, digests
from semblance.models.origin.origin_folder import CORPUS, SCREENING, TOKENS
from semblance.service.cli.console import say
from semblance.service.cli.origin.opened import Opening
from semblance.service.cli.progress import counting


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
        say(console, f"made anew: {damage}")
    seconds, new = time.monotonic() - start, done.pairs - done.found
    rate = f"; {new / seconds:,.2f} pairs/s" if new else ""
    say(
        console,
        f"{out}: {done.pairs:,} pairs in shard {share.number}/{share.of}, {done.found:,} of them from before{rate}",
    )
    if done.fallback:
        say(
            console,
            f"{done.fallback:,} of the pairs have a sentence that shares no bigram with others: it was scored in "
            "the contexts of the nearest sentences",
        )


def _watched(source: Source, plan: Plan, share: Share, out: Path, console: Console) -> Progress:
    with counting(console, TextColumn("{task.fields[rate]}")) as bar:
        task, start = bar.add_task("bundles", total=None, rate=""), time.monotonic()

        def report(progress: Progress) -> None:
            rate = (progress.pairs - progress.found) / max(time.monotonic() - start, 1e-9)
            bar.update(task, completed=progress.bundles, total=progress.of, rate=f"{rate:,.2f} pairs/s")

        return harvest(source, plan, share, out, report)
