"""Does the snippet of a hit contain the answer?

    python -m benchmarks.quality.search.snippets --data "$SEMBLANCE_DATA"

joins the sentences that WikiQA lists for a question (dev, train) to one document, and takes the paragraphs of XQuAD in
English, stores these documents in a service, asks each question within its document, and counts the answer sentences
that lie in the highlight: those of which it has 80 % of the characters or more, or which contain all of it. Beside it
are the first sentences of the document that fit into as many characters, and the run of sentences with the largest sum
of scores by BM25, where each sentence of all documents is a row of the index. A sentence that is too long alone is cut.
Prints the shares, with 95 % intervals (BCa bootstrap over the questions).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from semblance_client import Client

from semblance.models.alignment.highlight import HighlightOptions
from semblance.models.embeddings import Doubles
from semblance.models.judgments.bootstrap import Interval, bca, difference
from semblance.models.tokenization.passages import Span, sentences
from semblance.models.tokenization.terms import query_terms
from semblance.service.indexes.terms.bm25 import Bm25, TextTerms
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.datasets.queries import read_wikiqa
from semblance_lab.evaluation.tasks import Rankings
from tests.support.results import save_results
from tests.support.running_service import running_service
from tests.support.wide_console import wide_console

SETS = ("wikiqa_dev", "wikiqa_train", "xquad_en")
CHARS = HighlightOptions().chars
SHOWN_SHARE = 0.8  # of the characters of a sentence
OURS = "highlight"
COLLECTION = "snippets"


class Question(NamedTuple):
    """A question, the document that answers it, and the places of the answers."""

    id: str
    text: str
    document: str
    answers: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Share of the answers in the snippets of one kind, and by how much highlights are ahead, in percentage points."""

    snippet: str
    characters: float
    answers: int
    shown: int
    share: float
    low: float
    high: float
    ahead: float
    ahead_low: float
    ahead_high: float


def questions(task: Rankings) -> list[Question]:
    """The questions of WikiQA, each with all its sentences as one document."""
    return [
        _question(f"q{number}", *each)
        for number, each in enumerate(zip(task.queries, task.candidates, task.relevance, strict=True))
    ]


def _question(key: str, text: str, candidates: Sequence[str], labels: Sequence[float]) -> Question:
    ends = np.cumsum([len(each) + 1 for each in candidates]) - 1
    spans = [(int(end) - len(each), int(end)) for each, end in zip(candidates, ends, strict=True)]
    answers = tuple(span for span, label in zip(spans, labels, strict=True) if label)
    return Question(key, text, " ".join(candidates), answers)


def xquad_questions(path: Path) -> list[Question]:
    """The questions of XQuAD, each with its paragraph; the answer is the sentence in which the marked words begin."""
    found = []
    for paragraph in (
        each for article in json.loads(path.read_text("utf-8"))["data"] for each in article["paragraphs"]
    ):
        spans = sentences(paragraph["context"])
        for question in paragraph["qas"]:
            start = question["answers"][0]["answer_start"]
            answers = tuple(span for span in spans if span[0] <= start < span[1])
            if answers:
                found.append(Question(question["id"], question["question"], paragraph["context"], answers))
    return found


def is_shown(sentence: Span, snippet: Span) -> bool:
    """Whether a snippet has most of a sentence, or only text of it.

    >>> is_shown((10, 20), (12, 99)), is_shown((10, 20), (13, 99)), is_shown((10, 20), (11, 13))
    (True, False, True)
    """
    common = min(sentence[1], snippet[1]) - max(sentence[0], snippet[0])
    return common >= SHOWN_SHARE * (sentence[1] - sentence[0]) or common == snippet[1] - snippet[0]


def highlights(client: Client, asked: Sequence[Question], chars: int) -> list[Span]:
    """The highlight of each document for its question."""
    client.create_collection(COLLECTION, tokens="int8")
    texts = list(dict.fromkeys(each.document for each in asked))
    documents = [{"id": str(i), "text": text, "metadata": {"number": i}} for i, text in enumerate(texts)]
    client.upload(documents, COLLECTION)
    found = []
    for each in track(asked, "asking"):
        own = {"number": texts.index(each.document)}
        [hit] = client.search(each.text, COLLECTION, k=1, filter=own, mode="vector", highlight={"chars": chars}).hits
        assert hit.highlight is not None
        found.append((hit.highlight.start, hit.highlight.end))
    client.delete_collection(COLLECTION)
    return found


def first_sentences(document: str, chars: int) -> Span:
    """The longest window that begins with the first sentence."""
    spans = sentences(document)
    return max(window for window in windows(spans, chars) if window[0] == spans[0][0])


def best_by_bm25(asked: Sequence[Question], chars: int) -> list[Span]:
    """The window of each document with the largest sum of its sentences' scores; of equals, the shortest."""
    index = Bm25()
    spans = [sentences(each.document) for each in asked]
    for each, own in zip(asked, spans, strict=True):
        for start, end in own:
            index.add(TextTerms.of(each.document[start:end]))
    firsts = np.cumsum([0, *map(len, spans)]).tolist()
    return [
        _best_window(index, each.text, own, range(first, first + len(own)), chars)
        for each, own, first in zip(asked, spans, firsts[:-1], strict=True)
    ]


def _best_window(index: Bm25, question: str, spans: Sequence[Span], rows: Sequence[int], chars: int) -> Span:
    terms = index.explain(query_terms(question), rows)
    scores = {span: sum(term.score for term in own) for span, own in zip(spans, terms, strict=True)}

    def worth(window: Span) -> tuple[float, int]:
        inside = [score for (start, _), score in scores.items() if window[0] <= start < window[1]]
        return sum(inside), window[0] - window[1]

    return max(windows(spans, chars), key=worth)


def windows(spans: Sequence[Span], chars: int) -> Iterator[Span]:
    """All runs of sentences of at most `chars`; of a sentence that is too long, its beginning."""
    for i, (start, end) in enumerate(spans):
        yield start, min(end, start + chars)
        yield from ((start, last) for _, last in spans[i + 1 :] if last - start <= chars)


def compare(asked: Sequence[Question], snippets: Mapping[str, Sequence[Span]]) -> Iterator[Row]:
    """A row for each kind of snippet, by name."""
    answers = np.array([len(each.answers) for each in asked], np.float64)
    own = {name: _shown(asked, each) for name, each in snippets.items()}
    shares = {name: _share(each, answers) for name, each in own.items()}
    for name, share in shares.items():
        ahead = difference(shares[OURS], share)
        yield Row(
            snippet=name,
            characters=fmean(end - start for start, end in snippets[name]),
            answers=int(answers.sum()),
            shown=int(own[name].sum()),
            share=100 * share.estimate,
            low=100 * share.low,
            high=100 * share.high,
            ahead=100 * ahead.estimate,
            ahead_low=100 * ahead.low,
            ahead_high=100 * ahead.high,
        )


def _shown(asked: Sequence[Question], snippets: Sequence[Span]) -> Doubles:
    """How many answers of each question are shown."""
    counts = [
        sum(is_shown(answer, snippet) for answer in each.answers) for each, snippet in zip(asked, snippets, strict=True)
    ]
    return np.array(counts, np.float64)


def _share(shown: Doubles, answers: Doubles) -> Interval:
    return bca(lambda counts: (counts @ shown) / (counts @ answers), len(shown))


def measure(client: Client, asked: Sequence[Question], chars: int) -> list[Row]:
    """Compare the highlights of a service with both other kinds of snippets."""
    snippets = {
        OURS: highlights(client, asked, chars),
        "first sentences": [first_sentences(each.document, chars) for each in asked],
        "best sentences by BM25": best_by_bm25(asked, chars),
    }
    return list(compare(asked, snippets))


def show(name: str, rows: Sequence[Row], console: Console) -> None:
    """Print a row for each kind of snippet."""
    names = (
        "snippet",
        "characters",
        "answers shown",
        "share",
        "95 % interval",
        "highlight is better by",
        "95 % interval",
    )
    table = Table(*names, title=f"answer sentences of {name} in snippets of their documents, in percent")
    for row in rows:
        table.add_row(
            row.snippet,
            f"{row.characters:.0f}",
            f"{row.shown} of {row.answers}",
            f"{row.share:.1f}",
            f"{row.low:.1f} to {row.high:.1f}",
            f"{row.ahead:+.1f}",
            f"{row.ahead_low:+.1f} to {row.ahead_high:+.1f}",
        )
    console.print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the sets, as for semblance evaluate")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--chars", type=int, default=CHARS, help="most characters of a snippet")
    options = parser.parse_args()
    results = []
    with running_service() as url, Client(url, timeout_s=600) as client:
        for name in options.sets:
            file = options.data / data_set(name).files[0]
            asked = xquad_questions(file) if name == "xquad_en" else questions(read_wikiqa(file))
            rows = measure(client, [each for each in asked if each.answers], options.chars)
            show(name, rows, wide_console())
            results += [{"set": name} | asdict(row) for row in rows]
    save_results("snippets", results)


if __name__ == "__main__":
    main()
