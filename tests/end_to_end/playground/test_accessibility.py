"""The playground has no fault that axe-core finds, in light and dark, with every result open."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.end_to_end.playground.conftest import OpenPage
from tests.support.npm_packages import npm_packages

VIEWS = {
    "compare": "#compare?a=The%20late%20parcel&b=My%20package%20is%20late&by=rcmd1,cosine,word_movers",
    "search": "#search?query=my%20parcel%20never%20came&k=5",
    "rerank": "#rerank",
    "collection": "#collection",
}


def open_everything(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    open_disclosures(page)
    if (why := page.get_by_role("button", name="Why above")).count():
        why.first.click()
        page.locator("table.difference").wait_for()
    if (find := page.get_by_role("button", name="Find near-duplicates")).count():
        page.get_by_label("Least similarity").fill("0.6")
        find.click()
        page.get_by_text("9 groups of").wait_for()
        page.get_by_role("button", name="Draw map").click()
        page.locator(".map").press("Home")
    page.get_by_role("button", name="Key").click()


def open_disclosures(page: Page) -> None:
    """Open what is closed, and wait until it is filled."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    expect(page.locator("details > .scroll:empty")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_no_violation(open_page: OpenPage, view: str, scheme: str) -> None:
    page = open_page(VIEWS[view], scheme=scheme)
    open_everything(page)
    assert_accessible(page)


def assert_accessible(page: Page) -> None:
    page.evaluate((npm_packages(Path(__file__).parent) / "axe-core" / "axe.min.js").read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert found["passes"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found["violations"]] == []
