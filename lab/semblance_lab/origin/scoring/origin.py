"""Origin: two sentences are similar if the same contexts make both likely."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cachetools import LRUCache

from semblance.models.embeddings import Doubles, Integers
from semblance.models.text import require_visible
from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.screening import Screening
from semblance_lab.origin.corpus.tokens import TokenTable, Vocabulary
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.networks.coherence import CoherenceRanking
from semblance_lab.origin.networks.generation import Generation
from semblance_lab.origin.origin_folder import (
    COHERENCE,
    CORPUS,
    GENERATION,
    PROVENANCE,
    SCREENING,
    TOKENS,
    VOCABULARY,
    read_step_about,
    require_consistent_steps,
)
from semblance_lab.origin.origin_settings import ContextSettings
from semblance_lab.origin.scoring.context_explanation import ContextExplanation, Reason
from semblance_lab.origin.scoring.contexts import Candidates, CandidateSearch, ContextSet, select_diverse
from semblance_lab.origin.scoring.scoring import FULL, Ablation, Form, relative_terms, scores, similarity
from semblance_lab.origin.scoring.term_table import PAIRS_PER_BATCH, OriginComponents, TermTable

CACHED_CONTEXTS = 1 << 22  # contexts in the cached sets: 170 MB
REFERENCE_SEED = 0

_STEPS = (CORPUS, VOCABULARY, TOKENS, SCREENING, COHERENCE, GENERATION)


class Origin:
    """Similarity of sentences by the contexts of a corpus that would take either.

    Each sentence gets a set of contexts: those of screened chunks, of which the best by Eq. 1 are ranked by Eq. 3, and
    selected from the top if they differ; if these chunks are fewer than the set needs, contexts around the nearest
    sentences top it up. Two sentences are compared by their scores in the contexts of both sets, concatenated, so a
    context that is in both counts twice.

    Sets and terms are cached up to a memory limit, across calls; equal texts are computed once.

    Attributes:
        references: sentences of the corpus whose terms the double-centred form subtracts.

    Args:
        components: corpus, screening and models, all built from the same corpus.
        contexts: settings of their choice.
        max_tokens: that texts are truncated to.
        provenance: of the components, returned by `about`.

    Source: sun-etal-2022-origin.
    """

    def __init__(
        self,
        components: OriginComponents,
        contexts: ContextSettings,
        max_tokens: int,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.contexts = contexts
        self.max_tokens = max_tokens
        self.corpus = components.corpus
        self._provenance = {} if provenance is None else provenance
        self._table = TermTable(components, max_tokens, contexts.weights)
        self._search = CandidateSearch(components, self._table, contexts, max_tokens)
        sentences, count = components.corpus.contexts(), contexts.references
        drawn = np.random.default_rng(REFERENCE_SEED).permutation(sentences)[:count]
        self.references = components.corpus.texts(drawn)
        self._sets: LRUCache[tuple[str, Ablation], ContextSet] = LRUCache(CACHED_CONTEXTS, getsizeof=len)
        self._candidates: LRUCache[str, Candidates] = LRUCache(
            CACHED_CONTEXTS, getsizeof=lambda each: len(each.contexts)
        )

    @classmethod
    def open(cls, folder: Path, device: str = "cpu", contexts: ContextSettings | None = None) -> Origin:
        """Open an origin folder, such as `runs/origin`.

        Raises:
            BadOrigin: a step is missing, broken, or built from other files; the message names it.
        """
        provenance = {step: read_step_about(folder / step).get(PROVENANCE, {}) for step in _STEPS}
        if missing := [step for step, inputs in provenance.items() if not inputs]:
            verb = "train" if missing[0] in (COHERENCE, GENERATION) else "corpus"
            raise BadOrigin(f"{folder} contains no {missing[0]}; run `semblance origin {verb}`")
        corpus = Corpus.open(folder / CORPUS)
        generation = Generation.open(folder / GENERATION, device)
        components = OriginComponents(
            corpus,
            TokenTable.open(folder / TOKENS),
            Vocabulary.open(folder / VOCABULARY),
            Screening.open(folder / SCREENING),
            CoherenceRanking.open(folder / COHERENCE, corpus, device),
            generation,
        )
        require_consistent_steps(folder, provenance)
        most = provenance[TOKENS]["max_tokens"]
        return cls(components, contexts or ContextSettings(), most, {**provenance, "computed": generation.about()})

    def about(self) -> Mapping[str, Any]:
        """Everything that the scores depend on, as JSON values."""
        return {"contexts": self.contexts.model_dump(mode="json"), **self._provenance}

    @property
    def pairs_per_batch(self) -> int:
        """Pairs of sentences that fill the batches of the models; more at once are not faster."""
        return max(1, PAIRS_PER_BATCH // (2 * (self._search.limit + self.contexts.size)))

    def context_sets(self, texts: Sequence[str], ablation: Ablation = FULL) -> list[ContextSet]:
        """The contexts of each text, with its terms there.

        Raises:
            BadTexts: a text has no visible character.
            BadCorpus: all contexts contain a text.
        """
        require_visible(texts)
        full, distinct = ablation.full_size(), list(dict.fromkeys(texts))
        sets = {text: each for text in distinct if (each := self._sets.get((text, full))) is not None}
        new = [text for text in distinct if text not in sets]
        for text, context_set in zip(new, self._choose(new, full), strict=True):
            sets[text] = self._sets[text, full] = context_set
        return [sets[text] if ablation.size is None else sets[text].first(ablation.size) for text in texts]

    def terms(self, texts: Sequence[str], contexts: Sequence[Integers]) -> list[Doubles]:
        """(n, 4) the terms of Eq. 3 of each text in its own n contexts, by number."""
        return self._table.terms(texts, contexts)

    def reference_terms(self, contexts: Integers) -> Doubles:
        """(r, n, 4) the terms of the reference sentences in n contexts, for `relative_terms`."""
        return np.stack(self.terms(self.references, [contexts] * len(self.references)))

    def similarities(
        self, left: Sequence[str], right: Sequence[str], form: Form = "cosine", ablation: Ablation = FULL
    ) -> Doubles:
        """(n,) similarity of left text i and right text i.

        Raises:
            BadTexts, BadCorpus: as `context_sets`.
        """
        result: list[float] = []
        weights = ablation.remaining_weights(self.contexts.weights)
        for start in range(0, len(left), self.pairs_per_batch):
            batch = slice(start, start + self.pairs_per_batch)
            for _, first, second in self._pair_terms(left[batch], right[batch], form, ablation):
                result.append(similarity(scores(first, weights), scores(second, weights), form))
        return np.array(result, np.float64)

    def explain(self, a: str, b: str, form: Form = "cosine") -> ContextExplanation:
        """Explain the similarity of two sentences.

        Raises:
            BadTexts, BadCorpus: as `context_sets`.
        """
        [(contexts, first, second)] = self._pair_terms([a], [b], form, FULL)
        return ContextExplanation.of(contexts, first, second, self.contexts.weights, form)

    def reasons(self, explanation: ContextExplanation, n: int) -> list[Reason]:
        """The n contexts with the largest contributions, with their texts."""
        best = explanation.top(n)
        left, right = (self.corpus.texts(explanation.contexts[best] + step) for step in (-1, 1))
        return [explanation.reason(int(i), *texts) for i, *texts in zip(best, left, right, strict=True)]

    def _pair_terms(
        self, left: Sequence[str], right: Sequence[str], form: Form, ablation: Ablation
    ) -> Iterator[tuple[Integers, Doubles, Doubles]]:
        """Yield, for each pair, the joined contexts (n,) and the terms (n, 4) of both texts in them.

        Of the double-centred form, they are relative to the reference sentences.
        """
        sets = self.context_sets([*left, *right], ablation)
        own, other = sets[: len(left)], sets[len(left) :]
        crossed = self.terms([*left, *right], [each.contexts for each in (*other, *own)])
        joined = [np.concatenate([a.contexts, b.contexts]) for a, b in zip(own, other, strict=True)]
        first = [np.concatenate([a.terms, crossed[i]]) for i, a in enumerate(own)]
        second = [np.concatenate([crossed[len(left) + i], b.terms]) for i, b in enumerate(other)]
        if form == "double_centred" and joined:
            ends = np.cumsum([len(contexts) for contexts in joined])[:-1]
            references = np.split(self.reference_terms(np.concatenate(joined)), ends, axis=1)
            first, second = (list(map(relative_terms, side, references)) for side in (first, second))
        yield from zip(joined, first, second, strict=True)

    def _choose(self, texts: Sequence[str], ablation: Ablation) -> list[ContextSet]:
        """Sets of the largest size, of distinct texts."""
        candidates = list(self._search.draw_random(texts)) if ablation.random else self._rank(texts)
        terms = self.terms(texts, [each.contexts for each in candidates])
        return [self._select(candidate, own, ablation) for candidate, own in zip(candidates, terms, strict=True)]

    def _select(self, candidates: Candidates, terms: Doubles, ablation: Ablation) -> ContextSet:
        contexts, settings = candidates.contexts, self.contexts
        chosen = np.arange(len(contexts))
        if not ablation.random:
            by = scores(terms, ablation.remaining_weights(settings.weights))
            by[candidates.screened :] -= np.ptp(by) + 1  # topped-up contexts come after all those of screened chunks
            if ablation.diverse:
                previous = self.corpus.texts(contexts - 1)
                chosen = select_diverse(by, self.corpus.chunk[contexts], previous, settings.size, settings.overlap)
            else:
                chosen = np.argsort(-by, kind="stable")[: settings.size]
        topped_up = candidates.screened > 0 and bool((chosen >= candidates.screened).any())
        return ContextSet(contexts[chosen], terms[chosen], candidates.screened == 0, topped_up, candidates.truncated)

    def _rank(self, texts: Sequence[str]) -> list[Candidates]:
        ranked = {text: each for text in texts if (each := self._candidates.get(text)) is not None}
        new = [text for text in texts if text not in ranked]
        for text, each in zip(new, self._search.rank(new), strict=True):
            ranked[text] = self._candidates[text] = each
        return [ranked[text] for text in texts]
