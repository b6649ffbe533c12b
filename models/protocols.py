"""The things that can be swapped: what encodes a text, what compares two, or many with many, and what shows why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from semblance.models.embeddings import Doubles, Needs, TokenEmbeddings, Want
from semblance.models.explanation import Explanation
from semblance.models.text import Role, TokenizedText, Truncate


class Encoder(Protocol):
    """Turns texts into vectors.

    Laws: order is kept; the same text gives the same vectors, alone and in any batch (token vectors to cosine 0.9998,
    pooled to 0.9999); truncation is reported, never silent.
    """

    @property
    def name(self) -> str:
        """The name it is served under."""

    @property
    def dim(self) -> int:
        """d, the length of every vector."""

    @property
    def max_tokens(self) -> int:
        """Most tokens a text may have, special and prompt tokens included."""

    @property
    def space(self) -> str:
        """Digest of everything that decides what a vector means: weights, tokenizer, pooling, length, prompts."""

    @property
    def build(self) -> str:
        """Digest of the space and of what computes it: runtime, number type, library versions."""

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        """Tokens of each text. Safe to call from any thread.

        Raises:
            BadTexts: naming every text without a real token, ill-formed, or too long where `truncate` is NONE.
        """

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        """Vectors of each text, computed as one batch. Called by one thread only.

        Raises:
            DeviceLost: the device failed for good. Any other error concerns these texts only.
        """


class Similarity(Protocol):
    """A measure of how alike two texts are: higher is more alike. Scores are computed in float32 or better.

    `needs` says what it compares: pooled vectors, token vectors, or words, which are tokens that know their text;
    `bounds` holds its smallest and largest value, which may be infinite; `reference` is a key of references.bib and the
    place in that work. A measure that weighs tokens at all does so by the weights of the embeddings.
    """

    name: ClassVar[str]
    reference: ClassVar[str]
    bounds: ClassVar[tuple[float, float]]
    symmetric: ClassVar[bool]
    needs: ClassVar[Needs]

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """How alike `a` and `b` are."""

    def score_many(self, query: TokenEmbeddings, candidates: Sequence[TokenEmbeddings]) -> Doubles:
        """(len(candidates),) the scores of `query` with each candidate; agrees with `score`."""


@runtime_checkable
class ManyToMany(Protocol):
    """A measure that scores every text of one list with every text of another faster than row by row."""

    def score_matrix(self, left: Sequence[TokenEmbeddings], right: Sequence[TokenEmbeddings]) -> Doubles:
        """(len(left), len(right)) the scores of each left text with each right one; agrees with `score`."""


@runtime_checkable
class Explainable(Protocol):
    """A measure whose score is a sum over pairs of tokens."""

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """The parts of `score(a, b)`; both embeddings must hold their tokens.

        Raises:
            NotExplainable: when the pooling of these embeddings does not decompose.
        """
