"""Which scores are typical of random, related and equivalent texts?

    python -m benchmarks.quality.typical_scores --data "$SEMBLANCE_DATA"

Prints, by model and measure, the scores of pairs of texts drawn at random, of related texts, and of paraphrases: the
range of the middle 80 %. The pairs are of five kinds of text, in equal numbers: news and forums, captions, tweets,
questions, and sentences of news articles. Related texts have a middle grade, or share many words without being
paraphrases; paraphrases have the best grades.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from semblance.models import catalogue
from semblance.models.embeddings import Doubles
from semblance.models.evaluation.datasets import data_set
from semblance.models.evaluation.scorer import LocalScorer
from semblance.models.evaluation.tasks import GradedPairs, LabeledPairs
from semblance.models.runtime import Compute
from semblance.service.model_loading.builtin import BUILT_IN
from semblance.service.model_loading.registry import read_source
from tests.support.no_progress import no_progress
from tests.support.results import save_results
from tests.support.wide_console import wide_console

COUNT = 150  # pairs of each kind and set
MIDDLE = (10, 90)  # percentiles
# grades of related texts and of paraphrases, by set; None for sets whose pairs match or do not
GRADES: Mapping[str, tuple[tuple[float, float], tuple[float, float]] | None] = {
    "stsb_dev": ((2.0, 3.0), (4.6, 5.0)),
    "sickr_trial": ((2.5, 3.5), (4.6, 5.0)),
    "pit_dev": ((1.0, 2.0), (4.0, 5.0)),
    "qqp_dev": None,
    "msrp_train": None,
}


@dataclass(frozen=True, slots=True)
class Pairs:
    """Texts left and right, as many of each."""

    left: Sequence[str]
    right: Sequence[str]


@dataclass(frozen=True, slots=True)
class Row:
    """The middle of the scores of each kind of pair: from and to."""

    model: str
    measure: str
    random: list[float]
    related: list[float]
    paraphrases: list[float]


def pairs(data: Path) -> dict[str, Pairs]:
    """Pairs of each kind, from all sets."""
    drawn: dict[str, list[tuple[str, str]]] = {"random": [], "related": [], "paraphrases": []}
    for name in GRADES:
        rng = random.Random(name)
        for kind, each in _of_set(name, data).items():
            drawn[kind] += rng.sample(each, min(COUNT, len(each)))
    return {kind: Pairs(*map(list, zip(*each, strict=True))) for kind, each in drawn.items()}


def rows(model: str, texts: Mapping[str, Pairs]) -> Iterator[Row]:
    """One row for each measure."""
    scorer = LocalScorer(read_source(model).load(model, Compute()), no_progress)
    measures = catalogue.names(catalogue.SIMILARITIES)
    scores = {kind: scorer.scores(measures, each.left, each.right) for kind, each in track(texts.items(), model)}
    for measure in measures:
        yield Row(model, measure, **{kind: _middle(each[measure]) for kind, each in scores.items()})


def show(results: Sequence[Row], console: Console) -> None:
    """Print a row for each measure."""
    table = Table("measure", "random", "related", "paraphrases", title=f"{results[0].model}: the middle 80 % of scores")
    for row in results:
        ranges = (f"{low:.2f} to {high:.2f}" for low, high in (row.random, row.related, row.paraphrases))
        table.add_row(row.measure, *ranges)
    console.print(table)


def _middle(scores: Doubles) -> list[float]:
    return [round(float(score), 2) for score in np.percentile(scores, MIDDLE)]


def _of_set(name: str, data: Path) -> dict[str, list[tuple[str, str]]]:
    """Kind -> pairs of a set."""
    known = data_set(name)
    task = known.read(data / known.files[0])
    assert isinstance(task, GradedPairs | LabeledPairs), f"{name} has no pairs"
    both = list(zip(task.left, task.right, strict=True))
    shuffled = random.Random(name).sample(task.right, len(task.right))
    return {
        "random": list(zip(task.left, shuffled, strict=True)),
        "related": [both[i] for i in _chosen(task, name, 0)],
        "paraphrases": [both[i] for i in _chosen(task, name, 1)],
    }


def _chosen(task: GradedPairs | LabeledPairs, name: str, best: int) -> list[int]:
    """Numbers of the pairs that are paraphrases (`best`), or related."""
    if isinstance(task, LabeledPairs):
        return [i for i, matches in enumerate(task.matches) if matches == bool(best)]
    grades = GRADES[name]
    assert grades is not None
    low, high = grades[best]
    return [i for i, grade in enumerate(task.gold) if low <= grade <= high]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with benchmarks, as for semblance evaluate")
    parser.add_argument("--models", nargs="+", default=list(BUILT_IN), help="built-in names, or folders")
    options = parser.parse_args()
    texts = pairs(options.data)
    results: list[Row] = []
    for model in options.models:
        of_model = list(rows(model, texts))
        show(of_model, wide_console())
        results += of_model
    save_results("typical_scores", [asdict(row) for row in results])


if __name__ == "__main__":
    main()
