"""Origin as what gives scores to an evaluation: its measures are its variants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.errors import NotExplainable, UnknownName
from semblance.models.evaluation.scorer import Track
from semblance.models.evaluation.tasks import Retrieval
from semblance.models.explanation import LinkList
from semblance.models.origin.scoring.ablations import CHOICES, Variant, variant
from semblance.models.origin.scoring.origin import Origin
from semblance.models.origin.scoring.scoring import FORMS
from semblance.models.text import Granularity


class OriginScorer:
    """A `semblance.models.evaluation.scorer.Scorer` of graded or labelled pairs, triplets and rankings."""

    def __init__(self, origin: Origin, name: str, track: Track) -> None:
        self._origin = origin
        self._name = name
        self.track = track

    def about(self) -> Mapping[str, str]:
        """Its name, and how contexts are chosen."""
        chosen = self._origin.contexts.model_dump().items()
        return {"model": self._name, **{f"contexts_{key}": str(value) for key, value in chosen}}

    def variants(self, names: Sequence[str]) -> dict[str, Variant]:
        """The variants of these names.

        Raises:
            UnknownName: there is no such variant, or its sets are larger than those of this Origin.
        """
        size = self._origin.contexts.size
        fitting = [name for name, each in CHOICES.items() if each.size is None or each.size <= size]
        found = {name: variant(name) for name in names}
        for name, each in found.items():
            if each.choice.size is not None and each.choice.size > size:
                raise UnknownName(f"variants of an Origin with {size} contexts a sentence", name, [*FORMS, *fitting])
        return found

    def scores(self, measures: Sequence[str], left: Sequence[str], right: Sequence[str]) -> dict[str, Doubles]:
        """As the protocol says. What one variant computes of a pair, the others find there.

        Raises:
            UnknownName: as `variants`.
            BadTexts, BadCorpus: as `Origin.similarities`.
        """
        variants, step = self.variants(measures), self._origin.pairs_at_once
        found: dict[str, list[Doubles]] = {name: [np.zeros(0)] for name in measures}
        blocks = [slice(start, start + step) for start in range(0, len(left), step)]
        for some in self.track(blocks, f"{step} pairs at a time"):
            for name, each in variants.items():
                found[name].append(self._origin.similarities(left[some], right[some], each.form, each.choice))
        return {name: np.concatenate(each) for name, each in found.items()}

    def links(
        self, measures: Sequence[str], left: Sequence[str], right: Sequence[str], granularity: Granularity
    ) -> Iterator[dict[str, LinkList]]:
        """Raises NotExplainable: its reasons are contexts."""
        del measures, left, right, granularity
        _refuse("explains by contexts, not by tokens: `semblance origin explain`")

    def search(self, measures: Sequence[str], task: Retrieval, k: int) -> dict[str, dict[str, list[str]]]:
        """Raises NotExplainable: it compares every query with every document anew, which takes too long."""
        del measures, task, k
        _refuse("compares pairs, and is too slow to search: train its surrogate")


def _refuse(why: str) -> NoReturn:
    raise NotExplainable(f"Origin {why}")
