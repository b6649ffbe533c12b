"""Does a glossary find the documents of questions that are full of abbreviations?

    python -m benchmarks.quality.search.jargon --data "$SEMBLANCE_DATA"

takes the phrases of two words that most queries of a real collection share, as long as documents have them, and makes
up an abbreviation of each, which no document has. Queries with such a phrase are searched as they are, with the
abbreviation in its place, and with a glossary that says what it stands for. Prints recall@10 of each, in percent, by
the service's default search and rescored by a measure of tokens. It takes minutes, mostly for encoding.
"""

from __future__ import annotations

import random
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import fmean

from rich.progress import track
from rich.table import Table
from semblance_client import Client

from benchmarks.quality.search.passage_length import collections_parser
from semblance.models.tokenization.function_words import say_much
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.statistics import recall
from semblance_lab.evaluation.tasks import Retrieval
from tests.support.results import save_results
from tests.support.running_service import running_process
from tests.support.wide_console import wide_console

SETS = ("cranfield", "medline", "cisi", "nfcorpus_dev")
MEASURES = ("cosine", "rcmd1_words")
PHRASES = 40
LEAST_DOCUMENTS = 3
BEST = 10
_WORD = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class Row:
    """Recall@10 in percent of the queries with a phrase: as they are, abbreviated, and with the glossary."""

    collection: str
    queries: int
    measure: str
    written_out: float
    abbreviated: float
    with_glossary: float


def abbreviations(task: Retrieval) -> dict[str, str]:
    """Phrases of the queries and documents, and abbreviations that begin with their letters."""
    texts = [*task.corpus.values(), *task.queries.values()]
    known = {word for text in texts for word in _WORD.findall(text.lower())}
    asked = Counter(phrase for text in task.queries.values() for phrase in sorted(_phrases(text)))
    written = Counter(phrase for text in task.corpus.values() for phrase in _phrases(text))
    shared = [phrase for phrase, _ in asked.most_common() if written[phrase] >= LEAST_DOCUMENTS][:PHRASES]
    rng, made = random.Random(0), dict[str, str]()
    for phrase in shared:
        initials = "".join(word[0] for word in phrase.split())
        while (short := initials + "".join(rng.choices(string.ascii_lowercase, k=2))) in known:
            pass
        known.add(short)
        made[phrase] = short.upper()
    return made


def _phrases(text: str) -> set[str]:
    """Two content words with nothing but a space between."""
    found = list(re.finditer(r"[a-z]+", text.lower()))
    content = say_much([match[0] for match in found])
    return {
        f"{one[0]} {other[0]}"
        for (one, own), (other, its) in pairwise(zip(found, content, strict=True))
        if own and its and other.start() == one.end() + 1 and min(len(one[0]), len(other[0])) > 2
    }


def abbreviated(text: str, made: Mapping[str, str]) -> str:
    """A text with abbreviations in place of phrases."""
    for phrase, short in made.items():
        text = re.sub(rf"\b{phrase}\b", short, text, flags=re.IGNORECASE)
    return text


def rows(client: Client, collection: str, task: Retrieval) -> list[Row]:
    """Ask each query with a phrase three times, by each measure."""
    made = abbreviations(task)
    client.create_collection(collection, tokens="int8")
    documents = [{"id": doc_id, "text": text} for doc_id, text in task.corpus.items() if text.strip()]
    client.upload(track(documents, collection), collection)
    changed = {key: abbreviated(text, made) for key, text in task.queries.items()}
    plain = {key: text for key, text in task.queries.items() if changed[key] != text}
    short = {key: changed[key] for key in plain}
    groups = [{"kind": "equal", "terms": [phrase, own]} for phrase, own in made.items()]
    before = [[_recall(client, collection, task, each, measure) for each in (plain, short)] for measure in MEASURES]
    client.set_glossary(collection, groups)
    after = [_recall(client, collection, task, short, measure) for measure in MEASURES]
    return [
        Row(collection, len(plain), measure, written_out, short_ones, glossed)
        for measure, (written_out, short_ones), glossed in zip(MEASURES, before, after, strict=True)
    ]


def _recall(client: Client, collection: str, task: Retrieval, queries: Mapping[str, str], measure: str) -> float:
    found: Sequence[float] = [
        recall(
            [hit.id for hit in client.search(text, collection, k=BEST, measure=measure).hits], task.relevance[key], BEST
        )
        for key, text in queries.items()
    ]
    return 100 * fmean(found)


def main() -> None:
    """Run from the command line."""
    parser = collections_parser(__doc__, SETS)
    options = parser.parse_args()
    table, results = Table("collection", "queries", "measure", "written out", "abbreviated", "with a glossary"), []
    with running_process() as service, Client(service.url, timeout_s=600) as client:
        for name in options.sets:
            task = data_set(name).read(options.data / data_set(name).files[0])
            if not isinstance(task, Retrieval):
                parser.error(f"{name} is not a search collection")
            for row in rows(client, name, task):
                figures = (row.written_out, row.abbreviated, row.with_glossary)
                table.add_row(name, f"{row.queries:,}", row.measure, *(f"{each:.2f}" for each in figures))
                results.append(asdict(row))
    wide_console().print(table)
    save_results("jargon", results)


if __name__ == "__main__":
    main()
