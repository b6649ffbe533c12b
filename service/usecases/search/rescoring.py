"""Score passages of documents by a measure: from stored token codes, or from their texts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias, TypeVar

from semblance.models.alignment.quantized_tokens import dequantize_many, is_codes
from semblance.models.alignment.ragged import split_by_size
from semblance.models.catalogue import required_vectors
from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.nearest_passages import score_passages
from semblance.models.protocols import Encoder, Similarity
from semblance.models.text import TokenizedText
from semblance.models.tokenization.glossary import NO_GLOSSARY, Glossary
from semblance.service.observability.stages import timed
from semblance.service.ports.document_store import DocumentReader
from semblance.service.ports.documents import Collection, CutDocuments, Document, PassageKey
from semblance.service.replication.access import CollectionAccess
from semblance.service.threads import until_left
from semblance.service.turns import in_thread
from semblance.service.usecases.text_embedder import InputText, TextEmbedder

log = logging.getLogger(__name__)

ScoreSource: TypeAlias = Literal["index", "token_codes", "encoder"]
Scores: TypeAlias = dict[PassageKey, float]

INDEX_MEASURE = "cosine"  # the measure by which an index ranks
CHUNK = 32  # candidates that are scored in one thread, or encoded in one call, whatever their length
CHUNK_TOKENS = 1 << 14  # of token codes that may be read at a time instead: 6 MB where each has 384 numbers
CONCURRENT_CHUNKS = 2  # of one request; other requests use the remaining threads
DECODED_BYTES = 1 << 19  # of codes decoded at a time, so that the vectors fit the CPU cache and memory is reused

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class PassageScorer:
    """Scores stored passages of one collection by a measure."""

    access: CollectionAccess
    texts: TextEmbedder
    collection: Collection
    encoder: Encoder
    measure: Similarity
    glossary: Glossary = NO_GLOSSARY

    @property
    def source(self) -> ScoreSource:
        """Source of the documents' vectors.

        Only the index's own measure is scored from the index: it stores directions, and a measure may need the length
        of a pooled vector.
        """
        if self.measure.name == INDEX_MEASURE:
            return "index"
        return "token_codes" if self.measure.needs != "pooled" and self._coded else "encoder"

    async def documents(self, ids: Sequence[str]) -> CutDocuments:
        """Get documents by id, and the collection at the version that was read."""
        return await self.access.read(lambda store: store.get_cut(self.collection.name, ids))

    async def scores(self, query: TokenEmbeddings, passages: Sequence[PassageKey]) -> Scores:
        """Score passages by the measure; deleted ones are left out."""
        scores: Scores = {}
        for chunks in _chunked(_chunked(passages, self._chunk_size(len(passages))), CONCURRENT_CHUNKS):
            embedded = [await self._embed_stored(chunk) if self.source == "encoder" else None for chunk in chunks]
            with timed("rescore"):
                scored = await asyncio.gather(
                    *(
                        self.access.search(partial(self._score_chunk, query, *each))
                        for each in zip(chunks, embedded, strict=True)
                    )
                )
            for each, _ in scored:
                scores |= each
            scores |= await self._score_damaged(query, [passage for _, damaged in scored for passage in damaged])
        return scores

    def _chunk_size(self, count: int) -> int:
        """Passages per chunk, of `count` passages. Few chunks: each takes a query and a thread."""
        if self.source == "encoder":
            return CHUNK
        tokens = min(self.encoder.max_tokens, self.collection.settings.passage_tokens or self.encoder.max_tokens)
        return max(CHUNK, min(CHUNK_TOKENS // tokens, -(-count // CONCURRENT_CHUNKS)))

    async def of_tokens(
        self,
        documents: Sequence[Document],
        passages: Mapping[PassageKey, str],
        work: Callable[[TokenEmbeddings], Item],
    ) -> dict[PassageKey, Item]:
        """In a thread, apply `work` to the token vectors of passages of documents that were read.

        They have these texts, and come from token codes or, without any, are encoded.
        """

        def of_all(embedded: Mapping[PassageKey, TokenEmbeddings]) -> dict[PassageKey, Item]:
            return {passage: work(each) for passage, each in until_left(embedded.items())}

        done: dict[PassageKey, Item] = {}
        if self._coded:
            done = await self.access.search(lambda store: of_all(self._stored_tokens(documents, passages, store)))
        if missing := {passage: text for passage, text in passages.items() if passage not in done}:
            done |= await in_thread(of_all, await self.embed(missing, "tokens"))
        return done

    @property
    def _coded(self) -> bool:
        return self.collection.settings.tokens == "int8"

    def _stored_tokens(
        self, documents: Sequence[Document], passages: Mapping[PassageKey, str], store: DocumentReader
    ) -> dict[PassageKey, TokenEmbeddings]:
        """In a search thread: token vectors of documents that have not changed since they were read."""
        name, settings = self.collection.name, self.collection.settings
        codes = store.codes(name, list(passages), settings.generation)
        now = store.get(name, [document.id for document in documents])
        unchanged = {document.id for document in documents if now.get(document.id) == document}
        texts = self.encoder.tokenize(list(passages.values()), "document", "END")
        usable = {
            passage: text
            for passage, text in zip(passages, texts, strict=True)
            if passage in codes and passage.document in unchanged and is_codes(codes[passage], settings.dim, len(text))
        }
        embedded = dequantize_many([codes[passage] for passage in usable])
        return {passage: _with_text(each, usable[passage]) for passage, each in zip(usable, embedded, strict=True)}

    async def _score_damaged(self, query: TokenEmbeddings, passages: Sequence[PassageKey]) -> Scores:
        """Score passages whose token codes are damaged by encoding their texts again."""
        if not passages:
            return {}
        log.warning(
            "collection %s: the token codes of %r are damaged; its text is encoded again",
            self.collection.name,
            passages[0].document,
        )
        embedded = await self._embed_stored(passages)
        with timed("rescore"):
            return await in_thread(self._score, query, list(embedded), list(embedded.values()))

    async def _embed_stored(self, passages: Sequence[PassageKey]) -> dict[PassageKey, TokenEmbeddings]:
        read = await self.documents([passage.document for passage in passages])
        return await self.embed(read.texts(passages), required_vectors(self.measure))

    async def embed(self, passages: Mapping[PassageKey, str], want: Want) -> dict[PassageKey, TokenEmbeddings]:
        """Encode texts of passages, whose length is not limited."""
        inputs = [InputText(text, f"/documents/{passage.document}") for passage, text in passages.items()]
        tokens = await self.texts.tokenize(self.encoder, inputs, "document", limited=False)
        texts = [each._replace(tokens=own) for each, own in zip(inputs, tokens, strict=True)]
        embedded = await self.texts.embed(self.encoder, texts, "document", want)
        return dict(zip(passages, embedded.embeddings, strict=True))

    def _score_chunk(
        self,
        query: TokenEmbeddings,
        passages: Sequence[PassageKey],
        embedded: Mapping[PassageKey, TokenEmbeddings] | None,
        store: DocumentReader,
    ) -> tuple[Scores, list[PassageKey]]:
        """In a search thread: score passages by embeddings or, without any, stored token codes.

        Returns their scores, and those whose codes are damaged.
        """
        if embedded is not None:
            return self._score(query, list(embedded), list(embedded.values())), []
        codes = store.codes(self.collection.name, passages, self.collection.settings.generation)
        texts = self._tokenized(store, list(codes)) if self.measure.needs == "words" or self.glossary else None
        try:
            return self._score_codes(query, codes, texts), []
        except (ValueError, KeyError):
            if self.measure.needs == "own_tokens":  # codes of earlier releases do not mark them
                texts = self._tokenized(store, list(codes))
            intact = {passage: code for passage, code in codes.items() if self._is_intact(passage, code, texts)}
            return self._score_codes(query, intact, texts), [passage for passage in codes if passage not in intact]

    def _tokenized(self, store: DocumentReader, passages: Sequence[PassageKey]) -> dict[PassageKey, TokenizedText]:
        """The tokens of passages, which their token codes do not contain."""
        read = store.get_cut(self.collection.name, [passage.document for passage in passages])
        texts = read.texts(passages)
        return dict(zip(texts, self.encoder.tokenize(list(texts.values()), "document", "END"), strict=True))

    def _is_intact(self, passage: PassageKey, codes: bytes, texts: Mapping[PassageKey, TokenizedText] | None) -> bool:
        """Whether these are token codes and, if `texts` are given, of the tokens of that passage."""
        if texts is not None and passage not in texts:
            return False  # deleted since the codes were read
        return is_codes(codes, self.collection.settings.dim, None if texts is None else len(texts[passage]))

    def _score_codes(
        self,
        query: TokenEmbeddings,
        codes: Mapping[PassageKey, bytes],
        texts: Mapping[PassageKey, TokenizedText] | None,
    ) -> Scores:
        """Score passages by token codes. Raises ValueError, KeyError: some are damaged."""
        passages, scores = list(codes), Scores()
        for part in split_by_size([len(code) for code in codes.values()], DECODED_BYTES):
            embedded: Sequence[TokenEmbeddings] = dequantize_many([codes[each] for each in passages[part]])
            if texts is not None:
                own = [texts[each] for each in passages[part]]
                embedded = [_with_text(*each) for each in zip(embedded, own, strict=True)]
            scores |= self._score(query, passages[part], embedded)
        return scores

    def _score(
        self, query: TokenEmbeddings, passages: Sequence[PassageKey], embeddings: Sequence[TokenEmbeddings]
    ) -> Scores:
        return dict(zip(passages, score_passages(self.measure, query, embeddings, self.glossary).tolist(), strict=True))


def _with_text(embeddings: TokenEmbeddings, text: TokenizedText) -> TokenEmbeddings:
    if len(embeddings) != len(text):
        raise ValueError(f"token codes of {len(embeddings)} tokens for a text of {len(text)}")
    return replace(embeddings, text=text)


def _chunked(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    return [items[start : start + size] for start in range(0, len(items), size)]
