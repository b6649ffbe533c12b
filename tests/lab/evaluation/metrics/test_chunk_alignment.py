"""Chunk links and their F1: worked examples, the official scorer, laws."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.datasets.ists import Chunks, read
from semblance_lab.evaluation.metrics.chunk_alignment import (
    AGREEMENTS,
    alignment_sums,
    chunk_links,
    strong_links,
)
from semblance_lab.evaluation.metrics.links import f1, pooled_contributions, precision, recall
from semblance_lab.evaluation.tasks import ChunkAlignment, ChunkedPair, ChunkLink
from tests.support.project import GOLDEN_FILES

GOLDEN = json.loads((GOLDEN_FILES / "chunks.json").read_text())
TOLERANCE = GOLDEN["tolerance"]
Alignment = Sequence[ChunkLink]


def linked(left: Sequence[int], right: Sequence[int], labels: str = "EQUI", score: float | None = 5.0) -> ChunkLink:
    return ChunkLink(tuple(left), tuple(right), frozenset(labels.split("_")), score)


def pair_of(left: str, right: str, gold: Alignment = ()) -> ChunkedPair:
    return ChunkedPair("1", tuple(left.split()), tuple(right.split()), (), (), tuple(gold))


def test_the_worked_example_of_f1() -> None:
    worked = GOLDEN["alignment"]
    pairs = [pair_of(each["left"], each["right"]) for each in worked["pairs"]]
    gold, system = ([[linked(*link) for link in each[name]] for each in worked["pairs"]] for name in ("gold", "system"))
    counted = alignment_sums(gold, system, pairs)["alignment"]
    names = {"system_total": "found", "gold_total": "gold", "system_found": "found_agreed", "gold_found": "gold_agreed"}
    for name, field in names.items():
        assert getattr(counted, field).sum() == pytest.approx(worked[name], abs=TOLERANCE)
    for figure in (precision, recall, f1):
        assert figure(counted) == pytest.approx([worked[figure.__name__]], abs=TOLERANCE)


def test_f1_agrees_with_the_official_scorer(data: Path) -> None:
    expected = json.loads((data / "ists" / "expected_eval.json").read_text())
    official = next(figures["images"] for key, figures in expected.items() if key.startswith("evalF1.pl"))
    gold = images_of_2016(data)
    predicted = read(data / "ists" / "system_outputs_2016_test" / "predictions_test_images.wa")
    by_id = {pair.id: pair.gold for pair in predicted.pairs}  # one pair is missing; it counts as not aligned
    sums = alignment_sums([pair.gold for pair in gold], [by_id.get(pair.id, ()) for pair in gold], gold)
    assert [round(float(f1(sums[agreement])[0]), 4) for agreement in AGREEMENTS] == official


def test_filtered_gold_alignment_has_the_published_size_and_f1(data: Path) -> None:
    pairs = images_of_2016(data)
    strong = [strong_links(pair.gold) for pair in pairs]
    assert sum(map(len, strong)) == 1063
    figure = f1(alignment_sums(strong, [pair.gold for pair in pairs], pairs)["alignment"])
    assert figure == pytest.approx([0.9642], abs=5e-5)


def images_of_2016(data: Path) -> Sequence[ChunkedPair]:
    task = data_set("ists_images").read(data / data_set("ists_images").files[0])
    assert isinstance(task, ChunkAlignment)
    return task.pairs


WORDS = ("a", "dog", "runs", ".", "'", "fast")
links = st.builds(
    linked,
    st.sets(st.integers(1, 6), max_size=3).map(sorted),
    st.sets(st.integers(1, 6), max_size=3).map(sorted),
    st.sampled_from(["EQUI", "equi", "SPE1_FACT", "SPE1", "SIMI", "NOALI"]),
    st.one_of(st.none(), st.integers(0, 5).map(float)),
)
alignments = st.lists(st.lists(links, max_size=5), min_size=1, max_size=4)


def pairs_for(alignment: Sequence[Alignment]) -> list[ChunkedPair]:
    return [pair_of(" ".join(WORDS), " ".join(WORDS)) for _ in alignment]


@given(st.data())
def test_swapping_the_alignments_swaps_precision_and_recall(data: st.DataObject) -> None:
    gold = data.draw(alignments)
    system = data.draw(st.lists(st.lists(links, max_size=5), min_size=len(gold), max_size=len(gold)))
    there, back = (alignment_sums(*both, pairs_for(gold)) for both in ((gold, system), (system, gold)))
    for agreement in AGREEMENTS:
        assert precision(there[agreement]) == recall(back[agreement])
        assert f1(there[agreement]) == pytest.approx(f1(back[agreement]), abs=1e-12)
        assert 0 <= f1(there[agreement])[0] <= f1(there["alignment"])[0] + 1e-12


@given(alignments, alignments)
def test_links_of_punctuation_and_empty_sides_are_ignored(gold: list[Alignment], system: list[Alignment]) -> None:
    system = [*system[: len(gold)], *([[]] * (len(gold) - len(system)))]
    more = [linked((4,), (4, 5)), linked((1,), (), "NOALI", None)]
    plain = alignment_sums(gold, system, pairs_for(gold))
    for changed in (
        alignment_sums([[*each, *more] for each in gold], system, pairs_for(gold)),
        alignment_sums(gold, [[*each, *more] for each in system], pairs_for(gold)),
    ):
        assert f1(changed["alignment"]) == f1(plain["alignment"])


@given(alignments, st.lists(st.integers(0, 3), min_size=4, max_size=4))
def test_counts_equal_repeated_pairs(gold: list[Alignment], times: list[int]) -> None:
    """Against a system that links the first words of each pair."""
    counts = np.array([times[: len(gold)]], np.float64)
    repeated = [each for each, count in zip(gold, times, strict=False) for _ in range(count)]
    once = alignment_sums(gold, [[linked((1, 2), (1,))]] * len(gold), pairs_for(gold))
    many = alignment_sums(repeated, [[linked((1, 2), (1,))]] * len(repeated), pairs_for(repeated))
    for agreement in AGREEMENTS:
        assert f1(once[agreement], counts) == pytest.approx(f1(many[agreement]), abs=1e-12)


def test_agreement_of_labels_scores_and_both() -> None:
    """Labels {SPE1, FACT} and {SPE1} agree by 1/2, scores 4 and 2 by 3/5; the later line counts."""
    pair = pair_of("dog", "dogs")
    gold = [linked((1,), (1,), "EQUI", 0.0), linked((1,), (1,), "SPE1_FACT", 4.0)]
    sums = alignment_sums([gold], [[linked((1,), (1,), "spe1", 2.0)]], [pair])
    assert [float(f1(sums[agreement])[0]) for agreement in AGREEMENTS] == pytest.approx([1.0, 0.5, 0.6, 0.3])


def test_the_worked_example_of_pooling() -> None:
    worked = GOLDEN["pooling"]
    left, right = (tuple(map(tuple, worked[name])) for name in ("left_chunks", "right_chunks"))
    parts = np.array(worked["parts"], np.float64)
    rows, columns = (np.array([[i in chunk for i in (1, 2, 3, 4)] for chunk in side], float) for side in (left, right))
    assert pooled_contributions(parts, rows, columns) == pytest.approx(np.array(worked["pooled"]), abs=TOLERANCE)
    pair = replace(pair_of("k l m n", "k l m n"), left_chunks=left, right_chunks=right)
    spans = [(0, 1), (2, 3), (4, 5), (6, 7)]
    found = chunk_links(parts, spans, spans, pair)
    assert found == [linked(left[i], right[j]) for i, j in worked["mutual"]]


def chunked(left: str, right: str, left_chunks: Chunks, right_chunks: Chunks) -> ChunkedPair:
    return replace(pair_of(left, right), left_chunks=left_chunks, right_chunks=right_chunks)


def test_tokens_belong_to_chunks_by_overlap_of_characters() -> None:
    """Pieces of a word, a token over two words that is in both their chunks, and a space."""
    pair = chunked("playing football now", "x", ((1,), (2,), (3,)), ((1,),))
    spans = [(0, 4), (4, 7), (7, 8), (5, 10), (8, 16), (17, 20), (3, 3)]
    #        play    ing    " "    "ng fo" football now      nothing
    for token, chunks in enumerate([{0}, {0}, set(), {0, 1}, {1}, {2}, set()]):
        parts = np.zeros((7, 1))
        parts[token] = 60.0
        sizes = {0: 3, 1: 2, 2: 1}
        expected = [60.0 / sizes[i] if i in chunks else 0.0 for i in range(3)]
        best = [(i + 1,) for i in range(3) if expected[i] == max(expected)]
        assert [link.left for link in chunk_links(parts, spans, [(0, 1)], pair)] == best


def test_chunks_without_tokens_are_not_linked() -> None:
    pair = chunked("a b", "a b", ((1,), (2,)), ((1,), (2,)))
    assert chunk_links(np.array([[0.5, -0.1]]), [(0, 1)], [(0, 1), (2, 3)], pair) == [linked((1,), (1,))]
    assert chunk_links(np.zeros((0, 2)), [], [(0, 1), (2, 3)], pair) == []
    assert chunk_links(np.zeros((1, 1)), [(0, 1)], [(0, 1)], chunked("a", "b", (), ((1,),))) == []


def test_all_exact_ties_are_linked_without_a_threshold() -> None:
    pair = chunked("a b", "a b", ((1,), (2,)), ((1,), (2,)))
    spans = [(0, 1), (2, 3)]
    assert len(chunk_links(np.zeros((2, 2)), spans, spans, pair)) == 4
    assert chunk_links(np.array([[-0.1, -0.5], [-0.5, -0.4]]), spans, spans, pair) == [
        linked((1,), (1,)),
        linked((2,), (2,)),
    ]
