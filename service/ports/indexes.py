"""Ports of vector indexes: the index of a collection, its engine, and its snapshots."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Protocol, Self, TypeAlias

from pyroaring import BitMap
from semblance_client.vocabulary.fields import Scalar
from semblance_client.vocabulary.responses import RequestWarning
from semblance_client.vocabulary.terms import CODE_TIERS, CodeTier

from semblance.models.embeddings import Floats
from semblance.models.tokenization.terms import Term
from semblance.service.filters import Between, Filter
from semblance.service.ports.device import ON_CPU, Device
from semblance.service.ports.documents import (
    Collection,
    CollectionSize,
    CutDocuments,
    PassageKey,
    VectorChange,
    Version,
)
from semblance.service.sorting import Order

ENGINES = "semblance.service.indexes.engines"  # catalogue family of the VectorRows classes

# reads (p, d) vectors of the passages from the store by document id; missing documents are left out
VectorReader: TypeAlias = Callable[[Sequence[str]], Mapping[str, Floats]]

ROUNDING = 1e-6  # of scores: more than the error of products in float32
AUTO = "auto"  # setting of a collection whose engine is chosen by its number of documents


class TermScore(NamedTuple):
    """A term of a query that a passage has `tf` times, its idf, and its part of a score."""

    term: Term
    idf: float
    tf: int
    score: float


class PassageHit(NamedTuple):
    """Number of a passage of a document, and its similarity to the query."""

    number: int
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """Id of a document, its similarity to the query, and its most similar passages.

    Higher is more alike. The score is that of the best passage, which is the first of `passages`.
    """

    id: str
    score: float
    passages: Sequence[PassageHit]


@dataclass(frozen=True, slots=True, eq=False)
class HybridQuery:
    """A query by its (d,) unit vector and its terms.

    Attributes:
        terms_only: whether to leave out the documents that only the vector finds.
        min_share: terms count only if one of the ten best documents by terms has this share of their information
            (idf), or any document has a code of the query.
        visible: the documents that exist for the caller, by which a code is rare or a term is missing; None is all.
        text: in which the terms are.
    """

    vector: Floats
    terms: Sequence[Term]
    terms_only: bool = False
    min_share: float = 0.0
    visible: Filter | None = None
    text: str = ""

    @property
    def only_codes(self) -> bool:
        """Whether all terms are codes or parts of them."""
        return all(term.kind in ("code", "part") for term in self.terms)

    def written(self, term: Term) -> str:
        """A term as the query has it."""
        return self.text[term.start : term.end]


def code_place(codes: CodeTier | None, *, names: bool) -> int:
    """Place of a document by the codes of a query, before anything else orders it."""
    return 2 * CODE_TIERS.index(codes or "none") + (not names)


class Changes(NamedTuple):
    """Number of rows that an index ever added, and of documents whose metadata it replaced."""

    rows: int
    metadata: int


class HybridPassage(NamedTuple):
    """Number of a passage, its similarity to the query, and the terms of the query that it has.

    `terms` is None where the terms do not count.
    """

    number: int
    score: float
    terms: Sequence[TermScore] | None


@dataclass(frozen=True, slots=True)
class HybridHit:
    """A document that was found by vector, by terms or by both, with its ranks from 1.

    Its passages are the nearest ones, and the best ones by terms.

    Attributes:
        codes: how many of the codes of the query it has; None if there are none.
        named: whether a code is its id, or a whole value in its metadata.
    """

    id: str
    vector_rank: int | None
    term_rank: int | None
    passages: Sequence[HybridPassage]
    codes: CodeTier | None = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class HybridHits:
    """Documents in the order of the codes that they have, and then of their fused ranks.

    Attributes:
        codes: of the query that few visible documents have or none, or of a query of nothing else.
        missing: words and codes of the query that no matching document has, in its order.
        matched: largest share of the information (idf) of the query that one of the best documents by terms has.
        only_missing_codes: whether no matching document has a code of the query, and its other words are function
            words, or words that half of the matching passages have, or none.
    """

    version: Version
    hits: Sequence[HybridHit]
    codes: Sequence[str]
    missing: Sequence[Term]
    matched: float
    only_missing_codes: bool = False


class WordInDocument(NamedTuple):
    """A word in the form of a term, and the id of a document that has it."""

    word: str
    document: str


class FacetValue(NamedTuple):
    """A value of a metadata field, and the number of documents that have it."""

    value: Scalar
    documents: int


class FacetQuery(NamedTuple):
    """A count of a metadata field: most values to return, and ranges of values."""

    values: int
    ranges: Sequence[Between] = ()


@dataclass(frozen=True, slots=True)
class Facet:
    """The most frequent values of a metadata field; number of different ones, and by range."""

    values: Sequence[FacetValue]
    distinct: int
    ranges: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Counted:
    """Number of matching documents, and facets over them by field; all exact."""

    version: Version
    documents: int
    facets: Mapping[str, Facet]
    warnings: Sequence[RequestWarning]


@dataclass(frozen=True, slots=True)
class DocumentSelection:
    """Some of the matching documents, by `order` and then by id.

    Attributes:
        where: None matches all documents.
        limit: most documents.
        order: None is that of the ids.
        offset: number of documents to leave out first.
        after: only documents with an id above this one.
    """

    where: Filter | None
    limit: int
    order: Order | None = None
    offset: int = 0
    after: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """Ids of the selected documents."""

    version: Version
    ids: Sequence[str]
    warnings: Sequence[RequestWarning]


class Comparison(NamedTuple):
    """Documents that are not as some changes left them, and the entries these should have made.

    A document differs by its vectors, its texts, its metadata, or what it is found under.
    """

    differing: Sequence[str]
    entries: int


NO_FIELDS: Mapping[str, str] = MappingProxyType({})


class IndexReader(Protocol):
    """Vectors of one collection, searched by similarity. Thread-safe.

    A key with limits has a reader of the documents that it reaches.
    """

    @property
    def version(self) -> Version:
        """Version of the store up to which all changes were applied; number 0 when new."""

    def search(
        self, queries: Floats, k: int, where: Filter | None, passages: int = 1, min_score: float = -math.inf
    ) -> tuple[Version, list[list[Hit]]]:
        """Find the k most similar matching documents for each of (q, d) unit queries, best first.

        A document is as similar as its most similar passage; a hit has up to `passages` of them. Fewer than k only
        where fewer match that score `min_score` or more. Equal scores are ordered by id; which of equals at the k-th
        place are returned is not defined. The version is the one that was searched; of many queries, some may have seen
        later changes.
        """

    def search_hybrid(self, query: HybridQuery, k: int, where: Filter | None, passages: int) -> HybridHits:
        """Find k matching documents by vectors and by terms, with the terms of each.

        Documents that have all codes of the query come first, and then those that have some. Otherwise the k
        nearest and the k best by BM25 are ranked together by reciprocal rank fusion. Fewer than k only where fewer
        match.
        """

    def corrections(
        self, terms: Sequence[Term], where: Filter | None, prefix: Term | None = None
    ) -> Mapping[Term, WordInDocument]:
        """Words of matching documents in place of typos of a query, each with such a document.

        Such a word is in hardly any matching document, and near one that more have. `prefix` may be the beginning of a
        word.
        """

    @property
    def changes(self) -> Changes:
        """The changes so far that a search may see; a new version of a document alone is none."""

    def unchanged(self, since: Changes, read: CutDocuments) -> list[str]:
        """Ids of the documents that are as read, and have not changed in the index since."""

    def passages_with(self, phrases: Sequence[Sequence[str]], where: Filter | None) -> list[int]:
        """Number of passages of matching documents that have all words, for each phrase.

        A code alone may also be the id, or a value of the metadata, of such a document.
        """

    def words_beginning(self, prefix: str, where: Filter | None, k: int) -> list[WordInDocument]:
        """The k words that most passages of matching documents have, each with such a document."""

    def values_beginning(self, field: str, starts: Sequence[str], where: Filter | None, k: int) -> list[str]:
        """The k strings in a metadata field that most matching documents have."""

    def mismatches(self, where: Filter, named: Mapping[str, str] = NO_FIELDS) -> list[RequestWarning]:
        """Warnings of conditions that no document can meet, and of unknown fields.

        Also of what a search may have missed. `named` has other metadata fields of the request, by the pointers to
        them. Takes time per condition and field, not per document.
        """

    def count(
        self, where: Filter | None, facets: Mapping[str, FacetQuery], among: Sequence[str] | None = None
    ) -> Counted:
        """Count the matching documents, and those that have the most frequent values of some fields.

        Args:
            where: None counts all documents.
            facets: what to count, by field. Of equally frequent ones, the smallest come first.
            among: ids of the only documents to count; None is all.
        """

    def select(self, selection: DocumentSelection) -> Listed:
        """Ids of matching documents, in order."""

    def vectors(self, ids: Sequence[str]) -> dict[str, Floats]:
        """Get (p, d) vectors of the passages by document id; missing documents are left out."""

    def terms_of(self, terms: Sequence[Term], passages: Sequence[PassageKey]) -> dict[PassageKey, Sequence[TermScore]]:
        """Get the terms of a query that each passage has; missing passages are left out."""

    def __len__(self) -> int:
        """Number of documents."""

    @property
    def has_terms(self) -> bool:
        """Whether documents are found by terms too."""

    @property
    def exact(self) -> bool:
        """Whether a search by vector finds the true nearest documents."""


class VectorIndex(IndexReader, Protocol):
    """An index in memory. Derived from the store and rebuildable, never authoritative."""

    def apply(self, changes: Sequence[VectorChange]) -> None:
        """Apply the latest state of some documents."""

    def advance(self, version: Version) -> None:
        """Record that every change up to `version` was applied."""

    def compare(self, changes: Sequence[VectorChange]) -> Comparison:
        """Compare documents with what some changes made of them."""

    @property
    def entries(self) -> int:
        """Number of values and terms under which passages are found, summed over passages."""

    @property
    def rows(self) -> int:
        """Number of rows, one a passage, including those of replaced and deleted documents."""

    @property
    def needs_rebuild(self) -> bool:
        """Whether another engine suits this number of documents, or too many rows are dead.

        Never true of an index just built for its number of documents, nor after a few more changes.
        """


class VectorRows(Protocol):
    """Unit vectors under row numbers from 0: the part of an index in which engines differ.

    Searches and reads may run concurrently with each other, but not with an addition.
    """

    name: ClassVar[str]
    """Name of its file in the catalogue."""

    exact: ClassVar[bool]
    """Whether a search returns the true nearest rows under any filter; an approximate engine may miss some."""

    rounds: ClassVar[bool]
    """Whether its rows are rounded vectors: then its order of the nearest rows is only nearly right."""

    suffix: ClassVar[str]
    """Suffix of its files."""

    @staticmethod
    def row_bytes(dim: int) -> int:
        """Bytes of memory of a row of d numbers, in an instance that was loaded."""

    def __init__(self, dim: int, expected: int = 0, device: Device = ON_CPU) -> None:
        """Create it empty; about `expected` rows will be added before the first search."""

    def outgrown(self, count: int) -> bool:
        """Whether an instance created for `count` rows would search better."""

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows."""

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """Find up to k of the `allowed` rows for each of (q, d) queries, most similar first."""

    def rows(self, numbers: Sequence[int]) -> Floats:
        """Get (n, d) rows by number."""

    def rounded(self, vectors: Floats) -> Floats:
        """The rows that would be stored for (n, d) vectors."""

    def save(self, file: Path) -> None:
        """Write all rows to `file`."""

    @classmethod
    def load(cls, file: Path, device: Device = ON_CPU) -> Self:
        """Read a file of `save`. Raises OSError, ValueError, RuntimeError for any other file."""

    def __len__(self) -> int:
        """Number of rows added so far, whether allowed or not."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """Size of a collection and its index; `lag` counts versions not yet in the index."""

    collection: Collection
    size: CollectionSize
    rows: int
    lag: int


class Indexes(Protocol):
    """Creates indexes, and keeps snapshots on disk, so that a start need not rebuild them.

    Not safe for concurrent use with the same collection. A snapshot is never authoritative.
    """

    def new(self, collection: Collection, passages: int, read: VectorReader) -> VectorIndex:
        """Create an empty index for a collection of about `passages` passages.

        `read` gets vectors from the store, for engines whose rows are rounded.
        """

    def load(self, collection: Collection, read: VectorReader) -> VectorIndex | None:
        """Load the snapshot of an index, current or older; None, with a log entry, if unusable."""

    def load_or_damage(self, collection: Collection, read: VectorReader) -> tuple[VectorIndex | None, str]:
        """As `load`, with the damage for which a snapshot is not used, or an empty text."""

    def discard(self, name: str) -> None:
        """Remove the snapshot of a collection, so that it is never loaded again. Raises OSError."""

    def save(self, collection: Collection, index: VectorIndex) -> None:
        """Write a snapshot. Raises OSError, RuntimeError: the previous snapshot is intact."""

    def keep_only(self, names: Sequence[str]) -> None:
        """Remove the snapshots of all other collections."""
