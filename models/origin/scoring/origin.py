"""Origin: two sentences are alike when the same contexts make both likely."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cachetools import LRUCache

from semblance.models.embeddings import Doubles, Integers
from semblance.models.origin.corpus.corpus import Corpus
from semblance.models.origin.corpus.screening import Screening
from semblance.models.origin.corpus.token_table import TokenTable
from semblance.models.origin.corpus.vocabulary import Vocabulary
from semblance.models.origin.errors import BadOrigin
from semblance.models.origin.networks.coherence_ranking import CoherenceRanking
from semblance.models.origin.networks.generation import Generation
from semblance.models.origin.origin_folder import (
    COHERENCE,
    CORPUS,
    GENERATION,
    MADE_OF,
    SCREENING,
    TOKENS,
    VOCABULARY,
    read_step_about,
)
from semblance.models.origin.origin_settings import ContextSettings
from semblance.models.origin.provenance import require_one_making
from semblance.models.origin.scoring.ablations import FULL, Choice
from semblance.models.origin.scoring.candidates import Candidates, CandidateSearch
from semblance.models.origin.scoring.context_explanation import ContextExplanation, Reason
from semblance.models.origin.scoring.context_set import ContextSet, best_that_differ
from semblance.models.origin.scoring.parts import Parts
from semblance.models.origin.scoring.scoring import Form, scores, similarity
from semblance.models.origin.scoring.term_table import AT_ONCE, TermTable
from semblance.models.tokenization.refusals import require_visible

REMEMBERED_SETS = 1 << 22  # contexts in the sets that are kept: 170 MB

_STEPS = (CORPUS, VOCABULARY, TOKENS, SCREENING, COHERENCE, GENERATION)


class Origin:
    """Similarity of sentences by the contexts of a corpus that would take either.

    Each sentence gets a set of contexts: those of screened chunks, of which the best by Eq. 1 are put in the order of
    Eq. 3, and taken from the top as far as they differ; where these chunks are fewer than the set needs, contexts
    around the nearest sentences top it up. Two sentences are compared by their scores in the contexts of both sets, one
    set after the other, so a context that is in both counts twice.

    Sets and terms are remembered as far as memory goes, whatever asks for them; equal texts are computed once.

    Args:
        parts: corpus, screening and models, all of one making.
        contexts: how many of them, and what they are chosen by.
        max_tokens: what texts are cut to.
        made_of: what `about` tells of the parts.

    Source: sun-etal-2022-origin.
    """

    def __init__(
        self, parts: Parts, contexts: ContextSettings, max_tokens: int, made_of: Mapping[str, Any] | None = None
    ) -> None:
        self.contexts = contexts
        self.max_tokens = max_tokens
        self.corpus = parts.corpus
        self._made_of = {} if made_of is None else made_of
        self._table = TermTable(parts, max_tokens)
        self._search = CandidateSearch(parts, self._table, contexts, max_tokens)
        self._sets: LRUCache[tuple[str, Choice], ContextSet] = LRUCache(REMEMBERED_SETS, getsizeof=len)
        self._candidates: LRUCache[str, Candidates] = LRUCache(
            REMEMBERED_SETS, getsizeof=lambda each: len(each.contexts)
        )

    @classmethod
    def open(cls, folder: Path, device: str = "cpu", contexts: ContextSettings | None = None) -> Origin:
        """The one in an origin folder, such as `runs/origin`.

        Raises:
            BadOrigin: a step is missing, is broken, or belongs to another making; the message names it.
        """
        made_of = {step: read_step_about(folder / step).get(MADE_OF, {}) for step in _STEPS}
        if unmade := [step for step, its in made_of.items() if not its]:
            verb = "train" if unmade[0] in (COHERENCE, GENERATION) else "corpus"
            raise BadOrigin(f"{folder} holds no {unmade[0]}: make it by `semblance origin {verb}`")
        corpus = Corpus.open(folder / CORPUS)
        generation = Generation.open(folder / GENERATION, device)
        parts = Parts(
            corpus,
            TokenTable.open(folder / TOKENS),
            Vocabulary.open(folder / VOCABULARY),
            Screening.open(folder / SCREENING),
            CoherenceRanking.open(folder / COHERENCE, corpus, device),
            generation,
        )
        require_one_making(folder, made_of)
        most = made_of[TOKENS]["max_tokens"]
        return cls(parts, contexts or ContextSettings(), most, {**made_of, "computed": generation.about()})

    def about(self) -> Mapping[str, Any]:
        """What its scores depend on, as JSON has it."""
        return {"contexts": self.contexts.model_dump(mode="json"), **self._made_of}

    @property
    def pairs_at_once(self) -> int:
        """Pairs of sentences whose terms fill the batches of the models: more at once is no faster."""
        return max(1, AT_ONCE // (2 * (self._search.most + self.contexts.size)))

    def context_sets(self, texts: Sequence[str], choice: Choice = FULL) -> list[ContextSet]:
        """The contexts of each text, with its terms there.

        Raises:
            BadTexts: a text has nothing to see in it.
            BadCorpus: there is no context but those that hold a text.
        """
        require_visible(texts)
        whole, distinct = choice.uncut(), list(dict.fromkeys(texts))
        found = {text: each for text in distinct if (each := self._sets.get((text, whole))) is not None}
        new = [text for text in distinct if text not in found]
        for text, made in zip(new, self._chosen(new, whole), strict=True):
            found[text] = self._sets[text, whole] = made
        return [found[text] if choice.size is None else found[text].first(choice.size) for text in texts]

    def terms(self, texts: Sequence[str], contexts: Sequence[Integers]) -> list[Doubles]:
        """(n, 4) the terms of Eq. 3 of each text in its own n contexts, by number."""
        return self._table.terms(texts, contexts)

    def similarities(
        self, left: Sequence[str], right: Sequence[str], form: Form = "cosine", choice: Choice = FULL
    ) -> Doubles:
        """(n,) how alike left text i and right text i are.

        Raises:
            BadTexts, BadCorpus: as `context_sets`.
        """
        found: list[float] = []
        weights = choice.kept(self.contexts.weights)
        for start in range(0, len(left), self.pairs_at_once):
            some = slice(start, start + self.pairs_at_once)
            for _, first, second in self._joined(left[some], right[some], choice):
                found.append(similarity(scores(first, weights), scores(second, weights), form))
        return np.array(found, np.float64)

    def explain(self, a: str, b: str, form: Form = "cosine") -> ContextExplanation:
        """Why two sentences are as alike as they are.

        Raises:
            BadTexts, BadCorpus: as `context_sets`.
        """
        [(contexts, first, second)] = self._joined([a], [b], FULL)
        return ContextExplanation.of(contexts, first, second, self.contexts.weights, form)

    def reasons(self, explanation: ContextExplanation, n: int) -> list[Reason]:
        """The n contexts that add most, with their texts."""
        best = explanation.top(n)
        left, right = (self.corpus.texts(explanation.contexts[best] + step) for step in (-1, 1))
        return [explanation.reason(int(i), *texts) for i, *texts in zip(best, left, right, strict=True)]

    def _joined(
        self, left: Sequence[str], right: Sequence[str], choice: Choice
    ) -> Iterator[tuple[Integers, Doubles, Doubles]]:
        """Of each pair the joined contexts (n,), and the terms (n, 4) of both texts in them."""
        sets = self.context_sets([*left, *right], choice)
        own, other = sets[: len(left)], sets[len(left) :]
        crossed = self.terms([*left, *right], [each.contexts for each in (*other, *own)])
        for i, (a, b) in enumerate(zip(own, other, strict=True)):
            contexts = np.concatenate([a.contexts, b.contexts])
            yield (
                contexts,
                np.concatenate([a.terms, crossed[i]]),
                np.concatenate([crossed[len(left) + i], b.terms]),
            )

    def _chosen(self, texts: Sequence[str], choice: Choice) -> list[ContextSet]:
        """Sets of the largest size, of distinct texts."""
        candidates = list(self._search.drawn(texts)) if choice.random else self._ranked(texts)
        terms = self.terms(texts, [each.contexts for each in candidates])
        return [self._greedy(each, own, choice) for each, own in zip(candidates, terms, strict=True)]

    def _greedy(self, candidates: Candidates, terms: Doubles, choice: Choice) -> ContextSet:
        contexts, settings = candidates.contexts, self.contexts
        chosen = np.arange(len(contexts))
        if not choice.random:
            by = scores(terms, choice.kept(settings.weights))
            by[candidates.screened :] -= np.ptp(by) + 1  # what tops up comes after all that is of screened chunks
            if choice.diverse:
                previous = self.corpus.texts(contexts - 1)
                chosen = best_that_differ(by, self.corpus.chunk[contexts], previous, settings.size, settings.overlap)
            else:
                chosen = np.argsort(-by, kind="stable")[: settings.size]
        topped_up = candidates.screened > 0 and bool((chosen >= candidates.screened).any())
        return ContextSet(contexts[chosen], terms[chosen], candidates.screened == 0, topped_up, candidates.truncated)

    def _ranked(self, texts: Sequence[str]) -> list[Candidates]:
        found = {text: each for text in texts if (each := self._candidates.get(text)) is not None}
        new = [text for text in texts if text not in found]
        for text, each in zip(new, self._search.ranked(new), strict=True):
            found[text] = self._candidates[text] = each
        return [found[text] for text in texts]
