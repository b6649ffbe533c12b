"""Tweets as pairs are made of them, and why some are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from semblance.models.corpora.cleaning import clean, long_enough, without_any_names, without_names
from semblance.models.tokenization.refusals import fault_of

NOT_JSON = "not a JSON object"
NO_TWEET = "no tweet: a deletion or another notice"
NO_FIELDS = "another number of fields than the header"
NOT_ENGLISH = "not in English"
SHORT = "20 characters or fewer once cleaned"
NO_TEXT = "not a text: half a character, or nothing to see"
SAME = "both texts are the same once cleaned"


class Refused(Exception):
    """A tweet of which no pair is made; caught and counted where tweets are read."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class RawTweet:
    """A tweet as it was sent.

    Attributes:
        id: its number, as a string.
        text: all of it.
        lang: its language, "" where nobody says.
        names: who is mentioned; None where nobody says.
    """

    id: str
    text: str
    lang: str
    names: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Quoted:
    """A tweet that another one quotes: its number and its text once cleaned."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Tweet:
    """A tweet that may become part of a pair.

    Attributes:
        id: its number, as a string.
        text: once cleaned, of more than 20 characters.
        reply_to: the number of the tweet that it replies to.
        quoted: the tweet that it quotes, if pairs can be made of that.
    """

    id: str
    text: str
    reply_to: str | None = None
    quoted: Quoted | None = None


@dataclass(slots=True)
class Tally:
    """What became of the lines that were read.

    Each line is either kept or refused, so `lines` is `kept` and all of `refused` together. A kept tweet whose quoted
    tweet will not do counts in `refused_quoted` too. `damaged` names the files that break off.
    """

    lines: int = 0
    kept: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    refused_quoted: Counter[str] = field(default_factory=Counter)
    damaged: list[Path] = field(default_factory=list)


def kept_text(said: RawTweet) -> str:
    """The cleaned text of a tweet.

    Raises:
        Refused: it is not in English, has no more than 20 characters then, or is no text that could be encoded.
    """
    if said.lang not in ("en", ""):
        raise Refused(NOT_ENGLISH)
    named = without_any_names(said.text) if said.names is None else without_names(said.text, said.names)
    text = clean(named)
    if not long_enough(text):
        raise Refused(SHORT)
    if fault_of(text) is not None:
        raise Refused(NO_TEXT)
    return text
