"""Views of a store and of an index in which only what a key reaches exists."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from semblance_client.vocabulary.responses import RequestWarning

from semblance.models.embeddings import Floats
from semblance.models.tokenization.terms import Term
from semblance.service.callers import Permission
from semblance.service.errors import Forbidden, ForbiddenDocuments, Problem, pointer_to
from semblance.service.filters import EVERYTHING, All, Filter
from semblance.service.ports.document_store import DocumentReader, DocumentWriter, Require
from semblance.service.ports.documents import (
    Collection,
    CollectionSettings,
    CollectionSize,
    CutDocuments,
    Document,
    DocumentEmbedding,
    PassageKey,
    Reembedding,
    Version,
    Write,
    unknown_collection,
    unknown_document,
)
from semblance.service.ports.indexes import (
    NO_FIELDS,
    Changes,
    Counted,
    DocumentSelection,
    FacetQuery,
    Hit,
    HybridHits,
    HybridQuery,
    IndexReader,
    Listed,
    TermScore,
    WordInDocument,
)

SCANNED = 1000  # documents read at a time to find those that are visible
PAGE_CHARS = 1 << 24  # of texts of a page; a single document may have more


def limited_index(index: IndexReader, permission: Permission) -> IndexReader:
    """The index within limits."""
    where = permission.where
    return index if where is None else LimitedIndex(index, where)


def all_documents(permission: Permission) -> None:
    """Raise Forbidden if a permission does not reach all documents of its collections."""
    if permission.limits_documents:
        raise Forbidden("this concerns all documents of the collection, and the key reaches only some of them")


class LimitedReader:
    """`DocumentReader` as a key with limits sees it; see there for what the methods do.

    A collection outside of the limits is unknown, whether it exists or not. A document outside is missing.
    """

    def __init__(self, store: DocumentReader, permission: Permission) -> None:
        self._store = store
        self._permission = permission

    def collection(self, name: str) -> Collection:
        """Get a collection that is reached."""
        return self._reached(name).collection(name)

    def collections(self) -> list[Collection]:
        """List the collections that are reached."""
        return [collection for collection in self._store.collections() if self._permission.reaches(collection.name)]

    def aliases(self) -> dict[str, str]:
        """Get the aliases that are reached by their own names, with their collections."""
        return {name: target for name, target in self._store.aliases().items() if self._permission.reaches(name)}

    def sizes(self, names: Sequence[str] | None = None) -> list[tuple[Collection, CollectionSize]]:
        """Sizes of whole collections, also where some of their documents are not visible."""
        for name in names or ():
            self._check(name)
        return [(found, size) for found, size in self._store.sizes(names) if self._permission.reaches(found.name)]

    def get(self, name: str, ids: Sequence[str]) -> dict[str, Document]:
        """Get visible documents."""
        return self._visible(self._reached(name).get(name, ids))

    def get_at(self, name: str, ids: Sequence[str]) -> tuple[Collection, dict[str, Document]]:
        """Get visible documents, with the collection."""
        collection, documents = self._reached(name).get_at(name, ids)
        return collection, self._visible(documents)

    def get_cut(self, name: str, ids: Sequence[str]) -> CutDocuments:
        """Get visible documents, with the spans of their passages."""
        read = self._reached(name).get_cut(name, ids)
        documents = self._visible(read.documents)
        return replace(read, documents=documents, spans={key: read.spans[key] for key in read.spans.keys() & documents})

    def codes(self, name: str, passages: Sequence[PassageKey], generation: str) -> dict[PassageKey, bytes]:
        """Get token codes of visible documents, except of those that are changed meanwhile."""
        ids = list({each.document for each in passages})
        before, found, after = self.get(name, ids), self._store.codes(name, passages, generation), self.get(name, ids)
        same = {doc_id for doc_id in before if before[doc_id] == after.get(doc_id)}
        return {passage: each for passage, each in found.items() if passage.document in same}

    def scan(self, name: str, after: str, limit: int) -> tuple[list[Document], bool]:
        """Get a page of visible documents, and whether more visible ones follow."""
        visible: list[Document] = []
        more = True
        while more and len(visible) <= limit and (len(visible) < 2 or _chars(visible) <= PAGE_CHARS):
            page, more = self._reached(name).scan(name, after, SCANNED)
            visible += self._visible({each.id: each for each in page}).values()
            after = page[-1].id if page else after
        if more or len(visible) > limit:  # the last one shows that more follow
            return visible[: min(limit, len(visible) - 1)], True
        return visible, False

    def unfilled(self, name: str, limit: int) -> tuple[int, list[Document]]:
        """Raises Forbidden, too."""
        self._check_all(name)
        return self._store.unfilled(name, limit)

    def _reached(self, name: str) -> DocumentReader:
        """The store, for a collection that is reached. Raises UnknownCollection."""
        self._check(name)
        return self._store

    def _check(self, name: str) -> None:
        """Raise UnknownCollection if a collection is not reached."""
        if not self._permission.reaches(name):
            raise unknown_collection(name)

    def _check_all(self, name: str) -> None:
        """Raise Forbidden, UnknownCollection if not all of a collection is reached."""
        self._check(name)
        all_documents(self._permission)

    def _visible(self, documents: Mapping[str, Document]) -> dict[str, Document]:
        return {doc_id: document for doc_id, document in documents.items() if self._permission.sees(document.metadata)}


class LimitedWriter(LimitedReader):
    """`DocumentWriter` as a key with limits sees it."""

    def __init__(self, store: DocumentWriter, permission: Permission) -> None:
        super().__init__(store, permission)
        self._writer = store

    def create(self, name: str, settings: CollectionSettings) -> tuple[Collection, bool]:
        """Raises Forbidden, too."""
        self._check_name("create no collection", name)
        return self._writer.create(name, settings)

    def set_alias(self, name: str, collection: str) -> bool:
        """Set an alias that is reached, to a collection that is. Raises Forbidden, too."""
        self._check_name("set or delete no alias", name)
        self._check(collection)
        return self._writer.set_alias(name, collection)

    def drop_alias(self, name: str) -> None:
        """Delete an alias that is reached. Raises Forbidden, too."""
        self._check_name("set or delete no alias", name)
        self._writer.drop_alias(name)

    def upsert(self, collection: Collection, writes: Sequence[Write], require: Require | None = None) -> Version:
        """Store own documents, in place of own ones only. Raises ForbiddenDocuments, too."""
        documents = [write.document for write in writes]
        self._refuse(
            documents, [document for document in documents if not self._permission.owns(document.id, document.metadata)]
        )

        def require_own(stored: Mapping[str, Document]) -> None:
            self._refuse(documents, self._foreign(stored))
            if require is not None:
                require(stored)

        self._check(collection.name)
        return self._writer.upsert(collection, writes, require_own if self._permission.limits_documents else require)

    def delete(
        self, name: str, doc_id: str, if_version: Version | None = None, require: Require | None = None
    ) -> Version:
        """Delete an own document. Raises Forbidden if it is visible, and not its own."""

        def require_own(stored: Mapping[str, Document]) -> None:
            if not self._visible(stored):
                raise unknown_document(name, doc_id)
            if self._foreign(stored):
                raise Forbidden(f"the key may not delete this document: {self._rule()}")
            if require is not None:
                require(stored)

        self._check(name)
        return self._writer.delete(
            name, doc_id, if_version, require_own if self._permission.limits_documents else require
        )

    def delete_many(self, name: str, ids: Sequence[str], unchanged_since: Version | None = None) -> tuple[Version, int]:
        """Delete own documents that do not change meanwhile. Raises Forbidden if others see one."""
        self._check(name)
        if not self._permission.limits_documents:
            return self._writer.delete_many(name, ids, unchanged_since)
        collection, visible = self.get_at(name, ids)
        if self._foreign(visible):
            raise Forbidden(f"the key may not delete all of these documents: {self._rule()}; leave out the others")
        seen = collection.version
        if unchanged_since is not None and (
            unchanged_since.epoch != seen.epoch or unchanged_since.number < seen.number
        ):
            seen = unchanged_since
        return self._writer.delete_many(name, list(visible), seen)

    def begin_reembedding(self, collection: Collection, reembedding: Reembedding) -> Collection:
        """Raises Forbidden, too."""
        self._check_all(collection.name)
        return self._writer.begin_reembedding(collection, reembedding)

    def fill(self, collection: Collection, embedded: Sequence[tuple[Document, DocumentEmbedding]]) -> Version:
        """Raises Forbidden, too."""
        self._check_all(collection.name)
        return self._writer.fill(collection, embedded)

    def drop_reembedding(self, name: str) -> Collection:
        """Raises Forbidden, too."""
        self._check_all(name)
        return self._writer.drop_reembedding(name)

    def set_glossary(self, name: str, glossary: str) -> Collection:
        """Raises Forbidden, too."""
        self._check_all(name)
        return self._writer.set_glossary(name, glossary)

    def _check_name(self, refusal: str, name: str) -> None:
        """Raise Forbidden unless the key may decide what a name means."""
        all_documents(self._permission)
        if not self._permission.reaches(name):
            reached = ", ".join(self._permission.collections)
            raise Forbidden(f"the key may {refusal} {name!r}: it reaches {reached}")

    def _foreign(self, documents: Mapping[str, Document]) -> list[Document]:
        """Those of some documents that are not the key's own."""
        return [
            document for doc_id, document in documents.items() if not self._permission.owns(doc_id, document.metadata)
        ]

    def _refuse(self, sent: Sequence[Document], foreign: Sequence[Document]) -> None:
        """Raise ForbiddenDocuments if there are any; it does not tell which of them exist."""
        ids = {each.id for each in foreign}
        if ids:
            detail = f"the key may not store a document under this id, or with this metadata: {self._rule()}"
            raise ForbiddenDocuments(
                [
                    Problem(pointer_to("documents", i), "forbidden", detail)
                    for i, own in enumerate(sent)
                    if own.id in ids
                ]
            )

    def _rule(self) -> str:
        """The rule for documents that the key may write, for a message."""
        exact = [f"{condition.field} to be {condition.values[0]!r} alone" for condition in self._permission.conditions]
        prefix = [f"an id that begins with {self._permission.id_prefix!r}"] if self._permission.id_prefix else []
        return f"it needs {' and '.join([*prefix, *exact])}, and an id that is not in use by others"


class LimitedIndex:
    """`IndexReader` of the documents that match a filter; see there for what the methods do.

    Statistics of terms remain those of the whole collection.
    """

    def __init__(self, index: IndexReader, where: Filter) -> None:
        self._index = index
        self._where = where

    @property
    def version(self) -> Version:
        """Version of the whole index."""
        return self._index.version

    def search(
        self, queries: Floats, k: int, where: Filter | None, passages: int = 1, min_score: float = -math.inf
    ) -> tuple[Version, list[list[Hit]]]:
        """Search visible documents."""
        return self._index.search(queries, k, self._visible(where), passages, min_score)

    def search_hybrid(self, query: HybridQuery, k: int, where: Filter | None, passages: int) -> HybridHits:
        """Search visible documents."""
        return self._index.search_hybrid(replace(query, visible=self._where), k, self._visible(where), passages)

    def corrections(
        self, terms: Sequence[Term], where: Filter | None, prefix: Term | None = None
    ) -> Mapping[Term, WordInDocument]:
        """Words of visible documents."""
        return self._index.corrections(terms, self._visible(where), prefix)

    @property
    def changes(self) -> Changes:
        """Changes of all documents."""
        return self._index.changes

    def unchanged(self, since: Changes, read: CutDocuments) -> list[str]:
        """Documents that were read, as visible ones."""
        return self._index.unchanged(since, read)

    def passages_with(self, phrases: Sequence[Sequence[str]], where: Filter | None) -> list[int]:
        """Passages of visible documents."""
        return self._index.passages_with(phrases, self._visible(where))

    def words_beginning(self, prefix: str, where: Filter | None, k: int) -> list[WordInDocument]:
        """Words of visible documents."""
        return self._index.words_beginning(prefix, self._visible(where), k)

    def values_beginning(self, field: str, starts: Sequence[str], where: Filter | None, k: int) -> list[str]:
        """Values that visible documents have."""
        return self._index.values_beginning(field, starts, self._visible(where), k)

    def mismatches(self, where: Filter, named: Mapping[str, str] = NO_FIELDS) -> list[RequestWarning]:
        """Those of the search alone: others would tell of the metadata of other documents."""
        del where, named
        return self._index.mismatches(EVERYTHING)

    def count(
        self, where: Filter | None, facets: Mapping[str, FacetQuery], among: Sequence[str] | None = None
    ) -> Counted:
        """Count visible documents, without warnings."""
        return replace(self._index.count(self._visible(where), facets, among), warnings=[])

    def select(self, selection: DocumentSelection) -> Listed:
        """Select visible documents, without warnings."""
        visible = replace(selection, where=self._visible(selection.where))
        return replace(self._index.select(visible), warnings=[])

    def vectors(self, ids: Sequence[str]) -> dict[str, Floats]:
        """Get vectors of visible documents, except of those that change hands meanwhile."""
        found = self._index.vectors(self._visible_ids(ids))
        return {doc_id: found[doc_id] for doc_id in self._visible_ids(list(found))}

    def terms_of(self, terms: Sequence[Term], passages: Sequence[PassageKey]) -> dict[PassageKey, Sequence[TermScore]]:
        """Get terms of passages of visible documents, unless these change hands meanwhile."""
        ids = self._visible_ids(list({each.document for each in passages}))
        found = self._index.terms_of(terms, [each for each in passages if each.document in ids])
        still = set(self._visible_ids(list({each.document for each in found})))
        return {passage: each for passage, each in found.items() if passage.document in still}

    def __len__(self) -> int:
        """Number of visible documents."""
        return self.count(None, {}).documents

    @property
    def has_terms(self) -> bool:
        """Whether the whole index has terms."""
        return self._index.has_terms

    @property
    def exact(self) -> bool:
        """As of the whole index."""
        return self._index.exact

    def _visible_ids(self, ids: Sequence[str]) -> Sequence[str]:
        """Those of some ids that have a visible document."""
        if self.count(None, {}, ids).documents == len(ids):  # mostly: a search found them
            return ids
        return [each for each in ids if self.count(None, {}, [each]).documents]

    def _visible(self, where: Filter | None) -> Filter:
        return self._where if where is None else All((where, self._where))


def _chars(documents: Sequence[Document]) -> int:
    """Characters of the texts of some documents."""
    return sum(len(document.text) for document in documents)
