"""The sentences of the hits of a search, or of ranked texts, that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from semblance_client.vocabulary.prune import DroppedSentence, Keep, KeptSentence, KeptTotals
from semblance_client.vocabulary.search import DroppedHitSentence, HitSentences, KeptHitSentence

from semblance.models.embeddings import TokenEmbeddings, join_passages
from semblance.models.explanation import tokens_of
from semblance.service.observability.stages import timed
from semblance.service.ports.documents import PassageKey
from semblance.service.threads import until_left
from semblance.service.turns import in_thread
from semblance.service.usecases.pruning.chosen import MAX_QUERY_TOKENS, ChosenSentences
from semblance.service.usecases.search.rescoring import PassageScorer
from semblance.service.usecases.search.results import ScoredPassage, SearchHit

Pages: TypeAlias = Sequence[Sequence[SearchHit]]  # the hits of each query
Totals: TypeAlias = Sequence[KeptTotals | None]


async def keep_of_hits(
    scorer: PassageScorer, queries: Sequence[TokenEmbeddings], pages: Pages, keep: Keep | None
) -> tuple[Pages, Totals]:
    """Choose among the sentences of all passages of the hits of each query.

    With the token vectors that are stored. Of a query that is read in passages, the first one counts, and of that
    `MAX_QUERY_TOKENS` tokens.
    """
    if keep is None:
        return pages, [None] * len(pages)
    with timed("keep"):
        found = [await _kept(scorer, *each, keep) for each in zip(queries, pages, strict=True)]
    return [hits for hits, _ in found], [totals for _, totals in found]


async def keep_of_texts(
    query: TokenEmbeddings, texts: Sequence[TokenEmbeddings | None], keep: Keep | None
) -> tuple[Sequence[HitSentences | None], KeptTotals | None]:
    """Choose among the sentences of all texts that are not None; none are chosen without `keep`."""
    if keep is None:
        return [None] * len(texts), None

    def choose() -> tuple[Sequence[HitSentences | None], KeptTotals]:
        read = [(place, text) for place, text in enumerate(texts) if text is not None]
        chosen = ChosenSentences.of(query.first(MAX_QUERY_TOKENS), until_left([text for _, text in read]), keep)
        found: list[HitSentences | None] = [None] * len(texts)
        for number, (place, text) in enumerate(read):
            stretch = _Stretch(place, None, 0, text)
            found[place] = _hit_sentences([*map(stretch.placed, chosen.of_text(number, tokens_of(text).text))])
        return found, chosen.totals

    with timed("keep"):
        return await in_thread(choose)


async def _kept(
    scorer: PassageScorer, query: TokenEmbeddings, hits: Sequence[SearchHit], keep: Keep
) -> tuple[list[SearchHit], KeptTotals]:
    passages = {key: text for hit in hits for key, text in hit.texts.items()}
    tokens = await scorer.of_tokens([hit.document for hit in hits], passages, lambda each: each)

    def choose() -> tuple[list[SearchHit], KeptTotals]:
        stretches = [each for number, hit in enumerate(hits) for each in _stretches(number, hit, tokens)]
        texts = [each.tokens for each in stretches]
        first = query.passages[0] if query.passages else query
        chosen = ChosenSentences.of(first.first(MAX_QUERY_TOKENS), until_left(texts), keep, scorer.glossary)
        found: list[list[KeptHitSentence | DroppedHitSentence]] = [[] for _ in hits]
        for number, each in enumerate(stretches):
            sentences = chosen.of_text(number, tokens_of(each.tokens).text)
            found[each.hit] += [each.placed(sentence) for sentence in sentences]
        kept = [replace(hit, sentences=_hit_sentences(own)) for hit, own in zip(hits, found, strict=True)]
        return kept, chosen.totals

    return await in_thread(choose)


@dataclass(frozen=True, slots=True, eq=False)
class _Stretch:
    """Passages of a hit that follow each other, as one text.

    Attributes:
        hit: its place.
        field: the text field that they are of; None is the text.
        start: their first code point in that.
        tokens: of all of them.
    """

    hit: int
    field: str | None
    start: int
    tokens: TokenEmbeddings

    def placed(self, sentence: DroppedSentence) -> KeptHitSentence | DroppedHitSentence:
        """A sentence of this text with its place in the document."""
        places = {"start": self.start + sentence.start, "end": self.start + sentence.end, "field": self.field}
        kind = KeptHitSentence if isinstance(sentence, KeptSentence) else DroppedHitSentence
        return kind(**(dict(sentence) | places))


def _stretches(number: int, hit: SearchHit, tokens: Mapping[PassageKey, TokenEmbeddings]) -> Iterator[_Stretch]:
    for run in _runs(hit):
        first, part = run[0].start, hit.searched.part_at(run[0].start)
        own = [tokens[PassageKey(hit.document.id, each.number)] for each in run]
        if len(run) > 1:
            whole = hit.searched.whole[first : run[-1].end]
            places = zip(own, run, strict=True)
            within = [replace(each, text=tokens_of(each).within(whole, at.start - first)) for each, at in places]
            own = [join_passages(within)]
        yield _Stretch(number, part.field, first - part.start, own[0])


def _runs(hit: SearchHit) -> list[list[ScoredPassage]]:
    """The passages in order, those together that follow each other in one part of the document."""
    runs: list[list[ScoredPassage]] = []
    for passage in sorted(hit.passages, key=lambda each: each.number):
        before = runs[-1][-1] if runs else None
        follows = before is not None and before.number + 1 == passage.number
        if before and follows and hit.searched.part_at(before.start) == hit.searched.part_at(passage.start):
            runs[-1].append(passage)
        else:
            runs.append([passage])
    return runs


def _hit_sentences(found: Sequence[KeptHitSentence | DroppedHitSentence]) -> HitSentences:
    return HitSentences(
        kept=[each for each in found if isinstance(each, KeptHitSentence)],
        dropped=[each for each in found if isinstance(each, DroppedHitSentence)],
        tokens=sum(each.tokens for each in found),
    )
