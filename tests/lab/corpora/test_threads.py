"""Threads: connected components, held out completely."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet
from semblance_lab.corpora.links import THREAD_COLUMNS, link_threads
from semblance_lab.corpora.rankings import THREAD_BENCHMARK, Sizes
from semblance_lab.corpora.sets import THREAD_PAIRS, CorpusPlan, SetCounts, make_sets
from semblance_lab.corpora.tables import Tables
from semblance_lab.corpora.tweets import NO_FIELDS, NO_TWEET, SAME, SHORT, Tally
from tests.lab.corpora.test_sets import pairs, rankings
from tests.support.text_files import write, write_table


def draw_sets(file: Path, out: Path, sizes: Sizes) -> tuple[SetCounts, Tally, int]:
    tally, scratch = Tally(), out.with_name(f"{out.name}-scratch")
    scratch.mkdir()
    with closing(Tables(scratch, 500)) as tables:
        found = link_threads(tables, file, tally, lambda _: None)
        plan = CorpusPlan((THREAD_BENCHMARK,), (THREAD_PAIRS,), sizes)
        return make_sets(tables, plan, out), tally, found


def text(name: object) -> str:
    return f"@Desk this is what tweet {name} says"


def test_threads_joined_by_short_tweets_are_held_out_completely(tmp_path: Path) -> None:
    """The short tweet 3 connects the tweets 1 to 5; the rows 1-2 and 4-5 give pairs."""
    rows = [(1, 2, text(1), text(2)), (2, 3, text(2), "ok"), (3, 4, "ok", text(4)), (4, 5, text(4), text(5))]
    other = [(11, 12, text(11), text(12)), (21, 22, text(21), text(22))]
    file = write_table(tmp_path / "t.tsv", [THREAD_COLUMNS, *rows, *other])
    counts, tally, found = draw_sets(file, tmp_path / "out", Sizes(2, 1, 1))
    assert (tally.lines, tally.kept, tally.refused) == (6, 4, {SHORT: 2})
    assert found == 3
    assert counts.queries == {"threads": 2}
    shown = {each for row in rankings(tmp_path / "out", "threads") for each in (row["query_id"], *row["candidate_ids"])}
    threads = ({"1", "2", "4", "5"}, {"11", "12"}, {"21", "22"})
    [left] = [thread for thread in threads if not thread & shown]
    linked = {(a, b) for _, _, a, b in pairs(tmp_path / "out", "threads")}
    assert linked == {(a, b) for a, b in (("1", "2"), ("4", "5"), ("11", "12"), ("21", "22")) if a in left}


def test_rejected_rows_are_counted(tmp_path: Path) -> None:
    rows = [
        (1, 2, text(1), text(2)),
        (1,),
        (3, 3, text(3), text(4)),
        (5, 6, text("x"), text("X")),
        (7, "", text(7), ""),
    ]
    file = write_table(tmp_path / "t.tsv", [THREAD_COLUMNS, *rows])
    counts, tally, _ = draw_sets(file, tmp_path / "out", Sizes(0, 1, 1))
    assert (tally.kept, tally.refused) == (1, {NO_FIELDS: 1, NO_TWEET: 2, SAME: 1})
    assert pairs(tmp_path / "out", "threads") == [("this is what tweet 1 says", "this is what tweet 2 says", "1", "2")]
    assert counts.pairs == {"threads": 1}


def test_table_without_the_columns_raises(tmp_path: Path) -> None:
    with pytest.raises(BadDataSet, match=r"t\.tsv, line 1: no column is named tweet_id2, text1"):
        draw_sets(write(tmp_path / "t.tsv", "tweet_id1\ttext2"), tmp_path / "out", Sizes())
