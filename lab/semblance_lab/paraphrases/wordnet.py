"""WordNet 3.0: words that are opposites, that say the same, and that are of one kind.

The files `data.noun`, `index.noun` and those of verbs, adjectives and adverbs are in the format `wndb`, as in the
folder /usr/share/wordnet of Debian's package wordnet-base.

Source: fellbaum-1998-wordnet.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from semblance.models.files.lines import text_lines
from semblance.models.files.tables import row_error
from semblance.models.tokenization.function_words import say_much

FREQUENT = 3000  # occurrences of a word in Wikipedia from which it takes part in relations
RARE = 400  # of one that only stands for others of its kind
CLASSES: Mapping[str, str] = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
KINDS = {"05", "06", "08", "13", "15", "18", "20", "23", "27", "28"}  # animals, things, body, food, places ... time
NAMED = {"10", "14", "15", "17", "18"}  # works, groups, places, objects in nature, persons

T = TypeVar("T")
Key: TypeAlias = tuple[str, str]
"""Class and offset of a synset."""
Related: TypeAlias = Mapping[str, Sequence[str]]
"""Word -> words, in the order of the alphabet."""


class Pointer(NamedTuple):
    """Relation of a synset to another; the numbers of the words begin at 1, and 0 means all."""

    symbol: str
    target: Key
    from_word: int
    to_word: int


class Synset(NamedTuple):
    """Words of one sense; the topic is the number of its file of lexicographers."""

    topic: str
    words: Sequence[str]
    pointers: Sequence[Pointer]


class Senses(NamedTuple):
    """Synsets of a word in one class, the most frequent first; `tagged` occur in texts."""

    synsets: Sequence[Key]
    tagged: int


@dataclass(frozen=True, slots=True, eq=False)
class WordNet:
    """The synsets by their keys, and the senses of each word in lower case by class."""

    synsets: Mapping[Key, Synset]
    senses: Mapping[str, Mapping[str, Senses]]

    def main_class(self, word: str) -> str | None:
        """Class of most senses of a word: "n", "v", "a" or "r"; None for an unknown word."""
        senses = self.senses.get(word, {})
        return max(senses, key=lambda each: (senses[each].tagged, len(senses[each].synsets)), default=None)

    def is_main_sense(self, word: str, key: Key) -> bool:
        """Whether a synset has the first sense of a word in its main class."""
        return self.main_class(word) == key[0] and self.senses[word][key[0]].synsets[0] == key

    def is_frequent_sense(self, word: str, key: Key) -> bool:
        """Whether a synset has one of the first two senses of a word in its class."""
        senses = self.senses.get(word, {}).get(key[0])
        return senses is not None and key in senses.synsets[:2]

    def count_senses(self, word: str, kind: str = "n") -> int:
        """Number of senses of a word in a class."""
        senses = self.senses.get(word.lower(), {}).get(kind)
        return len(senses.synsets) if senses else 0


def read_wordnet(folder: Path) -> WordNet:
    """Read the files of a folder.

    Raises:
        BadDataSet: a file cannot be read, or a line has another format; the message names both.
    """
    synsets: dict[Key, Synset] = {}
    senses: defaultdict[str, dict[str, Senses]] = defaultdict(dict)
    for name, kind in CLASSES.items():
        for offset, synset in _parsed(folder / f"data.{name}", _synset):
            synsets[kind, offset] = synset
        for word, (offsets, tagged) in _parsed(folder / f"index.{name}", _offsets):
            senses[word][kind] = Senses([(kind, offset) for offset in offsets], tagged)
    return WordNet(synsets, dict(senses))


def _parsed(file: Path, parse: Callable[[Sequence[str]], T]) -> Iterator[tuple[str, T]]:
    """First field of each line, and its parsed fields; lines of the license begin with spaces."""
    for number, line in text_lines(file):
        if line.strip() and not line.startswith("  "):
            fields = line.split(" | ")[0].split()
            try:
                yield fields[0], parse(fields)
            except (ValueError, IndexError) as error:
                raise row_error(file, number, "the line has not the format wndb of WordNet 3.0") from error


def _offsets(fields: Sequence[str]) -> tuple[Sequence[str], int]:
    """Offsets of the synsets of a word, and how many of its senses are tagged."""
    pointers = int(fields[3])
    return fields[6 + pointers :], int(fields[5 + pointers])


def _synset(fields: Sequence[str]) -> Synset:
    count = int(fields[3], 16)
    words = [re.sub(r"\(.*\)", "", fields[4 + 2 * i]) for i in range(count)]
    start = 5 + 2 * count
    pointers = []
    for i in range(int(fields[start - 1])):
        symbol, offset, kind, words_of = fields[start + 4 * i : start + 4 * i + 4]
        target = ("a" if kind == "s" else kind, offset)
        pointers.append(Pointer(symbol, target, *divmod(int(words_of, 16), 256)))
    return Synset(fields[1], words, pointers)


@dataclass(frozen=True, slots=True, eq=False)
class Relations:
    """Words in lower case by how they relate, of the senses that they have most often.

    Attributes:
        wordnet: what they were drawn from.
        antonyms: opposites.
        synonyms: words that say the same.
        sisters: frequent nouns of one kind, such as red and blue, which say different things.
        kin: groups of nouns of one kind, rare ones too.
        instances: groups of names of one kind, such as rivers.
    """

    wordnet: WordNet
    antonyms: Related
    synonyms: Related
    sisters: Related
    kin: Sequence[Sequence[str]]
    instances: Sequence[Sequence[str]]


def read_relations(wordnet: WordNet, counts: Mapping[str, int]) -> Relations:
    """Draw the relations from WordNet.

    Args:
        wordnet: the synsets.
        counts: how often each word in lower case occurs in Wikipedia; rare ones and function words are left out.
    """
    often = (word for word, count in counts.items() if count >= FREQUENT and word.isalpha() and word.islower())
    frequent = {word for word in often if say_much([word])[0]}
    synonyms = _synonyms(wordnet, frequent)
    kinds = _kinds(wordnet, frequent)
    return Relations(
        wordnet=wordnet,
        antonyms=_antonyms(wordnet, frequent),
        synonyms=synonyms,
        sisters=_related(
            (a, b)
            for words in kinds
            if len(words) <= 60
            for a in words
            for b in words
            if a != b and b not in synonyms.get(a, ())
        ),
        kin=_groups(wordnet, counts, names=False),
        instances=_groups(wordnet, counts, names=True),
    )


def _related(pairs: Iterable[tuple[str, str]]) -> Related:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for a, b in pairs:
        found[a].add(b)
    return {word: sorted(found[word]) for word in sorted(found)}


def _antonyms(wordnet: WordNet, frequent: set[str]) -> Related:
    pairs = []
    for key, synset in wordnet.synsets.items():
        for symbol, target, i, j in synset.pointers:
            if symbol == "!" and i and j:
                a, b = synset.words[i - 1].lower(), wordnet.synsets[target].words[j - 1].lower()
                usual = wordnet.is_frequent_sense(a, key) and wordnet.is_frequent_sense(b, target)
                if usual and {a, b} <= frequent:
                    pairs.append((a, b))
    return _related(pairs)


def _synonyms(wordnet: WordNet, frequent: set[str]) -> Related:
    """Words of one synset; those of many senses seldom say the same."""
    pairs = []
    for key, synset in wordnet.synsets.items():
        words = [word for word in _usual(wordnet, frequent, key, synset) if wordnet.count_senses(word, key[0]) <= 4]
        pairs += [(a, b) for a in words for b in words if a != b]
    return _related(pairs)


def _usual(wordnet: WordNet, frequent: set[str], key: Key, synset: Synset) -> list[str]:
    """The frequent words of a synset that most often mean it."""
    return [word for word in synset.words if word in frequent and wordnet.is_main_sense(word, key)]


def _kinds(wordnet: WordNet, frequent: set[str]) -> list[list[str]]:
    """The frequent nouns below each synset of nouns."""
    below: defaultdict[Key, set[str]] = defaultdict(set)
    for key, synset in wordnet.synsets.items():
        if key[0] == "n" and synset.topic in KINDS:
            for pointer in synset.pointers:
                if pointer.symbol == "@":
                    below[pointer.target].update(_usual(wordnet, frequent, key, synset))
    return [sorted(words) for words in below.values() if len(words) > 1]


def _groups(wordnet: WordNet, counts: Mapping[str, int], *, names: bool) -> list[list[str]]:
    """The first words of the synsets below each synset of nouns: names, or other nouns."""
    below: defaultdict[Key, set[str]] = defaultdict(set)
    for key, synset in wordnet.synsets.items():
        word = synset.words[0]
        known = key[0] == "n" and word.isalpha() and counts.get(word.lower(), 0) >= RARE
        if known and (_is_name(wordnet, word, synset) if names else _is_noun(wordnet, word, key, synset)):
            for pointer in synset.pointers:
                if pointer.symbol == "@" or (names and pointer.symbol == "@i"):
                    below[pointer.target].add(word)
    return [sorted(words) for words in below.values() if len(words) >= (4 if names else 3)]


def _is_name(wordnet: WordNet, word: str, synset: Synset) -> bool:
    return word[0].isupper() and synset.topic in NAMED and wordnet.count_senses(word) <= 3


def _is_noun(wordnet: WordNet, word: str, key: Key, synset: Synset) -> bool:
    return word.islower() and synset.topic in KINDS and wordnet.is_main_sense(word, key)
