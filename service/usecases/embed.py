"""Encode texts through cache and model: for use cases, and for clients."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from semblance_client.vocabulary.responses import RequestWarning

from semblance.models.embeddings import Floats, TokenEmbeddings, Want, unit_rows
from semblance.models.errors import BadTexts, ModelFailed, TextsNotEncoded
from semblance.models.protocols import Encoder
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.service.errors import EncodingFailed, InvalidRequest, Problem
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.embedding import Embedder, EmbeddingCache, Miss, ServedModels
from semblance.service.turns import Offload

MAX_TOKEN_VECTORS = 8192  # of one response: 70 MB of JSON where each has 384 numbers
UNREAD_SHARE = 0.5  # of the letters of a text, from which its response has a warning


class InputText(NamedTuple):
    """A text of a request, the JSON pointer to its place, and its tokens if known."""

    text: str
    pointer: str
    tokens: TokenizedText | None = None


@dataclass(frozen=True, slots=True)
class TextEmbeddings:
    """Embeddings in the order of the texts; `tokens` is their total number of tokens."""

    embeddings: Sequence[TokenEmbeddings]
    truncated: Sequence[bool]
    tokens: int
    warnings: Sequence[RequestWarning] = ()


class TextEmbedder:
    """Encodes each distinct text of a request once, and only on a cache miss.

    Attributes:
        max_text_chars: longest text of a request.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache, metrics: Metrics, max_text_chars: int) -> None:
        self._embedder = embedder
        self._cache = cache
        self._metrics = metrics
        self.max_text_chars = max_text_chars

    async def embed(
        self,
        encoder: Encoder,
        texts: Sequence[InputText],
        role: Role,
        want: Want,
        truncate: Truncate = "END",
        *,
        bulk: bool = False,
    ) -> TextEmbeddings:
        """Embed texts; with `bulk`, as background work that does not fill the cache.

        Raises:
            InvalidRequest: some texts cannot be encoded; it names each of them with an error code.
            EncodingFailed: the model fails on some texts; nothing of the request is cached.
            TooManyTokens, Overloaded: see semblance.service.errors.
        """
        self._check_lengths([each for each in texts if each.tokens is None])
        key_prefix = f"{encoder.build}:{want}:{role}:{truncate}:"
        keys = {each.text: key_prefix + _digest(each.text) for each in texts}
        cached = dict(zip(keys, await self._cache.get_many(list(keys.values())), strict=True))
        tokens = {
            text: each.text
            for text, each in cached.items()
            if isinstance(each, TokenEmbeddings) and each.text is not None
        }
        tokens |= {each.text: each.tokens for each in texts if each.tokens is not None}
        untokenized = [text for text in keys if text not in tokens]
        tokens |= await self._tokenize(encoder, untokenized, texts, role, truncate)
        found = self._usable(cached, tokens, encoder.dim, want)
        missing = [tokens[text] for text in keys if text not in found]
        try:
            encoded = await self._embedder.encode(encoder, missing, want, bulk=bulk)
        except ModelFailed as error:
            raise EncodingFailed(_located(error, [each.text for each in missing], texts)) from error
        new = {each.text: embeddings for each, embeddings in zip(missing, encoded, strict=True)}
        if not bulk:  # bulk texts are stored elsewhere, and would evict what requests use repeatedly
            await self._cache.set_many({keys[text]: embeddings for text, embeddings in new.items()})
        found |= new
        return TextEmbeddings(
            embeddings=[found[each.text] for each in texts],
            truncated=[tokens[each.text].truncated for each in texts],
            tokens=sum(len(tokens[each.text]) for each in texts),
            warnings=_unread(encoder, tokens, texts),
        )

    async def check(self, encoder: Encoder, texts: Sequence[InputText], role: Role, truncate: Truncate = "END") -> None:
        """Check that texts can be embedded. Raises InvalidRequest."""
        self._check_lengths(texts)
        await self._tokenize(encoder, list({text.text: None for text in texts}), texts, role, truncate)

    async def tokenize(
        self, encoder: Encoder, texts: Sequence[InputText], role: Role, *, limited: bool = True
    ) -> list[TokenizedText]:
        """Tokens of each text, truncated at its end; without `limited`, of any length.

        Raises InvalidRequest.
        """
        if limited:
            self._check_lengths(texts)
        tokens = await self._tokenize(encoder, list({each.text: None for each in texts}), texts, role, "END")
        return [tokens[text.text] for text in texts]

    async def _tokenize(
        self, encoder: Encoder, distinct: Sequence[str], texts: Sequence[InputText], role: Role, truncate: Truncate
    ) -> dict[str, TokenizedText]:
        """Tokens of distinct texts, which are among those of the request."""
        try:
            tokenized = await self._embedder.tokenize(encoder, distinct, role, truncate)
        except BadTexts as error:
            raise InvalidRequest(_located(error, distinct, texts)) from error
        return {each.text: each for each in tokenized}

    def _usable(
        self,
        cached: Mapping[str, TokenEmbeddings | Miss],
        tokens: Mapping[str, TokenizedText],
        dim: int,
        want: Want,
    ) -> dict[str, TokenEmbeddings]:
        """Embeddings from the cache, with their tokens. Counts the lookups."""
        checked = {text: _with_tokens(each, tokens[text], dim, want) for text, each in cached.items()}
        self._metrics.add_lookups("hit" if isinstance(each, TokenEmbeddings) else each for each in checked.values())
        return {text: each for text, each in checked.items() if isinstance(each, TokenEmbeddings)}

    def _check_lengths(self, texts: Sequence[InputText]) -> None:
        limit = self.max_text_chars
        problems = [
            Problem(text.pointer, "text_too_long", f"{len(text.text):,} characters exceed the limit of {limit:,}")
            for text in texts
            if len(text.text) > limit
        ]
        if problems:
            raise InvalidRequest(problems)


def _with_tokens(cached: TokenEmbeddings | Miss, text: TokenizedText, dim: int, want: Want) -> TokenEmbeddings | Miss:
    """Add the tokens to vectors from a shared cache, if they fit.

    Its checksums do not tell that a writer was wrong.
    """
    if not isinstance(cached, TokenEmbeddings) or cached.text is not None:
        return cached
    return replace(cached, text=text) if cached.fits(len(text), dim, want) else "corrupt"


def _located(error: TextsNotEncoded, distinct: Sequence[str], texts: Sequence[InputText]) -> list[Problem]:
    """The same problems at every place of the request that has one of those texts."""
    problems = {distinct[problem.index]: problem for problem in error.problems}
    return [
        Problem(text.pointer, problems[text.text].code, problems[text.text].detail)
        for text in texts
        if text.text in problems
    ]


def _unread(encoder: Encoder, tokens: Mapping[str, TokenizedText], texts: Sequence[InputText]) -> list[RequestWarning]:
    """Warn of texts that the encoder cannot read, at every place of the request that has one."""
    return [warning for text in texts for warning in unread_warning(encoder, text.pointer, tokens[text.text].unread)]


def unread_warning(encoder: Encoder, pointer: str, share: float) -> list[RequestWarning]:
    """Warn of a text if the encoder cannot read much of its letters."""
    if share < UNREAD_SHARE:
        return []
    detail = (
        f"{share:.0%} of it is in a script, in words or in signs that the model {encoder.name} does not know: "
        "its scores mean little"
    )
    return [RequestWarning(pointer=pointer, code="unread_text", detail=detail)]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class TextVectors:
    """(n, d) float32 vectors in the order of the texts, and which were truncated."""

    encoder: Encoder
    vectors: Floats
    truncated: Sequence[bool]
    tokens: int
    warnings: Sequence[RequestWarning] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TokenVectors:
    """(tokens, d) float32 vectors of each text; `tokens` is the total number."""

    encoder: Encoder
    vectors: Sequence[Floats]
    truncated: Sequence[bool]
    tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class TextTokens:
    """The tokens of each text."""

    encoder: Encoder
    texts: Sequence[TokenizedText]


class Embed:
    """Returns vectors of texts; those of queries compare as /similarity compares the texts."""

    def __init__(self, models: ServedModels, texts: TextEmbedder) -> None:
        self._models = models
        self._texts = texts
        self._offload = Offload()

    async def vectors(
        self,
        texts: Sequence[InputText],
        *,
        model: str | None = None,
        dimensions: int | None = None,
        truncate: Truncate = "END",
        role: Role = "query",
        normalize: bool = True,
    ) -> TextVectors:
        """Encode each text.

        Args:
            texts: the texts.
            model: None for the default.
            dimensions: keep only the leading ones; None keeps all.
            truncate: the end at which long texts are truncated.
            role: of the texts.
            normalize: scale to unit length; otherwise as the model has them.

        Raises:
            UnknownModel: no model of that name is served.
            InvalidRequest: the model has fewer dimensions, or some texts cannot be encoded.
        """
        encoder = await self._models.get(model)
        dimensions = encoder.dim if dimensions is None else dimensions
        if dimensions > encoder.dim:
            detail = f"{dimensions:,} dimensions exceed the {encoder.dim:,} of {encoder.name}"
            raise InvalidRequest([Problem("/dimensions", "out_of_range", detail)])
        embedded = await self._texts.embed(encoder, texts, role, "pooled", truncate)

        def shorten() -> Floats:
            pooled = np.stack([embedding.pooled() for embedding in embedded.embeddings])[:, :dimensions]
            return (unit_rows(pooled) if normalize else pooled).astype(np.float32)

        vectors = await self._offload.run("shorten", len(texts) * encoder.dim, shorten)
        return TextVectors(encoder, vectors, embedded.truncated, embedded.tokens, embedded.warnings)

    async def token_vectors(
        self,
        texts: Sequence[InputText],
        *,
        model: str | None = None,
        truncate: Truncate = "END",
        role: Role = "query",
    ) -> TokenVectors:
        """Encode each text to its token vectors, special tokens included.

        Raises:
            UnknownModel: no model of that name is served.
            InvalidRequest: some texts cannot be encoded, or they have too many tokens together.
        """
        encoder = await self._models.get(model)
        embedded = await self._texts.embed(encoder, texts, role, "tokens", truncate)
        if embedded.tokens > MAX_TOKEN_VECTORS:
            detail = f"{embedded.tokens:,} token vectors exceed the limit of {MAX_TOKEN_VECTORS:,} of one answer"
            raise InvalidRequest([Problem(texts[0].pointer.rpartition("/")[0], "out_of_range", detail)])
        vectors = [embedding.vectors for embedding in embedded.embeddings]
        return TokenVectors(encoder, vectors, embedded.truncated, embedded.tokens)

    async def tokenize(self, texts: Sequence[InputText], role: Role) -> TextTokens:
        """Tokenize each text, truncated to what the default model reads. Raises as `token_vectors`."""
        encoder = await self._models.get(None)
        return TextTokens(encoder, await self._texts.tokenize(encoder, texts, role))
