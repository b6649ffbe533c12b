"""Evaluation of Origin: a scorer whose measures are Origin's variants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.errors import NotExplainable, UnknownName
from semblance.models.explanation import LinkList
from semblance.models.files.atomic import write_json
from semblance.models.files.digests import digest
from semblance.models.files.json_file import read_json
from semblance.models.protocols import Track
from semblance.models.text import Granularity
from semblance_lab.evaluation.tasks import Retrieval
from semblance_lab.origin.scoring.contexts import SetSummary
from semblance_lab.origin.scoring.origin import Origin
from semblance_lab.origin.scoring.scoring import ABLATIONS, FORMS, Variant, find_variant


class OriginScorer:
    """A `Scorer` (evaluation/scorer.py) of graded or labelled pairs, triplets and rankings.

    Args:
        origin: that scores.
        name: of the model, for reports.
        track: shows the progress.
        folder: that keeps the results of every batch for the next call; of this Origin alone, and locked.

    Attributes:
        summaries: the context set of each scored sentence.
    """

    def __init__(self, origin: Origin, name: str, track: Track, folder: Path | None = None) -> None:
        self._origin = origin
        self._name = name
        self._folder = folder
        self.track = track
        self.summaries: dict[str, SetSummary] = {}

    def about(self) -> Mapping[str, str]:
        """Its name, and the settings of its contexts."""
        settings = self._origin.contexts.model_dump().items()
        return {"model": self._name, **{f"contexts_{key}": str(value) for key, value in settings}}

    def variants(self, names: Sequence[str]) -> dict[str, Variant]:
        """The variants with these names.

        Raises:
            UnknownName: there is no such variant, or its sets are larger than those of this Origin.
        """
        size = self._origin.contexts.size
        allowed = [name for name, each in ABLATIONS.items() if each.size is None or each.size <= size]
        variants = {name: find_variant(name) for name in names}
        for name, variant in variants.items():
            if variant.ablation.size is not None and variant.ablation.size > size:
                raise UnknownName(f"variants of an Origin with {size} contexts a sentence", name, [*FORMS, *allowed])
        return variants

    def scores(self, measures: Sequence[str], left: Sequence[str], right: Sequence[str]) -> dict[str, Doubles]:
        """Scores of each pair by each variant; all variants of a batch share Origin's caches.

        Raises:
            UnknownName: as `variants`.
            BadTexts, BadCorpus: as `Origin.similarities`.
            BadCheckpoint: a stored result cannot be read.
        """
        variants, step = self.variants(measures), self._origin.pairs_per_batch
        blocks: dict[str, list[Doubles]] = {name: [np.zeros(0)] for name in measures}
        batches = [slice(start, start + step) for start in range(0, len(left), step)]
        for batch in self.track(batches, f"{step} pairs at a time"):
            pairs = list(zip(left[batch], right[batch], strict=True))
            for name, variant in variants.items():
                blocks[name].append(np.array(self._stored(name, pairs, partial(self._similarities, pairs, variant))))
            texts = list(dict.fromkeys(text for pair in pairs for text in pair))
            rows = self._stored("context sets", texts, partial(self._summaries, texts))
            self.summaries |= {text: SetSummary(*row) for text, row in zip(texts, rows, strict=True)}
        return {name: np.concatenate(block) for name, block in blocks.items()}

    def _similarities(self, pairs: Sequence[tuple[str, str]], variant: Variant) -> list[Any]:
        left, right = ([pair[side] for pair in pairs] for side in (0, 1))
        scores: list[Any] = self._origin.similarities(left, right, variant.form, variant.ablation).tolist()
        return scores

    def _summaries(self, texts: Sequence[str]) -> list[Any]:
        return [list(astuple(context_set.summary)) for context_set in self._origin.context_sets(texts)]

    def _stored(self, name: str, batch: Sequence[Any], compute: Callable[[], list[Any]]) -> list[Any]:
        """A result of a batch, read from the folder if an earlier call computed it."""
        if self._folder is None:
            return compute()
        file = self._folder / f"{digest(result=name, batch=batch)}.json"
        if not file.exists():
            write_json(file, compute())
        return read_json(file, list)

    def links(
        self, measures: Sequence[str], left: Sequence[str], right: Sequence[str], granularity: Granularity
    ) -> Iterator[dict[str, LinkList]]:
        """Raise NotExplainable: its explanations are contexts."""
        del measures, left, right, granularity
        _refuse("explains by contexts, not by tokens; use `semblance origin explain`")

    def search(self, measures: Sequence[str], task: Retrieval, k: int) -> dict[str, dict[str, list[str]]]:
        """Raise NotExplainable: comparing every query with every document takes too long."""
        del measures, task, k
        _refuse("compares pairs, and is too slow to search; train its surrogate")


def _refuse(reason: str) -> NoReturn:
    raise NotExplainable(f"Origin {reason}")
