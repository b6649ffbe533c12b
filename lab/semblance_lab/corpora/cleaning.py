r"""Clean the texts of tweets by the rules of Twitter4SSE, one function per rule.

Source: digiovanni-brambilla-2021-twitter4sse, section 3; the rules are in the order of the authors' code, except that
lowercasing comes first here and last there. So `HTTPS://...` is removed like `https://...`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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
    >>> clean("")
    ''
    """
    return one_line(unescaped(without_at(without_links(text.lower()))))


def without_links(text: str) -> str:
    """The text without strings from "http" to the next white space.

    >>> without_links("see https://t.co/AbC123 now")
    'see  now'
    """
    return _LINK.sub("", text)


def without_at(text: str) -> str:
    """The text with a space for each "@".

    >>> without_at("so @bob")
    'so  bob'
    """
    return text.replace("@", " ")


def unescaped(text: str) -> str:
    """The text with &amp; &gt; &lt; unescaped once; other entities are kept.

    >>> unescaped("a &amp; b &amp;gt; &nbsp;")
    'a & b &gt; &nbsp;'
    """
    return _ENTITY.sub(lambda entity: _CHARACTERS[entity[1]], text)


def one_line(text: str) -> str:
    r"""The text with one space for each run of white space, and none at the ends.

    >>> one_line("a\n\t b ")
    'a b'
    """
    return " ".join(text.split())


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
