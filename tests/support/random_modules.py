"""Modules of sentence-transformers for the vectors of a small network, with random weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.base.modules import Transformer as Network
from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm, Pooling
from torch import nn

from tests.support.small_model import DIM

MODES = ("mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens")
ACTIVATIONS = (nn.Identity(), nn.Tanh(), nn.ReLU(), nn.GELU(), nn.Sigmoid(), nn.SiLU())
Build = Callable[[], Sequence[nn.Module]]


def dense(width: int, out: int = 20, activation: nn.Module = nn.Tanh(), **more: Any) -> Dense:  # noqa: B008 - frozen
    """A layer with weights so large that activations matter."""
    made = Dense(width, out, activation_function=activation, **more)
    for each in made.parameters():
        nn.init.normal_(each, std=0.5)
    return made


def norm(width: int) -> LayerNorm:
    made = LayerNorm(width)
    nn.init.normal_(made.norm.weight)
    nn.init.normal_(made.norm.bias)
    return made


def saved(folder: Path, out: Path, build: Build, **settings: Any) -> Path:
    """A folder of sentence-transformers with the network of another and these modules."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        modules = [Network(str(folder), max_seq_length=64), *build()]
    SentenceTransformer(modules=modules, device="cpu", **settings).save(str(out))
    return out


TOKENS: dict[str, Any] = {"module_input_name": "token_embeddings"}


def pooled_by(mode: str) -> Build:
    return lambda: [Pooling(DIM, mode)]


def before(activation: nn.Module) -> Build:
    return lambda: [dense(DIM, activation=activation, **TOKENS), Pooling(20)]


def after(activation: nn.Module) -> Build:
    return lambda: [Pooling(DIM), dense(DIM, activation=activation), Normalize()]


MODULES: dict[str, Build] = {
    **{f"pooling {mode}": pooled_by(mode) for mode in MODES},
    "poolings joined": lambda: [Pooling(DIM, ("cls", "mean_sqrt_len_tokens", "max")), Normalize()],
    **{f"{type(each).__name__} before": before(each) for each in ACTIVATIONS},
    **{f"{type(each).__name__} after": after(each) for each in ACTIVATIONS},
    "several before": lambda: [
        dense(DIM, 40, **TOKENS),
        dense(40, 16, nn.Identity(), bias=False, **TOKENS),
        Pooling(16),
    ],
    "several after": lambda: [Pooling(DIM), dense(DIM, 40), dense(40, 16, nn.Identity(), bias=False), Normalize()],
    "residual before": lambda: [dense(DIM, DIM, use_residual=True, **TOKENS), Pooling(DIM)],
    "other residual before": lambda: [dense(DIM, 20, use_residual=True, **TOKENS), Pooling(20)],
    "residuals after": lambda: [Pooling(DIM), dense(DIM, DIM, use_residual=True), dense(DIM, 8, use_residual=True)],
    "layer norm": lambda: [Pooling(DIM, "cls"), norm(DIM), Normalize()],
    "dropout": lambda: [Pooling(DIM), Dropout(0.5), dense(DIM), Dropout(0.5), Normalize()],
    "normalized between": lambda: [Pooling(DIM), Normalize(), dense(DIM), norm(20)],
    "normalized twice": lambda: [Pooling(DIM), Normalize(), Normalize()],
    "joined and mapped": lambda: [Pooling(DIM, ("mean", "max")), dense(2 * DIM), Normalize()],
}
