"""Encode documents for storage: a unit vector and, if kept, token codes of each passage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from semblance_client.vocabulary.collections import TokenStorage
from semblance_client.vocabulary.responses import RequestWarning

from semblance.models.alignment.quantized_tokens import is_codes, quantize
from semblance.models.embeddings import Floats, TokenEmbeddings, Want, unit_rows
from semblance.models.protocols import Encoder
from semblance.models.text import TokenizedText, text_problem
from semblance.models.tokenization.passages import Cut, Span, cut_parts, fits
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.ports.documents import Document, DocumentEmbedding, GivenEmbedding
from semblance.service.turns import in_thread
from semblance.service.usecases.text_embedder import InputText, TextEmbedder, TextEmbeddings, unread_warning

CHARS_PER_TOKEN = 40  # a text of more than that is cut without being tokenized as a whole first
PASSAGES = 64  # of one document that are encoded together: 20 MB of token vectors
INTERACTIVE = 16  # passages; a document of more is background work
UNIT_TOLERANCE = 1e-4  # of the length of a vector that was given


@dataclass(frozen=True, slots=True)
class DocumentEmbeddings:
    """Embeddings of documents by id; `tokens` is their total number of tokens."""

    by_id: Mapping[str, DocumentEmbedding]
    tokens: int
    warnings: Sequence[RequestWarning] = ()

    def joined(self, other: Self) -> Self:
        """These embeddings and those of other documents."""
        return replace(
            self,
            by_id={**self.by_id, **other.by_id},
            tokens=self.tokens + other.tokens,
            warnings=[*self.warnings, *other.warnings],
        )


class _Passage(NamedTuple):
    """The stored data of a passage."""

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


class _CutText(NamedTuple):
    """A document's id and text, and the spans of its passages."""

    id: str
    text: InputText
    spans: Sequence[Span]

    def passages(self) -> list[InputText]:
        """The passages."""
        return [InputText(self.text.text[start:end], self.text.pointer) for start, end in self.spans]


def searched_text(document: Document, text_fields: Sequence[str], pointer: str) -> InputText:
    """The searched text of a document, to be cut between its text and its fields."""
    searched = document.searched(text_fields)
    return InputText(searched.whole, pointer, parts=[(part.start, part.end) for part in searched.parts])


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

    async def adopt(
        self,
        encoder: Encoder,
        given: Mapping[str, tuple[InputText, GivenEmbedding]],
        cut: Cut | None,
        tokens: TokenStorage,
    ) -> DocumentEmbeddings:
        """Embeddings given with their texts, in the encoder's space; nothing is encoded.

        The texts are tokenized, which tells whether they are truncated and how many tokens their codes must have.

        Raises:
            InvalidRequest: a text cannot be embedded, or an embedding does not fit its text or the settings.
        """
        texts = {key: text for key, (text, _) in given.items()}
        if cut is None:
            read = await self._texts.tokenize(encoder, list(texts.values()), "document")
            short = {key: text._replace(tokens=own) for (key, text), own in zip(texts.items(), read, strict=True)}
        else:
            short, _ = await self._prepared(encoder, texts, cut)
        reasons = {
            key: _misfit(each, encoder.dim, short[key].tokens if key in short else None, tokens)
            for key, (_, each) in given.items()
        }
        if any(reasons.values()):
            raise InvalidRequest(
                [
                    Problem(f"{texts[key].pointer.removesuffix('/text')}/embedding", "embedding_mismatch", reason)
                    for key, reason in reasons.items()
                    if reason is not None
                ]
            )
        return DocumentEmbeddings(
            by_id={key: _adopted(each, short[key].tokens, tokens) for key, (_, each) in given.items()},
            tokens=sum(len(own) for text in short.values() if (own := text.tokens) is not None),
            warnings=[
                warning
                for text in short.values()
                if text.tokens is not None
                for warning in unread_warning(encoder, text.pointer, text.tokens.unread)
            ],
        )

    async def embed_stored(
        self, encoder: Encoder, texts: Mapping[str, InputText], cut: Cut | None, tokens: TokenStorage
    ) -> DocumentEmbeddings:
        """Embed texts that are stored, as background work. Raises as `embed`.

        Where they are not cut, no more of each is read than the longest text of a request has.
        """
        if cut is None:
            most = self._texts.max_text_chars
            long = {key: text._replace(text=text.text[:most]) for key, text in texts.items() if len(text.text) > most}
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
        embedded = await self._embed_whole(encoder, short, want, bulk=bulk)
        rest = {doc_id: text for doc_id, text in texts.items() if doc_id not in short}
        spans |= {doc_id: await self._cut(encoder, text, cut) for doc_id, text in rest.items() if doc_id not in spans}
        # a book must not hold up, or be rejected for, what others ask
        books = {doc_id for doc_id, own in spans.items() if len(own) > INTERACTIVE}
        for some, background in ((books, True), (rest.keys() - books, bulk)):
            cut_up = [_CutText(doc_id, text, spans[doc_id]) for doc_id, text in rest.items() if doc_id in some]
            embedded = embedded.joined(await self._embed_passages(encoder, cut_up, want, bulk=background))
        return embedded

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
            if key not in long and len(text.parts) < 2 and fits(own, cut)
        }
        return short, spans

    async def _cut(self, encoder: Encoder, text: InputText, cut: Cut) -> list[Span]:
        """Spans of the passages of a text."""
        tokenize = partial(encoder.tokenize, role="document", truncate="END")
        return await in_thread(cut_parts, text.text, text.parts, cut, tokenize)

    async def _embed_whole(
        self, encoder: Encoder, texts: Mapping[str, InputText], want: Want, *, bulk: bool
    ) -> DocumentEmbeddings:
        """Embed documents of one passage."""
        inputs = list(texts.values())
        found = await self._texts.embed(encoder, inputs, "document", want, bulk=bulk)
        made = await in_thread(_passages, found, want)
        by_id = {doc_id: _storable([each]) for doc_id, each in zip(texts, made, strict=True)}
        return DocumentEmbeddings(by_id, found.tokens, found.warnings)

    async def _embed_passages(
        self, encoder: Encoder, documents: Sequence[_CutText], want: Want, *, bulk: bool
    ) -> DocumentEmbeddings:
        """Embed the passages of documents, those of several together."""
        parts = [part for document in documents for part in document.passages()]
        made: list[_Passage] = []
        unread: list[float] = []
        tokens = 0
        for start in range(0, len(parts), PASSAGES):
            some = parts[start : start + PASSAGES]
            read = await self._texts.tokenize(encoder, some, "document", limited=False)
            known = [part._replace(tokens=own) for part, own in zip(some, read, strict=True)]
            found = await self._texts.embed(encoder, known, "document", want, bulk=bulk)
            made += await in_thread(_passages, found, want)
            tokens += found.tokens
            unread += [len(each.text) * each.unread for each in read]
        by_id: dict[str, DocumentEmbedding] = {}
        warnings: list[RequestWarning] = []
        end = 0
        for doc_id, text, spans in documents:
            own = slice(end, end := end + len(spans))
            by_id[doc_id] = _storable(made[own], spans)
            share = sum(unread[own]) / sum(last - first for first, last in spans)
            warnings += unread_warning(encoder, text.pointer, share)
        return DocumentEmbeddings(by_id, tokens, warnings)


def _misfit(given: GivenEmbedding, dim: int, text: TokenizedText | None, tokens: TokenStorage) -> str | None:
    """Why an embedding does not fit its text; None if it fits.

    The text is None if it has several passages.
    """
    if text is None:
        return (
            "the text has several passages, and this is one vector; send it without the embedding, or store it in a "
            "collection whose passages are 'none'"
        )
    if len(given.vector) != 4 * dim:
        return f"the vector has {len(given.vector):,} bytes, not the {4 * dim:,} of {dim:,} numbers in float32"
    length = float(np.linalg.norm(_vector(given).astype(np.float64)))
    if not abs(length - 1) <= UNIT_TOLERANCE and length != 0:  # a text whose tokens cancel out has the zero vector
        return f"the vector is of length {length:.6g}, not 1"
    if tokens == "int8" and (given.codes is None or not is_codes(given.codes, dim, len(text))):
        return f"the collection keeps token codes, and those sent are not of {len(text):,} tokens of {dim:,} dimensions"
    return None


def _vector(given: GivenEmbedding) -> Floats:
    return np.frombuffer(given.vector, "<f4").astype(np.float32)


def _adopted(given: GivenEmbedding, text: TokenizedText | None, tokens: TokenStorage) -> DocumentEmbedding:
    """The stored data of an embedding that fits."""
    assert text is not None
    codes = [given.codes] if tokens == "int8" and given.codes is not None else None
    return DocumentEmbedding(_vector(given)[None], text.truncated, None, codes, given.code_error if codes else 0.0)


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
