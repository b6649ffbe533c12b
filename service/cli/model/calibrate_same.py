"""`semblance calibrate --same`: the cut of POST /same that keeps false hits below a bound."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from rich.console import Console
from semblance_client.vocabulary.same import FalseHitBound

from semblance.models.embeddings import Doubles
from semblance.models.errors import BadDataSet
from semblance.models.judgments.false_hits import BoundedCut, bounded_cut, least_allowed, pairs_needed
from semblance.models.judgments.pair_scorer import PairScorer
from semblance.models.judgments.pairs import LabeledPairs
from semblance.models.protocols import Encoder
from semblance.service.cli.toolbox.console import TextTable, loop_bars, print_line, print_table
from semblance.service.model_loading.classifiers import BoundFile, read_classifiers
from semblance.service.ports.paraphrases import ServedClassifier
from semblance.service.usecases.paraphrases.verdicts import verdict

SHOWN = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)  # bounds of the table


def fit_bound(encoder: Encoder, pairs: LabeledPairs, data: str, allowed: float) -> BoundFile:
    """Fit the cut of a bound to labeled pairs, and print it among the cuts of other bounds.

    Args:
        encoder: a model that has a paraphrase classifier.
        pairs: labeled pairs, of both labels.
        data: their name.
        allowed: share of the pairs that differ which may be taken for the same.

    Raises:
        BadDataSet: the model has no classifier, the pairs are too few, or equal texts are labeled as different.
    """
    served = read_classifiers().get(encoder.space)
    if served is None:
        raise BadDataSet(f"the model {encoder.name} has no paraphrase classifier; choose minilm-graded or multilingual")
    log_odds, matches = _log_odds(encoder, ServedClassifier(served), pairs), np.asarray(pairs.matches, np.bool_)
    found = bounded_cut(log_odds, matches, allowed)
    if found is None:
        raise BadDataSet(_refusal(log_odds[~matches], data, allowed))
    rows = {each: bounded_cut(log_odds, matches, each) for each in sorted({*SHOWN, allowed})}
    header = ("at most", "cut", "false hits", "of different pairs", "hits", "of same pairs")
    print_table(TextTable(f"{encoder.name}, POST /same by {data}", header, tuple(_rows(rows, found.different))))
    for line in _promise(found, len({*pairs.left, *pairs.right}), int(np.isneginf(log_odds).sum())):
        print_line(Console(), line)
    bound = FalseHitBound(
        data=data,
        cut=found.cut,
        allowed=allowed,
        different=found.different,
        same=found.same,
        hit_rate=found.hits / found.same,
    )
    return BoundFile(model=encoder.name, space=encoder.space, classifier=served.digest, bound=bound)


def _log_odds(encoder: Encoder, served: ServedClassifier, pairs: LabeledPairs) -> Doubles:
    """(n,) log-odds: inf for equal texts, which are the same by any cut, -inf for unfit ones."""
    found = []
    with loop_bars(Console(stderr=True)) as track:
        for block in PairScorer(encoder, track).embedded_pairs(pairs.left, pairs.right, "tokens"):
            for a, b in track(block, "classifying"):
                log_odds = verdict(served, a, b).log_odds
                found.append(-math.inf if log_odds is None else log_odds)
    equal = [a == b for a, b in zip(pairs.left, pairs.right, strict=True)]
    return np.where(equal, np.inf, found)


def _rows(cuts: dict[float, BoundedCut | None], different: int) -> Iterator[tuple[str, ...]]:
    for allowed, each in cuts.items():
        if each is not None:
            yield (
                f"{allowed:.3g}",
                f"{each.cut:.2f}",
                f"{each.false_hits:,}",
                f"{each.different:,}",
                f"{each.hits / each.same:.1%}",
                f"{each.same:,}",
            )
        else:
            needed = pairs_needed(allowed)
            yield f"{allowed:.3g}", f"needs {needed:,}" if needed > different else "none", "", f"{different:,}", "", ""


def _promise(found: BoundedCut, texts: int, unfit: int) -> Iterator[str]:
    pairs = found.different + found.same
    yield (
        f"From log-odds of {found.cut:.2f} on, a pair is the same. With 95 % confidence, that takes at most "
        f"{found.allowed:.3g} of the pairs that differ, if they are drawn like these {found.different:,}."
    )
    yield (
        f"The bound does not cover kinds of difference that are missing from these pairs, nor other kinds of text. The "
        f"{pairs:,} pairs have {texts:,} distinct texts; the bound counts pairs that share a text as independent."
    )
    if unfit:
        yield f"{unfit:,} pairs have a text that no verdict is made for, and are never taken for the same."


def _refusal(different: Doubles, data: str, allowed: float) -> str:
    needed = pairs_needed(allowed)
    if len(different) < needed:
        enough_for = math.ceil(1000 * least_allowed(len(different))) / 1000
        return (
            f"{data} has {len(different):,} pairs that differ, and a bound of {allowed:.3g} needs {needed:,} or more; "
            f"allow {enough_for:.3g} or more, or add pairs"
        )
    return (
        f"{data} labels {int(np.isposinf(different).sum()):,} pairs of equal texts as different, which are the same by "
        f"any cut: correct their labels, or allow more than {allowed:.3g}"
    )
