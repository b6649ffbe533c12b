"""After late answers, failures and moves between tabs, the page has what belongs there."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from semblance_client import Client

from tests.end_to_end.playground.conftest import OpenPage
from tests.support.running_service import running_service

SECRET_DIGEST = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"  # of "secret"


@pytest.fixture(scope="module", autouse=True)
def other(url: str) -> None:
    """A second collection, with one document."""
    with Client(url) as client:
        client.create_collection("other")
        client.upload([{"id": "only", "text": "A text.", "metadata": {"n": 7.100000000000001, "e": ""}}], "other")


def collections(page: Page) -> Locator:
    """The menu of collections of the tab that is open."""
    return page.locator("select[name=collection]:visible")


class Held:
    """Requests whose answers wait until they are released."""

    def __init__(self, page: Page, path: str) -> None:
        self.routes: list[Route] = []
        self._page, self._path = page, path
        page.route(path, lambda route: self.routes.append(route))  # noqa: PLW0108 - not a method of C

    def release(self) -> None:
        """Answer those that wait, and later ones at once; wait until the page has dealt with them."""
        self._page.wait_for_timeout(10)
        assert self.routes
        self._page.unroute(self._path)
        for route in self.routes:
            route.continue_()
        self._page.wait_for_load_state("networkidle")
        self._page.wait_for_timeout(100)


@pytest.mark.parametrize(
    ("fragment", "path", "field", "said"),
    [
        ("#compare", "**/explain", "[name=b]", "Type a text on both sides."),
        ("#search?query=lamp", "**/search", "[name=query]:visible", "Type what you look for."),
        ("#rerank", "**/v2/rerank", "[name=query]:visible", "Type a query and some documents."),
    ],
)
def test_a_cleared_field_leaves_no_late_result(
    open_page: OpenPage, fragment: str, path: str, field: str, said: str
) -> None:
    page = open_page(fragment)
    page.locator("output.score, .hit").first.wait_for()
    held = Held(page, path)
    with page.expect_request(path):
        page.locator(field).fill("a lost parcel")
    page.locator(field).fill("")
    expect(page.get_by_text(said)).to_be_visible()
    held.release()
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.locator("output.score, .hit")).to_have_count(0)


def test_documents_are_listed_once_after_a_double_click(open_page: OpenPage) -> None:
    page = open_page("#collection")
    rows = page.locator(".documents li")
    expect(rows).to_have_count(100)
    held = Held(page, "**/list")
    collections(page).select_option("other")
    page.get_by_role("tab", name="Compare").click()
    page.get_by_role("tab", name="Collection").dblclick()
    page.wait_for_timeout(100)
    held.release()
    expect(rows).to_have_count(1)


def test_late_groups_stay_out_of_another_collection(open_page: OpenPage) -> None:
    page = open_page("#collection?collection=default")
    expect(page.get_by_role("button", name="Draw map")).to_be_enabled()
    held = Held(page, "**/duplicates")
    page.get_by_role("button", name="Find near-duplicates").click()
    collections(page).select_option("other")
    expect(page.locator(".documents li")).to_have_count(1)
    held.release()
    expect(page.locator(".hit-list li")).to_have_count(0)
    expect(page.get_by_role("button", name="Find near-duplicates")).to_be_enabled()


def test_a_late_map_stays_out_of_another_collection(open_page: OpenPage) -> None:
    page = open_page("#compare")
    page.locator("output.score").wait_for()
    held = Held(page, "**/default/list")
    page.evaluate("location.hash = '#collection?collection=default&map=shown&color=category'")
    collections(page).select_option("other")
    expect(page.locator(".documents li")).to_have_count(1)
    held.release()
    expect(page.get_by_label("Color by").locator("option")).to_have_text(["n", "e", "nothing"])
    expect(page.locator(".map, .legend-entry")).to_have_count(0)
    assert "map" not in page.url


def test_late_facets_stay_out_of_another_collection(open_page: OpenPage) -> None:
    page = open_page("#search?query=lamp&collection=default")
    page.locator(".hit").first.wait_for()
    held = Held(page, "**/default/count")
    collections(page).select_option("other")
    expect(page.get_by_text("7.1", exact=False).first).to_be_attached()
    collections(page).select_option("default")
    page.wait_for_timeout(100)
    collections(page).select_option("other")
    held.release()
    expect(page.locator(".facet summary")).to_have_text(["n", "e"])
    expect(page.locator(".choice")).to_have_text([" 7.1 1", " (empty) 1"])


def test_a_tab_that_was_left_does_not_change_the_address(open_page: OpenPage) -> None:
    page = open_page("#compare")
    held = Held(page, "**/collections")
    page.get_by_role("tab", name="Search").click()
    page.get_by_role("tab", name="Compare").click()
    page.wait_for_timeout(100)
    held.release()
    assert "#compare" in page.url


def test_back_leads_to_the_tab_before(open_page: OpenPage) -> None:
    page = open_page("#compare?a=late%20parcel&b=my%20late%20package&by=cosine")
    page.get_by_role("tab", name="Search").click()
    expect(page).to_have_url(re.compile("#search"))
    page.get_by_role("tab", name="Collection").click()
    expect(page.locator(".documents li").first).to_be_visible()
    page.go_back()
    expect(page.get_by_role("tab", name="Search", selected=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("tab", name="Compare", selected=True)).to_be_visible()
    expect(page.get_by_role("textbox", name="First text")).to_have_value("late parcel")
    expect(page.get_by_label("measure 1")).to_have_value("cosine")


def test_a_tab_keeps_what_it_shows(open_page: OpenPage) -> None:
    page = open_page("#compare")
    page.get_by_role("button", name="Compare with another").click()
    page.get_by_label("measure 2").select_option("rcmd1")
    page.get_by_role("tab", name="Collection").click()
    page.get_by_role("button", name="Find near-duplicates").click()
    expect(page.get_by_text("8 groups.")).to_be_visible()
    page.get_by_role("button", name="Draw map").click()
    expect(page.locator(".legend-entry")).to_have_count(10)
    address = page.url
    page.get_by_role("tab", name="Compare").click()
    expect(page.get_by_label("measure 2")).to_have_value("rcmd1")
    page.get_by_role("tab", name="Collection").click()
    expect(page).to_have_url(address)
    expect(page.get_by_text("8 groups.")).to_be_visible()
    expect(page.locator(".legend-entry")).to_have_count(10)


def test_a_failed_search_leaves_no_former_hits(open_page: OpenPage) -> None:
    page = open_page("#search?query=lamp")
    hits = page.locator(".hit")
    expect(hits).to_have_count(10)
    page.route("**/search", lambda route: route.fulfill(status=503, json={"detail": "/query: too busy"}))
    page.get_by_label("Query").fill("a lost parcel")
    expect(page.get_by_role("alert")).to_have_text("Query: too busy")
    expect(hits).to_have_count(0)
    page.unroute("**/search")
    page.get_by_label("Query").fill("a late parcel")
    expect(hits).to_have_count(10)
    expect(page.get_by_role("alert")).to_be_empty()


@pytest.mark.parametrize(
    ("fragment", "said"),
    [
        ("#search?query=lamp&collection=nosuch", "There is no collection named “nosuch”."),
        ("#collection?collection=nosuch", "There is no collection named “nosuch”."),
    ],
)
def test_a_missing_collection_is_named(open_page: OpenPage, fragment: str, said: str) -> None:
    page = open_page(fragment)
    expect(page.get_by_text(said)).to_be_visible()
    expect(page.locator(".hit, .documents li")).to_have_count(0)
    collections(page).select_option("default")
    expect(page.locator(".hit, .documents li").first).to_be_visible()
    expect(page.get_by_text(said)).to_have_count(0)


def test_a_link_replaces_filters_and_unknown_choices(open_page: OpenPage) -> None:
    page = open_page('#search?query=lamp&k=5&filter={"category":["\\"orders\\""]}')
    expect(page.locator(".metadata")).to_contain_text(["category: orders"] * 5)
    page.evaluate("location.hash = '#search?query=lamp&k=7&mode=magic'")
    expect(page.locator(".hit")).to_have_count(10)
    expect(page.get_by_role("alert")).to_be_empty()
    expect(page.get_by_label("Find by")).to_have_value("hybrid")
    assert "filter" not in page.url


def test_a_stopped_service_is_said_to_be_silent(open_page: OpenPage) -> None:
    page = open_page("#compare")
    page.locator("output.score").wait_for()
    page.route("**/*", lambda route: route.abort())
    page.get_by_role("tab", name="Search").click()
    expect(page.get_by_role("alert")).to_have_text("The service does not answer.")


def test_a_key_is_checked_and_forgotten_with_its_texts(open_page: OpenPage) -> None:
    with running_service(sample="1", api_keys=f"reader:read:{SECRET_DIGEST}") as address:
        page = open_page("#collection", address=address)
        expect(page.get_by_role("alert")).to_have_text("This service asks for a key.")
        key = page.get_by_label("Key of this service")
        key.fill("schlüssel")
        key.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("letters, digits and signs of ASCII")
        key.fill("secret")
        key.press("Enter")
        expect(page.get_by_text("account-001")).to_be_visible()
        page.get_by_role("button", name="Key").click()
        page.get_by_role("button", name="Forget").click()
        expect(page.get_by_text("account-001")).to_have_count(0)


def test_a_copied_label_comes_back_after_two_clicks(open_page: OpenPage) -> None:
    page = open_page("#compare")
    page.locator("output.score").wait_for()
    page.get_by_role("button", name="curl").click()
    page.get_by_role("button", name="Copied").click()
    expect(page.get_by_role("button", name="curl")).to_be_visible()


def test_focus_stays_where_it_was(open_page: OpenPage) -> None:
    page = open_page("#compare")
    page.locator("output.score").wait_for()
    page.get_by_role("button", name="Compare with another").press("Enter")
    second = page.get_by_label("measure 2")
    second.focus()
    score = page.locator("output.score").nth(1).inner_text()
    second.select_option("rcmd1")
    expect(page.locator("output.score").nth(1)).not_to_have_text(score)
    expect(page.get_by_label("measure 2")).to_be_focused()
    page.get_by_role("button", name="Remove result 1").press("Enter")
    expect(page.locator("output.score")).to_have_count(1)
    expect(page.get_by_role("button", name="Compare with another")).to_be_focused()


def test_the_map_follows_its_field_and_value(open_page: OpenPage) -> None:
    page = open_page("#collection?collection=default&map=shown&color=category")
    entries = page.locator(".legend-entry")
    expect(entries).to_have_count(10)
    entries.filter(has_text="returns").click()
    page.locator(".map").press("ArrowRight")
    expect(page.locator(".map-card")).to_contain_text("category: returns")
    page.get_by_label("Color by").select_option("views")
    expect(entries).to_have_count(5)
    expect(page).to_have_url(re.compile("color=views"))
