"""From texts to embeddings, through the cache and the model: the step that every use case begins with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.errors import BadTexts
from semblance.models.protocols import Encoder
from semblance.models.text import Role, Truncate
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.embedding import Embedder, EmbeddingCache


class Given(NamedTuple):
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
        """Embeddings of each text; with `bulk`, as background work, of which the cache keeps nothing.

        Raises:
            InvalidRequest: naming every text that cannot be encoded, with the code of its fault.
            TooManyTokens, Overloaded: see semblance.service.errors.
        """
        self._require_short(given)
        of_all = f"{encoder.build}:{want}:{role}:{truncate}:"
        keys = {each.text: of_all + _digest(each.text) for each in given}
        found = await self._known(keys)
        tokens = {text: each.text for text, each in found.items() if each.text is not None}
        bare = [text for text in keys if text not in tokens]
        try:
            tokens |= {each.text: each for each in await self._embedder.tokenize(encoder, bare, role, truncate)}
        except BadTexts as error:
            raise _pointed(error, bare, given) from error
        missing = [tokens[text] for text in keys if text not in found]
        fresh = await self._embedder.encode(encoder, missing, want, bulk=bulk)
        made = {each.text: embeddings for each, embeddings in zip(missing, fresh, strict=True)}
        if not bulk:  # which would push out what is asked for again and again, to be stored elsewhere itself
            await self._cache.set_many({keys[text]: embeddings for text, embeddings in made.items()})
        found |= made
        found |= {text: replace(found[text], text=tokens[text]) for text in bare if text not in made}
        return EmbeddedTexts(
            embeddings=[found[each.text] for each in given],
            truncated=[tokens[each.text].truncated for each in given],
            tokens=sum(len(tokens[each.text]) for each in given),
        )

    async def _known(self, keys: Mapping[str, str]) -> dict[str, TokenEmbeddings]:
        """What the cache knows of each text; from some caches it comes without its tokens."""
        looked_up = await self._cache.get_many(list(keys.values()))
        self._metrics.looked_up("hit" if isinstance(each, TokenEmbeddings) else each for each in looked_up)
        pairs = zip(keys, looked_up, strict=True)
        return {text: each for text, each in pairs if isinstance(each, TokenEmbeddings)}

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
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
