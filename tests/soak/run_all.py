"""Run all soak tests and write their figures to docs/reliability.md; scripts/soak.

    python -m tests.soak.run_all

runs the programs below one after the other, and writes the figures of each to its section of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tests.support.report_pages import DOCS, Section, run_benchmark, write_section

PAGE = DOCS / "reliability.md"
SECTIONS = (
    Section("tests.soak.fuzz", "Generated requests, valid and not, get documented answers", ("--examples", "200")),
    Section("tests.soak.crashes", "Killed at random moments, it loses nothing that it acknowledged", ("--kills", "40")),
    Section("benchmarks.quality.index_recall", "Every engine finds what an exhaustive search finds, or nearly"),
    Section(
        "benchmarks.quality.index_recall",
        "The same of a million vectors in clusters",
        ("--synthetic", "--rows", "1000000", "--engines", "faiss_ivf"),
        results_name="index_recall_synthetic",
    ),
    Section(
        "tests.soak.load", "32 clients, a fifth of the requests cancelled", ("--seconds", "120", "--clients", "32")
    ),
    Section(
        "tests.soak.faults", "Whatever fails in a deployment of three replicas, it loses nothing", ("--seconds", "600")
    ),
    Section("tests.soak.noisy_neighbors", "Idle and slow connections, tiny and huge requests", results_name="crowd"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[section.name for section in SECTIONS], help="run only this one")
    options = parser.parse_args(arguments)
    for section in SECTIONS:
        if options.only in (None, section.name):
            write_section(PAGE, section, run_benchmark(section))


if __name__ == "__main__":
    main()
