"""With automatic runtime and precision, a service gives the scores of float32, in any batch."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from semblance.models.catalogue import similarity
from semblance.models.encoders.transformer import Transformer
from semblance.models.processor.usable_cores import usable_cores
from tests.support.project import PROJECT
from tests.support.running_service import running_service

DEFAULTS = {"precision": "auto", "runtime": "auto", "threads": str(usable_cores())}
BOUND = 0.005  # error of a score in bfloat16 or int8, whatever the batch
WORDS = ("a", "guitar", "is", "played", "by", "the", "unbelievably", "old", "man", "who", "sings", "loudly", ".")


@pytest.fixture(scope="module")
def client() -> Iterator[httpx2.Client]:
    with (
        running_service(PROJECT, **DEFAULTS, models="minilm", cache="none") as url,
        httpx2.Client(base_url=url, timeout=120) as client,
    ):
        yield client


def pairs(count: int) -> list[dict[str, str]]:
    rng = random.Random(3)
    return [{side: " ".join(rng.choices(WORDS, k=rng.randint(1, 60))) for side in "ab"} for _ in range(count)]


@pytest.mark.parametrize("measure", ["cosine", "rcmd"])
def test_scores_match_float32(client: httpx2.Client, minilm: Transformer, measure: str) -> None:
    examples = pairs(40)
    texts = [pair[side] for pair in examples for side in "ab"]
    encoded = [minilm.encode(minilm.tokenize([text], "query", "END"), "tokens")[0] for text in texts]
    expected = [similarity(measure).score(*encoded[i : i + 2]) for i in range(0, len(texts), 2)]

    def scores(some: list[dict[str, str]]) -> list[float]:
        answer = client.post("/similarity", json={"pairs": some, "measure": measure})
        answer.raise_for_status()
        found: list[float] = answer.json()["scores"]
        return found

    with ThreadPoolExecutor(8) as pool:  # concurrent requests share batches
        one_by_one = [found[0] for found in pool.map(scores, [[pair] for pair in examples])]
    assert scores(examples) == pytest.approx(expected, abs=BOUND)
    assert one_by_one == pytest.approx(expected, abs=BOUND)
