"""Interfaces of encoders, similarity measures and explanations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Protocol, TypeVar, runtime_checkable

from semblance.models.embeddings import Doubles, Needs, Precision, TokenEmbeddings, Want
from semblance.models.explanation import Explanation
from semblance.models.text import Role, TokenizedText, Truncate

T = TypeVar("T")


class Model(Protocol):
    """A served model of any kind."""

    @property
    def name(self) -> str:
        """Name under which the model is served."""

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens that it reads at once, special and prompt tokens included."""

    @property
    def space(self) -> str:
        """Digest of all that determines its output: weights, tokenizer, pooling, length, prompts."""

    @property
    def build(self) -> str:
        """Digest of the space and of its computation: runtime, number type, library versions."""


class Encoder(Model, Protocol):
    """Computes vectors of texts.

    Laws: the output has the order of the input; the same text gives the same vectors, alone and in any batch (token
    vectors to cosine 0.9998, pooled to 0.9999); truncation is always reported.
    """

    @property
    def dim(self) -> int:
        """d, the length of every vector."""

    @property
    def precision(self) -> Precision:
        """Number type in which the vectors are computed; they are float32 in any case."""

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        """Tokenize each text. Thread-safe.

        Raises:
            BadTexts: lists all texts without a token, ill-formed, or too long where `truncate` is NONE.
        """

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        """Compute the vectors of one batch of texts. Called from one thread only.

        Raises:
            DeviceLost: the device failed permanently. Any other error concerns this batch only.
        """


class Reranker(Model, Protocol):
    """Scores texts against a query that it reads together with them; the scores have no words."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest score: (0, 1) if it ends with a sigmoid, otherwise infinite."""

    def paired_with(self, query: str) -> Encoder:
        """An encoder whose vector of a text is its score for the query, as one number.

        All encoders of a reranker are equal, so that their texts share batches; their `build` is that of the query.
        """


@runtime_checkable
class TokenDecoder(Protocol):
    """An encoder whose token ids can be turned back into text."""

    def decode(self, ids: Sequence[Sequence[int]], skip_special_tokens: bool) -> list[str]:
        """The text of each list of token ids. Thread-safe.

        Raises:
            ValueError: an id is not in the vocabulary.
        """


class Similarity(Protocol):
    """A similarity measure of two texts: higher is more similar.

    Scores are computed in float32 or better. `needs` names its input: pooled vectors, token vectors, these with marks
    of special tokens, or these with their text; `bounds` holds the smallest and largest score, which may be infinite;
    `reference` is a key of references.bib and the place in that work. A measure that needs a package of the extra
    `transport` names it in a further attribute, `package`. A measure that weighs tokens uses the weights of the
    embeddings.
    """

    name: ClassVar[str]
    reference: ClassVar[str]
    bounds: ClassVar[tuple[float, float]]
    symmetric: ClassVar[bool]
    needs: ClassVar[Needs]

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """Similarity of `a` and `b`."""

    def score_many(self, query: TokenEmbeddings, candidates: Sequence[TokenEmbeddings]) -> Doubles:
        """(len(candidates),) scores of `query` with each candidate; agrees with `score`."""


@runtime_checkable
class ManyToMany(Protocol):
    """A measure with a faster way to score all pairs of two lists than row by row."""

    def score_matrix(self, left: Sequence[TokenEmbeddings], right: Sequence[TokenEmbeddings]) -> Doubles:
        """(len(left), len(right)) scores of each left text with each right one; agrees with `score`."""


@runtime_checkable
class Explainable(Similarity, Protocol):
    """A measure whose score is a sum over pairs of tokens."""

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """Decompose `score(a, b)`; both embeddings need their tokens and text.

        Raises:
            NotExplainable: the pooling of these embeddings does not decompose.
        """


class Track(Protocol):
    """Wrapper of the items of a loop that shows its progress."""

    def __call__(self, items: Sequence[T], what: str) -> Iterable[T]:
        """Yield `items` in order while displaying the progress of `what`."""
