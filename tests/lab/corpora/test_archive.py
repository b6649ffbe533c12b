"""Reading and cleaning tweets: both JSON forms, tables, and invalid or truncated input."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.errors import BadDataSet
from semblance_lab.corpora.archive import read_tweets, tweet_files
from semblance_lab.corpora.tweets import (
    NO_FIELDS,
    NO_TEXT,
    NO_TWEET,
    NOT_ENGLISH,
    NOT_JSON,
    SHORT,
    Tally,
    Tweet,
    TweetRejected,
    clean,
    long_enough,
    parse_tweet,
    without_any_names,
    without_names,
)
from tests.support.text_files import write, write_json, write_table

LONG = "A tweet that is long enough to be kept"


def sent(number: int = 1, text: str = LONG, **fields: Any) -> dict[str, Any]:
    """A tweet of the API."""
    return {"id_str": str(number), "text": text, "lang": "en", "entities": {"user_mentions": []}, **fields}


def read(path: Path) -> tuple[list[Tweet], Tally]:
    tally = Tally()
    return list(read_tweets(tweet_files(path), tally, lambda _: None)), tally


def one(row: dict[str, Any]) -> Tweet:
    return parse_tweet(row, Tally())


def test_long_tweets_use_the_full_text_without_mentions() -> None:
    ann, bob = ({"user_mentions": [{"screen_name": name}]} for name in ("ann", "bob"))
    extended = {"full_text": f"@Ann and @bob: {LONG}, all of it", "entities": ann}
    tweet = one(sent(text="A tweet that is…", extended_tweet=extended, entities=bob))
    assert tweet == Tweet("1", f"and bob: {LONG.lower()}, all of it")


def test_retweets_use_the_original_and_its_quoted_tweet() -> None:
    quote = sent(2, quoted_status=sent(3, f"{LONG}, which is quoted"), in_reply_to_status_id_str="9")
    tweet = one(sent(4, "RT @x: A tweet…", lang="ja", retweeted_status=quote, quoted_status=sent(5)))
    assert tweet == Tweet("2", LONG.lower(), "9", Tweet("3", f"{LONG.lower()}, which is quoted"))


@pytest.mark.parametrize(
    ("quoted", "reason"),
    [
        (sent(3, lang="fr"), NOT_ENGLISH),
        (sent(3, "short"), SHORT),
        (sent(3) | {"text": 7}, NO_TWEET),
        (sent(3, "\u200b" * 30), NO_TEXT),
    ],
)
def test_quotes_of_rejected_tweets_are_still_tweets(quoted: dict[str, Any], reason: str) -> None:
    tally = Tally()
    assert parse_tweet(sent(quoted_status=quoted), tally) == Tweet("1", LONG.lower())
    assert tally.refused_quoted == {reason: 1}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"delete": {"status": {"id_str": "1"}}}, NO_TWEET),
        (sent(lang="de"), NOT_ENGLISH),
        ({"id_str": "1", "text": LONG}, NOT_ENGLISH),
        (sent(text="Check THIS out https://t.co/AbC123 now!!"), SHORT),
        (sent(text=LONG + "\ud800"), NO_TEXT),
        (sent(id_str=None), NO_TWEET),
        ({"id": 1.5, "text": LONG}, NO_TWEET),
        ({"id": "a b", "text": LONG}, NO_TWEET),
    ],
)
def test_unusable_tweets_are_rejected_with_a_reason(row: dict[str, Any], reason: str) -> None:
    with pytest.raises(TweetRejected) as refused:
        one(row)
    assert refused.value.reason == reason


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([LONG, "en", "1"]),
    lambda value: st.lists(value, max_size=2) | st.dictionaries(st.text(max_size=3), value, max_size=2),
    max_leaves=5,
)
OTHER_FIELDS = "id retweeted_status quoted_status extended_tweet in_reply_to_status_id_str quoted_id in_reply_to"
FIELDS = st.sampled_from([*sent(), *OTHER_FIELDS.split()])


@given(st.dictionaries(FIELDS, JSON), st.dictionaries(FIELDS, JSON))
def test_any_object_is_parsed_or_rejected(row: dict[str, Any], inner: dict[str, Any]) -> None:
    nested = [sent() | {place: sent() | inner} for place in ("quoted_status", "retweeted_status")]
    for given_row in (row, sent() | row, *nested, {"id": 1, "text": LONG} | row):
        try:
            tweet = one(given_row)
        except TweetRejected:
            continue
        assert len(tweet.text) > 20
        assert tweet.quoted is None or len(tweet.quoted.text) > 20


def test_nested_compressed_files_are_read_in_path_order(tmp_path: Path) -> None:
    line = {n: json.dumps(sent(n)).encode() + b"\n" for n in range(1, 6)}
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "1.json.bz2").write_bytes(bz2.compress(line[1]) + bz2.compress(line[2]))
    (tmp_path / "a" / "c.json.gz").write_bytes(gzip.compress(line[3]))
    (tmp_path / "d.jsonl").write_bytes(b"\xef\xbb\xbf" + line[4].replace(b"\n", b"\r\n") + b"\n")
    (tmp_path / "e.json").write_bytes(line[5])
    write(tmp_path / "readme.txt", "nothing to see")
    tally, read_bytes = Tally(), list[int]()
    tweets = list(read_tweets(files := tweet_files(tmp_path), tally, read_bytes.append))
    assert sum(read_bytes) == sum(file.stat().st_size for file in files)
    assert [tweet.id for tweet in tweets] == ["1", "2", "3", "4", "5"]
    assert (tally.lines, tally.kept, tally.refused, tally.damaged) == (5, 5, {}, [])
    assert [tweet.id for tweet in read(tmp_path / "e.json")[0]] == ["5"]


def test_rows_are_equal_from_json_and_tables(tmp_path: Path) -> None:
    row = {"id": "7", "text": f"@ann {LONG}", "lang": "en", "in_reply_to": "6", "quoted_id": "5"}
    row |= {"quoted_text": f"{LONG} x"}
    wanted = [Tweet("7", LONG.lower(), "6", Tweet("5", f"{LONG.lower()} x"))]
    assert read(write_table(tmp_path / "t.tsv", [list(row), list(row.values())]))[0] == wanted
    assert read(write_json(tmp_path / "t.jsonl", row | {"id": 7}))[0] == wanted
    bare = write_table(tmp_path / "bare.tsv", [("text", "id"), (LONG, 8), (LONG,), (LONG, "")])
    tweets, tally = read(bare)
    assert tweets == [Tweet("8", LONG.lower())]
    assert tally.refused == {NO_FIELDS: 1, NO_TWEET: 1}


def test_invalid_utf8_rejects_its_line_only(tmp_path: Path) -> None:
    file = tmp_path / "t.tsv"
    file.write_bytes(b"id\ttext\n1\t" + LONG.encode() + b"\xff\n2\t" + LONG.encode() + b"\n")
    tweets, tally = read(file)
    assert [tweet.id for tweet in tweets] == ["2"]
    assert tally.refused == {NO_TEXT: 1}


def test_invalid_lines_are_counted_by_reason(tmp_path: Path) -> None:
    lines = [b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, b'{"id": ' + b"9" * 5000 + b"}", b"", b"null"]
    file = tmp_path / "broken.json"
    file.write_bytes(b"\n".join([json.dumps(sent()).encode(), *lines, json.dumps(sent(2)).encode()]))
    tweets, tally = read(file)
    assert [tweet.id for tweet in tweets] == ["1", "2"]
    assert (tally.lines, tally.kept, tally.refused) == (8, 2, {NOT_JSON: 6})


@pytest.mark.parametrize(("ending", "compress"), [(".json.bz2", bz2.compress), (".json.gz", gzip.compress)])
def test_truncated_files_are_read_to_the_break_and_listed(tmp_path: Path, ending: str, compress: Any) -> None:
    whole = compress(b"".join(json.dumps(sent(n)).encode() + b"\n" for n in range(1, 101)))
    cut = tmp_path / f"a{ending}"
    cut.write_bytes(whole + compress(json.dumps(sent(101)).encode())[:-12])
    (tmp_path / f"b{ending}").write_bytes(compress(json.dumps(sent(102)).encode()))
    (tmp_path / f"c{ending}").write_bytes(b"this is not compressed")
    tweets, tally = read(tmp_path)
    assert [int(tweet.id) for tweet in tweets] == [*range(1, 101), 102]
    assert tally.damaged == [cut, tmp_path / f"c{ending}"]


def test_unreadable_input_error_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(BadDataSet, match=r"contains no files of tweets; names must end in \.json\.bz2"):
        tweet_files(write(tmp_path / "readme.txt", "x").parent)
    with pytest.raises(BadDataSet, match=r"t\.tsv, line 1: no column is named text"):
        read(write(tmp_path / "t.tsv", "id\tsaid", "1\tx"))


PARTS = ["http", "HTTPS://T.CO/x", "@", "@Bob", "&amp;", "&AMP;gt;", "\t", "\r\n", "\u2028", "İ", "Σ", " "]
TEXTS = st.lists(st.text(max_size=8) | st.sampled_from(PARTS), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("tweet", "cleaned"),
    [
        ("Check THIS out https://t.co/AbC123 now!!", "check this out now!!"),
        ("Hello @Bob and\tAlice &amp; co\n&gt;&gt; 10 &lt; 20", "hello bob and alice & co >> 10 < 20"),
        ("so true #WeLoveIt @", "so true #weloveit"),
        ("", ""),
        ("HTTP://EXAMPLE.ORG/A in capitals", "in capitals"),
        ("twice &amp;amp; and &nbsp;", "twice &amp; and &nbsp;"),
        ("a\r\nb\u2003c\x85d", "a b c d"),
        ("😀 stays, #Tags too", "😀 stays, #tags too"),
    ],
)
def test_worked_examples_of_cleaning(tweet: str, cleaned: str) -> None:
    assert clean(tweet) == cleaned


@given(TEXTS)
def test_cleaned_text_is_one_lowercase_line_without_at_and_links(tweet: str) -> None:
    cleaned = clean(tweet)
    assert cleaned == cleaned.lower() == clean(tweet.lower())
    assert "@" not in cleaned
    assert " ".join(cleaned.split()) == cleaned
    assert all(word.endswith("http") or "http" not in word for word in cleaned.split())


def test_texts_need_21_characters() -> None:
    assert [long_enough("x" * n) for n in (0, 20, 21)] == [False, False, True]


def test_only_complete_mentioned_names_are_removed() -> None:
    tweet = "@Ann wish @annabel a happy anniversary, @ANN! me@ann.org @@ann (@ann)"
    assert without_names(tweet, ["ann"]) == " wish @annabel a happy anniversary, ! me@ann.org @@ann ()"
    assert without_names(tweet, []) == tweet


def test_without_entities_everything_like_a_name_is_removed() -> None:
    tweet = "@115890 and @Spotify_Cares, not @sixteen_letters_x or x@y"
    assert without_any_names(tweet) == " and , not @sixteen_letters_x or x@y"
