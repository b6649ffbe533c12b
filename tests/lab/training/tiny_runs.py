"""Training runs of seconds: a network of two small layers, and short sentences."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.judgments.pairs import GradedPairs
from semblance.models.model_files.source import Source
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source
from semblance_lab.evaluation.tasks import Task, WordAlignedPair
from semblance_lab.training.recipe import Recipe
from semblance_lab.training.run import Run, RunProgress
from semblance_lab.training.training_data import RunningText, TrainingRows

NOUNS = ("dog", "cat", "river", "engine", "teacher", "violin", "bridge", "apple", "storm", "ship")
VERBS = ("runs", "sleeps", "breaks", "shines", "waits", "sings", "moves", "falls")


def sentence(draw: random.Random) -> str:
    return f"the {draw.choice(NOUNS)} {draw.choice(VERBS)} near the {draw.choice(NOUNS)}" + " today" * draw.randrange(3)


def rows(columns: int, n: int = 48, labels: Callable[[int], float] | None = None) -> TrainingRows:
    draw = random.Random(0)
    texts = {f"column {i}": [sentence(draw) for _ in range(n)] for i in range(columns)}
    return TrainingRows(texts, None if labels is None else [labels(i) for i in range(n)], 0, {}, 0, "0" * 64)


def dev_set() -> Mapping[str, Task]:
    draw = random.Random(1)
    left, right = ([sentence(draw) for _ in range(20)] for _ in range(2))
    return {"own": GradedPairs(left, right, [float(i % 5) for i in range(20)], ["own"] * 20)}


def run(recipe: Recipe, folder: Path, data: TrainingRows, out: Path, dev: Mapping[str, Task] | None = None) -> Run:
    """A run, with running text and aligned pairs for the recipes that use them."""
    texts = None if recipe.keep is None else RunningText(rows(1, n=30).texts["column 0"], 0, "1" * 64)
    aligned = [] if recipe.align is None else aligned_pairs()
    return Run("tiny", recipe, read_transformer(Source(folder)), data, dev or {}, out, "cpu", texts, aligned)


def aligned_pairs(n: int = 20) -> list[WordAlignedPair]:
    """Pairs of a sentence and its words in reverse order."""
    draw = random.Random(5)
    pairs = []
    for i in range(n):
        words = tuple(sentence(draw).split())
        links = frozenset((k, len(words) - 1 - k) for k in range(len(words)))
        pairs.append(WordAlignedPair(str(i), words, words[::-1], links, frozenset()))
    return pairs


def ignore_progress(progress: RunProgress) -> None:
    del progress


def vectors(source: object) -> np.ndarray:
    """Pooled vectors of a few sentences, computed by the served encoder."""
    encoder: Encoder = read_source(str(source)).load("m", Compute())
    draw = random.Random(2)
    texts = [sentence(draw) for _ in range(5)]
    return np.stack([each.pooled() for each in encoder.encode(encoder.tokenize(texts, "query", "END"), "pooled")])
