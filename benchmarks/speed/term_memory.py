"""How much memory do the terms of a collection take?

    python -m benchmarks.speed.term_memory

adds passages of eight distinct sentences from $SEMBLANCE_DATA/text to the lexical part of an index. By number of
passages, it prints the different terms of a passage, and by how much memory the process has grown: for a passage, and
for each of its different terms.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from semblance.service.indexes.terms.bm25 import Bm25, TextTerms
from tests.support.results import save_results
from tests.support.sentence_vectors import sentences
from tests.support.service_monitor import resident_mb
from tests.support.wide_console import wide_console

SENTENCES = 8  # of a passage


@dataclass(frozen=True, slots=True)
class TermMemory:
    """Memory of the terms of a number of passages."""

    passages: int
    terms_per_passage: float
    bytes_per_passage: float
    bytes_per_term: float


def measure(texts: Sequence[str], sizes: Sequence[int]) -> Iterator[TermMemory]:
    """Add passages until there are as many as each of the sizes, which ascend."""
    index, terms, before_mb = Bm25(), 0, resident_without_freed_mb()
    for size in sizes:
        for text in texts[len(index) : size]:
            added = TextTerms.of(text)
            index.add(added)
            terms += len(added.counts)
        total = (resident_without_freed_mb() - before_mb) * 1024**2
        yield TermMemory(size, terms / size, total / size, total / terms)


def resident_without_freed_mb() -> float:
    """Resident memory of this process, without what it has freed."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return resident_mb(os.getpid())


def show(figures: Sequence[TermMemory], console: Console) -> None:
    """Print a row per size."""
    table = Table("passages", "different terms of a passage", "bytes per passage", "bytes per different term")
    for each in figures:
        cells = (f"{each.terms_per_passage:,.0f}", f"{each.bytes_per_passage:,.0f}", f"{each.bytes_per_term:.1f}")
        table.add_row(f"{each.passages:,}", *cells)
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, nargs="+", default=[1000, 8000, 32_000], help="numbers of passages")
    options = parser.parse_args(arguments)
    sizes = sorted(options.passages)
    parts = sentences(SENTENCES * sizes[-1])
    texts = [" ".join(parts[start : start + SENTENCES]) for start in range(0, len(parts), SENTENCES)]
    figures = list(measure(texts, sizes))
    show(figures, wide_console())
    save_results("term_memory", [asdict(each) for each in figures])


if __name__ == "__main__":
    main()
