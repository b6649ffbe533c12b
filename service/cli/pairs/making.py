"""What both verbs of `semblance pairs` do once their options are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from semblance.models.corpora.sets import Made, Plan, make_sets
from semblance.models.corpora.tables import Tables
from semblance.models.corpora.tweets import Tally
from semblance.models.files.lines import Advance
from semblance.service.cli.progress import counting
from semblance.service.cli.tables import show_counts
from semblance.service.cli.whole_folder import whole_folder


@dataclass(frozen=True, slots=True)
class Resources:
    """What the tables may use: memory in million bytes, and threads, None for all cores."""

    memory_mb: int
    threads: int | None


def make(
    files: Sequence[Path],
    link: Callable[[Tables, Tally, Advance], dict[str, int]],
    plan: Plan,
    resources: Resources,
    out: Path,
) -> None:
    """Link what the files hold, draw the sets, write them and print what became of everything.

    Args:
        files: what is read; their bytes are what the progress bar counts.
        link: makes the table `links`, and says how much it found of what.
        plan: the sets.
        resources: for the tables.
        out: the folder to write.

    Raises:
        SemblanceError: a file will not do, or `out` is not empty.
        OSError: the disk will not do.
    """
    tally, console = Tally(), Console(stderr=True)
    with (
        whole_folder(out) as (made, scratch),
        closing(Tables(scratch, resources.memory_mb, resources.threads)) as tables,
    ):
        with counting(console, of_bytes=True) as bar:
            reading = bar.add_task("reading", total=sum(file.stat().st_size for file in files))
            found = link(tables, tally, lambda read: bar.advance(reading, read))
            bar.remove_task(reading)
            drawing = bar.add_task("drawing", total=None)
            sets = make_sets(tables, plan, made)
            bar.remove_task(drawing)
        _write_about(made / "about.json", plan, tally, found, sets)
    _show(tally, found, sets)
    console.print(f"{out}: {sum(sets.pairs.values()):,} pairs, {sum(sets.queries.values()):,} queries", markup=False)


def _write_about(file: Path, plan: Plan, tally: Tally, found: dict[str, int], sets: Made) -> None:
    """How the sets were made, for whoever finds them later."""
    about = {
        "semblance": version("semblance-server"),
        "seed": plan.seed,
        "most_pairs": plan.pairs,
        "rankings": asdict(plan.sizes),
        "lines": tally.lines,
        "kept": tally.kept,
        "refused": tally.refused,
        "refused_quoted": tally.refused_quoted,
        "damaged": [str(path) for path in tally.damaged],
        **found,
        **asdict(sets),
    }
    file.write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def _show(tally: Tally, found: dict[str, int], sets: Made) -> None:
    """One line a count, on standard output."""
    sections: list[Mapping[str, int]] = [
        {"lines read": tally.lines, "kept": tally.kept},
        _called("refused: {}", dict(tally.refused.most_common())),
        _called("quoted tweet refused: {}", dict(tally.refused_quoted.most_common())),
        _called("file that breaks off, read up to there: {}", {str(path): 1 for path in tally.damaged}),
        {**found, **_called("links: {}", sets.links)},
        _called("queries of the ranking {}", sets.queries),
        _called("pairs: {}", sets.pairs),
    ]
    show_counts("what became of the lines", sections)


def _called(form: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {form.format(name): count for name, count in counts.items()}
