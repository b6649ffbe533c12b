"""Pairs of a sentence and the same with one or two of its words replaced."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from semblance_lab.paraphrases.generation.draws import Draws
from semblance_lab.paraphrases.generation.lists import paragraphs
from semblance_lab.paraphrases.wordnet import Relations

NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
PER_WORD = 8  # pairs with the same replacement
PER_LISTED = 60  # with one of the opposites of the list, or a number
SISTERS = 13_000  # pairs with a frequent sister
PER_SENTENCE = 2
PER_RARE_WORD = 10


class Replacement(NamedTuple):
    """A word for another, and whether the sentence then says the same."""

    kind: str
    word: str
    same: bool
    limit: int = PER_WORD


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text and its words between spaces; `plain` are lower case, without punctuation behind."""

    text: str
    words: Sequence[str]
    plain: Sequence[str]

    @classmethod
    def of(cls, text: str) -> Sentence:
        """Sentence of a text."""
        words = text.split()
        return cls(text, words, [re.sub(r"\W+$", "", word).lower() for word in words])

    def replace(self, new: Mapping[int, str]) -> str:
        """The text with some words replaced, in their case, before the same punctuation.

        >>> Sentence.of("Two dogs, running.").replace({1: "cats"})
        'Two cats, running.'
        """
        words = list(self.words)
        for i, word in new.items():
            core = re.sub(r"\W+$", "", words[i])
            cased = word[0].upper() + word[1:] if core[:1].isupper() else word
            words[i] = cased + words[i][len(core) :]
        return " ".join(words)


class Replacements:
    """The replacements of every word that is known."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._opposites: defaultdict[str, list[str]] = defaultdict(list)
        for a, b in paragraphs("opposites"):
            self._opposites[a].append(b)
            self._opposites[b].append(a)
        self._kin: defaultdict[str, list[Sequence[str]]] = defaultdict(list)
        for group in relations.kin:
            for word in group:
                self._kin[word].append(group)

    def opposites(self, word: str) -> Sequence[str]:
        """Those of the list and those of WordNet."""
        return [*self._opposites.get(word, ()), *self._relations.antonyms.get(word, ())]

    def others(self, word: str) -> Sequence[str]:
        """Words that say something else."""
        return [*self.opposites(word), *self._relations.sisters.get(word, ())]

    def one_word(self, draws: Draws, sentence: Sentence) -> None:
        """Add pairs of up to two words, each replaced alone."""
        added = 0
        for i in draws.shuffled(range(len(sentence.words))):
            word = sentence.plain[i]
            options = list(self._options(draws, word))
            if not options or added == PER_SENTENCE:
                continue
            kind, new, same, limit = draws.random.choice(options)
            if draws.allow(limit, kind, word, new) and (kind != "sister" or draws.allow(SISTERS, kind)):
                draws.add(kind, (sentence.text, sentence.replace({i: new})), same=same)
                added += 1

    def _options(self, draws: Draws, word: str) -> Iterator[Replacement]:
        pick = draws.random.choice
        listed = self._opposites.get(word)
        if listed:
            yield Replacement("antonym", pick(listed), same=False, limit=PER_LISTED)
        for kind, words, same in (
            ("antonym", self._relations.antonyms, False),
            ("sister", self._relations.sisters, False),
            ("synonym", self._relations.synonyms, True),
        ):
            if word in words:
                yield Replacement(kind, pick(words[word]), same)
        if word in NUMBERS:
            other = pick([each for each in NUMBERS if each != word])
            yield Replacement("number", other, same=False, limit=PER_LISTED)
            yield Replacement("spelled", str(NUMBERS.index(word) + 2), same=True, limit=PER_LISTED)
        if re.fullmatch(r"\d[\d,.]*", word):
            yield Replacement("digits", str((int(word[0]) + draws.random.randint(1, 8)) % 9 + 1) + word[1:], same=False)

    def two_words(self, draws: Draws, sentence: Sentence) -> None:
        """Add pairs with two synonyms, and with a synonym and an opposite."""
        synonyms = self._relations.synonyms
        replaced = {i: draws.random.choice(synonyms[word]) for i, word in enumerate(sentence.plain) if word in synonyms}
        opposed = [i for i, word in enumerate(sentence.plain) if word not in synonyms and self.opposites(word)]
        places = draws.shuffled(list(replaced))[:2]
        if len(places) == 2:
            new = {i: replaced[i] for i in places}
            draws.add("two synonyms", (sentence.text, sentence.replace(new)), same=True)
        if places and opposed:
            i, j = places[0], draws.random.choice(opposed)
            new = {i: replaced[i], j: draws.random.choice(self.opposites(sentence.plain[j]))}
            draws.add("synonym and antonym", (sentence.text, sentence.replace(new)), same=False)

    def kin(self, draws: Draws, sentence: Sentence) -> None:
        """Add a pair in which two words of one kind, rare ones too, replace a third."""
        places = [i for i, word in enumerate(sentence.plain) if word in self._kin]
        if places:
            i = draws.random.choice(places)
            group = draws.random.choice(self._kin[sentence.plain[i]])
            a, b = draws.random.sample(group, 2)
            known = b in self._relations.synonyms.get(a, ())
            if not known and draws.allow(PER_RARE_WORD, "kin", a) and draws.allow(PER_RARE_WORD, "kin", b):
                draws.add("rare sister", (sentence.replace({i: a}), sentence.replace({i: b})), same=False)
