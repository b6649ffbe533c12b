"""Interface between encoders, which handle texts, and the libraries that run their networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from semblance.models.embeddings import Floats, Integers, Precision, Want
from semblance.models.errors import MissingExtra
from semblance.models.text import Ints

RUNTIMES = "semblance.models.runtimes"

Pooling: TypeAlias = Literal[  # "words": the mean of tokens that are not special
    "mean", "cls", "max", "words", "lasttoken", "weightedmean", "mean_sqrt_len_tokens"
]


@dataclass(frozen=True, slots=True)
class Compute:
    """Where and how a network runs; a table of word vectors ignores it.

    Attributes:
        device: "cpu" or a CUDA device of torch.
        precision: number type of the computation.
        runtime: name of a module of `models/runtimes/`; None for OpenVINO if the network is of BERT's kind on a CPU, so
            that it needs no export, and otherwise for torch.
        exports: folder where a runtime caches exported networks, and records which builds agree with float32; None
            exports and compares on every load.
        threads: maximum number of CPU threads of a batch; None for all processors.
    """

    device: str = "cpu"
    precision: Precision = "float32"
    runtime: str | None = None
    exports: Path | None = None
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """Properties of a network that its encoder needs.

    Attributes:
        dim: d, the length of the token vectors, after the head if there is one.
        max_tokens: maximum number of tokens of a text, special and prompt tokens included.
        pad_id: id of the padding token.
        first_position: position id of a text's first token.
        tokenizer: the fast tokenizer as JSON, without padding and truncation.
        type_rows: added to the position of a token of the second text of a pair; 0 if all tokens have one type.
    """

    dim: int
    max_tokens: int
    pad_id: int
    first_position: int
    tokenizer: str
    type_rows: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class BatchOutput:
    """Output of one batch of b texts.

    Attributes:
        pooled: (b, d) float32, the vector of each text; not necessarily of unit length.
        vectors: (n_i, d) float32 for each text of n_i tokens, each with its own memory; empty if not requested.
    """

    pooled: Floats
    vectors: Sequence[Floats]


class Runtime(Protocol):
    """A network prepared by one library, constructed from a checkpoint and a `Compute`.

    Each module of `models/runtimes/` holds one. Modules are imported to compare ranks, so they import large libraries
    such as torch only when a network is loaded.

    Attributes:
        rank: where the runtime is not configured, those that serve a device are tried by ascending rank, fastest first.
        facts: properties of the network.
        versions: versions of the libraries that decide its vectors.
        exact: (n_i, d) token vectors of each probe (models/networks/agreement.py) by torch in float32; empty if this
            runtime itself computes them so, or if the build is known to agree with them.
    """

    rank: ClassVar[int]
    facts: NetworkFacts
    versions: Mapping[str, str]
    exact: Sequence[Floats]

    @classmethod
    def serves(cls, device: str) -> bool:
        """Whether it is a default choice for the device; False if its library is not installed."""

    @classmethod
    def fastest_precision(cls, device: str) -> Precision:
        """Fastest number type on this machine that may serve the space of float32."""

    def run(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> BatchOutput:
        """Run one batch of texts.

        Thread-safe; batches of several threads may run at the same time, or one after the other.

        Args:
            ids: (n_i,) the tokens of each text, special ones included; at least one text, of at least one token.
            weights: (n_i,) weight of each token in the mean; where texts are pooled by the largest number of each
                dimension, those of weight 0 are left out.
            want: "tokens" to return token vectors as well.

        Raises:
            DeviceLost: the device failed permanently.
        """


class PairRuntime(Protocol):
    """A runtime that also reads pairs of texts; `OpenVino` and `Torch` do."""

    facts: NetworkFacts
    versions: Mapping[str, str]

    def first_vectors(self, ids: Sequence[Ints], types: Sequence[Ints]) -> Floats:
        """(b, d) vectors of the first token of each pair. Thread-safe.

        Args:
            ids: (n_i,) the tokens of each pair.
            types: (n_i,) 0 for tokens of the first text, 1 for those of the second.

        Raises:
            DeviceLost: the device failed permanently.
        """


def require_torch(subject: str) -> None:
    """Reject what needs torch where it is not installed.

    Raises:
        MissingExtra: names the subject, and the extra that installs torch.
    """
    if find_spec("torch") is None:
        raise MissingExtra(subject, "torch", "models")


def pool_batch(
    hidden: Floats, lengths: Sequence[int], weights: Sequence[Floats], want: Want, *, largest: bool
) -> BatchOutput:
    """Pool token vectors (T, d), text after text; rows beyond the sum of `lengths` are ignored.

    The vector of a text is the weighted mean of its tokens, or the largest number of each dimension.

    Raises:
        ValueError: a library returned fewer rows, which some do instead of failing.

    >>> hidden = np.array([[1.0, 4.0], [3.0, 0.0], [9.0, 9.0]], np.float32)
    >>> weights = [np.ones(2, np.float32), np.ones(1, np.float32)]
    >>> pool_batch(hidden, [2, 1], weights, "pooled", largest=False).pooled
    array([[2., 2.],
           [9., 9.]], dtype=float32)
    """
    ends: Integers = np.cumsum(lengths)
    if len(hidden) < ends[-1]:
        raise ValueError(f"the network returned vectors of shape {hidden.shape} for {ends[-1]} tokens")
    starts: Integers = ends - np.asarray(lengths)
    vectors = [hidden[start:end].copy() for start, end in zip(starts, ends, strict=True)] if want == "tokens" else ()
    pool = _largest if largest else _weighted_mean
    return BatchOutput(pool(hidden[: ends[-1]], starts, np.concatenate(weights)), vectors)


def _weighted_mean(hidden: Floats, starts: Integers, weights: Floats) -> Floats:
    """(T, d) -> (b, d)."""
    totals: Floats = np.add.reduceat(hidden * weights[:, None], starts, axis=0)
    shares: Floats = np.maximum(np.add.reduceat(weights, starts), np.float32(1e-9))
    return totals / shares[:, None]


def _largest(hidden: Floats, starts: Integers, weights: Floats) -> Floats:
    """(T, d) -> (b, d)."""
    counted = hidden if weights.all() else np.where(weights[:, None] > 0, hidden, np.float32(-np.inf))
    largest: Floats = np.maximum.reduceat(counted, starts, axis=0)
    return largest
