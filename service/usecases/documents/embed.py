"""Encode documents for storage: a unit vector and, if kept, token codes of each passage."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from semblance.models.embeddings import Floats, TokenEmbeddings, Want, unit_rows
from semblance.models.measures.quantized_tokens import quantize
from semblance.models.protocols import Encoder
from semblance.models.text import text_problem
from semblance.models.tokenization.passages import Cut, Span, cut_passages, fits
from semblance.service.ports.documents import DocumentEmbedding, TokenStorage
from semblance.service.request_warnings import RequestWarning
from semblance.service.usecases.embed import InputText, TextEmbedder, TextEmbeddings, unread_warning

CHARS_PER_TOKEN = 40  # a text of more than that is cut without being tokenized as a whole first
PASSAGES = 64  # of one document that are encoded together: 20 MB of token vectors
INTERACTIVE = 16  # passages; a document of more is background work


@dataclass(frozen=True, slots=True)
class DocumentEmbeddings:
    """Embeddings of documents by id; `tokens` is their total number of tokens."""

    by_id: Mapping[str, DocumentEmbedding]
    tokens: int
    warnings: Sequence[RequestWarning] = ()


class _Passage(NamedTuple):
    """What is stored of a passage."""

    vector: Floats
    truncated: bool
    codes: bytes | None
    error: float

    @classmethod
    def of(cls, embeddings: TokenEmbeddings, truncated: bool, *, keep_tokens: bool) -> Self:
        """Vector at unit length and, if kept, token codes."""
        vector = unit_rows(embeddings.pooled()).astype(np.float32)
        codes, error = quantize(embeddings) if keep_tokens else (None, 0.0)
        return cls(vector, truncated, codes, error)


class DocumentEmbedder:
    """Encodes documents for storage, as the settings of a collection or of its re-embedding say.

    Where documents are cut, their length is not limited: each is encoded a few passages at a time, as background work.
    """

    def __init__(self, texts: TextEmbedder) -> None:
        self._texts = texts

    async def check(self, encoder: Encoder, texts: Mapping[str, InputText], cut: Cut | None) -> None:
        """Check that texts can be embedded. Raises InvalidRequest."""
        if cut is None:
            await self._texts.check(encoder, list(texts.values()), "document")
        else:
            await self._prepared(encoder, texts, cut)

    async def embed_stored(
        self, encoder: Encoder, texts: Mapping[str, InputText], cut: Cut | None, tokens: TokenStorage
    ) -> DocumentEmbeddings:
        """Embed texts that are stored, as background work. Raises as `embed`.

        Where they are not cut, no more of each is read than the longest text of a request has.
        """
        if cut is None:
            most = self._texts.max_text_chars
            long = {key: each._replace(text=each.text[:most]) for key, each in texts.items() if len(each.text) > most}
            read = await self._texts.tokenize(encoder, list(long.values()), "document")
            starts = [
                each._replace(tokens=replace(own, truncated=True))
                for each, own in zip(long.values(), read, strict=True)
            ]
            texts = {**texts, **dict(zip(long, starts, strict=True))}
        return await self.embed(encoder, texts, cut, tokens, bulk=True)

    async def embed(
        self, encoder: Encoder, texts: Mapping[str, InputText], cut: Cut | None, tokens: TokenStorage, *, bulk: bool
    ) -> DocumentEmbeddings:
        """Embed texts, keyed by the ids of their documents; with `bulk`, as background work.

        Raises:
            InvalidRequest, TooManyTokens, Overloaded: as `TextEmbedder.embed`.
        """
        want: Want = "tokens" if tokens == "int8" else "pooled"
        if cut is None:
            return await self._embed_whole(encoder, texts, want, bulk=bulk)
        short, spans = await self._prepared(encoder, texts, cut)
        whole = await self._embed_whole(encoder, short, want, bulk=bulk)
        parts = [whole]
        for doc_id in [each for each in texts if each not in short]:
            own = spans.get(doc_id) or await self._cut(encoder, texts[doc_id], cut)
            background = bulk or len(own) > INTERACTIVE  # a book must not hold up, or be refused for, what others ask
            parts.append(await self._embed_passages(encoder, doc_id, texts[doc_id], own, want, bulk=background))
        return DocumentEmbeddings(
            by_id={doc_id: embedding for each in parts for doc_id, embedding in each.by_id.items()},
            tokens=sum(each.tokens for each in parts),
            warnings=[warning for each in parts for warning in each.warnings],
        )

    async def _prepared(
        self, encoder: Encoder, texts: Mapping[str, InputText], cut: Cut
    ) -> tuple[dict[str, InputText], dict[str, list[Span]]]:
        """Documents of one passage with their tokens, and spans of the passages of the longest.

        Raises InvalidRequest, which names every document that cannot be embedded.
        """
        most = CHARS_PER_TOKEN * cut.tokens
        long = {key: each for key, each in texts.items() if len(each.text) > most and not text_problem(each.text)}
        spans = {key: await self._cut(encoder, each, cut) for key, each in long.items()}
        # the first passage of a text with tokens has one
        starts = {key: each._replace(text=each.text[slice(*spans[key][0])]) for key, each in long.items()}
        read = await self._texts.tokenize(encoder, list({**texts, **starts}.values()), "document", limited=False)
        short = {
            key: text._replace(tokens=own)
            for (key, text), own in zip(texts.items(), read, strict=True)
            if key not in long and fits(own, cut)
        }
        return short, spans

    async def _cut(self, encoder: Encoder, text: InputText, cut: Cut) -> list[Span]:
        """Spans of the passages of a text."""
        tokenize = partial(encoder.tokenize, role="document", truncate="END")
        return await asyncio.to_thread(cut_passages, text.text, cut, tokenize)

    async def _embed_whole(
        self, encoder: Encoder, texts: Mapping[str, InputText], want: Want, *, bulk: bool
    ) -> DocumentEmbeddings:
        """Embed documents of one passage."""
        inputs = list(texts.values())
        found = await self._texts.embed(encoder, inputs, "document", want, bulk=bulk)
        made = await asyncio.to_thread(_passages, found, want)
        by_id = {doc_id: _storable([each]) for doc_id, each in zip(texts, made, strict=True)}
        return DocumentEmbeddings(by_id, found.tokens, found.warnings)

    async def _embed_passages(
        self, encoder: Encoder, doc_id: str, text: InputText, spans: Sequence[Span], want: Want, *, bulk: bool
    ) -> DocumentEmbeddings:
        """Embed the passages of a document."""
        made: list[_Passage] = []
        tokens, unread = 0, 0.0
        for start in range(0, len(spans), PASSAGES):
            parts = [InputText(text.text[first:last], text.pointer) for first, last in spans[start : start + PASSAGES]]
            read = await self._texts.tokenize(encoder, parts, "document", limited=False)
            known = [each._replace(tokens=own) for each, own in zip(parts, read, strict=True)]
            found = await self._texts.embed(encoder, known, "document", want, bulk=bulk)
            made += await asyncio.to_thread(_passages, found, want)
            tokens += found.tokens
            unread += sum(len(each.text) * each.unread for each in read)
        share = unread / sum(last - first for first, last in spans)
        return DocumentEmbeddings(
            {doc_id: _storable(made, spans)}, tokens, unread_warning(encoder, text.pointer, share)
        )


def _passages(found: TextEmbeddings, want: Want) -> list[_Passage]:
    pairs = zip(found.embeddings, found.truncated, strict=True)
    return [_Passage.of(embeddings, truncated, keep_tokens=want == "tokens") for embeddings, truncated in pairs]


def _storable(made: Sequence[_Passage], spans: Sequence[Span] | None = None) -> DocumentEmbedding:
    """The embedding of a document with these passages."""
    codes = [each.codes for each in made if each.codes is not None]
    return DocumentEmbedding(
        vectors=np.stack([each.vector for each in made]),
        truncated=any(each.truncated for each in made),
        spans=None if spans is None else np.array(spans, np.int32),
        codes=codes or None,
        code_error=max(each.error for each in made),
    )
