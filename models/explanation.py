"""Decomposition of a score into links between the tokens of two texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from semblance.models.embeddings import Doubles, TokenEmbeddings
from semblance.models.text import Ints, TokenizedText, Unit, Units, is_visible

MAX_PARTNERS = 3  # of a word, named in a difference
ROUNDING = 1e-10  # of sums in float64; a larger remainder of a score is a part of a difference

PartKind: TypeAlias = Literal["word", "special", "rest", "term"]


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two units, by their positions in the explanation's `left` and `right`."""

    left: int
    right: int
    similarity: float
    contribution: float


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text, and its compared part: the characters from `start` to before `end`.

    The part is all of the text unless tokens of the text were removed (`truncated`), or it is a passage (`is_passage`).
    """

    text: str
    truncated: bool
    start: int
    end: int
    is_passage: bool = False

    @classmethod
    def of(cls, tokens: TokenizedText) -> ReadText:
        """The text of some tokens."""
        text, start, end = tokens.text, 0, len(tokens.text)
        if tokens.truncated or tokens.is_passage:
            spans = tokens.spans[~tokens.special]
            first, last = int(spans[:, 0].min()), int(spans[:, 1].max())
            start = first if is_visible(text[:first]) else 0
            end = last if is_visible(text[last:]) else end
        return cls(text, tokens.truncated, start, end, tokens.is_passage)


@dataclass(frozen=True, slots=True)
class LinkList:
    """The strongest links of an explanation, without its matrices, as sent to clients.

    Law: as for `Explanation`. Sorted by absolute contribution, largest first.
    """

    score: float
    left: tuple[Unit, ...]
    right: tuple[Unit, ...]
    links: tuple[Link, ...]
    special: float
    omitted: float


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """A score and its parts, for n units of the left text and m of the right.

    Law: the contributions of `links`, `special` and `omitted` sum to `score` within 1e-6, in float64.

    Attributes:
        score: the score of the pair.
        left, right: the n and m units (tokens that are not special, or words), in reading order.
        similarity: (n, m) float64, the similarity of each pair of units.
        contribution: (n, m) float64, the part of the score of each pair of units; may be negative.
        special: the total contribution of pairs with a special or prompt token.
        texts: the two texts; the units are spans of them.
        omitted: the total contribution of links that were dropped for brevity.
        by_glossary: the score less what it is without the glossary; None where no glossary is obeyed.
    """

    score: float
    left: Units
    right: Units
    similarity: Doubles
    contribution: Doubles
    special: float
    texts: tuple[str, str]
    omitted: float = 0.0
    by_glossary: float | None = None

    @classmethod
    def of(
        cls, a: TokenEmbeddings, b: TokenEmbeddings, *, score: float, similarity: Doubles, contribution: Doubles
    ) -> Explanation:
        """Token-level explanation from matrices over all tokens, special tokens included."""
        left, right = tokens_of(a), tokens_of(b)
        real = np.ix_(~left.special, ~right.special)
        other = np.ones(contribution.shape, np.bool_)
        other[real] = False
        return cls(
            score=score,
            left=left.units(),
            right=right.units(),
            similarity=similarity[real],
            contribution=contribution[real],
            special=float(contribution[other].sum()),
            texts=(left.text, right.text),
        )

    def by_word(self) -> Explanation:
        """Aggregate tokens to words: contributions are summed, similarity is the maximum."""
        left, rows = self.left.by_word()
        right, columns = self.right.by_word()
        added = np.add.reduceat(np.add.reduceat(self.contribution, rows, axis=0), columns, axis=1)
        largest = np.maximum.reduceat(np.maximum.reduceat(self.similarity, rows, axis=0), columns, axis=1)
        return replace(self, left=left, right=right, similarity=largest, contribution=added)

    def strongest(self, max_links: int) -> Explanation:
        """Keep the `max_links` links of largest absolute contribution; add the rest to `omitted`.

        Exact ties go to the lowest position.
        """
        size = np.abs(self.contribution).ravel()
        rest = np.ones(self.contribution.shape, np.bool_)
        rest.flat[np.argsort(-size, kind="stable")[:max_links]] = False
        return replace(
            self,
            contribution=np.where(rest, 0.0, self.contribution),
            omitted=self.omitted + float(self.contribution[rest].sum()),
        )

    def link_list(self, max_links: int) -> LinkList:
        """The `max_links` strongest links, and the sum of the others."""
        short = self.strongest(max_links)
        return LinkList(short.score, tuple(self.left), tuple(self.right), short.links, short.special, short.omitted)

    @property
    def links(self) -> tuple[Link, ...]:
        """All links with a nonzero contribution, sorted by absolute contribution, largest first."""
        rows, columns = np.nonzero(self.contribution)
        order = np.argsort(-np.abs(self.contribution[rows, columns]), kind="stable")
        return tuple(
            Link(int(i), int(j), float(self.similarity[i, j]), float(self.contribution[i, j]))
            for i, j in zip(rows[order], columns[order], strict=True)
        )


@dataclass(frozen=True, slots=True)
class Partner:
    """A place in a text that a word of a query is linked to, or where a term occurs.

    Occurrences have neither a similarity nor a contribution of their own.
    """

    start: int
    end: int
    similarity: float | None = None
    contribution: float | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """Contribution of a part of a query to a score; its partners in the text, strongest first."""

    contribution: float
    partners: tuple[Partner, ...] = ()


@dataclass(frozen=True, slots=True)
class DifferencePart:
    """A part of a query, and its shares of the scores of two texts.

    Attributes:
        kind: a word of the query; special tokens; the rest of the scores, in links left out and rounding; or a term.
        unit: the word; None for other kinds.
        name: the word, the term, or the kind.
        a, b: its shares of both scores.
    """

    kind: PartKind
    unit: Unit | None
    name: str
    a: Share
    b: Share

    @property
    def difference(self) -> float:
        """Its share of the difference of the scores."""
        return self.a.contribution - self.b.contribution


def difference_parts(a: Explanation, b: Explanation) -> list[DifferencePart]:
    """The parts of the difference of two scores of one query.

    Law: their shares of a sum to the score of a, those of b to that of b, and so their differences to the difference,
    within 1e-9.

    Args:
        a: explanation by words, with the query on the left.
        b: the same of the other text.

    Returns:
        A part for each word of the query in reading order, one of special tokens and, unless it is 0, the rest.

    Raises:
        ValueError: they are of different queries.
    """
    if a.texts[0] != b.texts[0]:
        raise ValueError("the explanations are of different queries")
    spans = np.unique(np.concatenate([a.left.spans, b.left.spans]), axis=0)  # of a long query, each has a passage
    a, b = _over(a, spans), _over(b, spans)
    words = [DifferencePart("word", unit, unit.text, _share_of(a, i), _share_of(b, i)) for i, unit in enumerate(a.left)]
    special = DifferencePart("special", None, "special", Share(a.special), Share(b.special))
    rest = DifferencePart("rest", None, "rest", Share(_rest(a)), Share(_rest(b)))
    remains = max(abs(rest.a.contribution), abs(rest.b.contribution)) > ROUNDING
    return [*words, special, *([rest] if remains else [])]


def _over(explanation: Explanation, spans: Ints) -> Explanation:
    """Extend an explanation to more units of the left text, which have no part in the score."""
    if np.array_equal(explanation.left.spans, spans):
        return explanation
    place = {tuple(span): row for row, span in enumerate(spans.tolist())}
    rows = [place[tuple(span)] for span in explanation.left.spans.tolist()]
    similarity, contribution = np.zeros((2, len(spans), len(explanation.right)))
    similarity[rows], contribution[rows] = explanation.similarity, explanation.contribution
    units = Units(explanation.texts[0], spans, np.arange(len(spans), dtype=np.int32))
    return replace(explanation, left=units, similarity=similarity, contribution=contribution)


def _share_of(explanation: Explanation, i: int) -> Share:
    """The share of a word of the left text, with its strongest partners."""
    parts = explanation.contribution[i]
    strongest = [j for j in np.argsort(-np.abs(parts), kind="stable")[:MAX_PARTNERS] if parts[j]]
    return Share(float(parts.sum()), tuple(_partner(explanation, i, j) for j in strongest))


def _partner(explanation: Explanation, i: int, j: int) -> Partner:
    unit, similarity, part = explanation.right[j], explanation.similarity[i, j], explanation.contribution[i, j]
    return Partner(unit.start, unit.end, float(similarity), float(part))


def _rest(explanation: Explanation) -> float:
    """The score minus the shares of words and special tokens."""
    words = explanation.contribution.sum(axis=1)  # summed as the shares are, so that nothing is lost between them
    return explanation.score - explanation.special - float(words.sum())


def tokens_of(embeddings: TokenEmbeddings) -> TokenizedText:
    """The tokens of a text. Raises ValueError if only its vectors are present."""
    if embeddings.text is None:
        raise ValueError("an explanation needs embeddings with their text; these hold vectors only")
    return embeddings.text
