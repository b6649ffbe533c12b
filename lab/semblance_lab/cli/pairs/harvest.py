"""`semblance pairs harvest`: join harvested shards into train, dev and test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.toolbox.console import print_counts, print_line
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import OutFolder, Seed
from semblance.service.cli.toolbox.outputs import atomic_folder
from semblance_lab.cli.origin.options import Form as FormOption
from semblance_lab.origin.scoring.scoring import Form

if TYPE_CHECKING:
    from semblance_lab.origin.harvest.dataset import JoinedHarvest, SplitShares


def harvest(
    *,
    folders: Annotated[
        list[Path], typer.Argument(exists=True, file_okay=False, metavar="DIR...", help="Folders of shards.")
    ],
    out: OutFolder,
    form: FormOption = "cosine",
    dev: Annotated[float, typer.Option(min=0, max=1, help="Fraction of the bundles for dev.")] = 0.01,
    test: Annotated[float, typer.Option(min=0, max=1, help="Fraction of the bundles for test.")] = 0.01,
    seed: Seed = 0,
) -> None:
    """Join harvested shards and split them for training.

    Writes train.tsv, dev.tsv and test.tsv (columns sentence1, sentence2, score, kind, bundle, number1, number2) and
    about.json. Bundles are not split, and no sentence of dev or test is in train. Damaged and missing files are
    reported and skipped. The folder appears when it is complete.

    \b
    Examples:
      semblance pairs harvest runs/harvest --out runs/pairs
      semblance pairs harvest one/ two/ three/ --out runs/pairs --form centred --dev 0.05 --test 0.05
      semblance train surrogate --rows runs/pairs/train.tsv --out runs/surrogate
      semblance evaluate --model runs/surrogate --sets pairs:runs/pairs/test.tsv
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    from semblance_lab.origin.harvest.dataset import SplitShares  # noqa: PLC0415 - imports pyarrow, which --help does not need

    with exit_on(SemblanceError, OSError):
        join(folders, form, SplitShares(dev, test, seed), out)


def join(folders: Sequence[Path], form: Form, split: SplitShares, out: Path) -> None:
    """Join shards, write the splits, and print a summary.

    Raises:
        SemblanceError: there is no harvest, the shards differ in their plan, or `out` is not empty.
        OSError: reading or writing failed.
    """
    from semblance_lab.origin.harvest.dataset import join_shards, write_splits  # noqa: PLC0415 - imports pyarrow, which --help does not need

    joined = join_shards(folders)
    with atomic_folder(out) as (result, _):
        counts = write_splits(joined, form, split, result)
        about = {
            "semblance": version("semblance-server"),
            "form": form,
            **asdict(split),
            "harvest": joined.about,
            "damaged": joined.damaged,
            "missing": joined.missing,
            "dropped": joined.dropped,
            "pairs": counts,
        }
        (result / "about.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    _print_summary(joined, counts)
    console = Console(stderr=True)
    for problem in joined.damaged:
        print_line(console, f"skipped: {problem}")
    for problem in joined.missing:
        print_line(console, f"missing: {problem}")
    print_line(console, f"{out}: {counts['train']:,} training pairs")


def _print_summary(joined: JoinedHarvest, counts: Mapping[str, int]) -> None:
    """Print one row a count."""
    row = {
        "damaged files": len(joined.damaged),
        **{f"left out: {reason}": count for reason, count in joined.dropped.items()},
        "pairs, each once": len(joined.pairs),
        **counts,
    }
    print_counts("summary of the harvest", [row])
