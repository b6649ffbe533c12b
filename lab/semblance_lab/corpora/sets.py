"""Draw benchmarks from links, then pairs that no benchmark uses, and write both to a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from semblance_lab.corpora.links import count_links
from semblance_lab.corpora.rankings import Benchmark, Ranking, Sizes, draw_rankings, hold_out
from semblance_lab.corpora.tables import Tables


@dataclass(frozen=True, slots=True)
class PairSet:
    """Definition of a set of pairs.

    Attributes:
        name: the name of its file.
        relation: the relation of the links that it is drawn from.
        siblings: whether a pair is two tweets that quote or answer the same one, instead of the two tweets of a link.
    """

    name: str
    relation: str
    siblings: bool = False


TWEET_PAIRS = (
    PairSet("quotes", "quotes"),
    PairSet("replies", "replies"),
    PairSet("co_quotes", "quotes", siblings=True),
    PairSet("co_replies", "replies", siblings=True),
)
THREAD_PAIRS = PairSet("threads", "threads")


class TweetPair(NamedTuple):
    """Two weakly similar texts and the ids of their tweets: the columns of the written file."""

    text_a: str
    text_b: str
    id_a: str
    id_b: str


_FREE = """
CREATE TABLE free AS FROM links
ANTI JOIN held_out ON links.a_id = held_out.id
ANTI JOIN held_out AS h2 ON links.b_id = h2.id
ANTI JOIN held_out AS h3 ON links.a_text = h3.text
ANTI JOIN held_out AS h4 ON links.b_text = h4.text
"""
_LINKED = """
CREATE OR REPLACE TABLE drawn_pairs AS
SELECT a_id, a_text, b_id, b_text, md5_number_lower(concat_ws(' ', $seed, $name, a_id, b_id)) AS draw
FROM free WHERE relation = $relation
"""
_SIBLINGS = """
CREATE OR REPLACE TABLE drawn_pairs AS
WITH drawn AS (
    SELECT conversation, b_id, b_text, md5_number_lower(concat_ws(' ', $seed, $name, b_id)) AS draw
    FROM free WHERE relation = $relation
), once AS (
    SELECT * FROM drawn QUALIFY row_number() OVER (PARTITION BY conversation, b_text ORDER BY draw, b_id) = 1
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY conversation ORDER BY draw, b_id) AS place FROM once
)
SELECT one.b_id AS a_id, one.b_text AS a_text, two.b_id, two.b_text, one.draw
FROM placed one JOIN placed two USING (conversation) WHERE one.place = 1 AND two.place = 2
"""
_PAIRS = """
WITH half AS (
    SELECT * FROM drawn_pairs QUALIFY row_number() OVER (
        PARTITION BY CASE WHEN $anchors_first THEN a_text ELSE b_text END ORDER BY draw, a_id, b_id
    ) = 1
), once AS (
    SELECT * FROM half QUALIFY row_number() OVER (
        PARTITION BY CASE WHEN $anchors_first THEN b_text ELSE a_text END ORDER BY draw, a_id, b_id
    ) = 1
)
SELECT a_text, b_text, a_id, b_id FROM once ORDER BY draw, a_id, b_id LIMIT $most
"""


def free_links(tables: Tables) -> None:
    """Create the table `free`: links without a tweet whose id or text is held out."""
    tables.run(_FREE)


def draw_pairs(tables: Tables, pair_set: PairSet, most: int, seed: int) -> Iterator[TweetPair]:
    """Draw the pairs of a set, each text at most once per side, ordered by a seeded hash of ids.

    text_a is the tweet that was quoted or answered and text_b the quote or reply, as in the paper; the authors' code
    swaps the sides of quotes. Siblings are two tweets with different texts that quote or answer the same tweet. Of
    several pairs with the same text the first in that order is kept, so the order of the files does not matter; as in
    the authors' code quoted tweets are deduplicated before quotes, but replies before the tweets that they answer. The
    paper does not mention that pairs of siblings are deduplicated, too.

    Source: digiovanni-brambilla-2021-twitter4sse, section 3.

    Args:
        tables: database with the table `free`.
        pair_set: its definition.
        most: the largest number of pairs: 250,000 in the paper.
        seed: seed of the hash.
    """
    tables.run(
        _SIBLINGS if pair_set.siblings else _LINKED,
        {"seed": str(seed), "name": pair_set.name, "relation": pair_set.relation},
    )
    parameters = {"anchors_first": pair_set.relation == "quotes", "most": most}
    return (TweetPair(*row) for row in tables.rows(_PAIRS, parameters))


@dataclass(frozen=True, slots=True)
class CorpusPlan:
    """The sets to draw.

    Attributes:
        benchmarks: drawn first; their conversations are held out of all pair sets.
        pair_sets: drawn afterwards.
        sizes: size of each benchmark.
        pairs: the largest number of pairs of a set.
        seed: seed of all draws.
    """

    benchmarks: Sequence[Benchmark]
    pair_sets: Sequence[PairSet]
    sizes: Sizes
    pairs: int = 250_000
    seed: int = 42


@dataclass(slots=True)
class SetCounts:
    """Numbers of links, benchmark queries and pairs by name; the fields are keys of about.json."""

    links: dict[str, int] = field(default_factory=dict)
    queries: dict[str, int] = field(default_factory=dict)
    pairs: dict[str, int] = field(default_factory=dict)


def make_sets(tables: Tables, plan: CorpusPlan, out: Path) -> SetCounts:
    """Draw the sets of a plan from the table `links`, and write those that are not empty.

    ============================ =================================================================================
    `ranking/<name>.jsonl`       a query a line, in the format of `semblance_lab.evaluation.datasets.queries`
    `<name>.tsv`                 a tab-separated table with the columns text_a, text_b, id_a and id_b, without quoting
    ============================ =================================================================================

    Raises:
        OSError: a file cannot be written.
        BadDataSet: the tables cannot be created.
    """
    counts = SetCounts(links=count_links(tables))
    tables.create("held_out", ("id", "text"))
    (out / "ranking").mkdir(parents=True)
    for benchmark in plan.benchmarks:
        rankings = draw_rankings(tables, benchmark, plan.sizes, plan.seed)
        hold_out(tables, benchmark, rankings)
        lines = map(_ranking_line, rankings)
        counts.queries[benchmark.name] = _write(out / "ranking" / f"{benchmark.name}.jsonl", "", lines)
    free_links(tables)
    for pair_set in plan.pair_sets:
        pairs = map("\t".join, draw_pairs(tables, pair_set, plan.pairs, plan.seed))
        counts.pairs[pair_set.name] = _write(out / f"{pair_set.name}.tsv", "\t".join(TweetPair._fields) + "\n", pairs)
    return counts


def _ranking_line(ranking: Ranking) -> str:
    ids, texts = zip(*ranking.candidates, strict=True)
    task = {"query": ranking.query[1], "candidates": texts, "relevance": ranking.relevance}
    return json.dumps({**task, "query_id": ranking.query[0], "candidate_ids": ids}, ensure_ascii=False)


def _write(file: Path, header: str, lines: Iterable[str]) -> int:
    """Write lines and return their number; without lines there is no file."""
    count = 0
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(header)
        for count, line in enumerate(lines, 1):  # noqa: B007 - the last number is the count
            stream.write(f"{line}\n")
    if not count:
        file.unlink()
    return count
