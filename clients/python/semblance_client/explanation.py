"""Explanations: the parts of a score by the words that make it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from semblance_client.answer import Answer, Calibration, RequestWarning

SHOWN_LINKS = 12  # in text and notebooks; the others are one line
WORD_CHARS = 24  # shown of a word in text


class Token(Answer):
    """A word or token of a text: from code point `start` to before `end`."""

    text: str
    start: int
    end: int


class Side(Answer):
    """One of the two texts, and the words that links connect.

    If it is longer than the model reads, it is `truncated` to the characters from `read_start` to before `read_end`.
    """

    text: str
    truncated: bool
    read_start: int
    read_end: int
    tokens: list[Token]


class Link(Answer):
    """A link from token `a` of the first text to token `b` of the second, by position.

    `contribution` is its share of the score.
    """

    a: int
    b: int
    similarity: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Part:
    """A line of an explanation.

    Attributes:
        words: the two words of a link; a single label for a sum of what is not listed.
        contribution: its share of the score.
    """

    words: tuple[str, ...]
    contribution: float

    @property
    def is_sum(self) -> bool:
        """Whether it is the sum of several links, and not one link."""
        return len(self.words) == 1


class Explanation(Answer):
    """A score and its parts: the contributions of the links and `rest` sum to the score.

    In a notebook it is shown as marked texts with a table of links, as text by `print`.

    Attributes:
        score: the score.
        measure: its measure.
        granularity: whether links connect words or tokens.
        a: the first text; the query, in a search.
        b: the second text; the document, in a search.
        links: largest absolute contribution first.
        special: share of tokens that the model adds to every text.
        omitted: share of the links that the answer leaves out.

    Example:
        >>> why = client.explain("my parcel never came", "the package is lost", max_links=2)
        >>> print(why)
        0.3621 by rcmd_words
          parcel = package  +0.1355
          came = package    +0.0456
          links left out    +0.1811
        >>> abs(round(sum(link.contribution for link in why.links) + why.rest - why.score, 6))
        0.0
    """

    score: float
    measure: str
    granularity: str
    a: Side
    b: Side
    links: list[Link]
    special: float
    omitted: float

    @property
    def rest(self) -> float:
        """The part of the score that is not in `links`: `special + omitted`."""
        return self.special + self.omitted

    def words(self, link: Link) -> tuple[str, str]:
        """The two words of a link."""
        return self.a.tokens[link.a].text, self.b.tokens[link.b].text

    def parts(self, links: int = SHOWN_LINKS) -> Iterator[Part]:
        """The strongest links, then the sums of all else; together the score."""
        for link in self.links[:links]:
            yield Part(self.words(link), link.contribution)
        if further := self.links[links:]:
            yield Part((f"{len(further):,} weaker links",), sum(link.contribution for link in further))
        if self.omitted:
            yield Part(("links left out",), self.omitted)
        if self.special:
            yield Part(("special tokens",), self.special)

    def __str__(self) -> str:
        rows = [(" = ".join(map(_short, part.words)), part.contribution) for part in self.parts()]
        width = max((len(label) for label, _ in rows), default=0)
        lines = [f"  {label:<{width}}  {contribution:+.4f}" for label, contribution in rows]
        return "\n".join([f"{self.score:.4f} by {self.measure}", *lines])

    def _repr_html_(self) -> str:
        from semblance_client.notebook import explanation_html  # noqa: PLC0415 - it imports this module

        return explanation_html(self)


class PairExplanation(Explanation):
    """The answer of `explain`: an explanation, and the model behind it.

    Attributes:
        model: name of the model.
        probability: that people call the texts the same, if the measure has a calibration.
        space: digest of what decides what a vector means; scores are comparable within one.
        truncated: whether either text is longer than the model reads.
        warnings: parts of the request that may not do what was expected.
    """

    model: str
    probability: float | None = None
    calibration: Calibration | None = None
    space: str
    truncated: bool
    warnings: list[RequestWarning]


class Passage(Answer):
    """The place of a passage in its document, in code points."""

    start: int
    end: int


class ComparedDocument(Side):
    """A document with the text of its best passage, which is all of a document that is not cut.

    Attributes:
        passage: the place of that passage in a document that is cut.
        score: by the measure.
        bonus: what terms add to it.
        combined: score and bonus, which order the hits of a search.
    """

    id: str
    passage: Passage | None
    score: float
    bonus: float
    combined: float


class Partner(Answer):
    """A word of a document that a word of the query is linked to, or an occurrence of a term.

    Occurrences have no similarity and no contribution of their own.
    """

    text: str
    start: int
    end: int
    similarity: float | None
    contribution: float | None


class Share(Answer):
    """What a part of a query adds to a document's score; its partners there, strongest first."""

    contribution: float
    partners: list[Partner]


class DifferencePart(Answer):
    """A part of a query, and what it adds to the scores of two documents.

    Attributes:
        kind: `word` or `term` of the query, `special` tokens, or the `rest` of the scores.
        text: the word or term; the kind of all others.
        start: first code point of a word in the query; None for other kinds.
        end: one past its last code point.
        a: its share of the score of the first document.
        b: its share of the score of the second.
        difference: the first share less the second.
    """

    kind: str
    text: str
    start: int | None
    end: int | None
    a: Share
    b: Share
    difference: float


class ScoreDifference(Answer):
    """Why one document stands above another: the parts sum to the difference of the scores.

    Attributes:
        query: the query.
        a: the first document.
        b: the second document.
        difference: `combined` of the first less that of the second.
        parts: largest absolute difference first.
        version: of the collection, in which both documents were read.

    Example:
        >>> print(client.explain_difference("my parcel never came", "shipping-001", "shipping-002"))
        0.2105 by rcmd_words: shipping-001 0.4714, shipping-002 0.2609
          my      +0.0960
          parcel  +0.0713
          never   +0.0472
          came    -0.0040
    """

    query: Side
    a: ComparedDocument
    b: ComparedDocument
    difference: float
    parts: list[DifferencePart]
    measure: str
    mode: str
    model: str
    space: str
    version: str
    warnings: list[RequestWarning]

    def __str__(self) -> str:
        documents = ", ".join(f"{each.id} {each.combined:.4f}" for each in (self.a, self.b))
        lines = [f"{self.difference:.4f} by {self.measure}: {documents}"]
        shown = [part for part in self.parts[:SHOWN_LINKS] if round(part.difference, 4)]
        width = max((len(_short(part.text)) for part in shown), default=0)
        lines += [f"  {_short(part.text):<{width}}  {part.difference:+.4f}" for part in shown]
        return "\n".join(lines)


def _short(word: str) -> str:
    return word if len(word) <= WORD_CHARS else f"{word[: WORD_CHARS - 1]}…"
