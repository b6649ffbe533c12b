"""Run all soak tests and write their figures to docs/reliability.md; scripts/soak.

    python -m tests.soak.run_all

runs the programs below one after the other, and writes the figures of each to its section of the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from tests.support.report_pages import DOCS, Section, run_benchmark, write_section
from tests.support.results import Results

PAGE = DOCS / "reliability.md"
SECTIONS = (
    Section("tests.soak.fuzz", "Generated valid and invalid requests get documented answers", ("--examples", "200")),
    Section("tests.soak.crashes", "No acknowledged write is lost when the process is killed", ("--kills", "40")),
    Section("benchmarks.quality.index_recall", "Recall of every engine against an exhaustive search"),
    Section(
        "benchmarks.quality.index_recall",
        "Recall with a million clustered vectors",
        ("--synthetic", "--rows", "1000000", "--engines", "faiss_ivf_sq8"),
        results_name="index_recall_synthetic",
    ),
    Section(
        "tests.soak.load",
        "Load of 32 clients, with a fifth of requests canceled",
        ("--seconds", "120", "--clients", "32"),
    ),
    Section("tests.soak.faults", "Faults in a deployment of three replicas", ("--seconds", "600")),
    Section("tests.soak.noisy_neighbors", "Idle, slow, tiny and huge requests", results_name="crowd"),
    Section("tests.soak.costly_requests", "Searches beside a caller who sends costly requests", ("--seconds", "20")),
    Section("tests.soak.unfair_caller", "Small requests beside a caller who asks for too much", ("--seconds", "60")),
)


def shown(name: str, results: Results) -> Results:
    """The figures that the page shows; the programs print all."""
    if name == "faults":  # without the requests by kind
        return replace(results, figures=results.figures[1:])
    if name.startswith("index_recall"):  # without the engine that finds all, and the filters after deletions
        rows, costs = ([row for row in table if row["engine"] != "faiss_flat"] for table in results.figures)
        return replace(results, figures=[[row for row in rows if not row["half_dead"]], costs])
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[section.name for section in SECTIONS], help="run only this one")
    options = parser.parse_args(arguments)
    for section in SECTIONS:
        if options.only in (None, section.name):
            write_section(PAGE, section, shown(section.name, run_benchmark(section)))


if __name__ == "__main__":
    main()
