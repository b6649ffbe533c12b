"""Cross-encoders: the score of a query and a text that one network reads together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from semblance.models import catalogue
from semblance.models.alignment.unit_interval import to_unit_interval
from semblance.models.embeddings import Floats, Precision, TokenEmbeddings, Want
from semblance.models.encoders.transformer import default_runtime
from semblance.models.errors import BadCheckpoint, DeviceLost, OutOfDeviceMemory
from semblance.models.files.digests import digest
from semblance.models.model_files.cross_encoder import CrossEncoderFiles
from semblance.models.model_files.dense import ACTIVATIONS
from semblance.models.runtime import RUNTIMES, Compute, PairRuntime
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.models.tokenization.pairs import PairTokenizer, types_of

_LOGIT = (-math.inf, math.inf)  # bounds of a score that is not mapped by a sigmoid


class CrossEncoder:
    """Scores pairs of a query and a text, in float32.

    With h (d,) the last hidden state of the first token of both texts, and f the activation of the network's head::

        z = v f(W h + b) + c
        s = 1 / (1 + e^-z), or z if the folder says so      in (0, 1), or unbounded

    Not symmetric. The scores are those of `CrossEncoder.predict` in sentence-transformers.

    Args:
        name: the name it is served under.
        files: the settings of its folder.
        compute: where it runs; its number type does not count.

    Raises:
        BadCheckpoint: the folder cannot be loaded, or gives scores that are not finite.
        MissingExtra: the network needs torch, which is not installed.
        NotExportable: the runtime cannot run this network.
        DeviceLost: the device failed permanently.

    Source: nogueira-cho-2019-passage, section 2.
    """

    def __init__(self, name: str, files: CrossEncoderFiles, compute: Compute | None = None) -> None:
        compute = replace(compute or Compute(), precision="float32")
        self.name = name
        self.space = files.network.space
        self.bounds = (0.0, 1.0) if files.sigmoid else _LOGIT
        self._files = files
        self._head = files.head_weights()
        by_torch = (compute.runtime or "").startswith("torch")
        runtime = "torch" if by_torch else default_runtime(files.network, compute.device)  # an export reads no pairs
        self._runtime: PairRuntime = catalogue.find(RUNTIMES, runtime)(files.network, compute)
        facts = self._runtime.facts
        self.max_tokens: int = facts.max_tokens
        self.tokenizer = PairTokenizer(facts.tokenizer, self.max_tokens)
        if facts.type_rows and not self.tokenizer.has_types:
            raise BadCheckpoint(
                f"{files.network.folder}/tokenizer.json gives the texts of a pair other types than BERT"
            )
        self.build = digest(space=self.space, runtime=runtime, versions=dict(self._runtime.versions))
        self._require_longest()

    def paired_with(self, query: str) -> QueryPairs:
        """An encoder whose vector of a text is its score for the query."""
        return QueryPairs(self, query, digest(build=self.build, query=query))

    def scores(self, pairs: Sequence[TokenizedText]) -> Floats:
        """(b,) score of each pair of a batch. Raises DeviceLost."""
        first = self._runtime.first_vectors([pair.ids for pair in pairs], [types_of(pair) for pair in pairs])
        head = self._files.head
        inner = ACTIVATIONS[head.activation](self._linear(first, head.dense))
        logits: Floats = self._linear(inner, head.output)[:, 0]
        return to_unit_interval(logits.astype(np.float64), _LOGIT).astype(np.float32) if self._files.sigmoid else logits

    def _linear(self, x: Floats, name: str) -> Floats:
        mapped: Floats = x @ self._head[f"{name}.weight"].T + self._head[f"{name}.bias"]
        return mapped

    def _require_longest(self) -> None:
        """Score a pair of `max_tokens` tokens, so that failures come at load, not in a request."""
        folder = self._files.network.folder
        try:
            [score] = self.scores(self.tokenizer.tokenize("a", ["a " * self.max_tokens], "END"))
        except (DeviceLost, OutOfDeviceMemory):
            raise
        except Exception as error:
            raise BadCheckpoint(f"{folder} cannot score a pair of {self.max_tokens} tokens: {error}") from error
        if not np.isfinite(score):
            raise BadCheckpoint(
                f"{folder}/*.safetensors gives scores that are not finite: the weights are damaged, copy them again"
            )


@dataclass(frozen=True, slots=True)
class QueryPairs:
    """The texts of one query as an encoder.

    It is equal for all queries, so that their pairs share batches.

    Attributes:
        cross_encoder: scores the pairs.
        query: the first text of each pair.
        build: digest of the computation and of the query: with a text, the key of a pair.
    """

    cross_encoder: CrossEncoder
    query: str = field(compare=False)
    build: str = field(compare=False)

    @property
    def name(self) -> str:
        """Name under which the cross-encoder is served."""
        return self.cross_encoder.name

    @property
    def dim(self) -> int:
        """1: the score."""
        return 1

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens of a pair."""
        return self.cross_encoder.max_tokens

    @property
    def space(self) -> str:
        """Digest of all that determines the scores."""
        return self.cross_encoder.space

    @property
    def precision(self) -> Precision:
        """Number type of the computation."""
        return "float32"

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:  # noqa: ARG002 - the query is paired with each
        """Tokenize each text behind the query. Raises BadTexts."""
        return self.cross_encoder.tokenizer.tokenize(self.query, texts, truncate)

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:  # noqa: ARG002 - a pair has no token vectors
        """Score one batch of pairs, of this or other queries. Raises DeviceLost."""
        if not tokenized:
            return []
        return [
            TokenEmbeddings(
                vectors=np.empty((0, 1), np.float32),
                weights=np.ones(len(pair), np.float32),
                text=pair,
                pooled_vector=np.array([score], np.float32),
                mean_pooled=False,
            )
            for pair, score in zip(tokenized, self.cross_encoder.scores(tokenized), strict=True)
        ]
