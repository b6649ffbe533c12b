"""Tweets as JSON: as Twitter's streams gave them, and a plain form with a column for each thing that matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from semblance.models.corpora.tweets import NO_TWEET, Quoted, RawTweet, Refused, Tally, Tweet, kept_text

Row: TypeAlias = Mapping[str, Any]


def tweet_of(row: Row, tally: Tally) -> Tweet:
    """The tweet of a JSON object, in whichever of the two forms.

    ======================== ==============================================================================
    `id_str`, `text`, ...    a tweet of Twitter's API 1.1. Of a retweet, the original is read; a long text
                             stands in `extended_tweet`, the quoted tweet in `quoted_status`, the names of
                             those mentioned in `entities`.
    `id`, `text`             a row of a table, with `lang`, `in_reply_to`, `quoted_id`, `quoted_text` and
                             `quoted_lang` where they are known. A text without a language counts as English.
    ======================== ==============================================================================

    Args:
        row: the object.
        tally: counts quoted tweets that will not do; their quotes may still be replies.

    Raises:
        Refused: it is neither, or pairs cannot be made of it.
    """
    return _of_stream(row, tally) if "id_str" in row else _of_table(row, tally)


def _of_stream(row: Row, tally: Tally) -> Tweet:
    original = row.get("retweeted_status")
    row = original if isinstance(original, dict) else row
    said, quoted = _said(row), row.get("quoted_status")
    text, reply_to = kept_text(said), tweet_id(row.get("in_reply_to_status_id_str"))
    return Tweet(said.id, text, reply_to, _quoted(_said, quoted, tally) if isinstance(quoted, dict) else None)


def _of_table(row: Row, tally: Tally) -> Tweet:
    said = _plain(row)
    text, reply_to = kept_text(said), tweet_id(row.get("in_reply_to"))
    quoted = {"id": row.get("quoted_id"), "text": row.get("quoted_text"), "lang": row.get("quoted_lang")}
    return Tweet(said.id, text, reply_to, _quoted(_plain, quoted, tally) if tweet_id(quoted["id"]) else None)


def _quoted(read: Callable[[Row], RawTweet], row: Row, tally: Tally) -> Quoted | None:
    try:
        said = read(row)
        return Quoted(said.id, kept_text(said))
    except Refused as refused:
        tally.refused_quoted[refused.reason] += 1
        return None


def _said(row: Row) -> RawTweet:
    """A tweet of the API; `extended_tweet` knows the names that its long text mentions."""
    extended = row.get("extended_tweet")
    long = extended if isinstance(extended, dict) and isinstance(extended.get("full_text"), str) else {}
    name, text = tweet_id(row.get("id_str")), long.get("full_text", row.get("text"))
    if name is None or not isinstance(text, str):
        raise Refused(NO_TWEET)
    return RawTweet(name, text, str(row.get("lang") or "und"), _mentioned(long.get("entities", row.get("entities"))))


def _plain(row: Row) -> RawTweet:
    name, text, lang = tweet_id(row.get("id")), row.get("text"), row.get("lang")
    if name is None or not isinstance(text, str):
        raise Refused(NO_TWEET)
    return RawTweet(name, text, str(lang or ""), None)


def _mentioned(entities: object) -> list[str] | None:
    """The names in a tweet's entities; None if it has none of the kind, as in a file that was cut down."""
    mentions = entities.get("user_mentions") if isinstance(entities, dict) else None
    if not isinstance(mentions, list):
        return None
    names = (mention.get("screen_name") for mention in mentions if isinstance(mention, dict))
    return [name for name in names if isinstance(name, str)]


def tweet_id(given: object) -> str | None:
    """What names a tweet: a number or a string without white space; None for anything else."""
    if isinstance(given, bool) or not isinstance(given, int | str):
        return None
    name = str(given)
    return name if name.isascii() and name.isprintable() and name and " " not in name else None
