"""The ids of an upload, to find those that occur twice."""

from __future__ import annotations

import sqlite3


class SeenIds:
    """Rows by id, in a temporary file, since an upload may have more ids than memory."""

    def __init__(self) -> None:
        self._rows = sqlite3.connect("", check_same_thread=False)  # rows are read where they are sent
        self._rows.execute("PRAGMA journal_mode = OFF")
        self._rows.execute("CREATE TABLE rows (id BLOB PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID")

    def replaced_by(self, number: int, doc_id: str) -> int | None:
        """Number of the last row before `number` with the same id, or None.

        Remembers the row `number`.
        """
        key = doc_id.encode("utf-8", "surrogatepass")
        former = self._rows.execute("SELECT number FROM rows WHERE id = ?", (key,)).fetchone()
        self._rows.execute("INSERT OR REPLACE INTO rows VALUES (?, ?)", (key, number))
        return None if former is None else int(former[0])

    def close(self) -> None:
        """Remove the file."""
        self._rows.close()
