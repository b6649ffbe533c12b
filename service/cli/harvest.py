"""`semblance harvest`: pairs of sentences scored by Origin, for a surrogate to learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from models.errors import SemblanceError
from service.cli.train_extra import needing_train


def harvest(
    origin: Annotated[Path, typer.Argument(exists=True, file_okay=False, metavar="ORIGIN", help="Origin folder.")],
    out: Annotated[Path, typer.Option(help="Folder of the shards; shards of one harvest may share it.")],
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of all shards together.")],
    shard: Annotated[str, typer.Option(metavar="i/n", help="Which of how many shards to do here.")] = "1/1",
    seed: Annotated[int, typer.Option(min=0, help="Seed of all draws, the same for all shards.")] = 0,
    device: Annotated[str | None, typer.Option(help="Device of torch; as SEMBLANCE_DEVICE says, unless given.")] = None,
) -> None:
    """Draw pairs of sentences from the corpus of an origin folder, and score them with Origin.

    Pairs are of near neighbours, of one document and random ones, 15 of every six sentences. Shards need nothing of
    each other: run them wherever you like, and join them by `semblance pairs harvest`. The same command goes on after a
    crash or Ctrl-C, and loses at most the 120 pairs that it was at.

    \b
    Examples:
      semblance harvest runs/origin --out runs/harvest --pairs 5000
      semblance harvest runs/origin --out runs/harvest --pairs 200000 --shard 3/16 --device cuda
      semblance pairs harvest runs/harvest --out runs/pairs
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with needing_train("harvest"):
        from models.origin.harvest import Plan, Progress, Share  # noqa: PLC0415 - with it comes pyarrow
        from models.origin.harvest import harvest as reap  # noqa: PLC0415
        from service.cli.origin.opened import open_source  # noqa: PLC0415

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    try:
        share, source = Share.parse(shard), open_source(origin, device)
        plan = Plan(pairs, seed, source.mixture)
        with Bar(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task(f"shard {shard}, bundles", total=None, rate="")

            def report(progress: Progress) -> None:
                elapsed = bar.tasks[task].elapsed or 0.0
                rate = f"{(progress.pairs - progress.found) / elapsed:,.2f} pairs/s" if elapsed else ""
                bar.update(task, completed=progress.bundles, total=progress.of, rate=rate)

            done = reap(source, plan, share, out, report)
            elapsed = bar.tasks[task].elapsed or 1.0
    except SemblanceError as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        raise SystemExit("stopped: the same command goes on from the last file") from None
