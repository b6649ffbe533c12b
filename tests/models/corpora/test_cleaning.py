"""Cleaning of tweets: worked examples, and laws for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.corpora.cleaning import clean, long_enough, without_any_names, without_names

PARTS = ["http", "HTTPS://T.CO/x", "@", "@Bob", "&amp;", "&AMP;gt;", "\t", "\r\n", "\u2028", "İ", "Σ", " "]
TWEETS = st.lists(st.text(max_size=8) | st.sampled_from(PARTS), max_size=12).map("".join)


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
def test_worked_examples(tweet: str, cleaned: str) -> None:
    assert clean(tweet) == cleaned


@given(TWEETS)
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
