"""The view of the playground: printed numbers add up, and agree wherever a link is shown."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.service.rendering.playground import playground_view
from tests.service.rendering.test_rendering import explained, words


def number(text: str) -> Decimal:
    return Decimal(text.replace("\u2212", "-") or 0)


def shown_by(parts: list[list[float]], a: str, b: str, special: float = 0.0) -> dict[str, Any]:
    return playground_view(explained(a, b, np.array(parts), special)[0])


@given(st.lists(st.floats(-2, 2), min_size=4, max_size=4), st.floats(-1, 1))
def test_the_printed_parts_sum_to_the_printed_score(parts: list[float], special: float) -> None:
    explanation, _ = explained("one two", "three four", np.array(parts).reshape(2, 2), special)
    view = playground_view(explanation)
    assert sum(number(part["shown"]) for part in view["parts"]) == round(Decimal(explanation.score), 3)
    assert sum(part["value"] for part in view["parts"]) == pytest.approx(explanation.score, abs=1e-9)


def test_links_of_the_same_words_are_one_part() -> None:
    view = shown_by([[0.1, 0.02], [0.0, 0.3]], "Cat cat", "cat dog")
    parts = [(part["name"], part["shown"], part["link"]) for part in view["parts"]]
    assert parts == [("Cat ~ dog", "+0.320", None), ("Cat = cat", "+0.100", (0, 0))]


def test_a_link_has_the_same_digits_in_bar_and_matrix() -> None:
    parts = [[0.1005, 0.0], [0.0, 0.2005]]
    view = shown_by(parts, "one two", "three four")
    cells = view["matrices"][0]["cells"]
    for part in view["parts"]:
        i, j = part["link"]
        assert number(cells[i][j][1].replace("+.", "+0.")) == number(part["shown"])
    assert sum(number(part["shown"]) for part in view["parts"]) == Decimal("0.301")


def test_words_cells_and_legend_have_one_scale() -> None:
    view = shown_by([[0.2, -0.1], [0.0, 0.1]], "late parcel", "slow package")
    assert view["a"] == [("shade-plus-3", "+0.100"), ("shade-plus-3", "+0.100")]
    assert view["b"] == [("shade-plus-5", "+0.200"), ("shade-0", "0.000")]
    assert [row[0] for row in view["matrices"][0]["cells"]] == [("shade-plus-5", "+.200", None), ("shade-0", "", None)]
    assert [color for color, _ in view["legend"]][::3] == ["shade-minus-5", "shade-0", "shade-plus-5"]


def test_sums_over_several_words_have_bars() -> None:
    view = shown_by([[0.1, -0.2], [0.3, 0.0], [-0.1, 0.0]], "the of parcel", "late box")
    [matrix] = view["matrices"]
    assert (matrix["rows"], matrix["columns"]) == (["parcel", "2 others"], ["late", "box"])
    assert [(kind, text) for kind, text, _ in matrix["cells"][1]] == [
        ("sum-cell positive", "+.400"),
        ("sum-cell negative", "\u2212.200"),
    ]
    assert [share for _, _, share in matrix["cells"][1]] == pytest.approx([100, 50])


def test_long_texts_have_matrices_of_sentences_and_of_words() -> None:
    text = " ".join(f"Sentence number {i} has {i} other words." for i in range(9))
    view = playground_view(explained(text, words(3))[0])
    assert [matrix["name"] for matrix in view["matrices"]] == ["Matrix of sentences", "Matrix of words"]
    assert view["matrices"][0]["rows"][0].startswith("1. Sentence number 0 has")
    assert len(view["matrices"][1]["rows"]) == 41
