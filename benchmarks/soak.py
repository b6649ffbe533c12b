"""The long form of what the tests prove in short; scripts/soak.

    python -m benchmarks.soak

runs every proof below, one after the other, prints what they print, and writes their figures into docs/reliability.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"


@dataclass(frozen=True, slots=True)
class Proof:
    """A benchmark that fails unless the service keeps its word, and the options of its long form."""

    name: str
    claim: str
    options: tuple[str, ...]


PROOFS = (
    Proof("fuzz", "Generated requests, valid and not, get documented answers", ("--examples", "200")),
    Proof("crashes", "Killed at random moments, it loses nothing that it acknowledged", ("--kills", "60")),
    Proof("load", "32 clients, a fifth of the requests cancelled", ("--seconds", "120", "--clients", "32")),
    Proof("crowd", "Idle and slow connections, tiny and huge requests", ()),
)


def run(proof: Proof) -> Mapping[str, Any]:
    """The figures of one proof. Raises SystemExit if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        command = [sys.executable, "-m", f"benchmarks.{proof.name}", *proof.options, "--json", str(figures)]
        print(f"== {proof.claim}: {' '.join(command[1:-2])}", flush=True)
        if subprocess.run(command, check=False).returncode:
            raise SystemExit(f"{proof.name} failed: {PAGE.name} stays as it was")
        found: Mapping[str, Any] = json.loads(figures.read_text())
        return found


def tables(results: Sequence[tuple[Proof, Mapping[str, Any]]]) -> Iterator[str]:
    """The generated part of the page."""
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    yield f"On {when}: {os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}."
    for proof, figures in results:
        yield ""
        yield f"### {proof.claim}"
        yield ""
        yield f"`python -m benchmarks.{' '.join([proof.name, *proof.options])}`"
        yield ""
        yield "| figure | value |"
        yield "|---|---|"
        for name, value in figures.items():
            if isinstance(value, int | float | str):
                shown = (
                    f"{value:.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
                )
                yield f"| {name.replace('_', ' ')} | {shown} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[proof.name for proof in PROOFS], help="run this one, and write nothing")
    given = parser.parse_args(arguments)
    results = [(proof, run(proof)) for proof in PROOFS if given.only in (None, proof.name)]
    if given.only is None:
        part = "\n".join(["<!-- soak -->", *tables(results), "<!-- /soak -->"])
        page = PAGE.read_text("utf-8")
        PAGE.write_text(re.sub(r"<!-- soak -->.*<!-- /soak -->", lambda _: part, page, flags=re.DOTALL), "utf-8")


if __name__ == "__main__":
    main()
