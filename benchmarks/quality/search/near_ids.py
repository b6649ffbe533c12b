"""Does a search find the id that was asked for among near ones?

    python -m benchmarks.quality.search.near_ids

stores 100 documents in a service, which only differ in an id: 25 families of two ids with successive numbers, and two
other spellings of the first, such as E-4711, E-4712, E4711 and e 4711. Beside them are 100,000 distinct sentences from
$SEMBLANCE_DATA/text. A question with each id is asked in every mode that compares vectors. Prints for how many of them
the document with that id is the first hit, and what came first instead. It fails if mode `auto` misses any. It takes
minutes, mostly for encoding.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table
from semblance_client import Client
from semblance_client.vocabulary.search import Mode

from tests.support.results import save_results
from tests.support.running_service import running_process
from tests.support.sentence_vectors import sentences
from tests.support.wide_console import wide_console

FAMILIES = 25
OTHERS = 100_000
MODES: tuple[Mode, ...] = ("vector", "hybrid", "auto")
ASSERTED: Mode = "auto"
SPELLINGS = ("E-4711", "E-4712", "E4711", "e 4711")  # how the ids of a family are related
COLLECTION = "ids"


class NearId(NamedTuple):
    """An id, and how it is spelled within its family."""

    text: str
    spelling: str

    @property
    def document(self) -> str:
        """The text that has it."""
        return f"Error {self.text}: clean the filter, then start the machine again."

    @property
    def question(self) -> str:
        """A question for that text."""
        return f"What shall I do about error {self.text}?"


@dataclass(frozen=True, slots=True)
class Miss:
    """An id whose document is not the first hit of its question, and the id of the document that is."""

    mode: str
    asked: str
    found: str


@dataclass(frozen=True, slots=True)
class Row:
    """Number of questions with ids of a spelling, and of those whose first hit is right."""

    mode: str
    spelling: str
    questions: int
    first: int


def near_ids(families: int) -> list[NearId]:
    """Four ids of each family."""
    rng = random.Random(0)
    prefixes = {"E": 4711}
    while len(prefixes) < families:
        prefix = "".join(rng.choices("ABCDEFGHKLMNPQRSTUVWXYZ", k=rng.randint(1, 3)))
        prefixes.setdefault(prefix, rng.randint(100, 99_998))
    return [
        NearId(text, spelling)
        for prefix, number in prefixes.items()
        for text, spelling in zip(
            (f"{prefix}-{number}", f"{prefix}-{number + 1}", f"{prefix}{number}", f"{prefix.lower()} {number}"),
            SPELLINGS,
            strict=True,
        )
    ]


def fill(client: Client, ids: Sequence[NearId], others: Sequence[str]) -> None:
    """Store a document for each id, and the other texts, unless they are stored."""
    if client.create_collection(COLLECTION).count == len(ids) + len(others):
        return
    documents = [{"id": each.text, "text": each.document} for each in ids]
    documents += [{"id": f"other {number}", "text": text} for number, text in enumerate(others)]
    client.upload(track(documents, "storing"), COLLECTION)


def measure(client: Client, ids: Sequence[NearId]) -> tuple[list[Row], list[Miss]]:
    """Ask for each id in every mode."""
    misses = [
        Miss(mode, asked.text, first)
        for mode in MODES
        for asked in ids
        if (first := client.search(asked.question, COLLECTION, k=1, mode=mode).hits[0].id) != asked.text
    ]
    missed = {(miss.mode, miss.asked) for miss in misses}
    rows = []
    for mode in MODES:
        for spelling in SPELLINGS:
            own = [each for each in ids if each.spelling == spelling]
            rows.append(Row(mode, spelling, len(own), sum((mode, each.text) not in missed for each in own)))
    return rows, misses


def show(rows: Sequence[Row], misses: Sequence[Miss], console: Console) -> None:
    """Print a row for each mode and spelling, and what was found instead."""
    table = Table("mode", "id as", "questions", "right document first", title="questions for one of several near ids")
    for mode in MODES:
        own = [row for row in rows if row.mode == mode]
        for row in own:
            table.add_row(mode, row.spelling, f"{row.questions:,}", f"{row.first:,}")
        table.add_row(mode, "all", f"{sum(row.questions for row in own):,}", f"{sum(row.first for row in own):,}")
    console.print(table)
    for miss in misses:
        console.print(f"mode {miss.mode}: asked for {miss.asked}, found {miss.found} first", highlight=False)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", type=int, default=FAMILIES)
    parser.add_argument("--others", type=int, default=OTHERS, help="number of other documents")
    parser.add_argument("--home", type=Path, help="keep the service's documents in this folder, for further runs")
    options = parser.parse_args()
    ids = near_ids(options.families)
    with running_process(home=options.home) as service, Client(service.url, timeout_s=600) as client:
        fill(client, ids, sentences(options.others))
        rows, misses = measure(client, ids)
    show(rows, misses, wide_console())
    save_results("near_ids", [asdict(row) for row in rows])
    if missed := [miss.asked for miss in misses if miss.mode == ASSERTED]:
        raise SystemExit(f"mode {ASSERTED} misses {len(missed)} of {len(ids)} ids: {', '.join(missed)}")


if __name__ == "__main__":
    main()
