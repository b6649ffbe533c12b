"""`semblance harvest`: sentence pairs scored by Origin, to train a surrogate on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import TextColumn

from semblance.models.errors import SemblanceError
from semblance.models.origin.origin_folder import CORPUS, SCREENING, TOKENS
from semblance.service.cli.origin.options import Config, Device, Folder, OriginOptions, Size
from semblance.service.cli.toolbox.console import print_line, progress_bars

if TYPE_CHECKING:
    from semblance.models.origin.harvest.harvest import HarvestPlan, HarvestProgress, HarvestSource, ShardId


def harvest(  # noqa: PLR0913 - one parameter an option
    folder: Folder,
    out: Annotated[Path, typer.Option(help="Folder of the shards; all shards of a harvest may share it.")],
    pairs: Annotated[int, typer.Option(min=1, help="Number of pairs over all shards.")],
    *,
    shard: Annotated[str, typer.Option(metavar="I/N", help="Shard I of N to score here.")] = "1/1",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sampling, the same for all shards.")] = 0,
    config: Config = None,
    size: Size = None,
    device: Device = None,
) -> None:
    """Draw pairs of sentences and score them by Origin.

    Sentences come from the corpus of an origin folder, in bundles of six: similar ones, some of the same document and
    random ones. All 15 pairs of a bundle are scored, in both forms. Shards are independent: run them on any machine and
    join them with `semblance pairs harvest`. After a crash or Ctrl-C the same command resumes; at most the last 120
    pairs are scored again.

    \b
    Examples:
      semblance harvest runs/origin --out runs/harvest --pairs 5000
      semblance harvest runs/origin --out runs/harvest --pairs 200000 --size 500 --shard 3/16 --device cuda
      semblance pairs harvest runs/harvest --out runs/pairs
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    from semblance.models.origin.harvest.harvest import HarvestPlan, ShardId  # noqa: PLC0415 - imports pyarrow, which --help does not need

    try:
        shard_id, plan = ShardId.parse(shard), HarvestPlan(pairs, seed)
        run_harvest(OriginOptions(folder, config, size, device), plan, shard_id, out, Console(stderr=True))
    except (SemblanceError, OSError) as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        raise SystemExit("stopped; the same command resumes from the last file") from None


def run_harvest(options: OriginOptions, plan: HarvestPlan, shard_id: ShardId, out: Path, console: Console) -> None:
    """Harvest a shard with a progress bar, and print the result.

    Raises:
        SemblanceError: the origin folder, the options or the folder of the shards is invalid.
    """
    from semblance.models.origin.corpus.corpus import Corpus  # noqa: PLC0415 - imports pyarrow, which --help does not need
    from semblance.models.origin.corpus.screening import Screening  # noqa: PLC0415 - imports scikit-learn
    from semblance.models.origin.corpus.token_table import TokenTable  # noqa: PLC0415 - imports torch, which takes seconds
    from semblance.models.origin.harvest.harvest import HarvestSource  # noqa: PLC0415 - likewise
    from semblance.models.origin.harvest.teacher import OriginTeacher, model_digests  # noqa: PLC0415 - likewise

    origin, folder = options.open(), options.folder
    lengths = TokenTable.open(folder / TOKENS).lengths
    source = HarvestSource(
        Corpus.open(folder / CORPUS),
        Screening.open(folder / SCREENING),
        lengths < origin.max_tokens,  # the table holds longer ones truncated to that many
        OriginTeacher(origin, model_digests(folder)),
    )
    start = time.monotonic()
    progress = _harvest_with_bar(source, plan, shard_id, out, console)
    for damage in progress.damaged:
        print_line(console, f"recomputed: {damage}")
    seconds, new = time.monotonic() - start, progress.pairs - progress.resumed_pairs
    rate = f"; {new / seconds:,.2f} pairs/s" if new else ""
    print_line(
        console,
        f"{out}: {progress.pairs:,} pairs in shard {shard_id.number}/{shard_id.of}, "
        f"{progress.resumed_pairs:,} of them from earlier runs{rate}",
    )
    if progress.fallback:
        print_line(
            console,
            f"{progress.fallback:,} of the pairs have a sentence that shares no bigram with others; it was scored in "
            "the contexts of its nearest sentences",
        )


def _harvest_with_bar(
    source: HarvestSource, plan: HarvestPlan, shard_id: ShardId, out: Path, console: Console
) -> HarvestProgress:
    from semblance.models.origin.harvest.harvest import harvest as harvest_shard  # noqa: PLC0415 - imports pyarrow, which --help does not need

    with progress_bars(console, TextColumn("{task.fields[rate]}")) as bar:
        task, start = bar.add_task("bundles", total=None, rate=""), time.monotonic()

        def report(progress: HarvestProgress) -> None:
            rate = (progress.pairs - progress.resumed_pairs) / max(time.monotonic() - start, 1e-9)
            bar.update(task, completed=progress.bundles, total=progress.total_bundles, rate=f"{rate:,.2f} pairs/s")

        return harvest_shard(source, plan, shard_id, out, report)
