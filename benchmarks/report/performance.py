"""The figures of docs/performance.md: all of them, or one.

    python -m benchmarks.report.performance --only serving

runs every benchmark below, one after the other, prints what they print, and writes the figures of each into its part of
the page, with a picture in docs/images/ where there is one. With --kept it runs nothing, and writes the figures of the
last runs. A machine that does nothing else is needed, and half an hour.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report.pictures import PICTURES
from tests.support.figures import kept
from tests.support.pages import DOCS, Part, run, write

PAGE = DOCS / "performance.md"
PARTS = (
    Part("benchmarks.speed.serving", "Requests a second, beside infinity and txtai"),
    Part("benchmarks.speed.runtimes", "Ways to run the network on a CPU"),
    Part("benchmarks.speed.encoding", "Sentences a second in one process, beside sentence-transformers"),
    Part(
        "benchmarks.speed.search",
        "Searches, beside FAISS alone and txtai",
        ("--documents", "10000", "100000", "1000000"),
    ),
    Part("benchmarks.speed.rescoring", "Rescoring by tokens"),
    Part(
        "benchmarks.quality.candidates", "How many candidates rescoring by tokens needs", ("--data", "$SEMBLANCE_DATA")
    ),
    Part("benchmarks.speed.cached", "Similarities of cached texts, beside the least that a request costs"),
    Part("benchmarks.speed.growth", "How costs grow with length and size"),
    Part("benchmarks.speed.endurance", "Memory over a million requests, and the start"),
    Part("benchmarks.speed.gpu", "On a GPU"),
)


def drawn(name: str) -> list[Path]:
    """The pictures of a benchmark, drawn from what it kept."""
    if name not in PICTURES:
        return []
    source, draw = PICTURES[name]
    file = DOCS / "images" / f"{name}.png"
    draw(kept(source).figures).savefig(file, dpi=120)
    return [file]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[part.name for part in PARTS], help="run these")
    parser.add_argument("--kept", action="store_true", help="run nothing: write what the last runs came to")
    given = parser.parse_args(arguments)
    for part in PARTS:
        if given.only is None or part.name in given.only:
            write(PAGE, part, kept(part.name) if given.kept else run(part), drawn(part.name))


if __name__ == "__main__":
    main()
