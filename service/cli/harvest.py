"""`semblance harvest`: pairs of sentences scored by Origin, for a surrogate to learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.origin.options import Config, Device, Folder, Size
from semblance.service.cli.train_extra import needing_train


def harvest(  # noqa: PLR0913 - one parameter an option
    folder: Folder,
    out: Annotated[Path, typer.Option(help="Folder of the shards, which those of one harvest may share.")],
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of all shards together.")],
    *,
    shard: Annotated[str, typer.Option(metavar="I/N", help="Which of how many shards is done here.")] = "1/1",
    seed: Annotated[int, typer.Option(min=0, help="Seed of all draws, the same for all shards.")] = 0,
    config: Config = None,
    size: Size = None,
    device: Device = None,
) -> None:
    """Draw pairs of sentences from the corpus of an origin folder, and score them by Origin, in both forms.

    Six sentences are drawn at a time, near ones, those of one document and random ones, and all their 15 pairs are
    scored. Shards need nothing of each other: run them wherever you like, and join them by `semblance pairs harvest`.
    The same command goes on after a crash or Ctrl-C; at most the last 120 pairs are scored again.

    \b
    Examples:
      semblance harvest runs/origin --out runs/harvest --pairs 5000
      semblance harvest runs/origin --out runs/harvest --pairs 200000 --size 500 --shard 3/16 --device cuda
      semblance pairs harvest runs/harvest --out runs/pairs
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with needing_train("harvest"):
        from semblance.models.origin.harvest.harvest import Plan, Share  # noqa: PLC0415 - with it comes pyarrow
        from semblance.service.cli.harvesting import run  # noqa: PLC0415 - with it comes torch
        from semblance.service.cli.origin.opened import Opening  # noqa: PLC0415

    try:
        share, plan = Share.parse(shard), Plan(pairs, seed)
        run(Opening(folder, config, size, device), plan, share, out, Console(stderr=True))
    except (SemblanceError, OSError) as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        raise SystemExit("stopped: the same command goes on from the last file") from None
