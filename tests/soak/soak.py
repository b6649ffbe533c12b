"""The long form of what the tests prove in short; scripts/soak.

    python -m tests.soak.soak

runs every proof below, one after the other, prints what they print, and writes the figures of each into its part of
docs/reliability.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tests.support.pages import DOCS, Part, run, write

PAGE = DOCS / "reliability.md"
PARTS = (
    Part("tests.soak.fuzz", "Generated requests, valid and not, get documented answers", ("--examples", "200")),
    Part("tests.soak.crashes", "Killed at random moments, it loses nothing that it acknowledged", ("--kills", "40")),
    Part("benchmarks.quality.index_recall", "Every engine finds what an exhaustive search finds, or nearly"),
    Part(
        "benchmarks.quality.index_recall",
        "The same of a million vectors in clusters",
        ("--synthetic", "--rows", "1000000", "--engines", "faiss_ivf"),
        kept_as="index_recall_synthetic",
    ),
    Part("tests.soak.load", "32 clients, a fifth of the requests cancelled", ("--seconds", "120", "--clients", "32")),
    Part(
        "tests.soak.faults", "Whatever fails in a deployment of three replicas, it loses nothing", ("--seconds", "600")
    ),
    Part("tests.soak.crowd", "Idle and slow connections, tiny and huge requests"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[proof.name for proof in PARTS], help="run this one")
    given = parser.parse_args(arguments)
    for proof in PARTS:
        if given.only in (None, proof.name):
            write(PAGE, proof, run(proof))


if __name__ == "__main__":
    main()
