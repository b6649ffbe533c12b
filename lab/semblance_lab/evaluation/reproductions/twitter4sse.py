"""Twitter4SSE: embeddings from conversations (digiovanni-brambilla-2021-twitter4sse)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from semblance.models.judgments.counts import mean_value
from semblance_lab.evaluation.evaluation import interval_of
from semblance_lab.evaluation.reproductions import Claim, ReproductionContext, Statement, undecidable
from semblance_lab.evaluation.statistics import ndcg_of_scores

PAPER = "digiovanni-brambilla-2021-twitter4sse"
POSITIVES, NEGATIVES = 5, 25
QUERIES = 5_000
UNTUNED = {"RoBERTa": (42.9, 39.1, 55.0, 41.0), "BERTweet": (46.9, 42.5, 56.7, 44.1)}  # DQ, CQ, DR, CR, printed


def claims(context: ReproductionContext) -> Iterator[Claim]:
    """Random scores by the paper's metric; other claims need models trained on its tweets."""
    yield _better_than_chance(context)
    needs = "encoders trained on 250,000 pairs of tweets or more"
    for where, says in (
        ("Results, BERTweet-all", "training on all four kinds of pairs lifts BERTweet's mean nDCG from 47.5 to 77.1"),
        (
            "Results, BERTweet-Qt, PIT and TURL",
            "training on quotes lifts BERTweet's Pearson from 38.5 to 67.4 and from 48.2 to 66.0",
        ),
        ("Results, Triplet", "the multiple negatives loss is better than the triplet loss (mean nDCG 74.1 to 64.2)"),
    ):
        yield from undecidable((where, says, needs))


def _better_than_chance(context: ReproductionContext) -> Claim:
    statement = Statement(
        "Results, the untuned models' nDCG",
        "the printed figures of untuned models are nDCG, and so at least that of random scores (the least is 39.1)",
        f"nDCG of random scores, {POSITIVES} + {NEGATIVES} candidates, {QUERIES:,} queries",
    )
    random = np.random.default_rng(context.resampling.seed)
    relevance = np.repeat([1.0, 0.0], [POSITIVES, NEGATIVES])
    values = [ndcg_of_scores(random.random(len(relevance)), relevance) for _ in range(QUERIES)]
    chance = interval_of(mean_value("ndcg", values), context.resampling)
    printed = [figure for row in UNTUNED.values() for figure in row]
    below = sum(figure < 100 * chance.low for figure in printed)
    shown = f"chance gives {100 * chance.estimate:.2f} [{100 * chance.low:.2f}, {100 * chance.high:.2f}]"
    return statement.is_true(
        f"{shown}; {below} of {len(printed)} printed figures are below", "none below the interval", holds=below == 0
    )
