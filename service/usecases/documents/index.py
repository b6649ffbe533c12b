"""Store documents so that searches find them; get and delete them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from semblance_client.vocabulary.documents import Deleted, DocumentPage, ReadDocument, StoredDocument
from semblance_client.vocabulary.responses import RequestWarning

from semblance.models.protocols import Encoder
from semblance.models.tokenization.passages import Cut
from semblance.service.errors import InvalidRequest, Problem, SpaceMismatch
from semblance.service.ports.documents import (
    Collection,
    Document,
    EmbeddedDocument,
    GivenEmbedding,
    Version,
    Write,
    unknown_document,
)
from semblance.service.replication.access import CollectionAccess
from semblance.service.replication.retries import retry_on_conflict
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.cursors import Place, read_cursor, write_cursor
from semblance.service.usecases.documents.embed import DocumentEmbedder, DocumentEmbeddings, searched_text
from semblance.service.usecases.request_fields import requested_version
from semblance.service.usecases.text_embedder import InputText


@dataclass(frozen=True, slots=True)
class IndexingResult:
    """Number of stored documents, the version that contains them, and the ids of truncated ones.

    Warnings concern the texts that were encoded: those that were not stored before.
    """

    upserted: int
    version: Version
    truncated: Sequence[str]
    tokens: int
    warnings: Sequence[RequestWarning]


class IndexDocuments:
    """Encodes and stores documents, all or none. Texts already stored are not encoded again.

    During a re-embedding, a new text is encoded by both encoders. An embedding that is given with a document, of the
    collection's space, is stored in place of encoding its text.
    """

    def __init__(self, collections: Collections, access: CollectionAccess, embedder: DocumentEmbedder) -> None:
        self._collections = collections
        self._access = access
        self._embedder = embedder

    async def store(
        self,
        name: str,
        documents: Sequence[Document],
        if_versions: Mapping[str, Version] | None = None,
        *,
        bulk: bool = False,
    ) -> IndexingResult:
        """Store documents, replacing those of the same ids. With `bulk`, as background work.

        `if_versions` has versions of the collection since which a document, by its id, must not have changed.

        Raises:
            UnknownCollection, SpaceMismatch, InvalidRequest, WriteConflict, DocumentChanged, VersionMismatch: see
                semblance.service.errors.
        """
        if repeated_ids({i: document.id for i, document in enumerate(documents)}):
            raise InvalidRequest(await self.problems_of(name, dict(enumerate(documents))))
        return await retry_on_conflict(
            lambda: self._store(name, documents, if_versions or {}, bulk=bulk),
            "other writers kept changing the same documents",
        )

    async def check_writable(self, name: str) -> None:
        """Raise UnknownCollection or SpaceMismatch if collection `name` cannot be written to here."""
        await self._encoders(await self._access.read_primary(lambda store: store.collection(name)))

    async def problems_of(self, name: str, documents: Mapping[int, Document]) -> list[Problem]:
        """Ids that repeat, and texts that cannot be stored, of documents by their places.

        Raises:
            UnknownCollection, SpaceMismatch: see semblance.service.errors.
        """
        problems = repeated_ids({i: document.id for i, document in documents.items()})
        try:
            await self.check(name, documents)
        except InvalidRequest as error:
            problems += error.problems
        return problems

    async def check(self, name: str, documents: Mapping[int, Document]) -> None:
        """Check that documents can be stored, by their places in a request; they may repeat ids.

        Raises:
            UnknownCollection, SpaceMismatch, InvalidRequest: see semblance.service.errors.
        """
        collection = await self._access.read_primary(lambda store: store.collection(name))
        text_fields = collection.settings.text_fields
        texts = {str(i): searched_text(each, text_fields, f"/documents/{i}/text") for i, each in documents.items()}
        given = {
            str(i): (texts[str(i)], each.given) for i, each in documents.items() if isinstance(each, EmbeddedDocument)
        }
        for encoder, cut in await self._encoders(collection):
            await self._embedder.check(encoder, texts, cut)
            own = {key: each for key, each in given.items() if each[1].space == encoder.space}
            await self._embedder.adopt(encoder, own, cut, collection.settings.tokens)

    async def _store(
        self, name: str, documents: Sequence[Document], if_versions: Mapping[str, Version], *, bulk: bool
    ) -> IndexingResult:
        """Make one attempt: read what is stored, encode what is new, write."""
        ids = [document.id for document in documents]
        collection, stored = await self._access.read_primary(lambda store: store.get_at(name, ids))
        text_fields = collection.settings.text_fields
        new = {
            document.id: searched_text(document, text_fields, f"/documents/{i}/text")
            for i, document in enumerate(documents)
            if not _same_text(document, stored.get(document.id), text_fields)
        }
        given = {each.id: each.given for each in documents if isinstance(each, EmbeddedDocument)}
        _require_space(collection, given.values())
        embedded = [
            await self._embed(collection, generation, new, given, bulk=bulk)
            for generation in await self._encoders(collection)
        ]
        own, following = embedded[0].by_id, embedded[-1].by_id if len(embedded) > 1 else {}
        writes = [Write(each, own.get(each.id), following.get(each.id), if_versions.get(each.id)) for each in documents]
        version = await self._access.write(name, lambda store: store.upsert(collection, writes))
        truncated = [doc_id for doc_id in ids if (embedded[0].by_id.get(doc_id) or stored[doc_id]).truncated]
        return IndexingResult(
            upserted=len(documents),
            version=version,
            truncated=truncated,
            tokens=sum(each.tokens for each in embedded),
            warnings=[notice for each in embedded for notice in each.warnings],
        )

    async def _embed(
        self,
        collection: Collection,
        generation: tuple[Encoder, Cut | None],
        texts: Mapping[str, InputText],
        given: Mapping[str, GivenEmbedding],
        *,
        bulk: bool,
    ) -> DocumentEmbeddings:
        """Adopt the embeddings that are of the space of a generation, and encode the other texts."""
        encoder, cut = generation
        tokens = collection.settings.tokens
        own = {key: (texts[key], each) for key, each in given.items() if key in texts and each.space == encoder.space}
        adopted = await self._embedder.adopt(encoder, own, cut, tokens)
        rest = {key: text for key, text in texts.items() if key not in own}
        return adopted.joined(await self._embedder.embed(encoder, rest, cut, tokens, bulk=bulk))

    async def delete(self, name: str, doc_id: str, if_version: object = None) -> Deleted:
        """Delete a document, if it has not changed since a version.

        Raises UnknownCollection, UnknownDocument, InvalidRequest, DocumentChanged, VersionMismatch.
        """
        since = requested_version(if_version, "/if_version")
        return Deleted(
            deleted=1, version=str(await self._access.write(name, lambda store: store.delete(name, doc_id, since)))
        )

    async def get(self, name: str, doc_id: str) -> ReadDocument:
        """Get a stored document, and the version of the collection that was read.

        Raises UnknownCollection, UnknownDocument.
        """
        collection, documents = await self._access.read(lambda store: store.get_at(name, [doc_id]))
        if doc_id not in documents:
            raise unknown_document(name, doc_id)
        return ReadDocument(**dict(document_response(documents[doc_id])), version=str(collection.version))

    async def page(self, name: str, cursor: str | None, limit: int) -> DocumentPage:
        """Get a page of documents by id, of less than `limit` where texts are long.

        Raises UnknownCollection, InvalidRequest.
        """
        after = read_cursor(cursor).after
        documents, more = await self._access.read(lambda store: store.scan(name, after, limit))
        return DocumentPage(
            documents=[document_response(document) for document in documents],
            cursor=write_cursor(Place(documents[-1].id)) if more else None,
        )

    async def _encoders(self, collection: Collection) -> list[tuple[Encoder, Cut | None]]:
        """Get the encoder and cut of a collection and, in a re-embedding, the next ones.

        Raises SpaceMismatch.
        """
        own = (await self._collections.encoder_of(collection), collection.settings.cut)
        if collection.reembedding is None:
            return [own]
        return [own, (await self._collections.next_encoder_of(collection), collection.reembedding.cut)]


def _same_text(document: Document, stored: Document | None, text_fields: Sequence[str]) -> bool:
    return stored is not None and stored.searched(text_fields) == document.searched(text_fields)


def _require_space(collection: Collection, given: Iterable[GivenEmbedding]) -> None:
    """Raise SpaceMismatch if an embedding is of another space than the collection's."""
    settings = collection.settings
    for each in given:
        if each.space != settings.space:
            raise SpaceMismatch(
                f"collection {collection.name!r} is of model {settings.model!r} (space {settings.space[:12]}), and "
                f"an embedding of space {each.space[:12]!r}: embed the texts by that model, or send them alone"
            )


def document_response(document: Document) -> StoredDocument:
    """A document as responses have it."""
    return StoredDocument(
        id=document.id, text=document.text, metadata=dict(document.metadata), truncated=document.truncated
    )


def check_distinct(ids: Sequence[str]) -> None:
    """Raise InvalidRequest if an id occurs more than once among those of a request."""
    if problems := repeated_ids(dict(enumerate(ids))):
        raise InvalidRequest(problems)


def repeated_ids(ids: Mapping[int, str]) -> list[Problem]:
    """A problem for each id, by its place in a request, that occurs more than once."""
    counts = Counter(ids.values())
    return [
        Problem(f"/documents/{i}/id", "duplicate_id", f"the id {doc_id!r} occurs more than once in this request")
        for i, doc_id in ids.items()
        if counts[doc_id] > 1
    ]
