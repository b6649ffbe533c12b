"""Index of one collection: documents in rows of any engine, found by vectors and terms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from semblance_client.vocabulary.responses import RequestWarning

from semblance.models.alignment.ragged import split_by_size
from semblance.models.embeddings import Floats
from semblance.models.tokenization.terms import Term
from semblance.service.errors import IndexDamaged
from semblance.service.filters import EVERYTHING, Filter
from semblance.service.indexes.columns.array_file import MappedArrays, write_arrays
from semblance.service.indexes.engine_choice import suits
from semblance.service.indexes.nearest import NearestDocuments, ThresholdRows
from semblance.service.indexes.passage_rows import PassageRows, entries_of
from semblance.service.indexes.shared_lock import SharedLock
from semblance.service.indexes.terms.bm25 import TextTerms
from semblance.service.indexes.terms.corrections import corrections
from semblance.service.indexes.terms.hybrid import HybridSearch
from semblance.service.indexes.terms.suggestions import values_beginning, words_beginning
from semblance.service.ports.documents import CutDocuments, PassageKey, VectorChange, Version
from semblance.service.ports.indexes import (
    NO_FIELDS,
    Changes,
    Comparison,
    Counted,
    DocumentSelection,
    FacetQuery,
    Hit,
    HybridHits,
    HybridQuery,
    Listed,
    TermScore,
    VectorReader,
    VectorRows,
    WordInDocument,
)
from semblance.service.threads import until_left

SPARE_ROWS = 1000  # dead rows that are always tolerated, in addition to as many as live ones
CHANGES_PER_LOCK = 256  # changes applied at a time: searches run in between
CHARS_PER_LOCK = 1 << 18  # of their texts: adding the terms of these takes 40 ms
QUERIES_PER_LOCK = 64  # queries searched at a time: changes are applied in between
HITS_PER_LOCK = 1000  # of them; a single query may have more


@dataclass(frozen=True, slots=True)
class SavedIndex:
    """Summary of a saved index: version, engine, number of rows, and of documents (`count`)."""

    version: Version
    engine: str
    rows: int
    count: int


class CollectionIndex:
    """Index of documents in the rows of an engine, a row for each passage.

    Rows are only appended: a new vector takes a new row, and the old one leaves the bitmap of live rows. Filters and
    deletions thus become one bitmap of allowed rows, the same for every engine. Hits are in order of their scores, and
    equals in that of their ids.

    With an approximate engine, few allowed rows are scanned exhaustively instead, and so are all allowed rows for a
    query with fewer than k results: neither filters nor deletions cost recall.

    Args:
        rows: an empty engine.
        epoch: of the collection.
        index: setting of the collection: the name of an engine, or "auto".
        read: the vectors in the store; None scores by the rows, which are exact unless the engine rounds them.
        documents: of the rows; None if there are none.
    """

    def __init__(
        self,
        rows: VectorRows,
        epoch: str,
        index: str,
        read: VectorReader | None = None,
        documents: PassageRows | None = None,
    ) -> None:
        self._rows = rows
        self._index = index
        self._version = Version(epoch, 0)
        self._lock = SharedLock()  # engines do not support searches during an addition
        self._documents = PassageRows() if documents is None else documents
        self._nearest = NearestDocuments(rows, self._documents, read)
        self._saved: Sequence[MappedArrays] = ()  # what was saved last, and is read from there

    def __len__(self) -> int:
        return self._documents.documents

    @property
    def has_terms(self) -> bool:
        """Whether documents are found by terms too."""
        return True

    @property
    def exact(self) -> bool:
        """Whether a search by vector finds the true nearest documents."""
        return self._rows.exact

    @property
    def rows(self) -> int:
        """Number of rows, one a passage, including those of replaced and deleted documents."""
        return len(self._documents)

    @property
    def needs_rebuild(self) -> bool:
        """Whether another engine or a larger one suits better, or too many rows are dead."""
        live = self._documents.live
        wasteful = self.rows > 2 * live + SPARE_ROWS
        return wasteful or self._rows.outgrown(live) or not suits(self._rows.name, self._index, live)

    @property
    def version(self) -> Version:
        """Version of the store up to which all changes were applied."""
        return self._version

    def advance(self, version: Version) -> None:
        """Record that every change up to `version` was applied."""
        self._version = version

    def apply(self, changes: Sequence[VectorChange]) -> None:
        """Apply the latest state of some documents, each once. Must not run concurrently."""
        least = CHARS_PER_LOCK // CHANGES_PER_LOCK
        sizes = [max(least, sum(map(len, change.texts))) for change in changes]
        for part in split_by_size(sizes, CHARS_PER_LOCK):
            terms = {change.id: self._new_terms(change) for change in changes[part]}  # without the lock: it takes long
            with self._damage_named(), self._lock.writing():
                self._apply(changes[part], terms)

    def search(
        self, queries: Floats, k: int, where: Filter | None, passages: int = 1, min_score: float = -math.inf
    ) -> tuple[Version, list[list[Hit]]]:
        """Find the k most similar matching documents for each of (q, d) unit queries.

        Of many queries, later ones may see later changes. The returned version is that of the first query, so comparing
        it with the versions of the documents reveals such changes.
        """
        version = self._version
        keys = [query.tobytes() for query in queries]  # equal ones are searched once
        vectors = dict(zip(keys, queries, strict=True))
        distinct = list(vectors)
        above = min_score > -math.inf and isinstance(self._rows, ThresholdRows)  # then most have few hits
        at_a_time = QUERIES_PER_LOCK if above else max(1, min(QUERIES_PER_LOCK, HITS_PER_LOCK // k))
        hits: dict[bytes, list[Hit]] = {}
        for start in until_left(range(0, len(distinct), at_a_time)):
            part = distinct[start : start + at_a_time]
            with self._reading():
                found = self._search(np.stack([vectors[key] for key in part]), k, where, passages, min_score)
            hits |= zip(part, found, strict=True)
        return version, [hits[key] for key in keys]

    def search_hybrid(self, query: HybridQuery, k: int, where: Filter | None, passages: int) -> HybridHits:
        """Find k matching documents by codes, by vectors and by terms, with the terms of each."""
        with self._reading():
            by_vector = [] if query.terms_only else self._search(query.vector[None], k, where, passages)[0]
            search = HybridSearch(self._documents.remembering(), self._nearest, passages)
            return search.search(query, k, where, by_vector, self._version)

    def corrections(
        self, terms: Sequence[Term], where: Filter | None, prefix: Term | None = None
    ) -> Mapping[Term, WordInDocument]:
        """Words of matching documents in place of typos of a query, each with such a document."""
        with self._reading():
            return corrections(terms, self._documents, where, prefix)

    def passages_with(self, phrases: Sequence[Sequence[str]], where: Filter | None) -> list[int]:
        """Number of passages of matching documents that have all words, for each phrase."""
        with self._reading():
            allowed = self._documents.mask(where)
            return [int(np.count_nonzero(allowed[self._documents.rows_with_all(words)])) for words in phrases]

    def words_beginning(self, prefix: str, where: Filter | None, k: int) -> list[WordInDocument]:
        """The k words that most passages of matching documents have, each with such a document."""
        with self._reading():
            return words_beginning(prefix, self._documents, where, k)

    def values_beginning(self, field: str, starts: Sequence[str], where: Filter | None, k: int) -> list[str]:
        """The k strings in a metadata field that most matching documents have."""
        with self._reading():
            return values_beginning(field, starts, self._documents, where, k)

    def mismatches(self, where: Filter, named: Mapping[str, str] = NO_FIELDS) -> list[RequestWarning]:
        """Warnings of the conditions that no document can meet, and of other fields that none has."""
        with self._reading():
            return self._documents.mismatches(where, named)

    def count(
        self, where: Filter | None, facets: Mapping[str, FacetQuery], among: Sequence[str] | None = None
    ) -> Counted:
        """Count the matching documents, and those that have the most frequent values of some fields."""
        with self._reading():
            documents, found = self._documents.count_facets(where, facets, among)
            named = {f"/facets/{i}/field": field for i, field in enumerate(facets)}
            return Counted(self._version, documents, found, self._documents.mismatches(where or EVERYTHING, named))

    def select(self, selection: DocumentSelection) -> Listed:
        """Ids of matching documents, in order."""
        with self._reading():
            named = {"/sort/field": selection.order.field} if selection.order else {}
            warnings = self._documents.mismatches(selection.where or EVERYTHING, named)
            return Listed(self._version, self._documents.select(selection), warnings)

    @property
    def changes(self) -> Changes:
        """The changes so far that a search may see."""
        return self._documents.changes

    def unchanged(self, since: Changes, read: CutDocuments) -> list[str]:
        """Ids of the documents that are as read, and have not changed in the index since."""
        with self._reading():
            return self._documents.as_read(since, read)

    def vectors(self, ids: Sequence[str]) -> dict[str, Floats]:
        """Get (p, d) vectors of the passages by document id; missing documents are left out."""
        with self._reading():
            rows = {doc_id: own for doc_id in ids if (own := self._documents.of(doc_id))}
            if not rows:
                return {}
            ends = np.cumsum([len(each) for each in rows.values()])
            found = np.split(self._nearest.vectors([row for each in rows.values() for row in each]), ends[:-1])
            return dict(zip(rows, found, strict=True))

    def compare(self, changes: Sequence[VectorChange]) -> Comparison:
        """Compare documents with what some changes made of them."""
        with self._reading():
            texts = {change.id: [TextTerms.of(text) for text in _texts(change)] for change in changes}
            return Comparison(
                [change.id for change in changes if not self._holds(change, texts[change.id])],
                sum(entries_of(change.metadata, texts[change.id]) for change in changes if change.vectors is not None),
            )

    @property
    def entries(self) -> int:
        """Number of values and terms under which passages are found, summed over passages."""
        with self._reading():
            return self._documents.entries

    def terms_of(self, terms: Sequence[Term], passages: Sequence[PassageKey]) -> dict[PassageKey, Sequence[TermScore]]:
        """Get the terms of a query that each passage has; missing passages are left out."""
        with self._reading():
            rows = {key: row for key in passages if (row := self._documents.row(*key)) is not None}
            return dict(zip(rows, self._documents.terms(terms, list(rows.values())), strict=True))

    def save(self, vectors: Path, documents: Path, terms: Path) -> SavedIndex:
        """Write the engine's rows, their documents and their terms to a file each.

        Raises:
            OSError, RuntimeError: a file could not be written.
            IndexDamaged: what was saved last has changed since.
        """
        with self._reading():
            for each in self._saved:  # else it would be saved again, as if it were sound
                each.check()
            self._rows.save(vectors)
            write_arrays(documents, self._documents.pieces())
            write_arrays(terms, self._documents.term_pieces())
            return SavedIndex(self._version, self._rows.name, self.rows, len(self))

    def adopt(self, documents: MappedArrays, terms: MappedArrays) -> None:
        """Read what is seldom read from what was just saved, not from memory.

        Must not run concurrently with a change.
        """
        with self._lock.writing():
            self._documents.adopt(documents, terms)
            self._saved = documents, terms

    @classmethod
    def load(
        cls,
        rows: VectorRows,
        documents: MappedArrays,
        terms: MappedArrays,
        version: Version,
        index: str,
        read: VectorReader | None,
    ) -> Self:
        """Inverse of `save`, from the engine with its rows, and two of the files.

        Raises:
            ValueError, KeyError: the files do not match.
        """
        loaded = cls(rows, version.epoch, index, read, PassageRows.of_arrays(documents, terms))
        loaded._saved = documents, terms
        if len(loaded._documents) != len(rows):
            raise ValueError(f"{len(rows)} rows do not match {len(loaded._documents)} of documents")
        loaded.advance(version)
        return loaded

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Read beside other readers. Raises IndexDamaged."""
        with self._damage_named(), self._lock.reading():
            yield

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        """Raise IndexDamaged in place of errors that a sound index does not raise."""
        try:
            yield
        except (LookupError, ValueError, OverflowError) as error:
            if not self._saved:
                raise
            raise IndexDamaged(self, error) from error

    def _search(
        self, queries: Floats, k: int, where: Filter | None, passages: int, min_score: float = -math.inf
    ) -> list[list[Hit]]:
        allowed = self._documents.allowed(where)
        wanted = min(k, self._documents.count(allowed))
        return self._nearest.search(queries, wanted, allowed, passages, min_score) if wanted else [[] for _ in queries]

    def _new_terms(self, change: VectorChange) -> list[TextTerms] | None:
        """Terms of the passages of a document, none if it was deleted.

        None if the index has these passages, with their vectors.
        """
        if change.vectors is None:
            return []
        return None if self._has(change) else [TextTerms.of(text) for text in _texts(change)]

    def _apply(self, changes: Sequence[VectorChange], terms: Mapping[str, Sequence[TextTerms] | None]) -> None:
        added: list[tuple[VectorChange, Sequence[TextTerms]]] = []
        for change in changes:
            if (own := terms[change.id]) is None:
                self._documents.set_metadata(change.id, change.metadata)
                continue
            self._documents.remove(change.id)
            if change.vectors is not None:
                added.append((change, own))
        if added:
            self._rows.add(np.concatenate([change.vectors for change, _ in added if change.vectors is not None]))
        for change, own in added:
            self._documents.add(change.id, change.metadata, own)

    def _has(self, change: VectorChange) -> bool:
        """Whether a document has these passages, by texts and vectors."""
        return self._documents.has(change.id, _texts(change)) and self._has_vectors(change)

    def _holds(self, change: VectorChange, texts: Sequence[TextTerms]) -> bool:
        """Whether a document is as a change left it, and is found so."""
        if not self._has_vectors(change):
            return False
        return change.vectors is None or self._documents.holds(change.id, change.metadata, texts)

    def _has_vectors(self, change: VectorChange) -> bool:
        """Whether a document has these vectors; none if it was deleted."""
        rows = self._documents.of(change.id)
        return not rows if change.vectors is None else self._nearest.has_vectors(rows, change.vectors)


def _texts(change: VectorChange) -> Sequence[str]:
    """A text for each passage; a source of vectors alone has none."""
    return change.texts or [""] * len(change.vectors if change.vectors is not None else ())
