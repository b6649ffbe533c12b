"""Threads: tables of links between tweets that are known already, as those of customers with a service desk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from semblance.models.corpora.archive import table_rows
from semblance.models.corpora.links import LINK
from semblance.models.corpora.tables import Tables
from semblance.models.corpora.tweet_json import tweet_id
from semblance.models.corpora.tweets import NO_TWEET, SAME, RawTweet, Refused, Tally, kept_text
from semblance.models.files.lines import Advance

COLUMNS = ("tweet_id1", "tweet_id2", "text1", "text2")  # of the tweet that came first, and of one that followed


def link_threads(tables: Tables, file: Path, tally: Tally, advance: Advance) -> int:
    """Make the table `links` of a table by tabs with the columns tweet_id1, tweet_id2, text1 and text2.

    A thread is all tweets that links join, also by way of tweets that are refused themselves. Its name is the first of
    its ids, so the order of the rows does not matter. The links are held in memory while they are joined.

    Returns:
        How many threads there are, those of which nothing is kept included.

    Raises:
        BadDataSet: the file cannot be read, or lacks a column.
    """
    texts: dict[str, str] = {}
    joined: list[tuple[str, str]] = []
    links: list[tuple[str, str]] = []
    for row in table_rows(file, COLUMNS, tally, advance):
        try:
            ends = _ends(row)
            joined.append((ends[0].id, ends[1].id))
            for said in ends:
                texts.setdefault(said.id, kept_text(said))
            links.append(_different(*joined[-1], texts))
            tally.kept += 1
        except Refused as refused:
            tally.refused[refused.reason] += 1
    threads = _threads(joined)
    tables.create("links", LINK)
    with tables.appending("links") as rows:
        for a, b in dict.fromkeys(links):
            rows.add("threads", threads[a], a, texts[a], b, texts[b])
    return len(set(threads.values()))


def _ends(row: dict[str, Any] | str) -> tuple[RawTweet, RawTweet]:
    """The two tweets of a row, or of the reason why it is none."""
    if isinstance(row, str):
        raise Refused(row)
    first, second = (tweet_id(row[name]) for name in ("tweet_id1", "tweet_id2"))
    if first is None or second is None or first == second:
        raise Refused(NO_TWEET)
    return RawTweet(first, row["text1"], "", None), RawTweet(second, row["text2"], "", None)


def _different(a: str, b: str, texts: Mapping[str, str]) -> tuple[str, str]:
    if texts[a] == texts[b]:
        raise Refused(SAME)
    return a, b


def _threads(joined: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The thread of each tweet, by the first of its ids."""
    names = sorted({name for link in joined for name in link})
    number = {name: i for i, name in enumerate(names)}
    ends = np.array([(number[a], number[b]) for a, b in joined], np.int64).reshape(-1, 2)
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(names), len(names)))
    _, labels = connected_components(graph, directed=False)
    first: dict[int, str] = {}
    return {name: first.setdefault(int(label), name) for name, label in zip(names, labels, strict=True)}
