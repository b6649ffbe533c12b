"""The verdict in pictures and pages: a line above the score, and bold words."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from semblance_client.vocabulary.same import Place, Reason, Verdict

from semblance.models.explanation import Explanation
from semblance.service.rendering.caption import Caption
from semblance.service.rendering.html.explanation import render_html
from semblance.service.rendering.playground import playground_view
from semblance.service.rendering.svg.picture import render_svg
from semblance.service.rendering.verdict import differing
from tests.service.rendering.test_rendering import SVG, anything, explained
from tests.support.units import units_of

A, B = "turn on 12 lamps", "turn off the lamps"


def place(text: str, word: str) -> Place:
    return Place(start=text.index(word), end=text.index(word) + len(word), text=word)


def verdict(name: Any = "different", *reasons: Reason) -> Verdict:
    return Verdict(verdict=name, log_odds=-9.0, base=2.75, rest=0.0, reasons=list(reasons))


REASONS = (
    Reason(kind="replaced", log_odds=-4.0, a=[place(A, "on")], b=[place(B, "off")]),
    Reason(kind="number", log_odds=-3.0, a=[place(A, "12")], b=[]),
    Reason(kind="only", log_odds=-0.2, a=[], b=[place(B, "the")]),
)


def pair(same: Verdict | None) -> tuple[Explanation, Caption]:
    explanation, caption = explained(A, B)
    return explanation, replace(caption, same=same)


def bold_in(svg: str) -> list[str]:
    groups = [each for each in ET.fromstring(svg).iter(f"{SVG}g") if each.get("class") == "text"]
    written = [each for group in groups for each in list(group.iter(f"{SVG}text"))[1:]]  # without the heading
    return ["".join(each.itertext()) for each in written if each.get("font-weight") == "700"]


def test_a_picture_begins_with_the_verdict() -> None:
    svg = render_svg(*pair(verdict("different", *REASONS)))
    [title] = [each for each in ET.fromstring(svg).iter(f"{SVG}g") if each.get("class") == "title"]
    assert "".join(title[0].itertext()) == "Different: on / off; only in a: 12"
    assert bold_in(svg) == ["on", "12", "off"]
    assert "bold: words that differ, by the verdict" in svg


def test_a_page_begins_with_the_verdict() -> None:
    page = render_html(*pair(verdict("different", *REASONS)))
    line = '<p class="verdict"><strong>Different:</strong> on / off; only in a: 12</p>'
    assert page.index(line) < page.index("<h1>")
    assert re.findall(r'<mark class="[^"]* differs"[^>]*>([^<]*)', page) == ["on", "12", "off"]
    assert "bold ones differ, by the verdict" in page


@pytest.mark.parametrize("same", [None, verdict("same")])
def test_nothing_is_bold_where_nothing_differs(same: Verdict | None) -> None:
    svg, page = render_svg(*pair(same)), render_html(*pair(same))
    assert (bold_in(svg), "bold:" in svg, " differs" in page) == ([], False, False)
    assert ('<p class="verdict"><strong>Same</strong></p>' in page) == (same is not None)
    assert (">Same<" in svg.replace("\u2068", "").replace("\u2069", "")) == (same is not None)


def test_the_playground_gets_the_differing_words() -> None:
    explanation, _ = pair(None)
    view = playground_view(explanation, verdict("different", *REASONS))
    for side, differs in (("a", [False, True, True, False]), ("b", [False, True, False, False])):
        assert [name.endswith(" differs") for name, _ in view[side]] == differs
        colors = [name.removesuffix(" differs") for name, _ in view[side]]
        assert colors == [name for name, _ in playground_view(explanation)[side]]


@given(anything)
def test_any_words_of_a_reason_are_drawn_safely(words: str) -> None:
    whole = Reason(kind="only", log_odds=-4.0, a=[Place(start=0, end=len(words), text=words)], b=[])
    explanation, caption = explained(words, B)
    caption = replace(caption, same=verdict("different", whole))
    ET.fromstring(render_svg(explanation, caption))
    page = render_html(explanation, caption)
    [line] = re.findall(r'(?s)<p class="verdict"><strong>Different:</strong>(.*?)</p>', page)
    assert "<" not in line
    assert "\n" not in unescape(line)


@example("ab ab", [(0, 1)])
@example("ab ab", [(2, 4)])
@example("ab ab", [(2, 3), (4, 5)])
@given(st.text("ab ", max_size=12), st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=4))
def test_units_differ_that_have_characters_of_places(text: str, spans: list[tuple[int, int]]) -> None:
    units, ordered = units_of(text), [(min(span), max(span)) for span in spans]
    characters = {at for start, end in ordered for at in range(start, end)}
    expected = [bool(characters & set(range(unit.start, unit.end))) for unit in units]
    places = [Place(start=start, end=end, text="") for start, end in ordered if start < end]
    assert list(differing(units, places)) == expected
