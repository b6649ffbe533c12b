"""Build the table of links between tweets: quotes, replies, and threads of a service desk.

All sets are drawn from the one table `links`: a row has a relation ("quotes", "replies" or "threads"), its
conversation, the first tweet a and the tweet b that quotes or answers it. The conversation of a quote or reply is the
tweet a; that of a thread is the connected component.

The authors' code removes duplicates before it saves its tables, and then searches them for tweets with two, five or six
quotes, which no longer exist. Here duplicates are removed last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from semblance.models.files.lines import Advance
from semblance_lab.corpora.archive import table_rows
from semblance_lab.corpora.tables import Tables
from semblance_lab.corpora.tweets import (
    NO_TWEET,
    SAME,
    RawTweet,
    Tally,
    Tweet,
    TweetRejected,
    cleaned_text,
    tweet_id,
)

LINK_COLUMNS = ("relation", "conversation", "a_id", "a_text", "b_id", "b_text")
THREAD_COLUMNS = ("tweet_id1", "tweet_id2", "text1", "text2")  # of a tweet, and of one that answers it

# of several copies of a tweet the longest is complete; the other columns only make the order deterministic
_TWEETS_ONCE = """
CREATE TABLE tweets AS SELECT * FROM read_tweets
QUALIFY row_number() OVER (
    PARTITION BY id ORDER BY length(text) DESC, text, quoted_id NULLS LAST, reply_to NULLS LAST
) = 1
"""
_QUOTED_ONCE = """
CREATE TABLE quoted AS SELECT * FROM read_quoted
QUALIFY row_number() OVER (PARTITION BY id ORDER BY length(text) DESC, text) = 1
"""
_LINKS = """
CREATE TABLE links AS
SELECT 'quotes' AS relation, a.id AS conversation, a.id AS a_id, a.text AS a_text, b.id AS b_id, b.text AS b_text
FROM tweets b JOIN quoted a ON b.quoted_id = a.id WHERE a.id <> b.id AND a.text <> b.text
UNION ALL
SELECT 'replies', a.id, a.id, a.text, b.id, b.text
FROM tweets b JOIN tweets a ON b.reply_to = a.id WHERE a.id <> b.id AND a.text <> b.text
"""


def link_tweets(tables: Tables, tweets: Iterable[Tweet]) -> int:
    """Create the table `links` from tweets, and return the number of distinct tweets.

    A reply links to a tweet that was read, too; a quote contains the quoted tweet. A tweet may occur several times, for
    example when it was retweeted. Tweets with the same text as the tweet that they quote or answer are left out: such a
    pair would teach nothing, and rank first trivially.
    """
    tables.create("read_tweets", ("id", "text", "reply_to", "quoted_id"))
    tables.create("read_quoted", ("id", "text"))
    with tables.appending("read_tweets") as add_tweet, tables.appending("read_quoted") as add_quoted:
        for tweet in tweets:
            add_tweet(tweet.id, tweet.text, tweet.reply_to, tweet.quoted.id if tweet.quoted else None)
            if tweet.quoted:
                add_quoted(tweet.quoted.id, tweet.quoted.text)
    for statement in (_TWEETS_ONCE, "DROP TABLE read_tweets", _QUOTED_ONCE, "DROP TABLE read_quoted", _LINKS):
        tables.run(statement)
    return tables.count("SELECT count(*) FROM tweets")


def count_links(tables: Tables) -> dict[str, int]:
    """The number of links of each relation."""
    return dict(tables.rows("SELECT relation, count(*) FROM links GROUP BY relation ORDER BY relation"))


def link_threads(tables: Tables, file: Path, tally: Tally, advance: Advance) -> int:
    """Create the table `links` from a file of threads: tab-separated, with the `THREAD_COLUMNS`.

    A thread is a connected component of tweets, rejected tweets included. Its name is the first of its ids, so the
    order of the rows does not matter. The links are in memory while they are joined.

    Returns:
        The number of threads, including those without a usable link.

    Raises:
        BadDataSet: the file cannot be read, or lacks a column.
    """
    texts: dict[str, str] = {}
    joined: list[tuple[str, str]] = []
    links: list[tuple[str, str]] = []
    for row in table_rows(file, THREAD_COLUMNS, tally, advance):
        try:
            tweets = _linked_tweets(row)
            joined.append((tweets[0].id, tweets[1].id))  # a rejected tweet still joins its thread
            for tweet in tweets:
                texts.setdefault(tweet.id, cleaned_text(tweet))
            links.append(_require_different(*joined[-1], texts))
            tally.kept += 1
        except TweetRejected as rejection:
            tally.refused[rejection.reason] += 1
    threads = _threads(joined)
    tables.create("links", LINK_COLUMNS)
    with tables.appending("links") as add:
        for a, b in dict.fromkeys(links):
            add("threads", threads[a], a, texts[a], b, texts[b])
    return len(set(threads.values()))


def _linked_tweets(row: dict[str, Any] | str) -> tuple[RawTweet, RawTweet]:
    """The two tweets of a row; a string is the reason why a row is invalid."""
    if isinstance(row, str):
        raise TweetRejected(row)
    first, second = (tweet_id(row[name]) for name in ("tweet_id1", "tweet_id2"))
    if first is None or second is None or first == second:
        raise TweetRejected(NO_TWEET)
    return RawTweet(first, row["text1"], "", None), RawTweet(second, row["text2"], "", None)


def _require_different(a: str, b: str, texts: Mapping[str, str]) -> tuple[str, str]:
    if texts[a] == texts[b]:
        raise TweetRejected(SAME)
    return a, b


def _threads(joined: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Tweet -> its thread, named by the first id."""
    names = sorted({name for link in joined for name in link})
    number = {name: i for i, name in enumerate(names)}
    ends = np.array([(number[a], number[b]) for a, b in joined], np.int64).reshape(-1, 2)
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import, and --help does not need it
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - likewise

    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(names), len(names)))
    _, labels = connected_components(graph, directed=False)
    first: dict[int, str] = {}
    return {name: first.setdefault(int(label), name) for name, label in zip(names, labels, strict=True)}
