"""A number in a model that is not finite: the texts that meet it fail by name, and all others are as ever."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from semblance import encode
from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.errors import BadCheckpoint, ModelFailed
from semblance.models.protocols import Encoder
from semblance.models.text import TokenizedText
from semblance.service.batching.policy import Limits
from semblance.service.batching.worker import Worker
from semblance.service.caches.memory import MemoryCache
from semblance.service.errors import EncodingFailed
from semblance.service.observability.metrics import Metrics
from semblance.service.usecases.text_embedder import InputText, TextEmbedder
from tests.support.small_model import load, make_small

TEXTS = ["A cat walks.", "A fish.", "A horse.", "A cow.", "the cat and the fish", "green grass", "1", "horse!"]
WORDS = ("cat", "fish", "horse", "cow", "green", "##s", "walks", ".", "unseen")
EMBEDDINGS = "embeddings.word_embeddings.weight"
MODELS = int(os.environ.get("DAMAGED_MODELS", "12"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_small(tmp_path_factory.mktemp("models") / "small")


@pytest.fixture(scope="module")
def expected(small: Path) -> list[TokenEmbeddings]:
    return encode(TEXTS, model=load(small))


def damage(small: Path, folder: Path, seed: int) -> Path:
    """A copy of a model with a number that is not finite: in the row of a word, or anywhere else."""
    rng = random.Random(seed)
    shutil.copytree(small, folder)
    weights = load_file(folder / "model.safetensors")
    wrong = rng.choice([np.nan, np.inf, -np.inf])
    if rng.random() < 0.7:
        row = load(small).tokenize([rng.choice(WORDS)], "query", "END")[0].ids[1]
        of_row = weights[EMBEDDINGS][row]
        of_row[:: 1 if rng.random() < 0.5 else len(of_row)] = wrong
    else:
        weights[rng.choice(sorted(weights))].reshape(-1)[rng.randrange(32)] = wrong
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


def damaged_rows(folder: Path) -> set[int]:
    """Token ids whose vector is not finite."""
    return {*np.flatnonzero(~np.isfinite(load_file(folder / "model.safetensors")[EMBEDDINGS]).all(axis=1)).tolist()}


async def through_the_service(encoder: Encoder, expected: list[TokenEmbeddings], failing: set[int]) -> None:
    """All texts in one request, then one by one, through queue and cache."""
    worker, cache = Worker(Limits(4096, 10**6, 10**6), Metrics(), idle_check_s=600), MemoryCache(1 << 20)
    texts = TextEmbedder(worker, cache, Metrics(), max_text_chars=1000)
    inputs = [InputText(text, f"/input/{i}") for i, text in enumerate(TEXTS)]
    try:
        if failing:
            with pytest.raises(EncodingFailed) as refused:
                await texts.embed(encoder, inputs, "query", "tokens")
            assert {(each.pointer, each.code) for each in refused.value.problems} == {
                (f"/input/{i}", "model_failed") for i in failing
            }
        for _ in ("encoded", "cached"):
            for i, each in enumerate(inputs):
                if i in failing:
                    with pytest.raises(EncodingFailed):
                        await texts.embed(encoder, [each], "query", "pooled")
                else:
                    found = await texts.embed(encoder, [each], "query", "pooled")
                    np.testing.assert_allclose(found.embeddings[0].pooled(), expected[i].pooled(), atol=1e-5)
    finally:
        worker.stop()


@pytest.mark.parametrize("seed", range(MODELS))
async def test_no_answer_is_wrong(
    small: Path, expected: list[TokenEmbeddings], tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = damage(small, tmp_path / "damaged", seed)
    rows = damaged_rows(folder)
    with pytest.raises(BadCheckpoint, match="numbers that are not finite"):
        load(folder)
    # what no file holds may still come from a computation: from here on as if it did
    monkeypatch.setattr("semblance.models.model_files.weight_checks.require_finite", lambda _: None)
    try:
        encoder = load(folder)
    except BadCheckpoint:  # every text meets the number
        return
    failing = {i for i, each in enumerate(encoder.tokenize(TEXTS, "query", "END")) if rows & {*each.ids.tolist()}}
    if failing:
        with pytest.raises(ModelFailed) as failed:
            encode(TEXTS, model=encoder)
        assert {problem.index for problem in failed.value.problems} == failing
    await through_the_service(encoder, expected, failing)


def test_failed_texts_of_several_batches_are_named_by_their_places(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = load(small)
    encode_well = encoder.encode

    def encode_but_horses(tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        return [
            replace(each, vectors=each.vectors * np.nan) if "horse" in text.text else each
            for text, each in zip(tokenized, encode_well(tokenized, want), strict=True)
        ]

    monkeypatch.setattr(encoder, "encode", encode_but_horses)
    monkeypatch.setattr("semblance.models.encoders.batches.BATCH_TOKENS", 12)
    with pytest.raises(ModelFailed) as failed:
        encode(["A cat walks.", "the cat and the fish", "A horse.", "green grass"], model=encoder)
    assert [problem.index for problem in failed.value.problems] == [2]
