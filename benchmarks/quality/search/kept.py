"""Do the sentences that /prune keeps have the answer?

    python -m benchmarks.quality.search.kept --data "$SEMBLANCE_DATA"

takes the questions of `snippets`: each with a document, and the sentences of it that answer. A running service prunes
the document by several shares of the score. Printed are the shares of its tokens and of the answers that are kept, with
95 % intervals (BCa bootstrap over the questions). An answer is kept if its whole sentence is. Beside it are, with as
many tokens for each question at most: the first sentences of the document, the best by BM25, where each sentence of all
documents is a row of the index, and the best by the cosine of the question and the sentence, which is encoded alone.

The set `planted` has answers of `planted`, invented ones and those of WikiQA, each with 1,500 characters of a book or a
speech before and after it.

With `--documents 5`, the four nearest other documents of the set are pruned together with it, as a search finds them.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from semblance_client import Client, Pruned

from benchmarks.quality.search.planted import PLANTED, SET, Sentence, answers, invented, long_texts, plant
from benchmarks.quality.search.snippets import SETS, Question, questions, xquad_questions
from semblance.models.embeddings import Doubles, unit_rows
from semblance.models.judgments.bootstrap import bca
from semblance.models.tokenization.passages import Span
from semblance.models.tokenization.terms import query_terms
from semblance.service.indexes.terms.bm25 import Bm25, TextTerms
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.datasets.queries import read_wikiqa
from tests.support.results import save_results
from tests.support.running_service import running_service
from tests.support.wide_console import wide_console

ALONE = "planted"
AROUND = 1500  # characters on either side of a planted answer
SHARES = (0.5, 0.8, 0.9, 0.95, 0.98, 1.0)  # of the score
BATCH = 256  # texts that are encoded by a request

Place: TypeAlias = tuple[str, Span]  # a sentence of a document


class Asked(NamedTuple):
    """A question, its documents, their sentences in order with their numbers of tokens, and what each share keeps."""

    question: Question
    documents: tuple[str, ...]
    tokens: Mapping[Place, int]
    pruned: Sequence[Pruned]

    @property
    def total(self) -> int:
        """Number of tokens of all sentences."""
        return sum(self.tokens.values())


class Kept(NamedTuple):
    """Answers of a question, those that are kept, and the share of the tokens that is kept."""

    answers: int
    kept: int
    tokens: float


@dataclass(frozen=True, slots=True)
class Row:
    """Shares of the answers and of the tokens that one way keeps where /prune keeps that of a score, in percent."""

    way: str
    score: float
    tokens: float
    answers: int
    kept: int
    share: float
    low: float
    high: float


def count(asked: Asked, kept: set[Place]) -> Kept:
    """Count the answers all of whose sentences are kept."""
    own = [span for document, span in asked.tokens if document == asked.question.document]
    needed = [
        {(asked.question.document, span) for span in own if span[0] < answer[1] and answer[0] < span[1]}
        for answer in asked.question.answers
    ]
    tokens = sum(asked.tokens[place] for place in kept)
    return Kept(len(needed), sum(each <= kept for each in needed), tokens / asked.total)


def kept_places(asked: Asked, pruned: Pruned) -> set[Place]:
    """The sentences that are kept."""
    return {(asked.documents[each.index], (kept.start, kept.end)) for each in pruned.documents for kept in each.kept}


def fill(asked: Asked, order: Sequence[Place], budget: int) -> set[Place]:
    """The first sentences of an order that fit into a budget; those that do not are skipped."""
    kept: set[Place] = set()
    for place in order:
        if asked.tokens[place] <= budget:
            kept.add(place)
            budget -= asked.tokens[place]
    return kept


def ask(client: Client, question: Question, documents: tuple[str, ...]) -> Asked:
    """Prune the documents of a question by each share."""
    pruned = [client.prune(question.text, documents, share=share) for share in SHARES]
    ledger = [
        (documents[each.index], part)
        for each in pruned[0].documents
        for part in sorted([*each.kept, *each.dropped], key=lambda part: part.start)
    ]
    return Asked(question, documents, {(text, (part.start, part.end)): part.tokens for text, part in ledger}, pruned)


def compare(client: Client, asked: Sequence[Asked]) -> Iterator[Row]:
    """A row for each share of the score, and one for each other way with the same tokens of each question."""
    orders = {
        "first sentences": [list(each.tokens) for each in asked],
        "best by BM25": by_bm25(asked),
        "best by cosine": by_cosine(client, asked),
    }
    for number, share in enumerate(SHARES):
        yield row("prune", share, [count(each, kept_places(each, each.pruned[number])) for each in asked])
        for way, order in orders.items():
            limits = [each.pruned[number].kept_tokens for each in asked]
            kept = [fill(*each) for each in zip(asked, order, limits, strict=True)]
            yield row(way, share, [count(*each) for each in zip(asked, kept, strict=True)])


def by_bm25(asked: Sequence[Asked]) -> list[list[Place]]:
    """The sentences of each question, best first; of equals, the first."""
    index, rows = Bm25(), dict[Place, int]()
    for place in (place for each in asked for place in each.tokens):
        if place not in rows:
            rows[place] = len(rows)
            index.add(TextTerms.of(place[0][slice(*place[1])]))
    return [
        _ordered(
            each,
            [
                sum(term.score for term in own)
                for own in index.explain(query_terms(each.question.text), [rows[place] for place in each.tokens])
            ],
        )
        for each in asked
    ]


def by_cosine(client: Client, asked: Sequence[Asked]) -> list[list[Place]]:
    """The same by the cosine of the question and each sentence."""
    places = list({place: None for each in asked for place in each.tokens})
    vectors = dict(zip(places, _vectors(client, [text[slice(*span)] for text, span in places]), strict=True))
    queries = _vectors(client, [each.question.text for each in asked])
    return [
        _ordered(each, [float(query @ vectors[place]) for place in each.tokens])
        for each, query in zip(asked, queries, strict=True)
    ]


def _vectors(client: Client, texts: Sequence[str]) -> Doubles:
    [model] = [model.name for model in client.models() if model.default]
    parts = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    return unit_rows(np.concatenate([np.array(client.embed(part, model).vectors) for part in track(parts, "encoding")]))


def _ordered(asked: Asked, scores: Sequence[float]) -> list[Place]:
    places = list(asked.tokens)
    return [places[i] for i in sorted(range(len(places)), key=lambda i: (-scores[i], i))]


def row(way: str, score: float, kept: Sequence[Kept]) -> Row:
    """Sum what is kept of all questions; the interval is over questions."""
    answers = np.array([each.answers for each in kept], np.float64)
    found = np.array([each.kept for each in kept], np.float64)
    share = bca(lambda counts: (counts @ found) / (counts @ answers), len(kept))
    return Row(
        way=way,
        score=100 * score,
        tokens=100 * float(np.mean([each.tokens for each in kept])),
        answers=int(answers.sum()),
        kept=int(found.sum()),
        share=100 * share.estimate,
        low=100 * share.low,
        high=100 * share.high,
    )


def with_nearest(client: Client, asked: Sequence[Question], documents: int) -> list[tuple[str, ...]]:
    """The document of each question, and those that are nearest to it among all others."""
    texts = list(dict.fromkeys(each.document for each in asked))
    vectors, queries = _vectors(client, texts), _vectors(client, [each.text for each in asked])
    found = []
    for each, query in zip(asked, queries, strict=True):
        order = [texts[i] for i in np.argsort(-(vectors @ query), kind="stable").tolist()]
        found.append((each.document, *[text for text in order if text != each.document][: documents - 1]))
    return found


def planted_answers(data: Path) -> list[Question]:
    """Answers among sentences of a book or a speech, which are about something else."""
    pairs = list(answers(read_wikiqa(data / data_set(SET).files[0])))
    of_wikiqa = random.Random(1).sample(pairs, PLANTED)
    return around(*plant(long_texts(data), {"invented": invented(PLANTED), "answers": of_wikiqa}))


def around(texts: Mapping[str, str], planted: Sequence[Sentence]) -> list[Question]:
    """A question for each planted sentence, whose document is the text around it."""
    found = []
    for number, each in enumerate(planted):
        first, (start, end) = max(0, each.span[0] - AROUND), each.span
        document = texts[each.document][first : end + AROUND]
        found.append(Question(f"{each.kind}-{number}", each.question, document, ((start - first, end - first),)))
    return found


def read(data: Path, name: str) -> list[Question]:
    """The questions of a set that have answers."""
    if name == ALONE:
        return planted_answers(data)
    file = data / data_set(name).files[0]
    every = xquad_questions(file) if name == "xquad_en" else questions(read_wikiqa(file))
    return [each for each in every if each.answers]


def show(name: str, rows: Sequence[Row], console: Console) -> None:
    """Print a table of the rows."""
    names = ("sentences", "score", "tokens", "answers kept", "share", "95 % interval")
    table = Table(*names, title=f"answers of {name} in the kept sentences, in percent")
    for each in rows:
        cells = (f"{each.tokens:.1f}", f"{each.kept} of {each.answers}", f"{each.share:.1f}")
        table.add_row(each.way, f"{each.score:.0f}", *cells, f"{each.low:.1f} to {each.high:.1f}")
    console.print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the sets, as for semblance evaluate")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=[*SETS, ALONE])
    parser.add_argument("--documents", type=int, default=1, help="that are pruned together, the one that answers first")
    parser.add_argument("--questions", type=int, help="most questions of each set")
    options = parser.parse_args()
    results = []
    with running_service() as url, Client(url, timeout_s=600) as client:
        for name in options.sets:
            chosen = read(options.data, name)[: options.questions]
            documents = with_nearest(client, chosen, options.documents)
            pairs = list(zip(chosen, documents, strict=True))
            asked = [ask(client, *each) for each in track(pairs, "pruning")]
            rows = list(compare(client, asked))
            show(name, rows, wide_console())
            results += [{"set": name, "documents": options.documents} | asdict(each) for each in rows]
    save_results("kept" if options.documents == 1 else f"kept_of_{options.documents}", results)


if __name__ == "__main__":
    main()
