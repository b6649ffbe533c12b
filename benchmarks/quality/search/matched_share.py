"""From which share of a query should terms count, and do stems help?

    python -m benchmarks.quality.search.matched_share --data "$SEMBLANCE_DATA"
    python -m benchmarks.quality.search.matched_share --data "$SEMBLANCE_DATA" --stems en
    python -m benchmarks.quality.search.matched_share --data "$SEMBLANCE_DATA" --model multilingual --sets xquad_en_de

orders the documents of real collections by `cosine`, and by cosine with the bonus of terms. A query takes the second
order if one of its ten best documents by BM25 has a share of its information (idf) or more. Prints nDCG@10 by BM25, by
cosine, by both, and for each share. Where queries are in another language than the documents, terms mislead. It takes
minutes, mostly for encoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from rich.table import Table

from benchmarks.quality.search.passage_length import collections_parser
from benchmarks.quality.search.term_bonus import BEST, SERVED, SETS, bm25_of, unit_vectors
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.models.tokenization.glossary import Glossary
from semblance.service.indexes.terms.hybrid import MATCHED_DOCUMENTS
from semblance.service.model_loading.registry import read_source
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.statistics import ndcg
from semblance_lab.evaluation.tasks import Retrieval
from tests.support.results import save_results
from tests.support.wide_console import wide_console

SHARES = (0.1, 0.2, 0.25, 0.3, 0.5)


@dataclass(frozen=True, slots=True)
class Asked:
    """nDCG of a query by terms, by cosine and with both, and the share of it that a document has."""

    terms: float
    cosine: float
    with_terms: float
    share: float

    def from_share(self, least: float) -> float:
        """Its nDCG where terms count from a share."""
        return self.with_terms if self.share >= least else self.cosine


def ask(encoder: Encoder, task: Retrieval, stems: str) -> Iterator[Asked]:
    """Search for each query of a task, by words of its stems in a language if one is given."""
    glossary = Glossary.of(stems=stems)
    ids = [doc_id for doc_id, text in task.corpus.items() if text.strip()]
    texts = [task.corpus[doc_id] for doc_id in ids]
    cosines = unit_vectors(encoder, list(task.queries.values()), "query") @ unit_vectors(encoder, texts, "document").T
    index = bm25_of(texts)
    for (query, text), own in zip(task.queries.items(), cosines, strict=True):
        terms, scores = glossary.query_terms(text), np.zeros(len(ids))
        found = index.best(terms, len(ids), None)
        for row, score in found:
            scores[row] = score
        best = [row for row, _ in found[:MATCHED_DOCUMENTS]]
        matched = max((sum(term.idf for term in has) for has in index.explain(terms, best)), default=0.0)
        orders = [np.argsort(-each, kind="stable")[:BEST] for each in (scores, own, own + SERVED.of(scores))]
        by_terms, cosine, both = (ndcg([ids[at] for at in order], task.relevance[query], BEST) for order in orders)
        yield Asked(by_terms, cosine, both, matched / index.information(terms) if matched else 0.0)


def figures(asked: Sequence[Asked]) -> list[float]:
    """nDCG@10 in percent: by terms, by cosine, by both, and from each share."""
    terms = 100 * fmean(each.terms for each in asked)
    return [terms] + [100 * fmean(each.from_share(least) for each in asked) for least in (np.inf, 0.0, *SHARES)]


def main() -> None:
    """Run from the command line."""
    parser = collections_parser(__doc__, SETS)
    parser.add_argument("--stems", default="", metavar="LANGUAGE", help="in which words also find others of their stem")
    options = parser.parse_args()
    encoder = read_source(options.model).load(options.model, Compute())
    names = ("collection", "queries", "terms", "cosine", "with terms", *(f"from {share:g}" for share in SHARES))
    table, results = Table(*names, title=f"nDCG@{BEST} in percent"), []
    for name in options.sets:
        task = data_set(name).read(options.data / data_set(name).files[0])
        if not isinstance(task, Retrieval):
            parser.error(f"{name} is not a search collection")
        asked = list(ask(encoder, task, options.stems))
        table.add_row(name, f"{len(asked):,}", *(f"{each:.2f}" for each in figures(asked)))
        results.append({"collection": name, "figures": figures(asked)})
    wide_console().print(table)
    save_results("matched_share", results)


if __name__ == "__main__":
    main()
