"""A synthetic archive of tweets with the irregularities of real ones."""

from __future__ import annotations

import bz2
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_VOCABULARY = (
    "coffee morning train late again music album great game tonight team lost weather rain sunny weekend movie watched "
    "really love hate think never always people city street food pizza dinner friends happy birthday vote news story "
    "phone battery update broken support thanks waiting queue ticket concert guitar dog cat garden school exam teacher"
)
_WORDS = _VOCABULARY.split()
_NAMES = ("Ann_1", "bob", "SpotifyCares", "nasa", "MrRabbit")
LINES_PER_FILE = 10_000  # of `write_archive`

Json = dict[str, Any]


class TweetStream:
    """A random stream of tweets: new ones, and quotes, replies and retweets of earlier ones.

    Args:
        seed: seed of the random generator.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._recent: list[Json] = []
        self._next = 10**18

    def lines(self, count: int) -> Iterator[bytes]:
        """Generate lines; a few are deletions, truncated, or not JSON at all."""
        for _ in range(count):
            yield self._line()

    def _line(self) -> bytes:
        draw = self._rng.random()
        if draw < 0.05:
            return json.dumps({"delete": {"status": {"id_str": str(self._next)}}}).encode()
        if draw < 0.06:
            return json.dumps(self._new()).encode()[:-30]
        if draw < 0.07:
            return self._rng.choice([b"\xff\xfe", b"[1, 2]", b"null", b'"text"', b"{", b"[" * 50])
        return json.dumps(self._tweet()).encode()

    def _tweet(self) -> Json:
        draw = self._rng.random()
        if not self._recent or draw < 0.2:
            return self._remember(self._new())
        # the first ones in the list are the popular ones
        other = self._recent[min(int(self._rng.expovariate(0.1)), len(self._recent) - 1)]
        if draw < 0.5:
            return self._remember({**self._new(), "in_reply_to_status_id_str": other["id_str"]})
        if draw < 0.8:
            quoted = {key: value for key, value in other.items() if key != "quoted_status"}
            return self._remember({**self._new(), "quoted_status": quoted, "quoted_status_id_str": other["id_str"]})
        return {**self._new(), "text": f"RT {other['text']}", "retweeted_status": other}

    def _remember(self, tweet: Json) -> Json:
        if self._rng.random() < 0.15:
            self._recent.insert(self._rng.randrange(5), tweet)
            del self._recent[200:]
        return tweet

    def _new(self) -> Json:
        self._next += self._rng.randrange(1, 1000)
        text, name = self._text(), self._rng.choice(_NAMES)
        mentions = [{"screen_name": name}]
        tweet: Json = {
            "created_at": "Sun Nov 01 00:00:00 +0000 2020",
            "id": self._next,
            "id_str": str(self._next),
            "text": f"@{name} {text}",
            "lang": self._rng.choices(("en", "ja", "und"), (8, 1, 1))[0],
            "entities": {"user_mentions": mentions},
            "in_reply_to_status_id_str": None,
        }
        if self._rng.random() < 0.2:
            long = f"@{name} {text} " + " ".join(self._rng.choices(_WORDS, k=20))
            tweet["extended_tweet"] = {"full_text": long, "entities": {"user_mentions": mentions}}
            tweet["text"] = f"{tweet['text'][:30]}… https://t.co/more"
        return tweet

    def _text(self) -> str:
        if self._rng.random() < 0.1:
            return self._rng.choice(["ok", "happy birthday my dear friend", "lol \U0001f602", "😀" * 30])
        words = self._rng.choices(_WORDS, k=self._rng.randrange(3, 14))
        ornament = self._rng.choice(
            ["", "", " &amp; more", "\nSECOND LINE", " https://t.co/AbC123", " HTTP://X.Y", "\tx"]
        )
        return " ".join(words).capitalize() + ornament


def write_archive(folder: Path, count: int, seed: int = 0) -> Path:
    """Write lines as *.json.bz2 files, in the layout of archives of the Twitter stream."""
    stream, left = TweetStream(seed), count
    for number in range(-(-count // LINES_PER_FILE)):
        file = folder / "2020" / "11" / f"{number // 60:02}" / f"{number % 60:02}.json.bz2"
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = stream.lines(min(LINES_PER_FILE, left))
        file.write_bytes(bz2.compress(b"".join(line + b"\r\n" for line in lines), 1))
        left -= LINES_PER_FILE
    return folder
