"""Documents as rows: ids, metadata and terms of each passage, without its vector."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Self

from pyroaring import BitMap

from semblance.service.filters import Filter, mismatches
from semblance.service.indexes.bm25 import Bm25, TextTerms
from semblance.service.indexes.postings import Postings, by_value, facet_of, row_numbers
from semblance.service.ports.documents import Metadata
from semblance.service.ports.indexes import DocumentSelection, Facet, Order, TermScore
from semblance.service.request_warnings import RequestWarning

MORE_ROWS = 4  # times as many, where those found are of too few documents


class PassageRows:
    """Which rows belong to which document: one for each passage, one after the other.

    Rows are only appended; those of removed documents leave the bitmap of live rows.
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._metadata: list[Metadata] = []
        self._row_of: dict[str, int] = {}  # of the first passage
        self._more: dict[str, int] = {}  # number of further passages, where there are any
        self._live = BitMap()
        self._later = BitMap()  # live rows of passages that are not the first
        self._postings = Postings()
        self._terms = Bm25()

    def __len__(self) -> int:
        """Number of rows, those of removed documents included."""
        return len(self._ids)

    def __contains__(self, doc_id: str) -> bool:
        return doc_id in self._row_of

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self._row_of)

    @property
    def live(self) -> int:
        """Number of rows of documents."""
        return len(self._live)

    @property
    def any_cut(self) -> bool:
        """Whether any document has several rows."""
        return bool(self._more)

    def is_cut(self, doc_id: str) -> bool:
        """Whether a document has several rows."""
        return doc_id in self._more

    def of(self, doc_id: str) -> range:
        """Rows of a document."""
        first = self._row_of[doc_id]
        return range(first, first + 1 + self._more.get(doc_id, 0))

    def row(self, doc_id: str, number: int) -> int | None:
        """Row of a passage, None if there is none."""
        rows = self.of(doc_id) if doc_id in self else range(0)
        return rows[number] if number < len(rows) else None

    def document(self, row: int) -> str:
        """Id of the document of a row."""
        return self._ids[row]

    def number(self, row: int) -> int:
        """Number of the passage of a row in its document."""
        return row - self._row_of[self._ids[row]]

    def count(self, rows: BitMap) -> int:
        """Number of documents that all rows of some documents belong to."""
        return len(rows) - rows.intersection_cardinality(self._later)

    def count_any(self, rows: Sequence[int]) -> int:
        """Number of documents that some rows belong to."""
        return len({self._ids[row] for row in rows})

    def allowed(self, where: Filter | None) -> BitMap:
        """Rows of the documents that match a filter."""
        return self._live if where is None else self._postings.matching(where, self._live)

    def mismatches(self, where: Filter) -> list[RequestWarning]:
        """Warnings of the conditions that no document can meet."""
        return mismatches(where, self._postings.types_in)

    def count_facets(
        self, where: Filter | None, facets: Mapping[str, int], among: Sequence[str] | None
    ) -> tuple[int, dict[str, Facet]]:
        """Number of matching documents among some, and the most frequent values of some fields."""
        first = self._first_rows(where)
        if among is not None:
            first &= BitMap([self._row_of[doc_id] for doc_id in among if doc_id in self])
        return len(first), {field: self._facet(field, first, most) for field, most in facets.items()}

    def _facet(self, field: str, rows: BitMap, most: int) -> Facet:
        if len(rows) < self._postings.distinct(field):  # faster than to go through the values
            return facet_of((self._metadata[row] for row in rows), field, most)
        return self._postings.facet(field, rows, most)

    def select(self, selection: DocumentSelection) -> list[str]:
        """Ids of the selected documents, in order."""
        first = self._first_rows(selection.where)
        if selection.after:
            first = BitMap([row for row in first if self._ids[row] > selection.after])
        ids = ([self._ids[row] for row in rows] for rows in self._in_order(first, selection.order))
        return page(ids, selection.offset, selection.limit)

    def _first_rows(self, where: Filter | None) -> BitMap:
        """A row of each matching document."""
        return self.allowed(where) - self._later

    def _in_order(self, rows: BitMap, order: Order | None) -> Iterator[Iterable[int]]:
        """Split rows by their values in the field of an order."""
        if order is None:
            return iter([rows])
        if len(rows) < self._postings.distinct(order.field):  # faster than to go through the values
            return by_value(rows, lambda row: self._metadata[row], order)
        return self._postings.in_order(rows, order)

    def has(self, doc_id: str, texts: Sequence[str]) -> bool:
        """Whether a document has these passages."""
        if doc_id not in self or len(rows := self.of(doc_id)) != len(texts):
            return False
        return all(self._terms.has(row, text) for row, text in zip(rows, texts, strict=True))

    def add(self, doc_id: str, metadata: Metadata, texts: Sequence[TextTerms]) -> None:
        """Assign the next rows to the passages of a document, which is not there."""
        self._add_row(doc_id, metadata)
        for _ in texts[1:]:
            self._add_later_row(doc_id)
        for text in texts:
            self._terms.add(text)

    def set_metadata(self, doc_id: str, metadata: Metadata) -> None:
        """Replace the metadata of a document."""
        for row in self.of(doc_id):
            self._postings.remove(row, self._metadata[row])
            self._postings.add(row, metadata)
            self._metadata[row] = metadata

    def remove(self, doc_id: str) -> None:
        """Remove a document, if it is there."""
        if doc_id not in self:
            return
        self.set_metadata(doc_id, {})
        for row in self.of(doc_id):
            self._live.discard(row)
            self._later.discard(row)
            self._terms.remove(row)
        del self._row_of[doc_id]
        self._more.pop(doc_id, None)

    def best_by_terms(self, terms: Sequence[str], k: int, where: Filter | None) -> dict[str, list[int]]:
        """The k best matching documents by BM25, best first, with the rows that were found of each."""
        allowed = None if where is None else row_numbers(self.allowed(where))
        found: dict[str, list[int]] = {}
        count = k
        while True:
            rows = self._terms.best(terms, count, allowed)
            found.clear()
            for row, _ in rows:
                found.setdefault(self._ids[row], []).append(row)
            if len(found) >= k or len(rows) < count:
                return dict(islice(found.items(), k))
            count *= MORE_ROWS

    def terms(self, terms: Sequence[str], rows: Sequence[int]) -> list[list[TermScore]]:
        """The terms of a query that each row has."""
        return self._terms.explain(terms, rows)

    def matched_share(self, terms: Sequence[str], rows: Sequence[int]) -> float:
        """Largest share of the information (idf) of a query that one of the rows has, from 0 to 1."""
        matched = max(sum(each.idf for each in found) for found in self._terms.explain(terms, rows))
        return matched / sum(self._terms.information(terms).values())

    def save(self) -> tuple[Iterator[str], Bm25]:
        """A line of JSON for each row, and the terms."""
        return (self._line(row) for row in range(len(self))), self._terms

    @classmethod
    def restore(cls, lines: Iterable[str], terms: Bm25) -> Self:
        """Inverse of `save`. Raises ValueError: lines and terms do not match."""
        restored = cls()
        for line in lines:
            match json.loads(line):
                case None:
                    restored._ids.append("")
                    restored._metadata.append({})
                case str(doc_id):
                    restored._add_later_row(doc_id)
                case [doc_id, metadata]:
                    restored._add_row(doc_id, metadata)
        restored._terms = terms
        if not len(restored) == len(terms) or restored.documents != restored.count(restored._live):
            raise ValueError(f"{len(terms)} rows of terms do not match {len(restored)} lines")
        return restored

    def _line(self, row: int) -> str:
        """A row as JSON: id and metadata, the id alone for further passages, null for a dead row."""
        if row not in self._live:
            return "null"
        doc_id = self._ids[row]
        return json.dumps(doc_id if row in self._later else [doc_id, dict(self._metadata[row])])

    def _add_row(self, doc_id: str, metadata: Metadata) -> None:
        """Assign the next row to the first passage of a document."""
        row = len(self)
        self._ids.append(doc_id)
        self._metadata.append(metadata)
        self._row_of[doc_id] = row
        self._live.add(row)
        self._postings.add(row, metadata)

    def _add_later_row(self, doc_id: str) -> None:
        """Assign the next row to the next passage of the document that was added last."""
        row, first = len(self), self._row_of[doc_id]
        self._ids.append(self._ids[first])
        self._metadata.append(self._metadata[first])
        self._more[doc_id] = row - first
        self._live.add(row)
        self._later.add(row)
        self._postings.add(row, self._metadata[first])


def page(groups: Iterable[Sequence[str]], offset: int, limit: int) -> list[str]:
    """Up to `limit` ids after the first `offset`; groups are in order, their ids not.

    >>> page([["b", "a"], ["d", "c"]], 1, 2)
    ['b', 'c']
    """
    found: list[str] = []
    for ids in groups:
        if offset < len(ids):
            found += nsmallest(offset + limit - len(found), ids)[offset:]
        offset = max(0, offset - len(ids))
        if len(found) == limit:
            break
    return found
