"""A glossary: phrases that count as equal, as opposites or not at all, whatever the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from semblance.models.embeddings import Phrases, Related, TokenEmbeddings
from semblance.models.tokenization.terms import Term, atoms, query_terms, stems_of

EQUAL, OPPOSITE = 1.0, -1.0  # similarities of all tokens of one phrase with all of another

Words = tuple[str, ...]


class Relation(NamedTuple):
    """Phrases of a query, and phrases of documents that have a similarity to each of them."""

    asked: Sequence[str]
    found: Sequence[str]
    similarity: float


class Occurrence(NamedTuple):
    """A phrase in a text: its number, and its span of code points."""

    phrase: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Glossary:
    """Phrases and what they mean to each other: for terms, and for measures that align tokens.

    A phrase is found as words in the form of `fold`, the longest first, wherever they follow each other. Relations do
    not chain: a query for a finds b, and one for b finds c, but one for a does not find c.

    Attributes:
        phrases: each by its words, in the order of their numbers.
        written: the same as they were first given.
        related: similarities of a phrase of a query to phrases of a document.
        ignored: the numbers of those that count for nothing, in queries and in documents.
        beginning: numbers of the phrases by their first word, the longest first.
        stems: language of the words of a query that also find others of their stem; empty for none.
    """

    phrases: Sequence[Words]
    written: Sequence[str]
    related: Related
    ignored: frozenset[int]
    beginning: Mapping[str, Sequence[int]]
    stems: str = ""

    @classmethod
    def of(cls, relations: Iterable[Relation] = (), ignored: Iterable[str] = (), stems: str = "") -> Glossary:
        """The glossary of some relations, and of phrases that count for nothing; each has a word."""
        numbers: dict[Words, int] = {}
        written: list[str] = []

        def number(phrase: str) -> int:
            words = tuple(term.text for term in atoms(phrase))
            if words not in numbers:
                numbers[words] = len(numbers)
                written.append(phrase)
            return numbers[words]

        related: defaultdict[int, list[Mapping[int, float]]] = defaultdict(list)
        for asked, found, similarity in relations:
            similarities = dict.fromkeys(map(number, found), similarity)
            for phrase in asked:
                related[number(phrase)].append(similarities)
        nothing = frozenset(map(number, ignored))
        beginning: defaultdict[str, list[int]] = defaultdict(list)
        for words in sorted(numbers, key=len, reverse=True):
            beginning[words[0]].append(numbers[words])
        return cls(list(numbers), written, dict(related), nothing, dict(beginning), stems)

    def __bool__(self) -> bool:
        """Whether it has phrases, which measures obey; stems concern terms only."""
        return bool(self.phrases)

    def find(self, text: str) -> Iterator[Occurrence]:
        """The phrases of a text in reading order; none overlaps another.

        >>> list(Glossary.of([equal(["heart attack", "MI"])]).find("No heart attack: mi?"))
        [Occurrence(phrase=0, start=3, end=15), Occurrence(phrase=1, start=17, end=19)]
        """
        terms = atoms(text)
        words = [term.text for term in terms]
        at = 0
        while at < len(words):
            for number in self.beginning.get(words[at], ()):
                phrase = self.phrases[number]
                if tuple(words[at : at + len(phrase)]) == phrase:
                    yield Occurrence(number, terms[at].start, terms[at + len(phrase) - 1].end)
                    at += len(phrase)
                    break
            else:
                at += 1

    def query_terms(self, text: str) -> list[Term]:
        """The terms to search for; those of a phrase also find its equals, ignored ones are out.

        >>> [(term.text, term.alternatives) for term in Glossary.of([equal(["heart attack", "MI"])]).query_terms("MI")]
        [('mi', (('heart', 'attack'),))]
        """
        terms = _of_distinct_stems(query_terms(text), self.stems) if self.stems else query_terms(text)
        for occurrence in self.find(text) if self else ():
            inside = [term for term in terms if occurrence.start <= term.start and term.end <= occurrence.end]
            if occurrence.phrase in self.ignored:
                terms = [term for term in terms if term not in inside]
            elif equals := tuple(self.phrases[other] for other in self.equals(occurrence.phrase)):
                terms = [term._replace(alternatives=equals) if term in inside else term for term in terms]
        return terms

    def read(self, embeddings: TokenEmbeddings) -> TokenEmbeddings:
        """The embeddings with the phrases of their text.

        The tokens of ignored phrases are left out, unless the text has nothing else.

        Raises:
            ValueError: the embeddings hold only pooled vectors, or no text.
        """
        if embeddings.text is None:
            raise ValueError("phrases are found in a text, but these embeddings have none")
        found = list(self.find(embeddings.text.text))
        if not found:
            return embeddings
        if embeddings.passages:
            return replace(embeddings, passages=tuple(map(self.read, embeddings.passages)))
        text, vectors = embeddings.text, embeddings.token_vectors()
        numbers = np.full(len(text), -1, np.int64)
        for phrase, start, end in found:
            numbers[(text.spans[:, 0] < end) & (start < text.spans[:, 1]) & ~text.special] = phrase
        keep = ~np.isin(numbers, list(self.ignored))
        if not (keep & ~text.special).any():
            return embeddings
        return replace(
            embeddings,
            vectors=vectors[keep],
            weights=embeddings.weights[keep],
            text=text.at(keep),
            pooled_vector=embeddings.pooled(),
            phrases=Phrases(numbers[keep], self.related),
        )

    def equals(self, phrase: int) -> list[int]:
        """The other phrases that one of a query finds."""
        found = {other for each in self.related.get(phrase, ()) for other, like in each.items() if like == EQUAL}
        return sorted(found - {phrase})


def _of_distinct_stems(terms: Sequence[Term], language: str) -> list[Term]:
    """The terms of a query, and of the words with one stem the first."""
    stems = stems_of([term.text for term in terms], language)
    found: dict[tuple[str, str], Term] = {}
    for term, stem in zip(terms, stems, strict=True):
        if term.kind == "word":
            found.setdefault((term.kind, stem), term._replace(stems=language))
        else:
            found[term.kind, term.text] = term
    return list(found.values())


def equal(phrases: Sequence[str]) -> Relation:
    """Phrases of which each finds all."""
    return Relation(phrases, phrases, EQUAL)


def one_way(asked: Sequence[str], found: Sequence[str]) -> list[Relation]:
    """Phrases of which each finds itself and those of another side, which do not find it."""
    return [Relation([phrase], [phrase, *found], EQUAL) for phrase in asked]


def opposite(one: Sequence[str], other: Sequence[str]) -> list[Relation]:
    """Two sides, of which no phrase is like one of the other."""
    return [Relation(one, other, OPPOSITE), Relation(other, one, OPPOSITE)]


NO_GLOSSARY = Glossary.of()
