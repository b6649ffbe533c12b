"""Chunk alignment on interpretable STS by plain token cosines: the baseline of the explanations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from semblance.models.catalogue import explainable
from semblance.models.encoders.transformer import Transformer
from semblance.models.evaluation.metrics import compute_metrics
from semblance.models.evaluation.scorer import ALL_LINKS, LocalScorer
from semblance.models.explanation import LinkList
from semblance.models.text import Granularity
from semblance.service.cli.evaluate.data_sets import read_task
from tests.support.no_progress import no_progress


class CosineLinkScorer(LocalScorer):
    """Uses the similarity of two tokens as their contribution to the score."""

    def links(
        self, measures: Sequence[str], left: Sequence[str], right: Sequence[str], granularity: Granularity
    ) -> Iterator[dict[str, LinkList]]:
        assert granularity == "token"
        known = self.embed([*left, *right], "tokens")
        for a, b in zip(left, right, strict=True):
            whys = {name: explainable(name).explain(known[a], known[b]) for name in measures}
            yield {name: replace(why, contribution=why.similarity).link_list(ALL_LINKS) for name, why in whys.items()}


def test_plain_cosines_align_chunks_as_published(data: Path, minilm: Transformer) -> None:
    """The protocol of CLRCMD, with its filtered gold alignment, on the images of 2016; links by rcmd reach 90."""
    judged = compute_metrics(read_task("ists_images", data), CosineLinkScorer(minilm, no_progress), ["rcmd"])
    [sample] = judged["rcmd"].metrics[0].samples
    figure = 100 * float(sample.statistic(np.ones((1, sample.n)))[0])
    print(f"iSTS 2016 images, plain cosines: F1 {figure:.2f}")
    assert figure == pytest.approx(68.04, abs=0.1)
