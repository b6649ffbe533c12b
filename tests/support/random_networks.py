"""Networks of random weights, texts of random token ids, and the vectors of each text alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModel

from semblance.models.embeddings import Floats
from semblance.models.text import Ints

VOCABULARY = 200
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "pad_token_id": 1,
}
NETWORKS: dict[str, dict[str, Any]] = {
    "bert": SIZES,
    "roberta": SIZES | {"type_vocab_size": 1, "max_position_embeddings": 160},
    "distilbert": {"vocab_size": VOCABULARY, "dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 64},
    "modernbert": SIZES | {"local_attention": 16},  # in two of three layers, to the 8 nearest tokens on either side
}
LIKE_BERT: dict[str, dict[str, Any]] = {  # families that end like BERT, and what each has beside SIZES
    "bert": {},
    "camembert": {},
    "distilbert": {},
    "electra": {"embedding_size": 16},
    "gte": {},
    "mpnet": {},
    "nomic_bert": {},
    "roberta": {},
    "xlm-roberta": {"layer_norm_eps": 1e-3},
}
FAMILIES = LIKE_BERT | {"modernbert": {}, "albert": {"embedding_size": 16}, "deberta-v2": {}}


def random_network(family: str = "bert", **sizes: Any) -> Any:
    """A network whose texts differ and whose attention is far from uniform; the same on every call."""
    config = AutoConfig.for_model(family, **NETWORKS.get(family, SIZES) | sizes)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return with_real_spread(AutoModel.from_config(config))  # type: ignore[no-untyped-call]


def with_real_spread(network: Any) -> Any:
    with torch.no_grad():
        for weights in network.parameters():
            if weights.ndim == 2:
                weights.mul_(6)
            else:  # biases and norms, which differ from one another, too
                weights.add_(torch.randn_like(weights) * 0.1)
    return network.eval()


def texts(lengths: Sequence[int], seed: int = 5) -> list[Ints]:
    rng = np.random.default_rng(seed)
    return [rng.integers(5, VOCABULARY, n).astype(np.int32) for n in lengths]


def ones(ids: Sequence[Ints]) -> list[Floats]:
    return [np.ones(len(each), np.float32) for each in ids]


def alone(network: Any, ids: Ints) -> Floats:
    """The oracle: one text without padding, mask or positions."""
    with torch.inference_mode():
        hidden: Floats = network(input_ids=torch.from_numpy(ids).long()[None]).last_hidden_state[0].float().numpy()
    return hidden
