"""From texts to embeddings, through the cache and the model: the step that every use case begins with."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.embeddings import TokenEmbeddings, Want
from models.errors import BadTexts
from models.protocols import Encoder
from models.text import Role, TokenizedText, Truncate
from service.errors import InvalidRequest, Problem
from service.observability.metrics import Metrics
from service.ports import Embedder, EmbeddingCache


@dataclass(frozen=True, slots=True)
class Given:
    """A text of a request, and the JSON pointer to where it stands there."""

    text: str
    pointer: str


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """Embeddings in the order of the texts, and the tokens that they took together."""

    embeddings: Sequence[TokenEmbeddings]
    truncated: Sequence[bool]
    tokens: int


class TextEmbedder:
    """Encodes each distinct text once: not at all if the cache knows it."""

    def __init__(self, embedder: Embedder, cache: EmbeddingCache, metrics: Metrics, max_text_chars: int) -> None:
        self._embedder = embedder
        self._cache = cache
        self._metrics = metrics
        self._max_text_chars = max_text_chars

    async def embed(
        self,
        encoder: Encoder,
        given: Sequence[Given],
        role: Role,
        want: Want,
        truncate: Truncate = "END",
        *,
        bulk: bool = False,
    ) -> EmbeddedTexts:
        """Embeddings of each text; with `bulk`, as background work.

        Raises:
            InvalidRequest: naming every text that cannot be encoded, with the code of its fault.
            TooManyTokens, Overloaded: see service.errors.
        """
        self._require_short(given)
        distinct = list(dict.fromkeys(text.text for text in given))
        try:
            tokenized = await self._embedder.tokenize(encoder, distinct, role, truncate)
        except BadTexts as error:
            raise _pointed(error, distinct, given) from error
        keys = [f"{encoder.build}:{want}:{role}:{truncate}:{_digest(text)}" for text in distinct]
        found = dict(zip(distinct, await self._through_cache(encoder, keys, tokenized, want, bulk), strict=True))
        lengths = {text.text: text for text in tokenized}
        return EmbeddedTexts(
            embeddings=[found[text.text] for text in given],
            truncated=[lengths[text.text].truncated for text in given],
            tokens=sum(len(lengths[text.text]) for text in given),
        )

    async def _through_cache(
        self, encoder: Encoder, keys: Sequence[str], tokenized: Sequence[TokenizedText], want: Want, bulk: bool
    ) -> list[TokenEmbeddings]:
        known = await self._cache.get_many(keys)
        for each in known:
            self._metrics.cache_lookups.labels("hit" if isinstance(each, TokenEmbeddings) else each).inc()
        missing = [i for i, each in enumerate(known) if not isinstance(each, TokenEmbeddings)]
        fresh = await self._embedder.encode(encoder, [tokenized[i] for i in missing], want, bulk=bulk)
        await self._cache.set_many({keys[i]: embeddings for i, embeddings in zip(missing, fresh, strict=True)})
        made = iter(fresh)
        return [
            replace(each, text=text) if isinstance(each, TokenEmbeddings) else next(made)
            for each, text in zip(known, tokenized, strict=True)
        ]

    def _require_short(self, given: Sequence[Given]) -> None:
        limit = self._max_text_chars
        problems = [
            Problem(text.pointer, "text_too_long", f"it has {len(text.text):,} characters; at most {limit:,} are taken")
            for text in given
            if len(text.text) > limit
        ]
        if problems:
            raise InvalidRequest(problems)


def _pointed(error: BadTexts, distinct: Sequence[str], given: Sequence[Given]) -> InvalidRequest:
    """The same problems, at every place of the request where one of those texts stands."""
    faults = {distinct[problem.index]: problem for problem in error.problems}
    return InvalidRequest(
        [
            Problem(text.pointer, faults[text.text].code, faults[text.text].detail)
            for text in given
            if text.text in faults
        ]
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
