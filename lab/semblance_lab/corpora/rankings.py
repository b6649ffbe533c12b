"""Draw ranking benchmarks from links, and hold their conversations out of training."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from semblance_lab.corpora.tables import Cell, Tables

Text: TypeAlias = tuple[str, str]  # the id of a tweet, and its text


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Definition of a ranking benchmark.

    Attributes:
        name: the name of its file.
        relation: the relation of the links that it is drawn from.
        query: the tweet that serves as the query: the one that the others quote or answer (`anchor`), one of the others
            (`sibling`; the anchor is then unused), or any tweet of the conversation (`anyone`).
    """

    name: str
    relation: str
    query: Literal["anchor", "sibling", "anyone"]


TWEET_BENCHMARKS = (
    Benchmark("dq", "quotes", "anchor"),
    Benchmark("cq", "quotes", "sibling"),
    Benchmark("dr", "replies", "anchor"),
    Benchmark("cr", "replies", "sibling"),
)
THREAD_BENCHMARK = Benchmark("threads", "threads", "anyone")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Size of a benchmark: most queries, and exact numbers of positives and negatives of each."""

    queries: int = 5_000
    positives: int = 5
    negatives: int = 25


@dataclass(frozen=True, slots=True)
class Ranking:
    """A query with its candidates in random order."""

    conversation: str
    query: Text
    candidates: Sequence[Text]
    relevance: Sequence[int]


_MEMBERS = """
CREATE OR REPLACE TABLE members AS
WITH texts AS (
    SELECT conversation, b_id AS id, b_text AS text, false AS leads FROM links WHERE relation = $relation
    UNION
    SELECT conversation, a_id, a_text, $leads FROM links WHERE relation = $relation AND $anchors
), drawn AS (
    SELECT *, md5_number_lower(concat_ws(' ', $seed, $name, conversation, id)) AS draw FROM texts
), once AS (
    SELECT * FROM drawn QUALIFY row_number() OVER (PARTITION BY conversation, text ORDER BY leads DESC, draw, id) = 1
)
SELECT conversation, id, text, row_number() OVER (PARTITION BY conversation ORDER BY leads DESC, draw, id) AS place
FROM once
"""
_CHOSEN = """
CREATE OR REPLACE TABLE chosen AS
WITH queries AS (
    SELECT conversation, text, md5_number_lower(concat_ws(' ', $seed, $name, conversation)) AS draw
    FROM members SEMI JOIN (FROM members WHERE place = $positives + 1) USING (conversation) WHERE place = 1
), once AS (
    SELECT * FROM queries QUALIFY row_number() OVER (PARTITION BY text ORDER BY draw, conversation) = 1
)
SELECT conversation, draw FROM once ORDER BY draw, conversation LIMIT $queries
"""
_SAMPLED = """
SELECT conversation, id, text FROM members JOIN chosen USING (conversation)
WHERE place <= $positives + 1 ORDER BY draw, conversation, place
"""
# texts sampled in one conversation that also occur in another: they would be wrong negatives there
_SHARED_TEXTS = """
SELECT DISTINCT here.conversation, here.text
FROM members here SEMI JOIN chosen USING (conversation)
JOIN (SELECT conversation, text FROM members SEMI JOIN chosen USING (conversation) WHERE place <= $positives + 1) there
ON here.text = there.text AND here.conversation <> there.conversation
"""
_HOLD_OUT = """
INSERT INTO held_out
WITH used_links AS (FROM links SEMI JOIN used USING (conversation) WHERE relation = $relation)
SELECT a_id, a_text FROM used_links UNION SELECT b_id, b_text FROM used_links
"""


def draw_rankings(tables: Tables, benchmark: Benchmark, sizes: Sizes, seed: int) -> list[Ranking]:
    """Draw the queries of a benchmark from the table `links`.

    A conversation gives at most one query. Equal texts of it count once, and it must have enough of them: a query and
    the positives. Negatives are texts sampled from the conversations of other queries, so that positives and negatives
    are alike, and few conversations must be held out; none is equal to the query, a positive or any other text of the
    query's conversation. Queries with too few negatives are left out.

    Source: digiovanni-brambilla-2021-twitter4sse, section 4.1: positives are quotes or replies of the query (DQ, DR) or
    of the tweet that the query quotes or answers (CQ, CR), negatives those of other tweets. The authors' script swaps
    the two sides of replies; here the query is the tweet that was answered.

    Args:
        tables: database with the table `links`.
        benchmark: its definition.
        sizes: 5,000 queries with 5 positives and 25 negatives in the paper.
        seed: seed of a hash of ids that orders all rows, so neither threads nor the order of files matter.

    Returns:
        The rankings, in the order of that hash.
    """
    anchored = benchmark.query == "anchor"
    named: dict[str, Cell] = {"seed": str(seed), "name": benchmark.name}
    shape: dict[str, Cell] = {
        "relation": benchmark.relation,
        "leads": anchored,
        "anchors": benchmark.query != "sibling",
    }
    tables.run(_MEMBERS, {**named, **shape})
    tables.run(_CHOSEN, {**named, "positives": sizes.positives, "queries": sizes.queries})
    shared: defaultdict[str, set[str]] = defaultdict(set)
    for conversation, text in tables.rows(_SHARED_TEXTS, {"positives": sizes.positives}):
        shared[conversation].add(text)
    sampled = {
        conversation: [(tweet, text) for _, tweet, text in rows]
        for conversation, rows in groupby(tables.rows(_SAMPLED, {"positives": sizes.positives}), lambda row: row[0])
    }
    pool = [text for texts in sampled.values() for text in texts[anchored:]]
    rankings = []
    for conversation, (query, *positives) in sampled.items():
        rng = random.Random(f"{seed} {benchmark.name} {conversation}")  # noqa: S311 - a sample, not a secret
        own = {query[1], *(text for _, text in positives)} | shared[conversation]
        negatives = _negatives(pool, own, sizes.negatives, rng)
        if len(negatives) == sizes.negatives:
            rankings.append(_shuffled(conversation, query, positives, negatives, rng))
    return rankings


def hold_out(tables: Tables, benchmark: Benchmark, rankings: Sequence[Ranking]) -> None:
    """Add all tweets of the conversations of these queries to the table `held_out`.

    The paper holds out less: only the tweets in the benchmark.
    """
    tables.create("used", ("conversation",))
    with tables.appending("used") as add:
        for ranking in rankings:
            add(ranking.conversation)
    tables.run(_HOLD_OUT, {"relation": benchmark.relation})


def _negatives(pool: Sequence[Text], own: Collection[str], count: int, rng: random.Random) -> list[Text]:
    """Draw `count` distinct texts from outside the conversation; fewer if the pool is smaller."""
    negatives: dict[str, Text] = {}
    for size in (min(4 * count, len(pool)), len(pool)):  # a small sample is nearly always enough
        for tweet, text in rng.sample(pool, size):
            if text not in own and len(negatives) < count:
                negatives.setdefault(text, (tweet, text))
        if len(negatives) == count:
            break
    return list(negatives.values())


def _shuffled(
    conversation: str, query: Text, positives: Sequence[Text], negatives: Sequence[Text], rng: random.Random
) -> Ranking:
    judged = [(text, 1) for text in positives] + [(text, 0) for text in negatives]
    rng.shuffle(judged)
    return Ranking(conversation, query, *zip(*judged, strict=True))
