"""Metrics of tasks against SciPy and scikit-learn, and scorers on synthetic word vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from semblance.models.catalogue import similarity
from semblance.models.embeddings import Doubles, TokenEmbeddings, unit_rows
from semblance.models.judgments.pairs import GradedPairs, LabeledPairs
from semblance_lab.evaluation.evaluation import SEARCH_SETS, evaluate, interval_of
from semblance_lab.evaluation.metrics import compute_metrics, main_metric
from semblance_lab.evaluation.results import TaskMetrics
from semblance_lab.evaluation.scorer import LocalScorer, Scorer
from semblance_lab.evaluation.tasks import (
    ChunkAlignment,
    ChunkedPair,
    ChunkLink,
    Deletion,
    Rankings,
    Retrieval,
    Task,
    Triplets,
    WordAlignedPair,
    WordAlignment,
)
from tests.lab.evaluation.samples import FEW, fake_scorer, values
from tests.support.no_progress import no_progress
from tests.support.small_model import load

RNG = np.random.default_rng(6)


def drawn(*scores: float) -> Scorer:
    """Gives these scores to any texts."""
    return fake_scorer(lambda *_: np.array(scores))


def metrics_of(task: Task, scores: Iterable[float] = ()) -> TaskMetrics:
    """Metrics of a measure with these scores."""
    found = compute_metrics(task, drawn(*scores), ["cosine"])["cosine"]
    assert found.metrics[0].name == main_metric(task)
    return found


def graded(n: int, parts: Sequence[str], groups: Sequence[str] | None = None) -> tuple[GradedPairs, Doubles]:
    gold = RNG.integers(0, 6, n).astype(np.float64)
    texts = [str(i) for i in range(n)]
    return GradedPairs(texts, texts, gold.tolist(), parts, groups), gold + RNG.normal(size=n).round(1)


def test_graded_pairs_by_every_protocol() -> None:
    parts = ["a"] * 30 + ["b"] * 50 + ["c"] * 20
    task, scores = graded(100, parts)
    result = metrics_of(task, scores)
    gold, found = np.array(task.gold), values(result)
    rows = {part: np.array([each == part for each in parts]) for part in "abc"}
    for name, of in (("spearman", spearmanr), ("pearson", pearsonr)):
        each = {part: of(scores[mask], gold[mask])[0] for part, mask in rows.items()}
        assert found[name] == pytest.approx(of(scores, gold)[0])
        assert found[f"{name}_mean"] == pytest.approx(np.mean(list(each.values())))
        assert found[f"{name}_wmean"] == pytest.approx(0.3 * each["a"] + 0.5 * each["b"] + 0.2 * each["c"])
        assert {part: of_part.figures[name] for part, of_part in result.parts.items()} == pytest.approx(each)
    assert {part: of_part.n for part, of_part in result.parts.items()} == {"a": 30, "b": 50, "c": 20}


def test_sets_of_one_part_have_no_means_over_parts() -> None:
    result = metrics_of(*graded(20, [""] * 20))
    assert list(values(result)) == ["spearman", "pearson"]
    assert result.parts == {}


def test_grouped_pairs_are_resampled_by_whole_groups() -> None:
    groups = [f"of {i % 7 if i < 50 else 7 + i % 3}" for i in range(60)]  # ten, of several sizes
    task, scores = graded(60, [""] * 60, groups)
    result, gold = metrics_of(task, scores), np.array(task.gold)
    assert (result.n, result.groups) == (60, 10)
    found = interval_of(result.metrics[1], FEW)
    names = list(dict.fromkeys(groups))
    rows = [np.array([i for i, own in enumerate(groups) if own == name]) for name in names]
    random = np.random.RandomState(FEW.seed)
    drawn = [np.concatenate([rows[i] for i in random.randint(10, size=10)]) for _ in range(FEW.draws)]
    np.testing.assert_allclose(found.draws, [pearsonr(scores[at], gold[at])[0] for at in drawn], atol=1e-12)
    left = [np.concatenate([*rows[:i], *rows[i + 1 :]]) for i in range(10)]
    without = np.array([pearsonr(scores[at], gold[at])[0] for at in left])
    np.testing.assert_allclose(found.influence, 0.9 * (without.mean() - without), atol=1e-12)
    assert found.estimate == pytest.approx(pearsonr(scores, gold)[0])


@pytest.mark.parametrize("parts", [[""] * 60, ["a"] * 25 + ["b"] * 35])
def test_groups_of_single_pairs_change_nothing(parts: Sequence[str]) -> None:
    task, scores = graded(60, parts)
    alone = metrics_of(task, scores)
    grouped = metrics_of(replace(task, groups=[str(99 - i) for i in range(60)]), scores)
    assert (alone.groups, grouped.groups) == (None, 60)
    for one, other in zip(alone.metrics, grouped.metrics, strict=True):
        first, second = interval_of(one, FEW), interval_of(other, FEW)
        assert (first.low, first.high, first.draws.tolist()) == (second.low, second.high, second.draws.tolist())


def test_labeled_pairs_against_scikit_learn() -> None:
    oracles = (average_precision_score, roc_auc_score)
    matches = RNG.random(60) < 0.4
    scores = (matches + RNG.normal(size=60)).round(1)
    texts = [str(i) for i in range(60)]
    found = values(metrics_of(LabeledPairs(texts, texts, matches.tolist()), scores))
    assert found == pytest.approx({of.__name__.removesuffix("_score"): of(matches, scores) for of in oracles})


def test_triplets_need_a_strictly_higher_score_of_the_positive() -> None:
    task = Triplets(["a", "b", "c", "d"], ["p"] * 4, ["n"] * 4)
    assert values(metrics_of(task, [0.9, 0.5, 0.2, 0.7, 0.1, 0.5, 0.3, 0.6])) == {"accuracy": 0.5}


def test_ranking_metrics_do_not_depend_on_the_order_of_ties() -> None:
    relevance = [[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    task = Rankings(["q", "r"], [["a", "b", "c", "d"], ["a", "b", "c"]], relevance)
    scores = np.array([0.9, 0.5, 0.5, 0.1, 0.3, 0.3, 0.3])
    found = values(metrics_of(task, scores))
    pairs = zip((scores[:4], scores[4:]), relevance, strict=True)
    assert found["ndcg"] == pytest.approx(np.mean([ndcg_score([gold], [each]) for each, gold in pairs]))
    assert found["map"] == pytest.approx(((1 + 2 / 3) / 2 + 1 / 3) / 2)
    assert found["mrr"] == pytest.approx((1 + 1 / 3) / 2)


def test_retrieval_by_hand() -> None:
    corpus = {str(i): "" for i in range(12)}
    task = Retrieval(corpus, {"q": "", "r": ""}, {"q": {"0": 1.0}, "r": {"1": 1.0, "11": 1.0}})
    found = values(metrics_of(task))
    second = 1 / np.log2(3)
    assert found["ndcg@10"] == pytest.approx((1 + second / (1 + second)) / 2)
    assert found["recall@10"] == pytest.approx(0.75)
    assert found["recall@100"] == 1.0
    assert found["mrr"] == pytest.approx(0.75)
    found = values(metrics_of(Retrieval(corpus, {"q": ""}, {"q": {"4": 1.0, "5": 1.0}})))
    assert (found["recall@5"], found["recall@10"]) == (0.5, 1.0)


def test_search_average_is_the_mean_of_all_five_collections() -> None:
    """The scorer finds document i at rank i + 1."""
    corpus = {str(i): "" for i in range(12)}
    tasks = {
        name: Retrieval(corpus, {"q": "", "r": ""}, {"q": {str(i): 1.0}, "r": {"0": 1.0}})
        for i, name in enumerate(SEARCH_SETS)
    }
    *_, mean = evaluate(tasks, drawn(), ["cosine"], FEW).outcomes
    assert (mean.set, mean.n, mean.figures[0].name) == ("search_avg", 10, "ndcg@10")
    gains = [1 / np.log2(i + 2) for i in range(len(SEARCH_SETS))]
    assert mean.figures[0].value == pytest.approx((np.mean(gains) + 1) / 2)
    four = dict(list(tasks.items())[1:])
    assert [each.set for each in evaluate(four, drawn(), ["cosine"], FEW).outcomes] == list(four)


# word vectors of two directions: animals and money; "the" points between
WORDS = {
    "cat": (1, 0.1, 0), "kitten": (0.9, 0.2, 0), "sleeps": (0.5, 0.1, 0.5), "naps": (0.5, 0.2, 0.5),
    "bank": (0, 1, 0.1), "money": (0.1, 0.9, 0), "the": (0.05, 0.05, 0.05), "falls": (0, 0.4, 0.7),
}  # fmt: skip


@pytest.fixture
def scorer(tmp_path: Path) -> LocalScorer:
    file = tmp_path / "made.txt"
    file.write_text("".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in WORDS.items()))
    return LocalScorer(load(file), no_progress)


TEXTS = ("the cat sleeps", "the kitten naps", "the bank falls", "money", "the cat sleeps the money falls")


def direct(scorer: LocalScorer, text: str) -> TokenEmbeddings:
    encoder = scorer._encoder
    return encoder.encode(encoder.tokenize([text], "query", "END"), "tokens")[0]


@pytest.mark.parametrize("measure", ["cosine", "rcmd", "dynamax_jaccard", "set_jaccard", "negative_euclidean"])
def test_local_scores_equal_those_of_the_measure(scorer: LocalScorer, measure: str) -> None:
    left, right = [a for a in TEXTS for _ in TEXTS], list(TEXTS) * len(TEXTS)
    found = scorer.scores([measure], left, right)[measure]
    embedded = {text: direct(scorer, text) for text in TEXTS}
    expected = [similarity(measure).score(embedded[a], embedded[b]) for a, b in zip(left, right, strict=True)]
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("measure", ["cosine", "rcmd", "set_jaccard"])
def test_local_search_ranks_the_nearest_documents_first(scorer: LocalScorer, measure: str) -> None:
    corpus = {str(i): text for i, text in enumerate(TEXTS)} | {"empty": "  ", "invisible": "\u200b", "?": "\x00"}
    task = Retrieval(corpus, {"q": "the cat naps"}, {"q": {"0": 1.0}})
    found = scorer.search([measure], task, 5)[measure]["q"]
    query = direct(scorer, "the cat naps")
    scores = {doc_id: similarity(measure).score(query, direct(scorer, TEXTS[int(doc_id)])) for doc_id in found}
    assert sorted(found) == ["0", "1", "2", "3", "4"]
    assert list(scores.values()) == pytest.approx(sorted(scores.values(), reverse=True), abs=0.01)  # eight-bit tokens


def test_local_links_sum_to_the_score_for_words_and_tokens(scorer: LocalScorer) -> None:
    for granularity in ("word", "token"):
        [whys] = scorer.links(["cosine"], [TEXTS[0]], [TEXTS[1]], granularity)
        why = whys["cosine"]
        total = sum(link.contribution for link in why.links) + why.special + why.omitted
        a, b = (unit_rows(direct(scorer, text).pooled()) for text in TEXTS[:2])
        assert total == pytest.approx(float(a @ b), abs=1e-6)
        assert [unit.text for unit in why.left] == ["the", "cat", "sleeps"]
    assert list(scorer.links(["negative_euclidean"], [TEXTS[0]], [TEXTS[1]], "word")) == [{}]


def test_deleting_words_of_the_strongest_link_lowers_the_score_most(scorer: LocalScorer) -> None:
    """Cat and kitten carry the score; a random pair of words is rarely those two."""
    task = Deletion(["cat money money"] * 40, ["kitten falls falls"] * 40)
    found = values(compute_metrics(task, scorer, ["cosine", "negative_euclidean"])["cosine"])
    assert found["strongest"] > found["random"] > 0
    assert found["deletion"] == pytest.approx(found["strongest"] - found["random"])


def test_texts_too_short_for_deletion_are_left_out(scorer: LocalScorer) -> None:
    assert compute_metrics(Deletion(["cat"], ["kitten naps"]), scorer, ["cosine"]) == {}


def test_scores_and_links_do_not_depend_on_the_block_size(scorer: LocalScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = list(TEXTS), list(reversed(TEXTS))
    whole, links = scorer.scores(["rcmd"], left, right)["rcmd"], list(scorer.links(["rcmd"], left, right, "token"))
    monkeypatch.setattr("semblance.models.judgments.pair_scorer.PAIRS_PER_BLOCK", 2)
    assert scorer.scores(["rcmd"], left, right)["rcmd"] == pytest.approx(whole, abs=1e-7)
    again = [why["rcmd"].score for why in scorer.links(["rcmd"], left, right, "token")]
    assert again == pytest.approx([why["rcmd"].score for why in links], abs=1e-7)
    assert scorer.scores(["rcmd"], [], [])["rcmd"].shape == (0,)


def test_only_positive_contributions_have_deletion_and_alignment(scorer: LocalScorer) -> None:
    task = Deletion(["the cat sleeps"] * 3, ["the kitten naps"] * 3)
    assert list(compute_metrics(task, scorer, ["word_movers", "rcmd"])) == ["rcmd"]
    assert not compute_metrics(task, scorer, ["rcmd"])["rcmd"].comparable
    gold = tuple(ChunkLink((i,), (i,), frozenset({"EQUI"}), 5.0) for i in (1, 2))
    pair = ChunkedPair("1", ("cat", "sleeps"), ("kitten", "naps"), ((1,), (2,)), ((1,), (2,)), gold)
    words = WordAlignedPair("1", pair.left, pair.right, frozenset({(0, 0), (1, 1)}), frozenset())
    found, of_words = (
        compute_metrics(task, scorer, ["word_movers", "rcmd", "negative_euclidean"])
        for task in (ChunkAlignment([pair]), WordAlignment([words]))
    )
    assert main_metric(ChunkAlignment([pair])) == found["rcmd"].metrics[0].name
    assert main_metric(WordAlignment([words])) == of_words["rcmd"].metrics[0].name
    assert {name: set(values(each).values()) for name, each in found.items()} == {"rcmd": {1.0}}
    assert {name: values(each)["alignment_f1"] for name, each in of_words.items()} == {"rcmd": 1.0}


def test_measures_that_cannot_explain_this_pooling_are_left_out(small: Path) -> None:
    by_first = LocalScorer(load(f"{small}?pooling=cls"), no_progress)
    task = Deletion(["the cat sleeps"], ["the kitten naps"])
    assert list(compute_metrics(task, by_first, ["cosine", "rcmd"])) == ["rcmd"]
