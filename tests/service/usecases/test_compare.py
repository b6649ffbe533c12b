"""A large comparison by a slow measure does not block other requests."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from semblance_client.vocabulary.fields import Pair
from semblance_client.vocabulary.responses import Calibration
from semblance_client.vocabulary.same import Verdict
from semblance_client.vocabulary.similarity import Similarities, SimilarityMatrix, SimilarityRequest

from semblance.models.catalogue import similarity
from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.judgments.centered_isotonic import ProbabilityMap
from semblance.models.measures.word_movers import WordMovers
from semblance.models.protocols import Encoder
from semblance.models.text import Role, Truncate
from semblance.service import turns
from semblance.service.ports.calibration import FittedCalibration
from semblance.service.ports.embedding import ServedModels
from semblance.service.turns import TurnThreads
from semblance.service.usecases import compare as compare_module
from semblance.service.usecases.compare import Compare
from semblance.service.usecases.paraphrases import verdicts
from semblance.service.usecases.text_embedder import InputText, TextEmbedder, TextEmbeddings
from tests.service.usecases.one_service import LIMITS
from tests.support.token_matrices import embeddings_of
from tests.support.waiting import CEILING_S

TOKENS, DIM = 6, 8
CHUNK_PAIRS = 4  # scored at a time


def random_tokens(number: int) -> TokenEmbeddings:
    return embeddings_of(np.random.default_rng(number).normal(size=(TOKENS, DIM)).astype(np.float32))


class RandomModel:
    """A model whose texts have random token vectors, seeded by the text; `wanted` has what was asked for."""

    def __init__(self) -> None:
        self.wanted: list[Want] = []

    async def get(self, name: str | None) -> Encoder:
        del name
        return cast("Encoder", SimpleNamespace(name="random", space="random"))

    async def embed(
        self, encoder: Encoder, texts: Sequence[InputText], role: Role, want: Want, truncate: Truncate
    ) -> TextEmbeddings:
        del encoder, role, truncate
        self.wanted.append(want)
        made = [random_tokens(int(text.text)) for text in texts]
        return TextEmbeddings(made, [False] * len(made), 0)


def compare() -> Compare:
    model: Any = RandomModel()
    return Compare(cast("ServedModels", model), cast("TextEmbedder", model), {}, {}, LIMITS)


def texts(*numbers: int) -> list[InputText]:
    return [InputText(str(number), "") for number in numbers]


def matrix(left: Sequence[int], right: Sequence[int], measure: str) -> SimilarityRequest:
    return SimilarityRequest(left=list(map(str, left)), right=list(map(str, right)), measure=measure)


class GatedMeasure(WordMovers):
    """Counts its scores, of which there is none until the gate opens."""

    def __init__(self) -> None:
        self.gate, self.scores = threading.Event(), 0

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        del a, b
        self.gate.wait(CEILING_S)
        self.scores += 1
        return 0.0


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_module, "CHUNK_PRODUCTS", CHUNK_PAIRS * TOKENS**2)


@pytest.mark.parametrize("form", ["pairs", "matrix"])
async def test_a_slow_comparison_yields_to_others_and_can_be_cancelled(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """On one thread, between chunks of four pairs."""
    monkeypatch.setattr(turns, "INLINE_S", -1.0)  # all work is long
    measure = GatedMeasure()
    monkeypatch.setattr(compare_module, "similarity", lambda _: measure)
    threads = TurnThreads(1, "compute")
    for module in (turns, compare_module):
        monkeypatch.setattr(module, "in_thread", threads.run)
    if form == "pairs":
        work: Awaitable[object] = compare().pairs(texts(*range(16)) * 16, texts(*range(16)) * 16, measure="gated")
    else:
        work = compare().similarity(matrix(range(16), range(16), "gated"))
    task = asyncio.ensure_future(work)
    await asyncio.sleep(0)  # begins the comparison
    other = asyncio.create_task(threads.run(lambda: measure.scores))
    await asyncio.sleep(0)  # queues the other work behind its first chunk
    measure.gate.set()
    assert await other == CHUNK_PAIRS
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await threads.run(lambda: None)  # after the end of the last chunk
    assert measure.scores < 16 * 16


@pytest.mark.parametrize("name", ["rcmd", "cosine", "set_jaccard"])
async def test_chunks_do_not_change_scores(name: str) -> None:
    numbers = list(range(10))
    made = [random_tokens(number) for number in numbers]
    pairs = await compare().pairs(texts(*numbers), texts(*reversed(numbers)), measure=name)
    scored = await compare().similarity(matrix((1, 5, 2), numbers, name))
    measure = similarity(name)
    expected = [measure.score(a, b) for a, b in zip(made, reversed(made), strict=True)]
    assert list(pairs.scores) == pytest.approx(expected, abs=1e-6)
    assert isinstance(scored, SimilarityMatrix)
    for row, number in zip(scored.scores, (1, 5, 2), strict=True):
        assert list(row) == pytest.approx([measure.score(made[number], other) for other in made], abs=1e-6)


def certain(probability: float) -> FittedCalibration:
    """A calibration by which every score has this probability."""
    one = ProbabilityMap(np.zeros(1), np.array([probability]))
    return FittedCalibration(Calibration(data="", pairs=1, error=0.0), one)


@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize("classified", [False, True])
@pytest.mark.parametrize("calibrated", [False, True])
async def test_pairs_are_judged_for_explanations_and_probabilities_only(
    monkeypatch: pytest.MonkeyPatch, explain: bool, classified: bool, calibrated: bool
) -> None:
    """The verdict on the second of two pairs is that it is different."""
    judged: list[str] = []

    def judge(classifier: object, a: TokenEmbeddings, b: TokenEmbeddings) -> Verdict:
        del classifier, a, b
        judged.append("different" if judged else "same")
        return Verdict.model_validate({"verdict": judged[-1], "log_odds": 0, "base": 0, "rest": 0, "reasons": []})

    monkeypatch.setattr(verdicts, "verdict", judge)
    model: Any = RandomModel()
    calibrations = {("random", "dynamax_jaccard"): certain(0.5)} if calibrated else {}
    classifiers: Any = {"random": object()} if classified else {}
    pairs = [Pair(a="1", b="2"), Pair(a="3", b="4")]
    request = SimilarityRequest(pairs=pairs, explain=explain, measure="dynamax_jaccard")
    found = await Compare(model, model, calibrations, classifiers, LIMITS).similarity(request)
    assert isinstance(found, Similarities)
    needed = classified and (explain or calibrated)
    assert judged == ["same", "different"] * needed
    assert found.probabilities == ([0.5, None if classified else 0.5] if calibrated else None)
    shown = [each.same.verdict if each.same else "none" for each in found.explanations or []]
    assert shown == (judged or ["none", "none"]) * explain


@pytest.mark.parametrize(("calibrated", "want"), [(False, "pooled"), (True, "tokens")])
async def test_token_vectors_are_read_where_verdicts_need_them(calibrated: bool, want: Want) -> None:
    model: Any = RandomModel()
    calibrations = {("random", "cosine"): certain(0.5)} if calibrated else {}
    with contextlib.suppress(AttributeError):  # this classifier cannot classify
        await Compare(model, model, calibrations, cast("Any", {"random": object()}), LIMITS).similarity(
            SimilarityRequest(pairs=[Pair(a="1", b="2")])
        )
    assert model.wanted == [want]
