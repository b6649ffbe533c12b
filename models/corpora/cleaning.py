r"""What of a tweet is text: the rules of Twitter4SSE, each a function of its own.

Source: digiovanni-brambilla-2021-twitter4sse, section 3; the order of the rules is that of the authors' code, but for
the lower case, which comes first here and last there. So `HTTPS://...` goes as well as `https://...`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MORE_THAN_CHARS = 20  # a cleaned text is kept if it is longer than this

_LINK = re.compile(r"http\S+")
_ENTITY = re.compile(r"&(amp|gt|lt);")
_CHARACTERS = {"amp": "&", "gt": ">", "lt": "<"}
_NAME = re.compile(r"(?<![\w@])@(\w{1,15})(?!\w)", re.ASCII)


def clean(text: str) -> str:
    r"""The text in lower case without links and "@", and with single spaces only.

    The result is in lower case and holds no "@", no tab or end of line, no two spaces in a row and none at the ends.
    Hashtags and emoji stay. Names of mentioned people are another matter: `without_names`, which comes before. An
    entity that was escaped twice is unescaped once, so cleaning again may change a text that holds one.

    >>> clean("Hello @Bob and\tAlice &amp; co\n&gt;&gt; 10 &lt; 20")
    'hello bob and alice & co >> 10 < 20'
    >>> clean("so true #WeLoveIt @")
    'so true #weloveit'
    >>> clean("")
    ''
    """
    return one_line(unescaped(without_at(without_links(text.lower()))))


def without_links(text: str) -> str:
    """The text without what begins with "http", up to the next white space.

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
    """The text with its characters for &amp; &gt; &lt;, one level of them; other entities are kept.

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
    """The text without "@" and a name for each of these names, whatever their case.

    The authors' code deletes the names themselves wherever their letters stand, so that @ann takes letters out of
    "anniversary" and leaves its own "@"; here only a whole @name goes.

    Args:
        text: a tweet, before `clean`.
        names: who is mentioned, as a tweet's entities tell, without "@".

    >>> without_names("@Ann happy anniversary @anna", ["ann"])
    ' happy anniversary @anna'
    """
    unwanted = {name.lower() for name in names}
    return _NAME.sub(lambda found: "" if found[1].lower() in unwanted else found[0], text) if unwanted else text


def without_any_names(text: str) -> str:
    """The same where nothing tells the names: every "@" with 1 to 15 letters, digits or "_" goes, addresses stay.

    >>> without_any_names("@SpotifyCares write to me@example.org")
    ' write to me@example.org'
    """
    return _NAME.sub("", text)


def long_enough(text: str) -> bool:
    """Whether a cleaned text is worth keeping: it has more than 20 characters.

    >>> long_enough(clean("Check THIS out https://t.co/AbC123 now!!"))
    False
    >>> len(clean("Check THIS out https://t.co/AbC123 now!!"))
    20
    """
    return len(text) > MORE_THAN_CHARS
