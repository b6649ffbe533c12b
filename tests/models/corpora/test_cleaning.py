"""The cleaning of tweets: worked examples, and what holds of every text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.corpora.cleaning import clean, long_enough, without_any_names, without_names

TWEETS = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(
            ["http", "HTTPS://T.CO/x", "@", "@Bob", "&amp;", "&AMP;gt;", "\t", "\r\n", "\u2028", "İ", "Σ", " "]
        ),
    ),
    max_size=12,
).map("".join)


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
def test_a_cleaned_text_is_one_line_in_lower_case_without_at_signs_and_links(tweet: str) -> None:
    cleaned = clean(tweet)
    assert cleaned == cleaned.lower()
    assert "@" not in cleaned
    assert cleaned.split() == [word for word in cleaned.split(" ") if word]
    assert " ".join(cleaned.split()) == cleaned
    assert all(word == "http" or "http" not in word or word.endswith("http") for word in cleaned.split())


@given(TWEETS)
def test_the_case_of_a_tweet_does_not_matter(tweet: str) -> None:
    assert clean(tweet.lower()) == clean(tweet)


def test_a_text_is_long_enough_from_21_characters_on() -> None:
    assert [long_enough("x" * n) for n in (0, 20, 21)] == [False, False, True]


def test_only_whole_names_of_those_mentioned_are_taken_out() -> None:
    tweet = "@Ann wish @annabel a happy anniversary, @ANN! me@ann.org @@ann (@ann)"
    assert without_names(tweet, ["ann"]) == " wish @annabel a happy anniversary, ! me@ann.org @@ann ()"
    assert without_names(tweet, []) == tweet


def test_without_entities_all_that_look_like_names_are_taken_out() -> None:
    assert (
        without_any_names("@115890 and @Spotify_Cares, not @sixteen_letters_x or x@y")
        == " and , not @sixteen_letters_x or x@y"
    )
