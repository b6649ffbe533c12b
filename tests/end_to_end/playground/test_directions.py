"""Texts from right to left: pictures order words as browsers do, and no text turns the page around it."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, expect

from semblance.service.rendering.html.explanation import render_html
from semblance.service.rendering.svg.picture import render_svg
from tests.end_to_end.playground.conftest import WIDTHS, OpenPage
from tests.service.rendering.test_scripts import placed, split

LINES = [
    "the words אחת שתיים (שלוש) end here",
    "באר see https://example.org/a/b, ועד 3.5 או 4",
    "قال (نعم) book في عام 2019 2020.",
    "a ابج 12 د e, שלום!",
    "سعر 50% و -3 أو 1/2 kg",
]
HEBREW = {"a": "הכלב \u202eלא\u202c ישן \u2069על הספה", "b": "The dog הכלב sleeps on the sofa", "by": "rcmd_words"}


@pytest.mark.parametrize("text", LINES)
def test_words_of_pictures_stand_as_in_a_browser(browser: Browser, text: str) -> None:
    explanation, caption = split(text)
    edges = [edge for _, edge in placed(render_svg(explanation, caption))]
    page = browser.new_page(viewport={"width": 1600, "height": 900})
    page.set_content(render_html(explanation, caption))
    marks = page.locator("p.text").first.locator("mark")
    shown = marks.evaluate_all("all => all.map((each) => each.getBoundingClientRect().left)")
    page.close()
    assert len(shown) == len(edges)
    ranks = [sorted(range(len(places)), key=places.__getitem__) for places in (shown, edges)]
    assert ranks[0] == ranks[1]


def test_words_of_the_playground_are_isolated_and_fit(open_page: OpenPage) -> None:
    page = open_page("#compare?" + urlencode(HEBREW))
    page.get_by_text("Table of links").click()
    cells = page.locator("table.links tbody td:not(.number)")
    expect(cells.first).to_be_visible()
    assert cells.count() == page.locator("table.links tbody td > bdi").count()
    assert page.locator("table.matrix th").count() == page.locator("table.matrix th bdi").count()
    first, second = page.locator(".texts p.text").all()
    directions = [each.evaluate("each => getComputedStyle(each).direction") for each in (first, second)]
    assert directions == ["rtl", "ltr"]
    page.locator(".word").first.hover()
    said = page.locator("p.partners")
    expect(said.locator("bdi").first).to_have_text("הכלב")
    assert not set("\u202e\u202c\u2069") & set(said.inner_text() + "".join(cells.all_inner_texts()))
    opening = said.evaluate(
        "each => { const r = new Range(); r.setStart(each.firstChild, 0);"
        " r.setEnd(each.firstChild, 1); return r.getBoundingClientRect().left; }"
    )
    assert opening < (said.locator("bdi").first.bounding_box() or {"x": 0.0})["x"]
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
