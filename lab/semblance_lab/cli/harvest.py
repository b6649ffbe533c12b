"""`semblance harvest`: sentence pairs scored by Origin, to train a surrogate on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.batches.engines import Address, EngineOption, Report, Runner
from semblance.service.cli.toolbox.console import print_line, progress_bars
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.settings import read_settings
from semblance_lab.cli.origin.options import Config, Device, Folder, OriginOptions, Size
from semblance_lab.origin.errors import BadHarvest
from semblance_lab.origin.origin_folder import CORPUS, SCREENING, TOKENS

if TYPE_CHECKING:
    from semblance_lab.origin.harvest.harvest import HarvestPlan, HarvestProgress, HarvestSource, ShardId


def harvest(  # noqa: PLR0913 - one parameter an option
    folder: Folder,
    out: Annotated[Path, typer.Option(help="Folder of the shards; all shards of a harvest may share it.")],
    pairs: Annotated[int, typer.Option(min=1, help="Number of pairs over all shards.")],
    *,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Shard I of N to score here.", show_default="1/1")
    ] = None,
    shards: Annotated[int | None, typer.Option(min=1, help="Score all shards of that many here.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sampling, the same for all shards.")] = 0,
    config: Config = None,
    size: Size = None,
    device: Device = None,
    engine: EngineOption = "local",
    address: Address = None,
) -> None:
    """Draw pairs of sentences and score them by Origin.

    Sentences come from the corpus of an origin folder, in bundles of six: similar ones, some of the same document and
    random ones. All 15 pairs of a bundle are scored, in both forms. Shards are independent: run them on any machine, or
    all of them by Ray, and join them with `semblance pairs harvest`. After a crash or Ctrl-C the same command resumes;
    at most the last 120 pairs of a shard are scored again.

    \b
    Examples:
      semblance harvest runs/origin --out runs/harvest --pairs 5000
      semblance harvest runs/origin --out runs/harvest --pairs 200000 --size 500 --shard 3/16 --device cuda
      semblance harvest runs/origin --out runs/harvest --pairs 200000 --size 500 --shards 16 --engine ray
      semblance pairs harvest runs/harvest --out runs/pairs
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    from semblance_lab.origin.harvest.harvest import HarvestPlan, ShardId  # noqa: PLC0415 - imports pyarrow, which --help does not need

    with exit_on(SemblanceError, OSError, stopped="stopped; the same command resumes from the last file"):
        if shard is not None and shards is not None:
            raise BadHarvest("give --shard for one of the shards, or --shards for all, not both")
        ids = [ShardId(i, shards) for i in range(1, shards + 1)] if shards else [ShardId.parse(shard or "1/1")]
        options = OriginOptions(folder.resolve(), None if config is None else config.resolve(), size, device)
        tasks = [HarvestTask(options, HarvestPlan(pairs, seed), each, out.resolve()) for each in ids]
        settings = read_settings(device=device)
        run_harvest(tasks, Runner(engine, address, settings), Console(stderr=True))


@dataclass(frozen=True, slots=True)
class HarvestTask:
    """A shard to score, in the folder of the shards."""

    options: OriginOptions
    plan: HarvestPlan
    shard_id: ShardId
    out: Path

    @property
    def size(self) -> int:
        """Bundles of the shard."""
        return sum(map(len, self.plan.files(self.shard_id)))

    @property
    def label(self) -> str:
        """The shard, in messages."""
        return f"shard {self.shard_id.number}/{self.shard_id.of}"


def run_harvest(tasks: Sequence[HarvestTask], runner: Runner, console: Console) -> None:
    """Harvest shards with a progress bar, and print the results.

    Raises:
        SemblanceError: the origin folder, the options or the folder of the shards is invalid.
    """
    start, new = time.monotonic(), 0
    with progress_bars(console) as bar:
        shown = bar.add_task("bundles", total=sum(each.size for each in tasks))
        for task, progress in runner.run(harvest_shard, tasks, lambda done: bar.update(shown, completed=done)):
            new += progress.pairs - progress.resumed_pairs
            rate = f"; {new / (time.monotonic() - start):,.2f} pairs/s" if new else ""
            _print_shard(task, progress, rate, console)


def _print_shard(task: HarvestTask, progress: HarvestProgress, rate: str, console: Console) -> None:
    for damage in progress.damaged:
        print_line(console, f"recomputed: {damage}")
    print_line(
        console,
        f"{task.out}: {progress.pairs:,} pairs in {task.label}, {progress.resumed_pairs:,} of them from earlier "
        f"runs{rate}",
    )
    if progress.fallback:
        print_line(
            console,
            f"{progress.fallback:,} of the pairs have a sentence that shares no bigram with others; it was scored in "
            "the contexts of its nearest sentences",
        )


def harvest_shard(task: HarvestTask, report: Report) -> HarvestProgress:
    """Score the pairs of a shard that are not there.

    Raises:
        SemblanceError: the origin folder, the options or the folder of the shards is invalid.
    """
    from semblance_lab.origin.harvest.harvest import harvest as score_shard  # noqa: PLC0415 - imports pyarrow, which --help does not need

    source = _open_source(task.options)
    return score_shard(source, task.plan, task.shard_id, task.out, lambda progress: report(progress.bundles))


@lru_cache(1)
def _open_source(options: OriginOptions) -> HarvestSource:
    """Corpus and teacher, which a worker process opens once."""
    from semblance_lab.origin.corpus.corpus import Corpus  # noqa: PLC0415 - imports pyarrow, which --help does not need
    from semblance_lab.origin.corpus.screening import Screening  # noqa: PLC0415 - imports scikit-learn
    from semblance_lab.origin.corpus.tokens import TokenTable  # noqa: PLC0415 - imports torch, which takes seconds
    from semblance_lab.origin.harvest.harvest import HarvestSource, OriginTeacher, model_digests  # noqa: PLC0415 - likewise

    origin, folder = options.open(), options.folder
    lengths = TokenTable.open(folder / TOKENS).lengths
    return HarvestSource(
        Corpus.open(folder / CORPUS),
        Screening.open(folder / SCREENING),
        lengths < origin.max_tokens,  # the table holds longer ones truncated to that many
        OriginTeacher(origin, model_digests(folder)),
    )
