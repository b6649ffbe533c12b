"""Pairs of a sentence and the same in other phrases, denied, shorter, longer or reordered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from semblance_lab.paraphrases.generation.draws import Draws
from semblance_lab.paraphrases.generation.lists import paragraphs
from semblance_lab.paraphrases.generation.replacements import Sentence
from semblance_lab.paraphrases.wordnet import Relations, WordNet

PER_PHRASE = 120
FILLERS = ("actually", "really", "just", "basically", "simply")
RESTRICTING = frozenset({"other", "same", "many", "several", "few", "own", "such"})  # the noun needs them
DETERMINERS = frozenset({"a", "an", "the", "two", "three", "of", "with"})

_POSITIVE = re.compile(r"\b(is|are|was|were|can|could|will|would|should|does|did|do|has|have)\b (?!not\b|n't)")
_DENIED = re.compile(r"\b(\w+n't|not|never)\b ")
_IRREGULAR = {"can't": "can ", "won't": "will "}
_ENDING = re.compile(r" (?:with|without|in|on|for|at|under|near|after|before|during|except) [^,.?!]{3,40}(?=[.?!]?$)")
_JOINED = re.compile(r"\b(?:a|the|two|an) (\w+) and (?:a|the|two|an) (\w+)\b(?! of\b| and\b| [A-Z])")
_ACTION = re.compile(
    r"\b(?:a|the|an|his|her) (\w+) (?:is )?\w+(?: (?:on|at|to|of|over|under|behind|with|from|by|for))? "
    r"(?:a|the|an|his|her) (\w+)\b",
    re.IGNORECASE,
)

Rewrite: TypeAlias = Callable[[Draws, Sentence], None]


def rewrites(relations: Relations) -> Sequence[Rewrite]:
    """Functions that add pairs of a sentence, each of another kind."""
    return (_phrases(), _deny, _affirm, *_shorten(relations.wordnet), _lengthen, _reorder, _swap(relations.wordnet))


def _phrases() -> Rewrite:
    phrases = [
        (re.compile(rf"\b{re.escape(old)}\b", re.IGNORECASE), old, new)
        for lines in paragraphs("phrases")
        for old in lines
        for new in lines
        if old != new
    ]

    def rewrite(draws: Draws, sentence: Sentence) -> None:
        """Replace a phrase by another that says the same."""
        found = [(pattern.search(sentence.text), old, new) for pattern, old, new in draws.shuffled(phrases)]
        for match, old, new in found:
            if match and draws.allow(PER_PHRASE, "phrase", old):
                cased = new[0].upper() + new[1:] if match[0][0].isupper() else new
                draws.add("same phrase", (sentence.text, _replaced(sentence.text, match.span(), cased)), same=True)
                return

    return rewrite


def _deny(draws: Draws, sentence: Sentence) -> None:
    """Deny a statement."""
    match = _POSITIVE.search(sentence.text)
    if match and not sentence.text.endswith("?") and draws.chance(0.2):
        word = draws.random.choice(["not ", "not ", "never "])
        draws.add("negation", (sentence.text, _replaced(sentence.text, (match.end(), match.end()), word)), same=False)


def _affirm(draws: Draws, sentence: Sentence) -> None:
    """Leave a negation out."""
    match = _DENIED.search(sentence.text)
    if match and draws.chance(0.8):
        word = match[1]
        positive = _IRREGULAR.get(word.lower(), f"{word[:-3]} " if word.endswith("n't") else "")
        draws.add("negation", (sentence.text, _replaced(sentence.text, match.span(), positive)), same=False)


def _shorten(wordnet: WordNet) -> tuple[Rewrite, Rewrite]:
    def drop_word(draws: Draws, sentence: Sentence) -> None:
        """Leave out an adjective before a noun."""
        places = list(_adjectives(wordnet, sentence.plain))
        if places and draws.chance(0.25):
            i = draws.random.choice(places)
            shorter = " ".join([*sentence.words[:i], *sentence.words[i + 1 :]])
            draws.add("dropped word", (sentence.text, shorter), same=False)

    def drop_phrase(draws: Draws, sentence: Sentence) -> None:
        """Leave out a phrase at the end."""
        match = _ENDING.search(sentence.text)
        if match and match.start() > 12 and draws.chance(0.2):
            draws.add("dropped phrase", (sentence.text, _replaced(sentence.text, match.span(), "")), same=False)

    return drop_word, drop_phrase


def _adjectives(wordnet: WordNet, words: Sequence[str]) -> Iterator[int]:
    for i, (before, word, after) in enumerate(zip(words, words[1:], words[2:], strict=False), 1):
        can_go = before in DETERMINERS and word not in RESTRICTING
        if can_go and wordnet.main_class(word) == "a" and wordnet.main_class(after) == "n":
            yield i


def _lengthen(draws: Draws, sentence: Sentence) -> None:
    """Add a word that says nothing."""
    if draws.chance(0.06):
        i = draws.random.randint(1, max(1, len(sentence.words) - 1))
        longer = " ".join([*sentence.words[:i], draws.random.choice(FILLERS), *sentence.words[i:]])
        draws.add("filler", (sentence.text, longer), same=True)


def _reorder(draws: Draws, sentence: Sentence) -> None:
    """Exchange two nouns around "and"."""
    if match := _JOINED.search(sentence.text):
        draws.add("conjuncts", (sentence.text, _exchanged(sentence.text, match)), same=True)


def _swap(wordnet: WordNet) -> Rewrite:
    def rewrite(draws: Draws, sentence: Sentence) -> None:
        """Exchange two nouns around a verb."""
        match = _ACTION.search(sentence.text)
        if match is None or " and " in match[0] or not draws.chance(0.5):
            return
        if all(wordnet.main_class(noun.lower()) == "n" for noun in match.groups()):
            draws.add("swap", (sentence.text, _exchanged(sentence.text, match)), same=False)

    return rewrite


def _replaced(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]


def _exchanged(text: str, match: re.Match[str]) -> str:
    """The text with the two groups of a match exchanged."""
    (start, end), (start2, end2) = match.span(1), match.span(2)
    return text[:start] + match[2] + text[end:start2] + match[1] + text[end2:]
