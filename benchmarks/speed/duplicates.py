"""Latency of finding near-duplicates among support tickets.

    python -m benchmarks.speed.duplicates

stores English tickets of `benchmarks.quality.search.tickets` in a service, and asks for all groups by the client, page
by page. Prints the seconds for each threshold, the median of some rounds, and the groups found. It fails if 3,000
tickets take more than 3 s.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from statistics import median

from rich.console import Console
from rich.table import Table
from semblance_client import Client

from benchmarks.quality.search.tickets import tickets
from tests.support.results import save_results
from tests.support.running_service import running_service
from tests.support.wide_console import wide_console

DOCUMENTS = 3000
THRESHOLDS = (0.9, 0.8)
MAX_S = 3.0


@dataclass(frozen=True, slots=True)
class Row:
    """Seconds of a search for all groups, and what it finds."""

    min_score: float
    seconds: float
    groups: int
    documents: int


def measure(count: int, rounds: int) -> Iterator[Row]:
    """Time `rounds` searches of `count` tickets for each threshold."""
    english = (ticket for ticket in tickets(3 * count) if ticket.language == "en")
    with running_service() as url, Client(url, timeout_s=600) as client:
        client.create_collection("tickets")
        client.upload([{"id": each.id, "text": each.text} for each in islice(english, count)], "tickets")
        for min_score in THRESHOLDS:
            seconds = []
            for _ in range(rounds):
                begin = time.perf_counter()
                groups = client.duplicates("tickets", min_score=min_score)
                seconds.append(time.perf_counter() - begin)
            yield Row(min_score, median(seconds), len(groups), sum(len(group.documents) for group in groups))


def show(rows: list[Row], count: int, console: Console) -> None:
    """Print a row for each threshold."""
    table = Table("threshold", "s", "groups", "documents in groups", title=f"{count:,} tickets")
    for row in rows:
        table.add_row(str(row.min_score), f"{row.seconds:.2f}", f"{row.groups:,}", f"{row.documents:,}")
    console.print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = list(measure(options.documents, options.rounds))
    show(rows, options.documents, wide_console())
    save_results("duplicates", [asdict(row) for row in rows])
    slow = [row.min_score for row in rows if row.seconds > MAX_S]
    if options.documents == DOCUMENTS and slow:
        raise SystemExit(f"more than {MAX_S:.0f} s at the thresholds {slow}")


if __name__ == "__main__":
    main()
