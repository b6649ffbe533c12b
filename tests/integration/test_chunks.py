"""Chunks of interpretable STS aligned by plain cosines of their tokens: what explanations have to be better than."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from semblance.models.catalogue import explainable
from semblance.models.encoders.transformer import Transformer
from semblance.models.evaluation.metrics import judge
from semblance.models.evaluation.scorer import ALL_LINKS, LocalScorer
from semblance.models.explanation import LinkList
from semblance.models.text import Granularity
from semblance.service.cli.evaluate.sets import read_task
from tests.support.untracked import untracked


class BySimilarity(LocalScorer):
    """Takes the similarity of two tokens for what they add to the score."""

    def links(
        self, measures: Sequence[str], left: Sequence[str], right: Sequence[str], granularity: Granularity
    ) -> Iterator[dict[str, LinkList]]:
        assert granularity == "token"
        known = self.embed([*left, *right], "tokens")
        for a, b in zip(left, right, strict=True):
            whys = {name: explainable(name).explain(known[a], known[b]) for name in measures}
            yield {name: replace(why, contribution=why.similarity).link_list(ALL_LINKS) for name, why in whys.items()}


def test_the_plain_cosine_matrix_aligns_chunks_as_badly_as_known(data: Path, minilm: Transformer) -> None:
    """The protocol of CLRCMD, with its filtered gold alignment, on the images of 2016; links by rcmd reach 90."""
    judged = judge(read_task("ists_images", data), BySimilarity(minilm, untracked), ["rcmd"])
    [sample] = judged["rcmd"].quantities[0].samples
    figure = 100 * float(sample.statistic(np.ones((1, sample.n)))[0])
    print(f"iSTS 2016 images, plain cosines: F1 {figure:.2f}")
    assert figure == pytest.approx(68.04, abs=0.1)
