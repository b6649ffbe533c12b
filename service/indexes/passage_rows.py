"""Documents as rows: ids, metadata and terms of each passage, without its vector."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from heapq import nsmallest
from itertools import islice
from typing import Self

import numpy as np
from pyroaring import BitMap
from semblance_client.vocabulary.responses import RequestWarning

from semblance.models.tokenization.terms import Term, is_code
from semblance.service.filters import Filter
from semblance.service.indexes.columns.array_file import Array, Pieces, in_one
from semblance.service.indexes.columns.byte_strings import ByteStrings
from semblance.service.indexes.columns.string_numbers import StringNumbers
from semblance.service.indexes.postings import Postings, RowNumbers, facet_of, row_numbers, values_of
from semblance.service.indexes.terms.bm25 import Bm25, Flags, TextTerms
from semblance.service.indexes.unmet_conditions import mismatches
from semblance.service.ports.documents import CutDocuments, Metadata
from semblance.service.ports.indexes import Changes, DocumentSelection, Facet, FacetQuery, TermScore
from semblance.service.sorting import Order, by_value, page

MORE_ROWS = 4  # times as many, where those found are of too few documents


_NUMBER_BYTES = 4
_MOST_DIGITS = 15  # of an integer that JSON keeps


class PassageRows:
    """Which rows belong to which document: one for each passage, one after the other.

    Rows are only appended; those of removed documents leave the bitmap of live rows. What is seldom read of a row (its
    id, metadata and terms) is in arrays, which `adopt` takes from a saved file.

    Attributes:
        bm25: the terms of the rows.
    """

    def __init__(self) -> None:
        self._names = ByteStrings()  # id of a row; of a later passage, its number
        self._rows = StringNumbers()  # of the first passages
        self._metadata = ByteStrings()  # of the first passages, in JSON
        self._changed: dict[int, Metadata] = {}  # since the row was added
        self._metadata_changes = 0
        self._changes: dict[int, int] = {}  # numbers of the last changes of metadata, by first row
        self._live = BitMap()
        self._later = BitMap()  # rows of passages that are not the first
        self._postings = Postings()
        self.bm25 = Bm25()

    def remembering(self) -> PassageRows:
        """The same rows for one search, until the next change: each term is looked up once."""
        view = copy(self)
        view.bm25 = self.bm25.remembering()
        return view

    def __len__(self) -> int:
        """Number of rows, those of removed documents included."""
        return len(self._names)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return self.count(self._live)

    @property
    def live(self) -> int:
        """Number of rows of documents."""
        return len(self._live)

    @property
    def any_cut(self) -> bool:
        """Whether any document has several rows."""
        return bool(self._later)

    def of(self, doc_id: str) -> range:
        """Rows of a document, none if it is not there."""
        first = self._first_row(doc_id)
        if first is None:
            return range(0)
        end = first + 1
        while end in self._later:
            end += 1
        return range(first, end)

    def row(self, doc_id: str, number: int) -> int | None:
        """Row of a passage, None if there is none."""
        rows = self.of(doc_id)
        return rows[number] if number < len(rows) else None

    def document(self, row: int) -> str:
        """Id of the document of a row."""
        return self._names[row - self.number(row)].decode()

    def number(self, row: int) -> int:
        """Number of the passage of a row in its document."""
        return int.from_bytes(self._names[row], "little") if row in self._later else 0

    def count(self, rows: BitMap) -> int:
        """Number of documents that all rows of some documents belong to."""
        return len(rows) - rows.intersection_cardinality(self._later)

    def count_any(self, rows: Sequence[int]) -> int:
        """Number of documents that some rows belong to."""
        return len({row - self.number(row) for row in rows})

    def first_ids(self, k: int, rows: BitMap) -> list[str]:
        """The k smallest ids of the documents that all rows of some documents belong to."""
        return nsmallest(k, map(self.document, rows - self._later))

    def allowed(self, where: Filter | None) -> BitMap:
        """Rows of the documents that match a filter."""
        return self._live if where is None else self._postings.matching(where, self._live)

    def mask(self, where: Filter | None) -> Flags:
        """Whether each row is of a document that matches a filter."""
        if where is None:
            return self.bm25.live.copy()  # a view would keep rows from being added
        mask = np.zeros(len(self), np.bool_)
        mask[row_numbers(self.allowed(where))] = True
        return mask

    def mismatches(self, where: Filter, named: Mapping[str, str]) -> list[RequestWarning]:
        """Warnings of the conditions that no document can meet, and of other fields that none has."""
        return mismatches(where, self._postings.types_in, named, self._postings.fields)

    def count_facets(
        self, where: Filter | None, facets: Mapping[str, FacetQuery], among: Sequence[str] | None
    ) -> tuple[int, dict[str, Facet]]:
        """Number of matching documents among some, and the most frequent values of some fields."""
        first = self._first_rows(where)
        if among is not None:
            first &= BitMap([row for doc_id in among if (row := self._first_row(doc_id)) is not None])
        return len(first), {field: self._facet(field, first, counted) for field, counted in facets.items()}

    def _facet(self, field: str, rows: BitMap, counted: FacetQuery) -> Facet:
        ranges = [len(self._postings.matching(each, rows)) for each in counted.ranges]
        if len(rows) < self._postings.distinct(field):  # faster than to go through the values
            found = facet_of(map(self._metadata_of, rows), field, counted.values)
        else:
            found = self._postings.facet(field, rows, counted.values)
        return replace(found, ranges=ranges)

    def values_beginning(self, field: str, starts: Iterable[str], where: Filter | None) -> dict[str, int]:
        """Number of matching documents by string in a field that has one of some beginnings."""
        rows, found = self._first_rows(where), dict[str, int]()
        for start in starts:
            found |= self._postings.beginning(field, start, rows)
        return found

    def select(self, selection: DocumentSelection) -> list[str]:
        """Ids of the selected documents, in order."""
        first = self._first_rows(selection.where)
        if selection.after:
            first = BitMap([row for row in first if self.document(row) > selection.after])
        ids = ([self.document(row) for row in rows] for rows in self._in_order(first, selection.order))
        return page(ids, selection.offset, selection.limit)

    def _first_rows(self, where: Filter | None) -> BitMap:
        """A row of each matching document."""
        return self.allowed(where) - self._later

    def _in_order(self, rows: BitMap, order: Order | None) -> Iterator[Iterable[int]]:
        """Split rows by their values in the field of an order."""
        if order is None:
            return iter([rows])
        if len(rows) < self._postings.distinct(order.field):  # faster than to go through the values
            return by_value(rows, self._metadata_of, order)
        return self._postings.in_order(rows, order)

    def has(self, doc_id: str, texts: Sequence[str], metadata: Metadata | None = None) -> bool:
        """Whether a document has these passages, and this metadata, if given."""
        rows = self.of(doc_id)
        if not rows or len(rows) != len(texts) or metadata not in (None, self._metadata_of(rows[0])):
            return False
        return all(self.bm25.has(row, text) for row, text in zip(rows, texts, strict=True))

    @property
    def changes(self) -> Changes:
        """The changes so far."""
        return Changes(len(self), self._metadata_changes)

    def as_read(self, since: Changes, read: CutDocuments) -> list[str]:
        """Ids of the documents that are here as they were read, and have not changed since.

        A new text or vector is in new rows.
        """
        return [
            doc_id
            for doc_id, document in read.documents.items()
            if self._is_older(doc_id, since) and self.has(doc_id, read.passage_texts(doc_id), document.metadata)
        ]

    def _is_older(self, doc_id: str, since: Changes) -> bool:
        first = self._first_row(doc_id)
        return first is not None and first < since.rows and self._changes.get(first, 0) <= since.metadata

    def holds(self, doc_id: str, metadata: Metadata, texts: Sequence[TextTerms]) -> bool:
        """Whether a document has this metadata and these texts, and is found under all of them."""
        rows = self.of(doc_id)
        if not rows or len(rows) != len(texts) or self._metadata_of(rows[0]) != metadata:
            return False
        return all(
            self.bm25.holds(row, text) and self._postings.holds(row, metadata)
            for row, text in zip(rows, texts, strict=True)
        )

    @property
    def entries(self) -> int:
        """Number of values and terms under which rows are found, each counted once for each row."""
        return self._postings.entries(self._live) + self.bm25.entries

    def add(self, doc_id: str, metadata: Metadata, texts: Sequence[TextTerms]) -> None:
        """Assign the next rows to the passages of a document, which is not there."""
        first = len(self)
        self._rows.add(doc_id, first)
        for number, text in enumerate(texts):
            self._names.append(number.to_bytes(_NUMBER_BYTES, "little") if number else doc_id.encode())
            self._metadata.append(b"" if number else _encoded(metadata))
            self._postings.add(first + number, metadata)
            self.bm25.add(text)
        self._live.add_range(first, first + len(texts))
        self._later.add_range(first + 1, first + len(texts))

    def set_metadata(self, doc_id: str, metadata: Metadata) -> None:
        """Replace the metadata of a document, if they differ."""
        rows = self.of(doc_id)
        former = self._metadata_of(rows[0])
        if former == metadata:
            return
        for row in rows:
            self._postings.remove(row, former)
            self._postings.add(row, metadata)
        self._changed[rows[0]] = metadata
        self._metadata_changes += 1
        self._changes[rows[0]] = self._metadata_changes

    def remove(self, doc_id: str) -> None:
        """Remove a document, if it is there."""
        rows = self.of(doc_id)
        if not rows:
            return
        former = self._metadata_of(rows[0])
        for row in rows:
            self._postings.remove(row, former)
            self.bm25.remove(row)
        self._live.remove_range(rows.start, rows.stop)
        self._later.remove_range(rows.start, rows.stop)
        self._changed.pop(rows[0], None)

    def best_by_terms(self, terms: Sequence[Term], k: int, where: Filter | None) -> dict[str, list[int]]:
        """The k best matching documents by BM25, equals by id, with the rows found of each."""
        allowed = None if where is None else row_numbers(self.allowed(where))
        found: dict[str, list[int]] = {}
        count = k
        while True:
            rows = self.bm25.best(terms, count, allowed)
            found.clear()
            for _, doc_id, row in sorted((-score, self.document(row), row) for row, score in rows):
                found.setdefault(doc_id, []).append(row)
            if len(found) >= k or len(rows) < count:
                return dict(islice(found.items(), k))
            count *= MORE_ROWS

    def terms(self, terms: Sequence[Term], rows: Sequence[int]) -> list[list[TermScore]]:
        """The terms of a query that each row has."""
        return self.bm25.explain(terms, rows)

    def rows_named(self, code: Term, written: str = "", *, alone: bool = False) -> BitMap:
        """First rows of documents with a code as their id or a whole value of their metadata.

        An id or value is found in small letters, in capitals, and as it is written in the query; an id of digits only
        where the query has nothing else, since a number in a sentence seldom means a row.
        """
        forms = list(dict.fromkeys([code.text, code.text.upper(), written]))
        numbers = [int(form) for form in forms if form.isdecimal() and len(form) <= _MOST_DIGITS]
        ids = [form for form in forms if alone or not form.isdecimal()]
        named = [row for each in ids if (row := self._first_row(each)) is not None]
        valued = self._postings.having([*forms, *numbers]) - self._later
        return valued | BitMap(named)

    def rows_with_all(self, words: Sequence[str]) -> RowNumbers:
        """Rows with all of some words of a query; of a code alone, also those that it names."""
        rows = self.bm25.rows_with_all(words)
        if len(words) == 1 and is_code(words[0]):
            return row_numbers(BitMap(rows) | self.rows_named(Term(words[0], 0, 0)))
        return rows

    def matched_share(self, terms: Sequence[Term], rows: Sequence[int]) -> float:
        """Largest share of the information (idf) of a query that one of the rows has, from 0 to 1."""
        matched = max(sum(each.idf for each in found) for found in self.bm25.explain(terms, rows))
        return matched / self.bm25.information(terms)

    def pieces(self) -> Mapping[str, Pieces]:
        """The arrays to save, without those of the terms."""
        return {
            **self._names.pieces("names"),
            **self._rows.pieces("rows"),
            **self._metadata.pieces("metadata", {row: _encoded(each) for row, each in self._changed.items()}),
            **self._postings.pieces(),
            **{name: in_one(_serialized(rows)) for name, rows in (("live", self._live), ("later", self._later))},
        }

    def term_pieces(self) -> Mapping[str, Pieces]:
        """The arrays of the terms."""
        return self.bm25.pieces()

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array], terms: Mapping[str, Array]) -> Self:
        """Inverse of `pieces` and `term_pieces`.

        Raises:
            ValueError, KeyError: they are damaged, or of different rows.
        """
        loaded = cls()
        loaded._live, loaded._later = (BitMap.deserialize(arrays[name].tobytes()) for name in ("live", "later"))
        loaded._postings = Postings.of(arrays)
        loaded.bm25 = Bm25.of(terms)
        loaded.adopt(arrays, terms)
        if len(loaded) != len(loaded.bm25):
            raise ValueError(f"{len(loaded.bm25)} rows of terms do not match {len(loaded)} rows")
        return loaded

    def adopt(self, arrays: Mapping[str, Array], terms: Mapping[str, Array]) -> None:
        """Read what is seldom read from the arrays that were saved last, not from memory."""
        self._names = ByteStrings.of(arrays, "names")
        self._rows = StringNumbers.of(arrays, "rows")
        self._metadata = ByteStrings.of(arrays, "metadata")
        self._changed = {}
        self.bm25.adopt(terms)

    def _first_row(self, doc_id: str) -> int | None:
        """Row of the first passage of a document."""
        name = doc_id.encode(errors="surrogatepass")
        rows = self._rows.candidates(doc_id)
        return next((row for row in rows if row in self._live and self._names[row] == name), None)

    def _metadata_of(self, row: int) -> Metadata:
        """Metadata of a document, by its first row."""
        if row in self._changed:
            return self._changed[row]
        text = self._metadata[row]
        metadata: Metadata = json.loads(text) if text else {}
        return metadata


def entries_of(metadata: Metadata, texts: Sequence[TextTerms]) -> int:
    """Number of values and terms under which the passages of a document are to be found."""
    return sum(len(values_of(metadata)) + len(text.counts) for text in texts)


def _encoded(metadata: Metadata) -> bytes:
    """Metadata in JSON; none is most frequent, and takes no bytes."""
    return json.dumps(dict(metadata)).encode() if metadata else b""


def _serialized(rows: BitMap) -> Array:
    return np.frombuffer(rows.serialize(), np.uint8)
