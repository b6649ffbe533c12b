"""The long form of what the tests prove in short; scripts/soak.

    python -m benchmarks.soak

runs every proof below, one after the other, prints what they print, and writes the figures of each into its part of
docs/reliability.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.figures import kept

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"


@dataclass(frozen=True, slots=True)
class Proof:
    """A benchmark that fails unless the service keeps its word, and the options of its long form."""

    name: str
    claim: str
    options: tuple[str, ...]


PROOFS = (
    Proof("fuzz", "Generated requests, valid and not, get documented answers", ("--examples", "200")),
    Proof("crashes", "Killed at random moments, it loses nothing that it acknowledged", ("--kills", "40")),
    Proof("index_recall", "Every engine finds what an exhaustive search finds, or nearly", ()),
    Proof("load", "32 clients, a fifth of the requests cancelled", ("--seconds", "120", "--clients", "32")),
    Proof("faults", "Whatever fails in a deployment of three replicas, it loses nothing", ("--seconds", "600")),
    Proof("crowd", "Idle and slow connections, tiny and huge requests", ()),
)


def run(proof: Proof) -> Any:
    """The figures of one proof. Raises SystemExit if it failed."""
    command = [sys.executable, "-m", f"benchmarks.{proof.name}", *proof.options]
    print(f"== {proof.claim}: {' '.join(command[1:])}", flush=True)
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"{proof.name} failed: {PAGE.name} stays as it was")
    return kept(proof.name)


def section(proof: Proof, figures: Any) -> Iterator[str]:
    """The part of the page that tells of one proof."""
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    machine = f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
    yield f"<!-- {proof.name} -->"
    yield f"### {proof.claim}"
    yield ""
    yield f"`python -m benchmarks.{' '.join([proof.name, *proof.options])}` on {when}: {machine}."
    for each in figures if _many(figures) else [figures]:
        yield from _table(each)
    yield f"<!-- /{proof.name} -->"


def written(page: str, proof: Proof, figures: Any) -> str:
    """The page with another part about one proof."""
    part = "\n".join(section(proof, figures))
    pattern = rf"<!-- {proof.name} -->.*<!-- /{proof.name} -->"
    text, count = re.subn(pattern, lambda _: part, page, flags=re.DOTALL)
    assert count == 1, f"{PAGE.name} needs one <!-- {proof.name} --> ... <!-- /{proof.name} -->"
    return text


def _many(figures: Any) -> bool:
    """Whether a benchmark came to more than one table."""
    return isinstance(figures, list) and isinstance(figures[0], list)


def _table(figures: Any) -> Iterator[str]:
    """An empty line, then named figures as two columns, or a list of such as a line each."""
    if isinstance(figures, dict):
        figures = [{"figure": _words(name), "value": value} for name, value in figures.items()]
    names = list(figures[0])
    yield ""
    yield f"| {' | '.join(map(_words, names))} |"
    yield "|---" * len(names) + "|"
    for line in figures:
        yield f"| {' | '.join(_shown(line[name]) for name in names)} |"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[proof.name for proof in PROOFS], help="run this one")
    given = parser.parse_args(arguments)
    for proof in PROOFS:
        if given.only in (None, proof.name):
            figures = run(proof)
            PAGE.write_text(written(PAGE.read_text("utf-8"), proof, figures), "utf-8")


if __name__ == "__main__":
    main()
