"""Claims of papers: verdicts, and each paper's claims on synthetic data.

No test requires a claim to hold: one that does not hold is a result.
"""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import replace
from typing import TypeVar, get_args

import numpy as np
import pytest

from semblance.models.adaptation.adapted_model import AdaptedEncoder
from semblance.models.catalogue import similarity
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.encoders.word_vectors import VectorTable, WordVectors
from semblance.models.judgments.bootstrap import Interval, Resampling
from semblance.models.judgments.pairs import GradedPairs
from semblance.models.protocols import Encoder
from semblance.models.tokenization.words import WholeWords
from semblance_lab.evaluation.reproductions import Claim, Statement, Verdict, claims, count_verdicts, papers
from semblance_lab.evaluation.reproductions.dynamax import (
    averaged_jaccard,
    normalized,
    overlap,
    without_common_component,
)
from semblance_lab.evaluation.scorer import LocalScorer
from semblance_lab.evaluation.tasks import ChunkAlignment, ChunkedPair, ChunkLink, Task
from tests.support.no_progress import no_progress
from tests.support.project import GOLDEN_FILES, PROJECT
from tests.support.small_model import random_vectors
from tests.support.token_matrices import embeddings_of

GOLDEN = json.loads((GOLDEN_FILES / "dynamax.json").read_text())
TOLERANCE = GOLDEN["tolerance"]
X, Y = (embeddings_of(np.array(GOLDEN[name], np.float32)) for name in ("x", "y"))
STATEMENT = Statement("Table 1, first row", "one is better than the other (81.23 to 79.01)", "synthetic intervals")
WORDS = ["a", "the", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "house", "quickly", ".", "word"]
BIBLIOGRAPHY = (PROJECT / "references.bib").read_text("utf-8")
T = TypeVar("T", bound=Task)

every_paper = pytest.mark.parametrize("paper", papers())


def interval(low: float, high: float, estimate: float | None = None) -> Interval:
    middle = (low + high) / 2 if estimate is None else estimate
    draws, influence = np.array([low, high]), np.zeros(3)
    return Interval(middle, low, high, (3,), Resampling(draws=2), 0.0, 0.0, draws, influence)


def near(low: float, high: float) -> Claim:
    return STATEMENT.is_near(interval(low, high), expected=0.80, tolerance=0.05)


class SmallContext:
    """Synthetic sets of a few pairs, and one synthetic table of word vectors for every model."""

    def __init__(self) -> None:
        self.resampling = Resampling(draws=20)

    def task(self, name: str, kind: type[T]) -> T:
        """Six pairs in each of two subtasks; or two pairs with their chunks."""
        random = np.random.default_rng(len(name))
        tasks: dict[type, Task] = {
            GradedPairs: GradedPairs(
                left=[" ".join(random.choice(WORDS, size=4)) for _ in range(12)],
                right=[" ".join(random.choice(WORDS, size=3)) for _ in range(12)],
                gold=random.uniform(0, 5, size=12).tolist(),
                subtasks=["images", "headlines"] * 6,
            ),
            ChunkAlignment: ChunkAlignment([chunked_pair("1", "the cat sat"), chunked_pair("2", "a dog ran")]),
        }
        task = tasks[kind]
        assert isinstance(task, kind)
        return task

    def encoder(self, model: str) -> Encoder:
        """Word vectors, with SIF-like weights if the model has them."""
        words = WordVectors(
            "small",
            VectorTable(random_vectors(len(WORDS))),
            WholeWords({word: row for row, word in enumerate(WORDS)}),
            space="small",
            max_tokens=64,
            normalize=False,
        )
        if "weighting=sif" not in model:
            return words
        return AdaptedEncoder(words, weighted, dim=words.dim, space="weighted", normalize=False)

    def scorer(self, model: str) -> LocalScorer:
        return LocalScorer(self.encoder(model), no_progress)


def weighted(embeddings: TokenEmbeddings) -> TokenEmbeddings:
    weights = np.linspace(0.1, 1, len(embeddings), dtype=np.float32)
    return TokenEmbeddings(embeddings.vectors, weights, embeddings.text)


def chunked_pair(id_: str, words: str) -> ChunkedPair:
    sides, chunks = tuple(words.split()), ((1, 2), (3,))
    gold = tuple(ChunkLink(chunk, chunk, frozenset({"EQUI"}), 5.0) for chunk in chunks)
    return ChunkedPair(id_, sides, sides, chunks, chunks, gold)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (STATEMENT.is_greater(interval(0.01, 0.03)), "holds"),
        (STATEMENT.is_greater(interval(-0.03, -0.01)), "does not hold"),
        (STATEMENT.is_greater(interval(-0.01, 0.03)), "not decidable here"),
        (STATEMENT.is_greater(interval(0.0, 0.03)), "not decidable here"),
        (near(0.78, 0.82), "holds"),
        (near(0.75, 0.85), "holds"),
        (near(0.86, 0.90), "does not hold"),
        (near(0.70, 0.74), "does not hold"),
        (near(0.74, 0.80), "not decidable here"),
        (near(0.80, 0.86), "not decidable here"),
        (near(0.70, 0.90), "not decidable here"),
        (STATEMENT.is_true("all of 300", "none below", holds=True), "holds"),
        (STATEMENT.is_true("299 of 300", "none below", holds=False), "does not hold"),
        (STATEMENT.is_at_most([0.9, 1.1, 1.0], 1.1), "holds"),
        (STATEMENT.is_at_most([1.2, 1.3, 1.11], 1.1), "does not hold"),
        (STATEMENT.is_at_most([0.9, 1.2, 1.0], 1.1), "not decidable here"),
        (STATEMENT.is_undecidable("needs a model that is not public"), "not decidable here"),
    ],
)
def test_a_claim_needs_agreement_of_interval_or_runs(claim: Claim, verdict: Verdict) -> None:
    assert claim.verdict == verdict
    assert (claim.where, claim.says, claim.protocol) == (STATEMENT.where, STATEMENT.says, STATEMENT.protocol)


def test_claims_show_our_figures_and_are_counted() -> None:
    greater, missing = STATEMENT.is_greater(interval(0.01, 0.03, 0.025)), STATEMENT.is_undecidable("no model")
    assert (greater.ours, missing.ours) == ("+2.50 [+1.00, +3.00]", "no model")
    assert near(0.78, 0.82).tolerance == "80 ± 5"
    assert count_verdicts([greater, greater, missing]) == {"holds": 2, "does not hold": 0, "not decidable here": 1}


@every_paper
def test_claims_of_every_paper_are_complete_and_distinct(paper: str) -> None:
    found = list(claims(paper, SmallContext()))
    assert found
    for claim in found:
        assert isinstance(claim, Claim)
        assert claim.verdict in get_args(Verdict)
        assert all((claim.where, claim.says, claim.protocol, claim.ours, claim.tolerance))
        assert "nan" not in claim.ours
    assert len({(claim.where, claim.says, claim.protocol) for claim in found}) == len(found)


@every_paper
def test_every_paper_is_in_the_bibliography(paper: str) -> None:
    key = importlib.import_module(f"semblance_lab.evaluation.reproductions.{paper}").PAPER
    assert re.search(rf"^@\w+{{{re.escape(key)},$", BIBLIOGRAPHY, re.MULTILINE)


def test_bibliography_entries_are_closed() -> None:
    entries = re.split(r"^(?=@)", BIBLIOGRAPHY, flags=re.MULTILINE)[1:]
    assert [entry.partition("\n")[0] for entry in entries if not entry.rstrip().endswith("\n}")] == []


def test_jaccard_of_averages_and_of_sums_equals_the_worked_example() -> None:
    assert averaged_jaccard(X, Y) == pytest.approx(GOLDEN["averaged_jaccard"], abs=TOLERANCE)
    sums = (side.vectors.sum(axis=0) for side in (X, Y))
    assert overlap(*sums) == pytest.approx(GOLDEN["summed_jaccard"], abs=TOLERANCE)
    assert overlap(np.zeros(2, np.float32), np.zeros(2, np.float32)) == 0


def test_normalized_word_vectors_equal_the_worked_example() -> None:
    x, y = (normalized(replace(side, pooled_vector=np.ones(3, np.float32))) for side in (X, Y))
    assert similarity("dynamax_jaccard").score(x, y) == pytest.approx(GOLDEN["of_unit_vectors"], abs=TOLERANCE)
    assert x.pooled() == pytest.approx(np.array([1 / 8**0.5, 1 / 5**0.5, -1 / 8**0.5 + 1 / 20**0.5]), abs=1e-6)


def test_repeated_sentences_count_repeatedly_in_the_common_component() -> None:
    """Residuals of the worked example; a repeated sentence dominates the component."""
    sif = json.loads((GOLDEN_FILES / "sif.json").read_text())
    texts = {name: embeddings_of(np.array([row], np.float32)) for name, row in zip("abc", sif["vectors"], strict=True)}
    removed = without_common_component(texts, list("abc"))
    found = np.stack([removed[name].pooled() for name in "abc"])
    assert found == pytest.approx(np.array(sif["residuals"]), abs=sif["tolerance"])
    repeated = without_common_component(texts, [*"abc", *"b" * 1000])["b"].pooled()
    assert np.linalg.norm(repeated) < 0.01 < np.linalg.norm(removed["b"].pooled())


def test_common_component_is_fitted_to_sums_over_n() -> None:
    """Of two orthogonal texts, the one with the larger weight is the component."""
    light = embeddings_of(np.array([[2, 0]], np.float32), weights=np.array([0.1], np.float32))
    heavy = embeddings_of(np.array([[0, 1]], np.float32))
    removed = without_common_component({"light": light, "heavy": heavy}, ["light", "heavy"])
    for name, rest in (("light", [0.2, 0]), ("heavy", [0, 0])):
        assert removed[name].pooled() == pytest.approx(rest, abs=1e-6)
