"""Return vectors and tokens of texts to clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from semblance_client.vocabulary.responses import RequestWarning

from semblance.models.embeddings import Floats, unit_rows
from semblance.models.protocols import Encoder
from semblance.models.text import Role, TokenizedText, is_visible
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.ports.embedding import ServedModels
from semblance.service.turns import Offload
from semblance.service.usecases.text_embedder import BY_DEFAULT, EMPTY, InputText, TextEmbedder, Truncation

_BLANK = "it has no visible character, and its vector is that of an empty text"
MAX_TOKEN_VECTORS = 8192  # of one response: 70 MB of JSON where each has 384 numbers


@dataclass(frozen=True, slots=True, eq=False)
class TextVectors:
    """(n, d) float32 vectors in the order of the texts, and which were truncated."""

    encoder: Encoder
    vectors: Floats
    truncated: Sequence[bool]
    tokens: int
    passages: int
    warnings: Sequence[RequestWarning] = ()


@dataclass(frozen=True, slots=True, eq=False)
class TokenVectors:
    """(tokens, d) float32 vectors of each text; `tokens` is the total number."""

    encoder: Encoder
    vectors: Sequence[Floats]
    truncated: Sequence[bool]
    tokens: int
    passages: int


@dataclass(frozen=True, slots=True, eq=False)
class TextTokens:
    """The tokens of each text."""

    encoder: Encoder
    texts: Sequence[TokenizedText]


class Embed:
    """Returns vectors of texts; those of queries compare as /similarity compares the texts.

    A text of invisible characters, such as white space, has the vector of the special tokens alone: that of
    sentence-transformers, and the zero vector where a model has none. An empty text is rejected.
    """

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
        truncation: Truncation = BY_DEFAULT,
        role: Role = "query",
        normalize: bool = True,
    ) -> TextVectors:
        """Encode each text.

        Args:
            texts: the texts.
            model: None for the default.
            dimensions: keep only the leading ones; None keeps all.
            truncation: what to do with texts that are longer than the model reads.
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
        texts, blank = await self._with_blank(encoder, texts, role)
        embedded = await self._texts.embed(encoder, texts, role, "pooled", truncation)

        def shorten() -> Floats:
            pooled = np.stack([embedding.pooled() for embedding in embedded.embeddings])[:, :dimensions]
            return (unit_rows(pooled) if normalize else pooled).astype(np.float32)

        vectors = await self._offload.run("shorten", len(texts) * encoder.dim, shorten)
        counts = embedded.tokens, embedded.passages
        return TextVectors(encoder, vectors, embedded.truncated, *counts, [*embedded.warnings, *blank])

    async def token_vectors(
        self,
        texts: Sequence[InputText],
        *,
        model: str | None = None,
        truncation: Truncation = BY_DEFAULT,
        role: Role = "query",
        normalize: bool = False,
    ) -> TokenVectors:
        """Encode each text to its token vectors, special ones included; a long one in passages.

        With `normalize`, they have unit length.

        Raises:
            UnknownModel: no model of that name is served.
            InvalidRequest: some texts cannot be encoded, or they have too many tokens together.
        """
        encoder = await self._models.get(model)
        texts, _ = await self._with_blank(encoder, texts, role)
        embedded = await self._texts.embed(encoder, texts, role, "tokens", truncation)
        if embedded.tokens > MAX_TOKEN_VECTORS:
            detail = f"{embedded.tokens:,} token vectors exceed the limit of {MAX_TOKEN_VECTORS:,} of one answer"
            raise InvalidRequest([Problem(texts[0].pointer.rpartition("/")[0], "out_of_range", detail)])
        vectors = [embedding.vectors for embedding in embedded.embeddings]
        if normalize:
            vectors = [unit_rows(rows).astype(np.float32) for rows in vectors]
        return TokenVectors(encoder, vectors, embedded.truncated, embedded.tokens, embedded.passages)

    async def tokenize(self, texts: Sequence[InputText], role: Role, model: str | None = None) -> TextTokens:
        """All tokens of each text by a model, None for the default one. Raises as `token_vectors`."""
        encoder = await self._models.get(model)
        texts, _ = await self._with_blank(encoder, texts, role)
        return TextTokens(encoder, await self._texts.tokenize(encoder, texts, role, "PASSAGES"))

    async def _with_blank(
        self, encoder: Encoder, texts: Sequence[InputText], role: Role
    ) -> tuple[list[InputText], list[RequestWarning]]:
        """Give blank texts, which encoders reject, their tokens; and warn of them."""
        blank = {
            i
            for i, text in enumerate(texts)
            if 0 < len(text.text) <= self._texts.max_text_chars and not is_visible(text.text)
        }
        if not blank:
            return [*texts], []
        [visible] = await self._texts.tokenize(encoder, [InputText("a", "")], role)
        tokens = visible.as_blank(" ")
        warnings = [RequestWarning(pointer=texts[i].pointer, code=EMPTY, detail=_BLANK) for i in sorted(blank)]
        read = [InputText(" ", text.pointer, tokens) if i in blank else text for i, text in enumerate(texts)]
        return read, warnings
