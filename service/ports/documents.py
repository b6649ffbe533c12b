"""Collections and their documents: versions, settings, embeddings, changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from semblance_client.vocabulary.collections import TokenStorage

from semblance.models.embeddings import Floats
from semblance.models.tokenization.passages import Cut
from semblance.service.errors import Problem, UnknownCollection, UnknownDocument, shorten
from semblance.service.names import RULE, is_name
from semblance.service.ports.searched_text import SearchedText

Metadata: TypeAlias = Mapping[str, Any]

Spans: TypeAlias = NDArray[np.int32]  # (p, 2) first and one-past-last code point of each passage

_VERSION = re.compile(r"(?P<epoch>[^:]+):(?P<number>[0-9]{1,18})(:(?P<commit>[^:]+))?")

_SHOWN_CHARS = 100  # of a name in a message

INCOMPLETE_VERSION = -1  # version number of a collection in a copy until its first fill is complete


@dataclass(frozen=True, slots=True)
class Version:
    """State of a collection: its epoch, new on each creation, and the writes in that epoch.

    `commit` is the random id of the last write. If a database is recovered to an earlier state and written to again,
    its versions have the numbers of lost ones, but other commits. It is empty for a version of an earlier release.

    >>> str(Version.parse("5f3a:17:c4d1f09e")), Version.parse("5f3a:17").commit
    ('5f3a:17:c4d1f09e', '')
    """

    epoch: str
    number: int
    commit: str = ""

    @classmethod
    def parse(cls, text: str) -> Version:
        """Inverse of str().

        Raises:
            ValueError: it is not of the form `epoch:number` or `epoch:number:commit`.
        """
        parsed = _VERSION.fullmatch(text)
        if parsed is None:
            raise ValueError("a version looks like 5f3a9c:17:c4d1f09e; send one from an earlier response")
        return cls(parsed["epoch"], int(parsed["number"]), parsed["commit"] or "")

    def __str__(self) -> str:
        return ":".join([self.epoch, str(self.number), *([self.commit] if self.commit else [])])

    def contradicts(self, other: Version) -> bool:
        """Whether both cannot belong to one history: equal numbers, different commits."""
        same_number = (self.epoch, self.number) == (other.epoch, other.number)
        return same_number and bool(self.commit and other.commit) and self.commit != other.commit


class Commit(NamedTuple):
    """The random id of a write, and the number of the version that it made."""

    number: int
    id: str


class _Generation:
    """Key of the embeddings of a collection: its encoder, and how documents are cut."""

    __slots__ = ()

    space: str
    passage_tokens: int | None
    passage_overlap: int

    @property
    def cut(self) -> Cut | None:
        """The way in which documents are cut; None where each is one passage."""
        return None if self.passage_tokens is None else Cut(self.passage_tokens, self.passage_overlap)

    @property
    def generation(self) -> str:
        """Key of the embeddings that are made so."""
        cut = self.cut
        return self.space if cut is None else f"{self.space}:{cut.tokens}:{cut.overlap}"


@dataclass(frozen=True, slots=True)
class CollectionSettings(_Generation):
    """Settings fixed at creation. `space` is the digest of the encoder that fills it.

    `precision` is the number type in which that encoder computes; collections that differ in it alone are equal.
    `text_fields` are metadata fields whose strings are searched beside the texts, as passages of their own.
    """

    model: str
    space: str
    dim: int
    measure: str
    index: str
    tokens: TokenStorage
    passage_tokens: int | None = None
    passage_overlap: int = 0
    precision: str | None = field(default=None, compare=False)
    text_fields: tuple[str, ...] = ()

    def cut_as(self, cut: Cut | None) -> CollectionSettings:
        """The same settings with documents cut in this way."""
        tokens, overlap = (None, 0) if cut is None else cut
        return replace(self, passage_tokens=tokens, passage_overlap=overlap)

    def as_next(self) -> Reembedding:
        """A re-embedding that leads to these settings."""
        return Reembedding(self.model, self.space, self.dim, self.passage_tokens, self.passage_overlap, self.precision)


@dataclass(frozen=True, slots=True)
class Reembedding(_Generation):
    """The next encoder of a collection that is being re-embedded, and its cut of documents."""

    model: str
    space: str
    dim: int
    passage_tokens: int | None = None
    passage_overlap: int = 0
    precision: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection at one version; its glossary is JSON, empty without one."""

    name: str
    version: Version
    settings: CollectionSettings
    reembedding: Reembedding | None = None
    glossary: str = ""

    def reembedded(self) -> Collection:
        """The same collection after the switch to the next encoder."""
        assert self.reembedding is not None
        return replace(self, settings=replace(self.settings, **asdict(self.reembedding)), reembedding=None)


@dataclass(frozen=True, slots=True)
class CollectionSize:
    """Number of documents, and mean bytes of vector and token codes per document.

    Of `truncated` documents the encoder read only part of the text. `passages` are all that are embedded.
    `token_error` bounds the error of a cosine with a stored token; None without token codes.
    `unfilled` documents are not yet embedded by the next encoder, if there is one.
    """

    documents: int
    truncated: int
    bytes_per_document: float
    token_error: float | None
    passages: int
    unfilled: int = 0


@dataclass(frozen=True, slots=True)
class GivenEmbedding:
    """Embedding of a document of one passage, by an encoder elsewhere.

    Attributes:
        space: digest of the encoder's space.
        vector: float32 in little-endian order.
        codes: token codes, if there are any.
        code_error: bounds the error of a cosine with one of the tokens.
    """

    space: str
    vector: bytes
    codes: bytes | None
    code_error: float


@dataclass(frozen=True, slots=True)
class Document:
    """A document; its `id` is unique in the collection.

    For a stored document, `truncated` says whether the encoder read only part of the text, and `version` is the
    number of the write that stored it.
    """

    id: str
    text: str
    metadata: Metadata
    truncated: bool = False
    version: int = 0

    def searched(self, fields: Sequence[str]) -> SearchedText:
        """The text that is searched, in a collection with these text fields."""
        return SearchedText.of(self.text, self.metadata, fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedDocument(Document):
    """A document to store with an embedding, so that it need not be encoded."""

    given: GivenEmbedding


@dataclass(frozen=True, slots=True, eq=False)
class DocumentEmbedding:
    """Embedding of a stored document of p passages.

    Attributes:
        vectors: (p, d) float32, a row at unit length for each passage.
        truncated: whether the encoder read only part of a passage.
        spans: (p, 2) of the passages in the searched text; None for one passage, the whole text.
        codes: token codes of each passage, if kept.
        code_error: bounds the error of a cosine with a stored token.
    """

    vectors: Floats
    truncated: bool
    spans: Spans | None = None
    codes: Sequence[bytes] | None = None
    code_error: float = 0.0


@dataclass(frozen=True, slots=True)
class Write:
    """A document to store.

    Without `embedding`, its text must equal the stored one: only metadata changes. During a re-embedding,
    `next_embedding` is the embedding by the next encoder. With `if_version`, the document must not have changed since
    that version of the collection.
    """

    document: Document
    embedding: DocumentEmbedding | None
    next_embedding: DocumentEmbedding | None = None
    if_version: Version | None = None


def passage_texts(text: str, spans: Spans | None) -> list[str]:
    """The texts of the passages of a document."""
    return [text] if spans is None else [text[start:end] for start, end in spans.tolist()]


class PassageKey(NamedTuple):
    """A passage of a stored document: their numbers begin at 0."""

    document: str
    number: int


@dataclass(frozen=True, slots=True)
class CutDocuments:
    """Documents by id, and spans of those that are cut, with the collection as it was read."""

    collection: Collection
    documents: Mapping[str, Document]
    spans: Mapping[str, Spans]

    def searched(self, doc_id: str) -> SearchedText:
        """The searched text of a document. Raises KeyError."""
        return self.documents[doc_id].searched(self.collection.settings.text_fields)

    def span(self, passage: PassageKey) -> tuple[int, int]:
        """First and one-past-last code point of a passage in the searched text. Raises LookupError."""
        if passage.document not in self.spans:
            return 0, len(self.documents[passage.document].text)
        start, end = self.spans[passage.document][passage.number]
        return int(start), int(end)

    def passage_texts(self, doc_id: str) -> list[str]:
        """Texts of all passages of a document, as an index has them. Raises KeyError."""
        return passage_texts(self.searched(doc_id).whole, self.spans.get(doc_id))

    def texts(self, passages: Sequence[PassageKey]) -> dict[PassageKey, str]:
        """Texts of passages; those of documents that were deleted or rewritten may be missing."""
        texts: dict[PassageKey, str] = {}
        for passage in passages:
            try:
                start, end = self.span(passage)
            except LookupError:
                continue
            texts[passage] = self.searched(passage.document).whole[start:end]
        return texts


@dataclass(frozen=True, slots=True, eq=False)
class VectorChange:
    """State of one document for an index: (p, d) vectors, metadata, and texts of its passages.

    If it was deleted, `vectors` is None, and the others are empty.
    """

    id: str
    version: int
    vectors: Floats | None
    metadata: Metadata
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class DocumentChange:
    """State of one document for a copy: embeddings by generation; none if deleted."""

    document: Document
    deleted: bool
    embeddings: Mapping[str, DocumentEmbedding]


@dataclass(frozen=True, slots=True)
class CollectionContents:
    """A collection at one version, and pages of all its documents."""

    collection: Collection
    pages: Iterator[Sequence[DocumentChange]]


AnyChange = TypeVar("AnyChange", VectorChange, DocumentChange)


@dataclass(frozen=True, slots=True)
class Cursor:
    """Start of a page: after a document, in the order of (version, id).

    `seen` is the version of the collection when the page before was read.
    """

    version: int
    id: str
    seen: Version


@dataclass(frozen=True, slots=True)
class ChangePage(Generic[AnyChange]):
    """A page of changes in the order of (version, id).

    `collection` is its state when the page was read, `complete` the version up to which no change is missing after this
    page, and `cursor` the start of the next page, None after the last one. The last page for a copy has the commits of
    the versions that it adds.
    """

    collection: Collection
    changes: Sequence[AnyChange]
    complete: Version
    cursor: Cursor | None
    commits: Sequence[Commit] = ()


def unknown_collection(name: str) -> UnknownCollection:
    """Error for a collection that does not exist, or cannot exist under that name."""
    if not is_name(name):
        return UnknownCollection(f"there can be no collection {shorten(name, _SHOWN_CHARS)!r}: {RULE}")
    return UnknownCollection(f"there is no collection {name!r}: create it with PUT /collections/{name}")


def unknown_document(name: str, *ids: str, pointers: Sequence[str] = ()) -> UnknownDocument:
    """Error for documents that a collection lacks; `pointers` lead to their ids in the body."""
    problems = [
        Problem(pointer, UnknownDocument.code, f"collection {name!r} has no document {doc_id!r}")
        for pointer, doc_id in zip(pointers, ids, strict=False)
    ]
    return UnknownDocument(f"collection {name!r} has no document {' and no document '.join(map(repr, ids))}", problems)
