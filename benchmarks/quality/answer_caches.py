"""Semantic caches with planted opposites: hits, false hits and time by several rules.

    python -m benchmarks.quality.answer_caches --data "$SEMBLANCE_DATA"

stores the first question of each pair of QQP dev in a cache of a running service that keeps token codes, each with
itself as the answer, and looks up 20,000 questions:

* `repeats`: stored questions, which should hit;
* `duplicates`: second questions of pairs with the same meaning, which should hit;
* `others`: second questions of pairs that differ, which should not hit their first question;
* `opposites`: stored questions with a word replaced by its opposite, which should not hit the stored one;
* `numbers`: stored questions with another number, which should not hit the stored one.

A hit by the partner of the question is right or false, as above; `unjudged` are hits of `others`, `opposites` and
`numbers` by a further stored question, of which nothing is known. Rules of cosines see the same nearest vector as the
cache: redisvl's default (distance at most 0.1), that of langchain-redis (0.2), GPTCache's (squared distance at most
0.8, a cosine of 0.6), and the cosine with a bound of 1 % on false hits, fitted to QQP train; `/same` has its own cut,
and one with that bound.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from semblance_client import Client

from benchmarks.quality.paraphrases import OPPOSITES
from semblance.models.embeddings import Doubles
from semblance.models.files.tables import read_tsv
from semblance.models.judgments.false_hits import bounded_cut
from semblance.service.ports.paraphrases import SAME_FROM
from tests.support.results import save_results
from tests.support.running_service import running_service
from tests.support.wide_console import wide_console

CACHE = "answers"
QUERIES, TIMED, SEED, WORKERS = 20_000, 300, 1, 4
ALLOWED = 0.01
REPEATS, DUPLICATES = "repeats", "duplicates"
RIGHT = (REPEATS, DUPLICATES)
COSINES = {"redisvl (0.9)": 0.9, "langchain-redis (0.8)": 0.8, "GPTCache (0.6)": 0.6}


class Query(NamedTuple):
    """A question, its kind, and the stored question that it is made from or paired with."""

    kind: str
    text: str
    partner: str


class Found(NamedTuple):
    """The stored question that a rule would answer by, and its score."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Row:
    """Hits by the partner in percent of each kind, unjudged hits in percent of the last three, and the cut."""

    rule: str
    cut: float
    by_partner: Mapping[str, float]
    unjudged: float


def queries_of(data: Path) -> Iterator[Query]:
    """Questions of all kinds, filled up with repeats."""
    pairs = pairs_of(data, "dev")
    found = [Query(DUPLICATES if label == "1" else "others", second, first) for first, second, label in pairs]
    stored = sorted({first for first, _, _ in pairs})
    for text in stored:
        turned = re.sub(rf"\b({'|'.join(OPPOSITES)})\b", lambda word: OPPOSITES[word[0]], text, count=1)
        counted = re.sub(r"\d+", lambda number: str(int(number[0]) + 1), text, count=1)
        found += [Query("opposites", turned, text)] * (turned != text) + [Query("numbers", counted, text)] * (
            counted != text
        )
    yield from found
    for text in random.Random(SEED).choices(stored, k=QUERIES - len(found)):
        yield Query(REPEATS, text, text)


def pairs_of(data: Path, part: str) -> list[tuple[str, str, str]]:
    """The pairs of a part of QQP, with their labels."""
    rows = read_tsv(data / "paraphrase" / f"qqp_sample.{part}.tsv", ("sentence1", "sentence2", "label"))
    return [(row.text("sentence1"), row.text("sentence2"), row.text("label")) for row in rows]


def nearest(client: Client, query: Query) -> tuple[Found, Found]:
    """The nearest stored question by vector, and the likeliest one by verdict."""
    [hit] = client.search(query.text, CACHE, k=1, mode="vector").hits
    found = client.look_up(CACHE, query.text)
    verdict = found.verdict or found.refused[0].verdict
    likeliest = found.hit.text if found.hit else found.refused[0].text
    log_odds = np.inf if likeliest == query.text else -np.inf if verdict.log_odds is None else verdict.log_odds
    return Found(hit.text, hit.score), Found(likeliest, float(log_odds))


def cuts(client: Client, data: Path) -> tuple[float, float]:
    """The cosine and the log-odds with the bound, fitted to QQP train."""
    pairs = pairs_of(data, "train")
    texts = [(first, second) for first, second, _ in pairs]
    matches = np.array([label == "1" for *_, label in pairs])
    verdicts = client.same(texts).verdicts
    log_odds = [-np.inf if each.log_odds is None else each.log_odds for each in verdicts]
    scores: Sequence[Doubles] = (np.array(client.similarity(texts).scores), np.array(log_odds))
    first, second = (bounded_cut(each, matches, ALLOWED) for each in scores)
    assert first is not None
    assert second is not None
    return first.cut, second.cut


def row(rule: str, cut: float, queries: Sequence[Query], found: Sequence[Found]) -> Row:
    """Count the hits of a rule."""
    hits = [each.score >= cut for each in found]
    partner = [each.text == query.partner for query, each in zip(queries, found, strict=True)]
    kinds = np.array([query.kind for query in queries])
    own, other = np.logical_and(hits, partner), np.logical_and(hits, np.logical_not(partner))
    shares = {kind: 100 * float(own[kinds == kind].mean()) for kind in dict.fromkeys(kinds.tolist())}
    return Row(rule, cut, shares, 100 * float(other[~np.isin(kinds, RIGHT)].mean()))


def print_times(client: Client, queries: Sequence[Query]) -> None:
    """Print the time of searches and lookups of known and of new texts, in turns."""
    times: dict[str, list[float]] = {}

    def timed(name: str, act: object) -> None:
        start = perf_counter()
        assert callable(act)
        act()
        times.setdefault(name, []).append(1000 * (perf_counter() - start))

    for known, new, newer in zip(*(queries[i::3] for i in range(3)), strict=True):
        client.look_up(CACHE, known.text)
        client.search(known.text, CACHE, k=1, mode="vector")
        timed("search of a known text", lambda: client.search(known.text, CACHE, k=1, mode="vector"))  # noqa: B023
        timed("lookup of a known text", lambda: client.look_up(CACHE, known.text))  # noqa: B023
        timed("search of a new text", lambda: client.search(new.text, CACHE, k=1, mode="vector"))  # noqa: B023
        timed("lookup of a new text", lambda: client.look_up(CACHE, newer.text))  # noqa: B023
    for name, own in times.items():
        wide_console().print(f"{name}: {median(own):.1f} ms (median of {len(own)})")


def main() -> None:
    """Fill the cache, look all questions up, print and save the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    options = parser.parse_args()
    queries = [*queries_of(options.data)]
    stored = sorted({query.partner for query in queries})
    with running_service() as url, Client(url) as client, ThreadPoolExecutor(WORKERS) as pool:
        client.create_collection(CACHE, tokens="int8")
        storing = pool.map(lambda text: client.store_answer(CACHE, text, text), stored)
        list(track(storing, "storing", len(stored), console=Console(stderr=True)))
        distinct = [query for query in queries if query.kind != REPEATS]
        print_times(client, random.Random(SEED).sample(distinct, 3 * TIMED))
        looking = pool.map(lambda query: nearest(client, query), queries)
        found = list(track(looking, "looking up", len(queries), console=Console(stderr=True)))
        by_cosine, by_verdict = zip(*found, strict=True)
        cosine, log_odds = cuts(client, options.data)
    rules = {**COSINES, f"cosine, bound of {ALLOWED:.0%}": cosine}
    rows = [row(rule, cut, queries, by_cosine) for rule, cut in rules.items()]
    verdicts = {"/same": SAME_FROM, f"/same, bound of {ALLOWED:.0%}": log_odds}
    rows += [row(rule, cut, queries, by_verdict) for rule, cut in verdicts.items()]
    kinds = [kind for kind in (REPEATS, DUPLICATES, *rows[0].by_partner) if kind in rows[0].by_partner]
    counts = {kind: sum(query.kind == kind for query in queries) for kind in kinds}
    table = Table("rule", "cut", *(f"{kind} ({count:,})" for kind, count in counts.items()), "unjudged")
    for each in rows:
        table.add_row(
            each.rule,
            f"{each.cut:.2f}",
            *(f"{each.by_partner[kind]:.1f}" for kind in counts),
            f"{each.unjudged:.1f}",
        )
    wide_console().print(table)
    save_results("answer_caches", [asdict(each) for each in rows])


if __name__ == "__main__":
    main()
