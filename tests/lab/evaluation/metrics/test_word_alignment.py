"""Word links and their figures: plain loops and worked examples."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.explanation import Link, LinkList
from semblance.models.text import Unit
from semblance_lab.evaluation.evaluation import evaluate
from semblance_lab.evaluation.metrics import compute_metrics
from semblance_lab.evaluation.metrics.links import (
    LinkCounts,
    error_rate,
    f1,
    macro_f1,
    macro_precision,
    macro_recall,
    precision,
    recall,
)
from semblance_lab.evaluation.metrics.word_alignment import WordLinks, null_links, word_links
from semblance_lab.evaluation.scorer import Scorer
from semblance_lab.evaluation.tasks import WordAlignedPair, WordAlignment
from tests.lab.evaluation.samples import FEW, fake_scorer, values

Matrix: TypeAlias = Sequence[Sequence[float]]


def fixed(**contributions: Mapping[str, Matrix]) -> Scorer:
    """Gives these contributions of each text on the left, between the words of the texts."""
    return fake_scorer(links=lambda name, a, b: explanation(a, b, contributions[name][a]))


def explanation(a: str, b: str, contributions: Matrix) -> LinkList:
    links = [Link(i, j, 0.0, value) for i, row in enumerate(contributions) for j, value in enumerate(row) if value != 0]
    return LinkList(0.0, units(a), units(b), tuple(links), 0.0, 0.0)


def units(text: str) -> tuple[Unit, ...]:
    """The words between spaces."""
    return tuple(Unit(match[0], *match.span(), i) for i, match in enumerate(re.finditer(r"\S+", text)))


def pair_of(left: str, right: str, sure: set[tuple[int, int]], possible: set[tuple[int, int]]) -> WordAlignedPair:
    return WordAlignedPair("1", tuple(left.split()), tuple(right.split()), frozenset(sure), frozenset(possible))


@pytest.mark.parametrize(
    ("left", "right", "contributions", "links"),
    [
        ("a b c", "d e", [[0.1, 0.3], [0.2, 0.4], [0.3, 0.0]], {(1, 1), (2, 0)}),
        ("a b", "c d", [[0.1, 0.0], [0.0, -0.2]], {(0, 0)}),
        ("a", "c", [[0.0]], set()),
        ("a b", "c", [[0.2], [0.2]], {(0, 0), (1, 0)}),  # exact ties
    ],
)
def test_words_are_linked_if_each_prefers_the_other(
    left: str, right: str, contributions: Matrix, links: set[object]
) -> None:
    found = word_links(explanation(left, right, contributions), left.split(), right.split())
    assert found == links


def test_contributions_of_tokens_are_averaged_over_words() -> None:
    """The tokens ice, cream and now of the words "ice-cream now", by overlap of characters."""
    left = (Unit("ice", 0, 3, 0), Unit("cream", 4, 9, 1), Unit("now", 10, 13, 2))
    links = tuple(Link(i, 0, 0.0, value) for i, value in enumerate((0.5, 0.1, 0.35)))
    why = LinkList(0.0, left, units("today"), links, 0.0, 0.0)
    assert word_links(why, ("ice-cream", "now"), ("today",)) == {(1, 0)}  # 0.35 is more than (0.5 + 0.1) / 2


def test_words_without_a_token_stay_unaligned() -> None:
    why = LinkList(0.0, units("a b")[1:], units("c"), (Link(0, 0, 0.0, 0.1),), 0.0, 0.0)
    assert word_links(why, ("a", "b"), ("c",)) == {(1, 0)}
    assert word_links(LinkList(0.0, (), units("c"), (), 0.0, 0.0), ("a",), ("c",)) == frozenset()


FIGURES = (precision, recall, f1, error_rate, macro_precision, macro_recall, macro_f1)
word_pairs = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=8)
alignments = st.lists(st.tuples(word_pairs, word_pairs), min_size=1, max_size=5)


def plain_figures(pairs: Sequence[tuple[WordLinks, WordLinks]]) -> dict[str, float]:
    """Found and correct links, counted one by one."""
    agreed = sum(1 for found, gold in pairs for link in found if link in gold)
    found, gold = sum(len(each) for each, _ in pairs), sum(len(each) for _, each in pairs)
    macro_p = np.mean([len(one & other) / max(len(one), 1) for one, other in pairs])
    macro_r = np.mean([len(one & other) / max(len(other), 1) for one, other in pairs])
    return {
        "precision": agreed / max(found, 1),
        "recall": agreed / max(gold, 1),
        "f1": 2 * agreed / max(found + gold, 1),
        "error_rate": (found + gold - 2 * agreed) / max(found + gold, 1),
        "macro_precision": float(macro_p),
        "macro_recall": float(macro_r),
        "macro_f1": float(2 * macro_p * macro_r / (macro_p + macro_r)) if macro_p + macro_r else 0.0,
    }


@given(alignments)
def test_figures_equal_counts_one_by_one(pairs: list[tuple[WordLinks, WordLinks]]) -> None:
    counted = LinkCounts.of([found for found, _ in pairs], [gold for _, gold in pairs])
    assert {of.__name__: float(of(counted)[0]) for of in FIGURES} == pytest.approx(plain_figures(pairs))


@given(alignments, st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_counts_equal_repeated_pairs(pairs: list[tuple[WordLinks, WordLinks]], times: list[int]) -> None:
    counts = np.array([times[: len(pairs)]], np.float64)
    repeated = [each for each, count in zip(pairs, times, strict=False) for _ in range(count)]
    once, many = (LinkCounts.of([found for found, _ in each], [gold for _, gold in each]) for each in (pairs, repeated))
    for of in FIGURES:
        expected = of(many)[0] if repeated else 0.0
        assert of(once, counts) == pytest.approx([expected], abs=1e-12)


@given(word_pairs)
def test_every_word_has_a_link_or_a_null_link(links: WordLinks) -> None:
    nulls = null_links(links, 4, 5)
    assert {i for i, _ in links | nulls if i >= 0} == set(range(4))
    assert {j for _, j in links | nulls if j >= 0} == set(range(5))
    assert not {i for i, j in nulls if j < 0} & {i for i, _ in links}
    assert not {j for i, j in nulls if i < 0} & {j for _, j in links}


def test_figures_of_a_task_by_hand() -> None:
    """Found are a-d and b-e, and x-y; sure are a-d and c-e, possible b-e; the second pair has no gold link."""
    pairs = [pair_of("a b c", "d e", {(0, 0), (2, 1)}, {(1, 1)}), pair_of("x", "y", set(), set())]
    scorer = fixed(rcmd={"a b c": [[0.3, 0.1], [0.0, 0.2], [0.0, 0.1]], "x": [[0.1]]})
    result = compute_metrics(WordAlignment(pairs), scorer, ["rcmd"])["rcmd"]
    assert (result.kind, result.n) == ("word alignment", 2)
    macro_p, macro_r = (1 / 3 + 0) / 2, (1 / 3 + 0) / 2  # (a-d) of a-d, b-e, c-null and of a-d, c-e, b-null
    assert values(result) == pytest.approx(
        {
            "alignment_f1": 2 * 1 / (3 + 2),
            "alignment_precision": 1 / 3,
            "alignment_recall": 1 / 2,
            "possible_f1": 2 * 2 / (3 + 3),
            "alignment_error_rate": 1 - (1 + 2) / (3 + 2),
            "unaligned_f1": 0.0,  # c found; b, x and y in the gold alignment
            "macro_f1": 2 * macro_p * macro_r / (macro_p + macro_r),
            "macro_precision": macro_p,
            "macro_recall": macro_r,
        }
    )


def test_macro_figures_are_of_words_in_lower_case() -> None:
    pairs = [pair_of("A B", "C", {(0, 0)}, set())]
    scorer = fixed(rcmd={"A B": [[0.1], [0.2]], "a b": [[0.2], [0.1]]})
    found = values(compute_metrics(WordAlignment(pairs), scorer, ["rcmd"])["rcmd"])
    assert (found["alignment_f1"], found["macro_f1"]) == (0.0, 1.0)


def test_intervals_resample_sentence_pairs() -> None:
    """Of two pairs, one all right and one all wrong, the resamples have the F1 0, 1/2 or 1."""
    pairs = [pair_of("a", "b", {(0, 0)}, set()), pair_of("c d", "e", {(0, 0)}, set())]
    scorer = fixed(rcmd={"a": [[0.1]], "c d": [[0.0], [0.1]]})
    [outcome] = evaluate({"own": WordAlignment(pairs)}, scorer, ["rcmd"], FEW).outcomes
    figure = outcome.figures[0]
    assert (figure.name, figure.value, figure.low, figure.high) == ("alignment_f1", 0.5, 0.0, 1.0)
