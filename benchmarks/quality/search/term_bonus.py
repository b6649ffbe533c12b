"""How much should terms add to the score of a measure?

    python -m benchmarks.quality.search.term_bonus --data "$SEMBLANCE_DATA"

orders the documents of real collections, truncated as the model reads them, by `cosine + m * l / (l + h)`, where l is
their score by BM25, for many values of m and h. For each collection it chooses m and h by the mean nDCG@10 of all
others, and prints nDCG@10 of cosine alone, with this choice, and with the constants of the service, with differences to
cosine alone and their 95 % intervals (BCa bootstrap over the queries). It takes minutes, mostly for encoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.quality.search.passage_length import collections_parser, mean_interval
from semblance.models.embeddings import Doubles, unit_rows
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.models.text import Role
from semblance.models.tokenization.terms import query_terms
from semblance.service.indexes.terms.bm25 import Bm25, TextTerms
from semblance.service.model_loading.registry import read_source
from semblance.service.usecases.search.ordering import HALF_BONUS, MAX_BONUS
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.statistics import ndcg
from semblance_lab.evaluation.tasks import Retrieval
from tests.support.results import save_results
from tests.support.wide_console import wide_console

SETS = ("cranfield", "medline", "cisi", "nfcorpus_dev", "wikiqa_dev_search", "adi")
MOST = (0.1, 0.2, 0.3, 0.5, 0.8, 1.2)  # m
HALVES = (5.0, 10.0, 20.0, 40.0, 80.0)  # h
BEST = 10
BATCH = 32  # texts encoded together


class Bonus(NamedTuple):
    """What terms add: `most * l / (l + half)` for a score l by BM25."""

    most: float
    half: float

    def of(self, scores: Doubles) -> Doubles:
        """The bonus of each score."""
        return self.most * scores / (scores + self.half)


NONE = Bonus(0.0, 1.0)
SERVED = Bonus(MAX_BONUS, HALF_BONUS)
GRID = [Bonus(*each) for each in product(MOST, HALVES)]


@dataclass(frozen=True, slots=True)
class Row:
    """nDCG@10 of one collection (in percent), and differences to cosine alone."""

    collection: str
    queries: int
    cosine: float
    most: float
    half: float
    chosen: float
    chosen_low: float
    chosen_high: float
    served: float
    served_low: float
    served_high: float


def gains(encoder: Encoder, task: Retrieval, bonuses: Sequence[Bonus]) -> dict[Bonus, list[float]]:
    """nDCG@10 of each query of a task, for each bonus."""
    ids = [doc_id for doc_id, text in task.corpus.items() if text.strip()]
    texts = [task.corpus[doc_id] for doc_id in ids]
    cosines = unit_vectors(encoder, list(task.queries.values()), "query") @ unit_vectors(encoder, texts, "document").T
    terms = bm25_of(texts)
    found: dict[Bonus, list[float]] = {bonus: [] for bonus in bonuses}
    for (query, text), own in zip(task.queries.items(), cosines, strict=True):
        scores = np.zeros(len(ids))
        for row, score in terms.best(query_terms(text), len(ids), None):
            scores[row] = score
        for bonus in bonuses:
            best = np.argsort(-(own + bonus.of(scores)), kind="stable")[:BEST]
            found[bonus].append(ndcg([ids[at] for at in best], task.relevance[query], BEST))
    return found


def bm25_of(texts: Sequence[str]) -> Bm25:
    """An index of the terms of texts, in their order."""
    index = Bm25()
    for text in texts:
        index.add(TextTerms.of(text))
    return index


def unit_vectors(encoder: Encoder, texts: Sequence[str], role: Role) -> Doubles:
    """(n, d) vectors at unit length."""
    tokens = encoder.tokenize(texts, role, "END")
    in_order = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))
    vectors = np.zeros((len(tokens), encoder.dim))
    for start in track(range(0, len(tokens), BATCH), f"encoding {role}s", transient=True):
        batch = in_order[start : start + BATCH]
        vectors[batch] = np.stack([each.pooled() for each in encoder.encode([tokens[at] for at in batch], "pooled")])
    return np.asarray(unit_rows(vectors))


def rows(found: Mapping[str, Mapping[Bonus, Sequence[float]]]) -> list[Row]:
    """A row for each collection, whose bonus is the best for the others."""
    results = []
    for name, own in found.items():
        others = [each for other, each in found.items() if other != name]
        chosen = max(GRID, key=lambda bonus: float(np.mean([np.mean(each[bonus]) for each in others])))
        results.append(
            Row(
                name,
                len(own[NONE]),
                100 * float(np.mean(own[NONE])),
                *chosen,
                *_beside(own[chosen], own[NONE]),
                *_beside(own[SERVED], own[NONE]),
            )
        )
    return results


def _beside(values: Sequence[float], others: Sequence[float]) -> tuple[float, float, float]:
    """Mean in percent, and the interval of the mean difference to others."""
    change = mean_interval([a - b for a, b in zip(values, others, strict=True)])
    return 100 * float(np.mean(values)), 100 * change.low, 100 * change.high


def show(results: Sequence[Row], console: Console) -> None:
    """Print a row for each collection."""
    served = f"{MAX_BONUS:g}, {HALF_BONUS:g}"
    names = ("collection", "queries", "cosine", "m, h of the others", "nDCG", "over cosine", f"nDCG with {served}")
    table = Table(*names, "over cosine", title=f"nDCG@{BEST} in percent; the bonus of terms chosen on the other sets")
    for row in results:
        table.add_row(
            row.collection,
            f"{row.queries:,}",
            f"{row.cosine:.2f}",
            f"{row.most:g}, {row.half:g}",
            f"{row.chosen:.2f}",
            f"{row.chosen_low:+.2f} to {row.chosen_high:+.2f}",
            f"{row.served:.2f}",
            f"{row.served_low:+.2f} to {row.served_high:+.2f}",
        )
    console.print(table)


def main() -> None:
    """Run from the command line."""
    parser = collections_parser(__doc__, SETS)
    options = parser.parse_args()
    if len(options.sets) < 2:
        parser.error("the bonus for one collection is chosen on others: name at least two")
    encoder = read_source(options.model).load(options.model, Compute())
    bonuses = list(dict.fromkeys([*GRID, NONE, SERVED]))
    found: dict[str, dict[Bonus, list[float]]] = {}
    for name in options.sets:
        task = data_set(name).read(options.data / data_set(name).files[0])
        if not isinstance(task, Retrieval):
            parser.error(f"{name} is no search collection")
        found[name] = gains(encoder, task, bonuses)
    results = rows(found)
    show(results, wide_console())
    save_results("term_bonus", [asdict(row) for row in results])


if __name__ == "__main__":
    main()
