"""Transformer encoder over any runtime."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from semblance.models import catalogue
from semblance.models.embeddings import Floats, TokenEmbeddings, Want, unit_rows
from semblance.models.encoders.pooling import joined_poolings, pooling_factor, pooling_weights
from semblance.models.errors import BadCheckpoint, DeviceLost, NotExportable, OutOfDeviceMemory
from semblance.models.files.json_file import read_json
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.agreement import MIN_COSINE, PROBES, require_agreement
from semblance.models.networks.bert_graph import has_graph
from semblance.models.processor.agreed_builds import build_of, record_agreement
from semblance.models.runtime import RUNTIMES, Compute, Runtime, require_torch
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.models.tokenization.subwords import fast_tokenizer

log = logging.getLogger(__name__)


class Transformer:
    """Token vectors of a transformer's last layer, and the vector of a text that they make.

    With H (n, d) the last hidden states of a text's n tokens, special ones included, each mapped by the folder's heads
    if there are any, the pooled vector is::

        mean:         sum_i w_i H_i / sum_i w_i   (w_i = 1; 0 for prompt tokens where the model leaves them out)
        words:        the same with w_i = 0 for special and prompt tokens
        weightedmean: the same with w_i = i
        mean_sqrt_len_tokens: sum_i w_i H_i / sqrt(sum_i w_i)
        cls, lasttoken: the first and the last of H_i with w_i = 1
        max:          max_i H_ij in each dimension j

    or several of them, joined; then mapped by the folder's layers behind the pooling, if there are any, and normalized
    to unit length if it says so. Without `modules.json`, it is the mean of all tokens. Of the result, `truncate_dim`
    keeps the first dimensions.

    Token vectors go through the same layers, each as a text of one token does: they have the dimensions of the pooled
    vector, and where the layers are affine, it is still their weighted mean.

    Args:
        name: the name it is served under.
        checkpoint: the settings of its folder.
        compute: where and how it runs. Its vectors must agree with those of torch in float32 on `PROBES`.

    Raises:
        BadCheckpoint: transformers cannot load a network or a fast tokenizer from the folder.
        MissingExtra: the network needs torch, which is not installed.
        NotExportable: the runtime cannot run this network.
        BuildDisagrees: its vectors differ too much from those of torch in float32.
        DeviceLost: the device failed permanently.

    Source: reimers-gurevych-2019-sbert, section 3.
    """

    def __init__(self, name: str, checkpoint: Checkpoint, compute: Compute | None = None) -> None:
        compute = compute or Compute()
        self.name = name
        self._checkpoint = checkpoint
        runtime = compute.runtime or default_runtime(checkpoint, compute.device)
        self._runtime: Runtime = catalogue.find(RUNTIMES, runtime)(checkpoint, compute)
        facts = self._runtime.facts
        self._layers = [layer.load() for layer in checkpoint.modules.layers]
        self.dim = self._token_vectors(np.zeros((1, facts.dim), np.float32)).shape[1]
        self.max_tokens = facts.max_tokens
        self._tokenizer = fast_tokenizer(facts.tokenizer, self.max_tokens)
        self.space = checkpoint.space
        self.precision = compute.precision
        self.build = build_of(checkpoint.space, runtime, compute.precision, self._runtime.versions)
        self._require_longest()
        if self._runtime.exact:
            vectors = [each.vectors for each in self.encode(self.tokenize(PROBES, "document", "END"), "tokens")]
            remedy = "run it by torch" if compute.precision == "float32" else "serve it in float32"
            exact = [self._token_vectors(each) for each in self._runtime.exact]
            least = MIN_COSINE[compute.precision]
            require_agreement(exact, vectors, least, f"{name} in {compute.precision}", remedy)
            record_agreement(compute.exports, self.build)

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        """Tokenize each text, with special and prompt tokens.

        Raises:
            BadTexts: lists every text that is `empty_text`, `ill_formed_text` or `text_too_long`.
        """
        return self._tokenizer.tokenize(texts, self._checkpoint.prompts[role], truncate)

    def decode(self, ids: Sequence[Sequence[int]], skip_special_tokens: bool) -> list[str]:
        """The text of each list of token ids. Raises ValueError."""
        return self._tokenizer.decode(ids, skip_special_tokens)

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        """Encode all texts as one batch.

        Raises:
            DeviceLost: the device failed permanently.
        """
        if not tokenized:
            return []
        modules = self._checkpoint.modules
        own = [self._own_tokens(text) for text in tokenized]
        pooled, vectors = self._run(tokenized, own, want)
        for layer in self._layers:
            pooled = layer(pooled)
        pooled = unit_rows(pooled).astype(np.float32) if modules.normalize else pooled
        weighs_places = modules.poolings == ("weightedmean",)
        no_vectors = np.empty((0, self.dim), np.float32)
        return [
            TokenEmbeddings(
                vectors=self._token_vectors(vectors[row]) if want == "tokens" else no_vectors,
                weights=pooling_weights("weightedmean", own[row]) if weighs_places else own[row],
                text=text,
                pooled_vector=pooled[row, : self.dim].copy(),  # not a view, which would keep the whole batch alive
                mean_pooled=modules.is_mean,
            )
            for row, text in enumerate(tokenized)
        ]

    def _run(
        self, tokenized: Sequence[TokenizedText], own: Sequence[Floats], want: Want
    ) -> tuple[Floats, Sequence[Floats]]:
        """Pooled vectors (b, d) and wanted token vectors, before the layers behind the pooling.

        Raises:
            DeviceLost: the device failed permanently.
        """
        [mode, *others] = poolings = self._checkpoint.modules.poolings
        ids = [text.ids for text in tokenized]
        if others:
            vectors = self._runtime.run(ids, own, "tokens").vectors
            pooled = [joined_poolings(each, counted, poolings) for each, counted in zip(vectors, own, strict=True)]
            return np.stack(pooled), vectors
        weights = own if mode == "max" else [pooling_weights(mode, counted) for counted in own]
        output = self._runtime.run(ids, weights, want)
        if output.pooled.shape != (len(ids), self._runtime.facts.dim):
            raise ValueError(f"the network returned vectors of shape {output.pooled.shape} for {len(ids)} texts")
        factors = np.array([pooling_factor(mode, counted) for counted in own], np.float32)
        return output.pooled * factors[:, None], output.vectors

    def _token_vectors(self, vectors: Floats) -> Floats:
        """(n, d) -> (n, d'): each token behind the pooling, as a text of one token."""
        modules = self._checkpoint.modules
        rows = np.tile(vectors, (1, len(modules.poolings))) if len(modules.poolings) > 1 else vectors
        for layer in self._layers:
            rows = layer(rows)
        kept = self._checkpoint.truncate_dim
        return rows if kept is None else rows[:, :kept].copy()

    def _own_tokens(self, text: TokenizedText) -> Floats:
        """(n,) 1 for every token that the pooling includes, otherwise 0."""
        modules = self._checkpoint.modules
        if modules.poolings == ("words",):
            return (~text.special).astype(np.float32)
        own = np.ones(len(text), np.float32)
        if text.prompted and not modules.include_prompt:
            own[: int(np.argmin(text.special))] = 0.0  # everything before the text's own first token
        return own

    def _require_longest(self) -> None:
        """Encode a text of `max_tokens` tokens, so that failures come at load, not in a request."""
        try:
            [longest] = self.encode(self.tokenize(["a " * self.max_tokens], "document", "END"), "tokens")
        except (DeviceLost, OutOfDeviceMemory, NotExportable):
            raise
        except Exception as error:
            raise BadCheckpoint(
                f"{self._checkpoint.folder} cannot encode a text of {self.max_tokens} tokens: {error}"
            ) from error
        if not np.isfinite(longest.vectors).all():
            raise BadCheckpoint(
                f"{self._checkpoint.folder}/*.safetensors gives vectors that are not finite: the weights are damaged, "
                "copy them again"
            )


def default_runtime(checkpoint: Checkpoint, device: str) -> str:
    """OpenVINO where it needs no export, otherwise torch. Raises MissingExtra."""
    if device != "cpu":
        require_torch(f"the device {device}")
    elif has_graph(checkpoint):
        return "openvino"
    else:
        require_torch(f"{checkpoint.folder}, whose network or tokenizer is not of BERT's kind,")
        kind = read_json(checkpoint.folder / "config.json", dict).get("model_type")
        log.warning(
            "%s runs by torch, slower on a CPU: its network (%s) or tokenizer is not of BERT's kind",
            checkpoint.folder,
            kind,
        )
    return "torch"
