"""Links between tweets: which quotes or replies to which, all of them, before anything is drawn.

One table `links` serves everything that is drawn from it: a row has a relation ("quotes", "replies" or "threads"), the
conversation that it belongs to, the tweet a that came first and the tweet b that quotes or answers it. Of a quote or
reply the conversation is the tweet a; of a thread it is all that hangs together.

The authors' code removes duplicates before it saves its tables, and then looks in them for tweets with two, five or six
quotes, which there are none of any more. Here duplicates go last.
"""

from __future__ import annotations

from collections.abc import Iterable

from semblance.models.corpora.tables import Tables
from semblance.models.corpora.tweets import Tweet

LINK = ("relation", "conversation", "a_id", "a_text", "b_id", "b_text")


# of several readings of one tweet the longest is whole; the rest of the order is only to be always the same
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
    """Make the table `links` of tweets as they are read, and say how many different ones there were.

    A reply links to a tweet that was itself read; a quote brings the quoted tweet with it. A tweet may come several
    times, as when it was retweeted. Tweets that say the same as what they quote or answer are left out: the pair would
    teach nothing, and rank itself first.
    """
    tables.create("read_tweets", ("id", "text", "reply_to", "quoted_id"))
    tables.create("read_quoted", ("id", "text"))
    with tables.appending("read_tweets") as tweet_rows, tables.appending("read_quoted") as quoted_rows:
        for tweet in tweets:
            tweet_rows.add(tweet.id, tweet.text, tweet.reply_to, tweet.quoted.id if tweet.quoted else None)
            if tweet.quoted:
                quoted_rows.add(tweet.quoted.id, tweet.quoted.text)
    for statement in (_TWEETS_ONCE, "DROP TABLE read_tweets", _QUOTED_ONCE, "DROP TABLE read_quoted", _LINKS):
        tables.run(statement)
    return tables.count("SELECT count(*) FROM tweets")


def count_links(tables: Tables) -> dict[str, int]:
    """How many links there are of each relation."""
    return dict(tables.rows("SELECT relation, count(*) FROM links GROUP BY relation ORDER BY relation"))
