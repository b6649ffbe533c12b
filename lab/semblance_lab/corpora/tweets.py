r"""Parse tweets from JSON, clean their texts, and reject unusable ones.

Texts are cleaned by the rules of Twitter4SSE.

Source: digiovanni-brambilla-2021-twitter4sse, section 3; the rules are in the order of the authors' code, except that
lowercasing comes first here and last there. So `HTTPS://...` is removed like `https://...`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from semblance.models.files.tables import collapse_spaces
from semblance.models.text import text_problem

MORE_THAN_CHARS = 20  # a usable cleaned text is longer than this

_LINK = re.compile(r"http\S+")
_ENTITY = re.compile(r"&(amp|gt|lt);")
_CHARACTERS = {"amp": "&", "gt": ">", "lt": "<"}
_NAME = re.compile(r"(?<![\w@])@(\w{1,15})(?!\w)", re.ASCII)


def clean(text: str) -> str:
    r"""The text in lower case without links and "@", with single spaces only.

    The result is in lower case and contains no "@", no tab or newline, no double space and none at the ends. Hashtags
    and emoji are kept. Names of mentioned users are removed before, by `without_names`. An entity that was escaped
    twice is unescaped once, so cleaning again may change such a text.

    >>> clean("Hello @Bob and\tAlice &amp; co\n&gt;&gt; 10 &lt; 20")
    'hello bob and alice & co >> 10 < 20'
    >>> clean("so true #WeLoveIt @")
    'so true #weloveit'
    >>> clean("see https://t.co/AbC123 now"), clean("a &amp; b &amp;gt; &nbsp;")
    ('see now', 'a & b &gt; &nbsp;')
    >>> clean("")
    ''
    """
    without_links = _LINK.sub("", text.lower())
    return collapse_spaces(_ENTITY.sub(lambda entity: _CHARACTERS[entity[1]], without_links.replace("@", " ")))


def without_names(text: str, names: Iterable[str]) -> str:
    """The text without "@name" for each of these names, ignoring case.

    The authors' code deletes the letters of a name everywhere, so that @ann changes "anniversary" and leaves its "@";
    here only a complete @name is removed.

    Args:
        text: a tweet, before `clean`.
        names: mentioned users from a tweet's entities, without "@".

    >>> without_names("@Ann happy anniversary @anna", ["ann"])
    ' happy anniversary @anna'
    """
    mentioned = {name.lower() for name in names}
    return _NAME.sub(lambda match: "" if match[1].lower() in mentioned else match[0], text) if mentioned else text


def without_any_names(text: str) -> str:
    """The text without any "@name" of 1 to 15 letters, digits or "_"; addresses are kept.

    >>> without_any_names("@SpotifyCares write to me@example.org")
    ' write to me@example.org'
    """
    return _NAME.sub("", text)


def long_enough(text: str) -> bool:
    """Whether a cleaned text has more than 20 characters.

    >>> long_enough(clean("Check THIS out https://t.co/AbC123 now!!"))
    False
    >>> len(clean("Check THIS out https://t.co/AbC123 now!!"))
    20
    """
    return len(text) > MORE_THAN_CHARS


Row: TypeAlias = Mapping[str, Any]

# reasons of rejection: they are keys of about.json, so their wording is part of that format
NOT_JSON = "not a JSON object"
NO_TWEET = "no tweet: a deletion or another notice"
NO_FIELDS = "another number of fields than the header"
NOT_ENGLISH = "not in English"
SHORT = "20 characters or fewer once cleaned"
NO_TEXT = "not a text: half a character, or nothing to see"
SAME = "both texts are the same once cleaned"


class TweetRejected(Exception):
    """Raised for a tweet that no pair is drawn from; caught and counted where tweets are read."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class RawTweet:
    """A tweet before cleaning.

    Attributes:
        id: its number, as a string.
        text: the complete text.
        lang: its language, "" if unknown.
        names: names of mentioned users; None if unknown.
    """

    id: str
    text: str
    lang: str
    names: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Tweet:
    """A tweet that may become part of a pair.

    Attributes:
        id: its number, as a string.
        text: the cleaned text, of more than 20 characters.
        reply_to: the number of the tweet that it replies to.
        quoted: the tweet that it quotes, of which only id and text are read, if that is usable.
    """

    id: str
    text: str
    reply_to: str | None = None
    quoted: Tweet | None = None


@dataclass(slots=True)
class Tally:
    """Counts of the lines read.

    Each line is either kept or refused, so `lines` is `kept` plus the sum of `refused`. A kept tweet whose quoted tweet
    is rejected counts in `refused_quoted` too. `damaged` lists the truncated files.
    """

    lines: int = 0
    kept: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    refused_quoted: Counter[str] = field(default_factory=Counter)
    damaged: list[Path] = field(default_factory=list)


def cleaned_text(tweet: RawTweet) -> str:
    """The cleaned text of a tweet.

    Raises:
        TweetRejected: not in English, at most 20 characters after cleaning, or not a text that can be encoded.
    """
    if tweet.lang not in ("en", ""):
        raise TweetRejected(NOT_ENGLISH)
    text = clean(without_any_names(tweet.text) if tweet.names is None else without_names(tweet.text, tweet.names))
    if not long_enough(text):
        raise TweetRejected(SHORT)
    if text_problem(text) is not None:
        raise TweetRejected(NO_TEXT)
    return text


def parse_tweet(row: Row, tally: Tally) -> Tweet:
    """Parse the tweet of a JSON object in one of two forms.

    ======================== ==============================================================================
    `id_str`, `text`, ...    a tweet of Twitter's API 1.1. Of a retweet, the original is read; a long text is
                             in `extended_tweet`, the quoted tweet in `quoted_status`, the names of mentioned
                             users in `entities`.
    `id`, `text`             a row of a table, with `lang`, `in_reply_to`, `quoted_id`, `quoted_text` and
                             `quoted_lang` if known. A text without a language counts as English.
    ======================== ==============================================================================

    Args:
        row: the object.
        tally: counts rejected quoted tweets; the tweets that quote them may still be replies.

    Raises:
        TweetRejected: neither form, or not usable.
    """
    return _api_tweet(row, tally) if "id_str" in row else _table_tweet(row, tally)


def _api_tweet(row: Row, tally: Tally) -> Tweet:
    original = row.get("retweeted_status")
    row = original if isinstance(original, dict) else row
    raw, quoted = _raw_api_tweet(row), row.get("quoted_status")
    text, reply_to = cleaned_text(raw), tweet_id(row.get("in_reply_to_status_id_str"))
    return Tweet(raw.id, text, reply_to, _quoted(_raw_api_tweet, quoted, tally) if isinstance(quoted, dict) else None)


def _table_tweet(row: Row, tally: Tally) -> Tweet:
    raw = _raw_table_tweet(row)
    text, reply_to = cleaned_text(raw), tweet_id(row.get("in_reply_to"))
    quoted = {"id": row.get("quoted_id"), "text": row.get("quoted_text"), "lang": row.get("quoted_lang")}
    return Tweet(raw.id, text, reply_to, _quoted(_raw_table_tweet, quoted, tally) if tweet_id(quoted["id"]) else None)


def _quoted(read: Callable[[Row], RawTweet], row: Row, tally: Tally) -> Tweet | None:
    try:
        raw = read(row)
        return Tweet(raw.id, cleaned_text(raw))
    except TweetRejected as rejection:
        tally.refused_quoted[rejection.reason] += 1
        return None


def _raw_api_tweet(row: Row) -> RawTweet:
    """A tweet of the API; `extended_tweet` has the names that its long text mentions."""
    extended = row.get("extended_tweet")
    long = extended if isinstance(extended, dict) and isinstance(extended.get("full_text"), str) else {}
    name, text = tweet_id(row.get("id_str")), long.get("full_text", row.get("text"))
    if name is None or not isinstance(text, str):
        raise TweetRejected(NO_TWEET)
    return RawTweet(
        name, text, str(row.get("lang") or "und"), _mentioned_names(long.get("entities", row.get("entities")))
    )


def _raw_table_tweet(row: Row) -> RawTweet:
    name, text, lang = tweet_id(row.get("id")), row.get("text"), row.get("lang")
    if name is None or not isinstance(text, str):
        raise TweetRejected(NO_TWEET)
    return RawTweet(name, text, str(lang or ""), None)


def _mentioned_names(entities: object) -> list[str] | None:
    """The names in a tweet's entities; None without such entities, as in a reduced file."""
    mentions = entities.get("user_mentions") if isinstance(entities, dict) else None
    if not isinstance(mentions, list):
        return None
    names = (mention.get("screen_name") for mention in mentions if isinstance(mention, dict))
    return [name for name in names if isinstance(name, str)]


def tweet_id(value: object) -> str | None:
    """The id of a tweet: a number or a string without white space; None for other values."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    name = str(value)
    return name if name.isascii() and name.isprintable() and name and " " not in name else None
