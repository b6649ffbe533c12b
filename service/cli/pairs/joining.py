"""What `semblance pairs harvest` does once its options are read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from models.origin.harvest.harvested import Gathered, Split, gather, write_parts
from models.origin.scoring.scoring import Form
from service.cli.whole_folder import whole_folder


def join(folders: Sequence[Path], form: Form, split: Split, out: Path) -> None:
    """Join shards, write the parts, and print what became of everything.

    Raises:
        SemblanceError: there is no harvest, shards do not belong together, or `out` is not empty.
        OSError: the disk will not do.
    """
    gathered = gather(folders)
    with whole_folder(out) as (made, _):
        counts = write_parts(gathered, form, split, made)
        about = {
            "semblance": version("semblance"),
            "form": form,
            **asdict(split),
            "harvest": gathered.about,
            "damaged": gathered.damaged,
            "missing": gathered.missing,
            "dropped": gathered.dropped,
            "pairs": counts,
        }
        (made / "about.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    _show(gathered, counts)
    console = Console(stderr=True)
    for what in gathered.damaged:
        console.print(f"skipped: {what}", markup=False, highlight=False, soft_wrap=True)
    for what in gathered.missing:
        console.print(f"missing: {what}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"{out}: {counts['train']:,} pairs to train on", markup=False, highlight=False, soft_wrap=True)


def _show(gathered: Gathered, counts: Mapping[str, int]) -> None:
    """One line a count, on standard output."""
    grid = Table("what", "count", title="what became of the harvest", title_justify="left", title_style="bold")
    grid.columns[1].justify = "right"
    rows = {
        "damaged files": len(gathered.damaged),
        **{f"left out: {why}": count for why, count in gathered.dropped.items()},
        "pairs, each once": len(gathered.pairs),
        **counts,
    }
    for name, count in rows.items():
        grid.add_row(name, f"{count:,}" if count else "none")
    Console(width=None if Console().is_terminal else 160).print(grid)
