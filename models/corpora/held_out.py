"""Benchmarks drawn from links, and what must therefore stay out of training."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from semblance.models.corpora.tables import Cell, Tables

Text: TypeAlias = tuple[str, str]  # the id of a tweet, and what it says


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What a ranking benchmark asks.

    Attributes:
        name: how its file is named.
        relation: the links that it is drawn from.
        query: who asks: the tweet that the others quote or answer (`anchor`), one of the others (`sibling`; the anchor
            then has no part in it), or anyone of the conversation (`anyone`).
    """

    name: str
    relation: str
    query: Literal["anchor", "sibling", "anyone"]


OF_TWEETS = (
    Benchmark("dq", "quotes", "anchor"),
    Benchmark("cq", "quotes", "sibling"),
    Benchmark("dr", "replies", "anchor"),
    Benchmark("cr", "replies", "sibling"),
)
OF_THREADS = Benchmark("threads", "threads", "anyone")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a benchmark is: at most so many queries, each with exactly so many positives and negatives."""

    queries: int = 5_000
    positives: int = 5
    negatives: int = 25


@dataclass(frozen=True, slots=True)
class Ranking:
    """A query with its candidates, in an order that tells nothing."""

    conversation: str
    query: Text
    candidates: Sequence[Text]
    relevance: Sequence[int]


_MEMBERS = """
CREATE OR REPLACE TABLE members AS
WITH said AS (
    SELECT conversation, b_id AS id, b_text AS text, false AS leads FROM links WHERE relation = $relation
    UNION
    SELECT conversation, a_id, a_text, $leads FROM links WHERE relation = $relation AND $anchors
), drawn AS (
    SELECT *, md5_number_lower(concat_ws(' ', $seed, $name, conversation, id)) AS draw FROM said
), once AS (
    SELECT * FROM drawn QUALIFY row_number() OVER (PARTITION BY conversation, text ORDER BY leads DESC, draw, id) = 1
)
SELECT conversation, id, text, row_number() OVER (PARTITION BY conversation ORDER BY leads DESC, draw, id) AS place
FROM once
"""
_CHOSEN = """
CREATE OR REPLACE TABLE chosen AS
WITH asked AS (
    SELECT conversation, text, md5_number_lower(concat_ws(' ', $seed, $name, conversation)) AS draw
    FROM members SEMI JOIN (FROM members WHERE place = $positives + 1) USING (conversation) WHERE place = 1
), once AS (
    SELECT * FROM asked QUALIFY row_number() OVER (PARTITION BY text ORDER BY draw, conversation) = 1
)
SELECT conversation, draw FROM once ORDER BY draw, conversation LIMIT $queries
"""
_SAMPLED = """
SELECT conversation, id, text FROM members JOIN chosen USING (conversation)
WHERE place <= $positives + 1 ORDER BY draw, conversation, place
"""
# what a conversation says that was sampled in another one: there it would be a wrong negative
_SAID_TOO = """
SELECT DISTINCT here.conversation, here.text
FROM members here SEMI JOIN chosen USING (conversation)
JOIN (SELECT conversation, text FROM members SEMI JOIN chosen USING (conversation) WHERE place <= $positives + 1) there
ON here.text = there.text AND here.conversation <> there.conversation
"""
_HOLD_OUT = """
INSERT INTO held_out
WITH gone AS (FROM links SEMI JOIN used USING (conversation) WHERE relation = $relation)
SELECT a_id, a_text FROM gone UNION SELECT b_id, b_text FROM gone
"""


def draw_rankings(tables: Tables, benchmark: Benchmark, sizes: Sizes, seed: int) -> list[Ranking]:
    """The queries of a benchmark, drawn from the table `links`.

    A conversation gives at most one query. Its texts are taken once each, and it must have enough of them: a query and
    the positives. The negatives are what was sampled from other queries' conversations, so that positives and negatives
    are of one kind, and what has to be held out stays small; none is equal to the query, to a positive or to anything
    else that was said in the query's conversation. Queries with too few of such are left out.

    Source: digiovanni-brambilla-2021-twitter4sse, section 4.1: positives are quotes or replies of the query (DQ, DR) or
    of what the query quotes or answers (CQ, CR), negatives those of other tweets. The authors' script swaps the two
    sides of replies; here the query is the tweet that was answered.

    Args:
        tables: with the table `links`.
        benchmark: what it asks.
        sizes: 5,000 queries with 5 positives and 25 negatives in the paper.
        seed: of a hash of ids, by which everything is ordered; so neither threads nor the order of files matter.

    Returns:
        The rankings, in the order of their draw.
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
    said_too: defaultdict[str, set[str]] = defaultdict(set)
    for conversation, text in tables.rows(_SAID_TOO, {"positives": sizes.positives}):
        said_too[conversation].add(text)
    sampled = {
        conversation: [(tweet, text) for _, tweet, text in rows]
        for conversation, rows in groupby(tables.rows(_SAMPLED, {"positives": sizes.positives}), lambda row: row[0])
    }
    pool = [text for texts in sampled.values() for text in texts[anchored:]]
    found = []
    for conversation, (query, *positives) in sampled.items():
        rng = random.Random(f"{seed} {benchmark.name} {conversation}")  # noqa: S311 - a sample, not a secret
        own = {query[1], *(text for _, text in positives)} | said_too[conversation]
        negatives = _negatives(pool, own, sizes.negatives, rng)
        if len(negatives) == sizes.negatives:
            found.append(_shuffled(conversation, query, positives, negatives, rng))
    return found


def hold_out(tables: Tables, benchmark: Benchmark, rankings: Sequence[Ranking]) -> None:
    """Keep the conversations of these queries out of training, whole: every tweet of them goes to the table `held_out`.

    That is more than the paper asks for, which are the tweets that the benchmark shows.
    """
    tables.create("used", ("conversation",))
    with tables.appending("used") as rows:
        for ranking in rankings:
            rows.add(ranking.conversation)
    tables.run(_HOLD_OUT, {"relation": benchmark.relation})


def _negatives(pool: Sequence[Text], own: Collection[str], count: int, rng: random.Random) -> list[Text]:
    """So many texts that are not the conversation's own, each once; fewer if there are no more."""
    found: dict[str, Text] = {}
    for size in (min(4 * count, len(pool)), len(pool)):  # a small sample nearly always suffices
        for tweet, text in rng.sample(pool, size):
            if text not in own and len(found) < count:
                found.setdefault(text, (tweet, text))
        if len(found) == count:
            break
    return list(found.values())


def _shuffled(
    conversation: str, query: Text, positives: Sequence[Text], negatives: Sequence[Text], rng: random.Random
) -> Ranking:
    judged = [(text, 1) for text in positives] + [(text, 0) for text in negatives]
    rng.shuffle(judged)
    return Ranking(conversation, query, *zip(*judged, strict=True))
