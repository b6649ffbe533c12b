"""Damage a SQLite database as a failing disk might."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

TABLES = ("documents", "vectors")


def count_pages(file: Path) -> int:
    """Number of pages of an unused database, with its log merged into the file."""
    with closing(sqlite3.connect(file, timeout=600)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [count] = connection.execute("PRAGMA page_count").fetchone()
    return int(count)


def overwrite_page(file: Path, number: int, rng: random.Random) -> None:
    """Overwrite a page, from 1, by noise."""
    page_bytes = file.stat().st_size // count_pages(file)
    with file.open("r+b") as stream:
        stream.seek((number - 1) * page_bytes)
        stream.write(rng.randbytes(page_bytes))


def overwrite_leaf_pages(file: Path, most: int, rng: random.Random, tables: tuple[str, ...] = TABLES) -> None:
    """Overwrite up to `most` leaf pages of some tables by noise."""
    with closing(sqlite3.connect(file, timeout=600)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # or the log would still have the pages
        [page_bytes] = connection.execute("PRAGMA page_size").fetchone()
        pages = [
            number
            for table in tables
            for (number,) in connection.execute(
                "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", [table]
            )
        ]
    with file.open("r+b") as stream:
        for number in rng.sample(pages, min(most, len(pages))):
            stream.seek((number - 1) * page_bytes)
            stream.write(rng.randbytes(page_bytes))
