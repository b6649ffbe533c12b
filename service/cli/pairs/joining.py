"""What `semblance pairs harvest` does once its options are read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from semblance.models.origin.harvest.harvested import Gathered, Split, gather, write_parts
from semblance.models.origin.scoring.scoring import Form
from semblance.service.cli.console import say
from semblance.service.cli.tables import show_counts
from semblance.service.cli.whole_folder import whole_folder


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
            "semblance": version("semblance-server"),
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
        say(console, f"skipped: {what}")
    for what in gathered.missing:
        say(console, f"missing: {what}")
    say(console, f"{out}: {counts['train']:,} pairs to train on")


def _show(gathered: Gathered, counts: Mapping[str, int]) -> None:
    """One line a count, on standard output."""
    counted = {
        "damaged files": len(gathered.damaged),
        **{f"left out: {why}": count for why, count in gathered.dropped.items()},
        "pairs, each once": len(gathered.pairs),
        **counts,
    }
    show_counts("what became of the harvest", [counted])
