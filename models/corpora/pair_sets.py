"""Pairs to train on, drawn from links that no benchmark uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from semblance.models.corpora.tables import Tables


@dataclass(frozen=True, slots=True)
class PairSet:
    """A set of pairs.

    Attributes:
        name: how its file is named.
        relation: the links that it is drawn from.
        siblings: whether a pair is two tweets that quote or answer the same one, in the place of a link's own two.
    """

    name: str
    relation: str
    siblings: bool = False


OF_TWEETS = (
    PairSet("quotes", "quotes"),
    PairSet("replies", "replies"),
    PairSet("co_quotes", "quotes", siblings=True),
    PairSet("co_replies", "replies", siblings=True),
)
OF_THREADS = PairSet("threads", "threads")


class Pair(NamedTuple):
    """Two texts that are weakly alike, with the ids of their tweets: a row of a file, in the order of its columns."""

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
CREATE OR REPLACE TABLE found AS
SELECT a_id, a_text, b_id, b_text, md5_number_lower(concat_ws(' ', $seed, $name, a_id, b_id)) AS draw
FROM free WHERE relation = $relation
"""
_SIBLINGS = """
CREATE OR REPLACE TABLE found AS
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
    SELECT * FROM found QUALIFY row_number() OVER (
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
    """Make the table `free`: the links of which no tweet is held out, neither by its id nor by its text."""
    tables.run(_FREE)


def draw_pairs(tables: Tables, wanted: PairSet, most: int, seed: int) -> Iterator[Pair]:
    """The pairs of a set, each text at most once on either side, in the order of a seeded hash of their ids.

    text_a is the tweet that was quoted or answered and text_b the quote or reply, as in the paper; the authors' code
    turns quotes round. Of siblings both quote or answer the same tweet, which has at least two of them with different
    texts. Of several pairs with one text the first in that order stays, so the order of the files does not matter; as
    in the authors' code quoted tweets are made unique before quotes, but replies before the tweets that they answer.
    The paper does not say that pairs of siblings are made unique, too.

    Source: digiovanni-brambilla-2021-twitter4sse, section 3.

    Args:
        tables: with the table `free`.
        wanted: which set.
        most: how many pairs there may be: 250,000 in the paper.
        seed: of the hash.
    """
    tables.run(
        _SIBLINGS if wanted.siblings else _LINKED,
        {"seed": str(seed), "name": wanted.name, "relation": wanted.relation},
    )
    given = {"anchors_first": wanted.relation == "quotes", "most": most}
    return (Pair(*row) for row in tables.rows(_PAIRS, given))
