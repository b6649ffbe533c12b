"""Create a surrogate's initial model: random weights, or the mean of static vectors."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import nn
from transformers import AutoTokenizer, BertConfig, BertModel

from semblance.models.embeddings import Doubles
from semblance_lab.origin.corpus.tokens import Vocabulary
from semblance_lab.origin.errors import BadOrigin

CARRIER = 2  # dimensions of a token's vector that restore its norm after weighting


@dataclass(frozen=True, slots=True)
class BertShape:
    """Sizes of a BERT.

    Attributes:
        dim: dimension of a token's vector.
        layers: number of them.
        heads: of every attention; they must divide `dim`.
        tokens: most tokens of a text, special ones included.
        seed: of the random weights.

    Raises:
        BadOrigin: the heads do not divide `dim`.
    """

    dim: int = 256
    layers: int = 3
    heads: int = 4
    tokens: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dim % self.heads:
            raise BadOrigin(f"{self.heads} heads do not divide {self.dim} dimensions: choose others")

    @property
    def static_dim(self) -> int:
        """Dimension of the static vectors in a network of this shape."""
        return self.dim - CARRIER


def write_scratch(vocabulary: Path, shape: BertShape, out: Path) -> None:
    """Write a model folder with random weights, initialized as in BERT.

    Raises:
        BadOrigin: the vocabulary cannot be read.
    """
    _write(_network(vocabulary, shape), vocabulary, shape, out)


def write_static(vocabulary: Path, vectors: Doubles, shape: BertShape, out: Path) -> None:
    r"""Write a model folder that computes the mean of static vectors, and can be trained further.

    With w_t (dim - 2,) the vector of a token, |w_t| <= 1 and of mean 0, every token's word embedding is::

        e_t = [w_t, c_t, -c_t]    c_t = sqrt((1 - |w_t|^2) / 2)    |e_t| = 1, of mean 0

    so that the layer norms, which give all tokens one norm, scale all of them by sqrt(dim): the weights of words are
    preserved. Position and type embeddings are zeros, and so are the output maps of every attention and feed-forward
    block, whose residual branches thus add nothing at first; but they receive gradients. The last layer norm masks c_t.
    So the vector of a text is sqrt(dim) times the mean of its [w_t, 0, 0], including special tokens, whose w_t is 0;
    its cosines are those of the mean.

    Raises:
        BadOrigin: the vocabulary cannot be read.
    """
    network: Any = _network(vocabulary, shape)  # torch does not type submodules
    squares = (vectors**2).sum(1)
    carrier = np.sqrt(np.clip(1 - squares, 0, None) / 2)[:, None]
    words = torch.from_numpy(np.hstack([vectors, carrier, -carrier])).float()
    with torch.no_grad():
        network.embeddings.word_embeddings.weight.copy_(words)
        for table in (network.embeddings.position_embeddings, network.embeddings.token_type_embeddings):
            table.weight.zero_()
        for layer in network.encoder.layer:
            for branch in (layer.attention.output.dense, layer.output.dense):
                nn.init.zeros_(branch.weight)
                nn.init.zeros_(branch.bias)
        network.encoder.layer[-1].output.LayerNorm.weight[-CARRIER:] = 0
    _write(network, vocabulary, shape, out)


def _network(vocabulary: Path, shape: BertShape) -> BertModel:
    tokenizer = Vocabulary.open(vocabulary)
    config = BertConfig(
        vocab_size=tokenizer.size,
        hidden_size=shape.dim,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.dim,
        max_position_embeddings=shape.tokens,
        pad_token_id=tokenizer.pad,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(shape.seed)
        return BertModel(config)


def _write(network: BertModel, vocabulary: Path, shape: BertShape, out: Path) -> None:
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    tokenizer = AutoTokenizer.from_pretrained(str(vocabulary), local_files_only=True, trust_remote_code=False)
    tokenizer.model_max_length = shape.tokens
    with tempfile.TemporaryDirectory() as folder:
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        modules = [Transformer(folder, max_seq_length=shape.tokens), Pooling(shape.dim, "mean")]
        SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(out), create_model_card=False)
