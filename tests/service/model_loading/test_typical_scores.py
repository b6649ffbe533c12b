"""Typical scores that are shipped are those of the page that prints them."""

from __future__ import annotations

import re

import pytest

from semblance.service.model_loading.registry import read_source
from semblance.service.model_loading.typical_scores import read_typical, typical_of
from tests.support.project import PROJECT


def test_shipped_ranges_are_those_of_the_page() -> None:
    page = (PROJECT / "docs" / "scores.md").read_text("utf-8")
    rows = re.findall(r"^\| minilm-graded \| (\w+) \|((?: \S+ to \S+ \|){3})$", page, re.MULTILINE)
    printed = {measure: [float(each) for each in re.findall(r"[-\d.]+", row)] for measure, row in rows}
    shipped = read_typical()[read_source("minilm-graded").space]
    ranges = {each.measure: [*each.random, *each.related, *each.paraphrases] for each in shipped}
    assert {name: [float(f"{each:.3g}") for each in own] for name, own in ranges.items()} == printed
    assert len(printed) > 20


@pytest.mark.usefixtures("multilingual")
def test_ranges_beside_a_classifier_are_those_of_its_model() -> None:
    cosine = typical_of(read_source("multilingual").space, "cosine")
    assert cosine is not None
    assert 0.5 < cosine.random[0] < cosine.related[0] < cosine.paraphrases[0], "the cosines of this model are high"


def test_other_models_have_none() -> None:
    assert read_source("minilm").space not in read_typical()
