"""What a network runs on: the port between an encoder, which knows texts, and a library that multiplies matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import numpy as np

from semblance.models.embeddings import Floats, Integers, Want
from semblance.models.text import Ints

RUNTIMES = "semblance.models.runtimes"

Precision: TypeAlias = Literal["float32", "bfloat16"]
Pooling: TypeAlias = Literal["mean", "cls", "max"]


@dataclass(frozen=True, slots=True)
class Compute:
    """Where a network runs, and how; a table of word vectors has no use for it.

    Attributes:
        device: "cpu" or a CUDA device of torch.
        precision: what it computes in.
        runtime: the name of a file of `models/runtimes/`.
        exports: the folder in which a runtime keeps networks in its own form; None makes that form anew each time.
        threads: most processors that a pass uses on a CPU; None for all there are.
    """

    device: str = "cpu"
    precision: Precision = "float32"
    runtime: str = "torch"
    exports: Path | None = None
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """What an encoder needs to know of its network.

    Attributes:
        dim: d, of the token vectors, behind the head where there is one.
        max_tokens: most tokens a text may have, special and prompt tokens included.
        pad_id: the vocabulary entry that fills up shorter texts.
        first_position: what it calls the place of a text's first token.
        tokenizer: the fast tokenizer as JSON; it neither pads nor truncates.
    """

    dim: int
    max_tokens: int
    pad_id: int
    first_position: int
    tokenizer: str


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """What one pass of b texts comes to.

    Attributes:
        pooled: (b, d) float32, the vector of each text, of any length.
        vectors: (n_i, d) float32 for each text of n_i tokens, none a view of the others; empty if not wanted.
    """

    pooled: Floats
    vectors: Sequence[Floats]


class Runtime(Protocol):
    """A network made ready by one library. A file of `models/runtimes/` holds one, made of a checkpoint and a Compute.

    Attributes:
        facts: of the network.
        versions: of the libraries that decide what it computes.
        exact: (n_i, d) the token vectors of each probe (models/networks/agreement.py) as torch computes them in
            float32; empty where this runtime does just that.
    """

    facts: NetworkFacts
    versions: Mapping[str, str]
    exact: Sequence[Floats]

    @classmethod
    def fastest(cls, device: str) -> Precision:
        """The number type that it is fastest in on this machine, of those that may serve the space of float32."""

    def run(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> Encoded:
        """One pass of all these texts.

        Args:
            ids: (n_i,) the tokens of each text, special ones included; at least one text, of at least one token.
            weights: (n_i,) what each token counts in a mean.
            want: "tokens" for the token vectors too.

        Raises:
            DeviceLost: the device failed for good.
        """


def encoded(hidden: Floats, lengths: Sequence[int], weights: Sequence[Floats], pooling: Pooling, want: Want) -> Encoded:
    """What a pass comes to, of its token vectors: (T, d), those of one text after another; more may follow.

    >>> hidden = np.array([[1.0, 4.0], [3.0, 0.0], [9.0, 9.0]], np.float32)
    >>> encoded(hidden, [2, 1], [np.ones(2, np.float32), np.ones(1, np.float32)], "mean", "pooled").pooled
    array([[2., 2.],
           [9., 9.]], dtype=float32)
    """
    ends: Integers = np.cumsum(lengths)
    starts: Integers = ends - np.asarray(lengths)
    vectors = [hidden[start:end].copy() for start, end in zip(starts, ends, strict=True)] if want == "tokens" else ()
    return Encoded(_pooled(hidden[: ends[-1]], starts, np.concatenate(weights), pooling), vectors)


def _pooled(hidden: Floats, starts: Integers, weights: Floats, pooling: Pooling) -> Floats:
    """(T, d) -> (b, d)."""
    match pooling:
        case "mean":
            totals: Floats = np.add.reduceat(hidden * weights[:, None], starts, axis=0)
            shares: Floats = np.maximum(np.add.reduceat(weights, starts), np.float32(1e-9))
            return totals / shares[:, None]
        case "cls":
            return hidden[starts]
        case "max":
            largest: Floats = np.maximum.reduceat(hidden, starts, axis=0)
            return largest
