"""Encode texts of requests through cache and model."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from semblance_client.vocabulary.responses import RequestWarning

from semblance.models.embeddings import TokenEmbeddings, Want, join_passages
from semblance.models.errors import BadTexts, ModelFailed, TextsNotEncoded
from semblance.models.explanation import tokens_of
from semblance.models.protocols import Encoder
from semblance.models.text import Role, TokenizedText, Truncate, require_tokens
from semblance.models.tokenization.passages import Cut, Span, auto_cut, cut_passages
from semblance.service.errors import EncodingFailed, InvalidRequest, Problem, TooManyTokens
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.embedding import Embedder, EmbeddingCache, Miss
from semblance.service.threads import until_left
from semblance.service.turns import in_thread

EMPTY = "empty_text"
DEFAULT_MODE: Truncate = "PASSAGES"  # where the operator names none for a model
MULTILINGUAL = "multilingual"  # the built-in model for a hundred languages
REMEDY = (
    f"The model {MULTILINGUAL} knows a hundred languages: run `scripts/install {MULTILINGUAL}`, start `semblance serve "
    f"--model minilm-graded --model {MULTILINGUAL}`, and move a collection to it by `semblance index reembed NAME "
    f"--model {MULTILINGUAL}`"
)
UNREAD_SHARE = 0.5  # of the letters of a text, from which its response has a warning


Truncations: TypeAlias = Mapping[str, Truncate]  # by model: what to do with a text that is longer than it reads


class Truncation(NamedTuple):
    """Treatment of texts that are longer than the model reads.

    Attributes:
        mode: PASSAGES reads them in passages, cut as documents are; None is the operator's choice for the model.
        max_tokens: most tokens of a text that is truncated, if that is less than the model reads.
    """

    mode: Truncate | None = None
    max_tokens: int | None = None


AT_END = Truncation("END")
BY_DEFAULT = Truncation()


class InputText(NamedTuple):
    """A text of a request, the JSON pointer to its place, and its tokens if known.

    A document is cut between `parts`, if there are any.
    """

    text: str
    pointer: str
    tokens: TokenizedText | None = None
    parts: Sequence[Span] = ()


@dataclass(frozen=True, slots=True)
class TextEmbeddings:
    """Embeddings in the order of the texts; `tokens` is their total number of tokens."""

    embeddings: Sequence[TokenEmbeddings]
    truncated: Sequence[bool]
    tokens: int
    warnings: Sequence[RequestWarning] = ()

    @property
    def passages(self) -> int:
        """Number of passages in which long texts were read; 0 if there are no long texts."""
        return sum(len(embedding.passages) for embedding in self.embeddings)


class _Reading(NamedTuple):
    """Settings by which the texts of a request are read."""

    encoder: Encoder
    role: Role
    want: Want
    mode: Truncate
    max_tokens: int | None

    def key(self, text: str) -> str:
        """The key of a text in the cache."""
        kept = "END" if self.mode == "PASSAGES" else self.mode  # the vectors of texts within the limit are the same
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        return f"{self.encoder.build}:{self.want}:{self.role}:{kept}{self.max_tokens or ''}:{digest}"


class _PassageText(NamedTuple):
    """A passage of a long text: its own text and its place."""

    text: str
    start: int


class TextEmbedder:
    """Encodes each distinct text of a request once, and only on a cache miss.

    Attributes:
        max_text_chars: longest text of a request.
    """

    def __init__(
        self,
        embedder: Embedder,
        cache: EmbeddingCache,
        metrics: Metrics,
        max_text_chars: int,
        truncations: Truncations = MappingProxyType({}),
    ) -> None:
        self._truncations = truncations
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
        truncation: Truncation = AT_END,
        *,
        bulk: bool = False,
    ) -> TextEmbeddings:
        """Embed texts.

        Args:
            encoder: the model.
            texts: the texts.
            role: of the texts.
            want: what to compute.
            truncation: what to do with texts that are longer than the model reads.
            bulk: whether this is background work, which does not fill the cache.

        Raises:
            InvalidRequest: some texts cannot be encoded; it names each of them with an error code.
            EncodingFailed: the model fails on some texts; nothing of the request is cached.
            TooManyTokens, Overloaded: see semblance.service.errors.
        """
        self._check_lengths([text for text in texts if text.tokens is None])
        mode = self.mode(encoder, truncation)
        reading = _Reading(encoder, role, want, mode, truncation.max_tokens)
        tokens, cached = await self._look_up(reading, texts)
        passages: Mapping[str, Sequence[_PassageText]] = {}
        parts: Sequence[InputText] = ()
        if mode == "PASSAGES" and (long := _long(tokens, encoder.max_tokens)):
            passages = await self._passages(encoder, long, role)
            parts = _places(passages, texts)
            part_tokens, cached_parts = await self._look_up(reading._replace(mode="END"), parts)
            tokens |= part_tokens
            cached = {text: entry for text, entry in cached.items() if text not in passages} | cached_parts
        found = self._usable(cached, tokens, encoder.dim, want)
        missing = [tokens[text] for text in cached if text not in found]
        found |= await self._encode(reading, missing, [*texts, *parts], bulk=bulk)
        found |= {text: _joined(text, cuts, found) for text, cuts in passages.items()}
        tokens |= {text: tokens_of(found[text]) for text in passages}
        return TextEmbeddings(
            embeddings=[found[text.text] for text in texts],
            truncated=[tokens[text.text].truncated for text in texts],
            tokens=sum(len(tokens[text.text]) for text in texts),
            warnings=_unread(encoder, tokens, texts),
        )

    async def _look_up(
        self, reading: _Reading, texts: Sequence[InputText]
    ) -> tuple[dict[str, TokenizedText], dict[str, TokenEmbeddings | Miss]]:
        """Tokens of each distinct text, and its entry in the cache. Raises InvalidRequest."""
        keys = {text.text: reading.key(text.text) for text in texts}
        cached = dict(zip(keys, await self._cache.get_many(list(keys.values())), strict=True))
        tokens = _known_tokens(cached, texts)
        untokenized = [text for text in cached if text not in tokens]
        tokens |= await self._tokenize(
            reading.encoder, untokenized, texts, reading.role, reading.mode, reading.max_tokens
        )
        return tokens, cached

    async def _encode(
        self, reading: _Reading, texts: Sequence[TokenizedText], places: Sequence[InputText], *, bulk: bool
    ) -> dict[str, TokenEmbeddings]:
        """Encode and cache texts, which stand at these places. Raises EncodingFailed."""
        try:
            encoded = await self._embedder.encode(reading.encoder, texts, reading.want, bulk=bulk)
        except ModelFailed as error:
            raise EncodingFailed(_located(error, [text.text for text in texts], places)) from error
        new = {text.text: embeddings for text, embeddings in zip(texts, encoded, strict=True)}
        if not bulk:  # bulk texts are stored elsewhere, and would evict what requests use repeatedly
            await self._cache.set_many({reading.key(text): embeddings for text, embeddings in new.items()})
        return new

    async def _passages(
        self, encoder: Encoder, long: Mapping[str, TokenizedText], role: Role
    ) -> dict[str, list[_PassageText]]:
        """Cut each long text into passages. Raises TooManyTokens: they have too many."""
        total = sum(map(len, long.values()))
        if total > self._embedder.max_request_tokens:
            raise TooManyTokens.of(total, self._embedder.max_request_tokens)
        tokenize = partial(encoder.tokenize, role=role, truncate="END")

        def cut_all() -> dict[str, list[_PassageText]]:
            cut = auto_cut(encoder) or Cut(encoder.max_tokens, 0)
            spans = {text: cut_passages(text, cut, tokenize) for text in until_left(long)}
            return {text: [_PassageText(text[start:end], start) for start, end in own] for text, own in spans.items()}

        return await in_thread(cut_all)

    def mode(self, encoder: Encoder, truncation: Truncation) -> Truncate:
        """Treatment of texts that are longer than the model reads."""
        return truncation.mode or self._truncations.get(encoder.name, DEFAULT_MODE)

    async def check(self, encoder: Encoder, texts: Sequence[InputText], role: Role, truncate: Truncate = "END") -> None:
        """Check that texts can be embedded. Raises InvalidRequest."""
        self._check_lengths(texts)
        await self._tokenize(encoder, list({text.text: None for text in texts}), texts, role, truncate)

    async def tokenize(
        self,
        encoder: Encoder,
        texts: Sequence[InputText],
        role: Role,
        truncate: Truncate = "END",
        *,
        limited: bool = True,
    ) -> list[TokenizedText]:
        """Tokenize each text; without `limited`, texts may have any number of characters.

        Raises InvalidRequest.
        """
        if limited:
            self._check_lengths(texts)
        tokens = _known_tokens({}, texts)
        untokenized = list({text.text: None for text in texts if text.text not in tokens})
        tokens |= await self._tokenize(encoder, untokenized, texts, role, truncate)
        return [tokens[text.text] for text in texts]

    async def _tokenize(
        self,
        encoder: Encoder,
        distinct: Sequence[str],
        texts: Sequence[InputText],
        role: Role,
        truncate: Truncate,
        max_tokens: int | None = None,
    ) -> dict[str, TokenizedText]:
        """Tokens of distinct texts, which are among those of the request."""
        try:
            tokenized = await self._embedder.tokenize(encoder, distinct, role, truncate)
            if max_tokens is not None:
                require_tokens(tokenized, max_tokens if truncate == "NONE" else None)
                tokenized = [tokens.cut_to(max_tokens, truncate) for tokens in tokenized]
        except BadTexts as error:
            raise InvalidRequest(_located(error, distinct, texts)) from error
        return {tokens.text: tokens for tokens in tokenized}

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


def _known_tokens(cached: Mapping[str, TokenEmbeddings | Miss], texts: Sequence[InputText]) -> dict[str, TokenizedText]:
    """The tokens that the cache or the caller has; those of blank texts are the caller's."""
    entries = {text: entry.text for text, entry in cached.items() if isinstance(entry, TokenEmbeddings)}
    found = {text: tokens for text, tokens in entries.items() if tokens is not None and not tokens.is_blank}
    return found | {text.text: text.tokens for text in texts if text.tokens is not None}


def _long(tokens: Mapping[str, TokenizedText], max_tokens: int) -> dict[str, TokenizedText]:
    """The texts that are longer than the model reads."""
    return {text: own for text, own in tokens.items() if own.truncated or len(own) > max_tokens}


def _places(passages: Mapping[str, Sequence[_PassageText]], texts: Sequence[InputText]) -> list[InputText]:
    """The passages at the places of their texts."""
    return [InputText(part.text, text.pointer) for text in texts for part in passages.get(text.text, ())]


def _joined(text: str, cuts: Sequence[_PassageText], found: Mapping[str, TokenEmbeddings]) -> TokenEmbeddings:
    """The embeddings of a text by those of its passages."""
    parts = [(found[part.text], part.start) for part in cuts]
    return join_passages([replace(part, text=tokens_of(part).within(text, start)) for part, start in parts])


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
    remedy = "" if encoder.name == MULTILINGUAL else f". {REMEDY}"
    detail = f"most of its words or signs are unknown to the model {encoder.name}, so its scores mean little{remedy}"
    return [RequestWarning(pointer=pointer, code="unread_text", detail=detail)]
