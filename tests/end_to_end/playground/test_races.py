"""After late answers, failures and moves between tabs, the page has what belongs there."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Request, Route, expect
from semblance_client import Client

from tests.end_to_end.playground.conftest import OpenPage, let_it_run
from tests.support.waiting import until


@pytest.fixture(scope="module", autouse=True)
def other(url: str) -> None:
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

    def wait(self) -> None:
        """Wait for a request: the page gives one up, before it is held, if it is soon to show something else."""
        self._until(lambda: bool(self.routes), "a request")

    def release(self) -> None:
        """Answer those that wait, and later ones at once; wait until the page has dealt with them."""
        self.wait()
        self._page.unroute(self._path)
        for route in self.routes:
            route.continue_()
        answered = [route.request for route in self.routes]
        self._until(lambda: all(map(is_over, answered)), "the end of the requests")
        let_it_run(self._page)

    def _until(self, holds: Callable[[], bool], awaited: str) -> None:
        def look() -> bool:
            self._page.wait_for_timeout(1)  # runs the handlers of routes
            return holds()

        until(look, awaited)


def is_over(request: Request) -> bool:
    """Whether a request is answered in full, or was given up by the page."""
    return request.failure is not None or request.timing["responseEnd"] >= 0


@pytest.mark.parametrize(
    ("fragment", "path", "field", "said"),
    [
        ("#compare", "**/explain", "[name=b]", "Type a text on both sides"),
        ("#search?query=lamp", "**/search", "[name=query]:visible", "Type what you look for"),
        ("#rerank", "**/v2/rerank", "[name=query]:visible", "Type a query and some documents"),
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
    expect(rows).to_have_count(10)
    held = Held(page, "**/list")
    collections(page).select_option("other")
    page.get_by_role("tab", name="Compare").click()
    page.get_by_role("tab", name="Collection").dblclick()
    let_it_run(page)
    held.release()
    expect(rows).to_have_count(1)


@pytest.mark.parametrize("fragment", ["#collection?collection=default", "#search?collection=default"])
def test_a_collection_stays_chosen_after_a_late_list(open_page: OpenPage, fragment: str) -> None:
    page = open_page(fragment)
    expect(page.locator(".documents li, .facet").first).to_be_visible()
    page.get_by_role("tab", name="Compare").click()
    held = Held(page, "**/collections")
    page.evaluate("(fragment) => (location.hash = fragment)", fragment)
    held.wait()
    collections(page).select_option("other")
    held.release()
    expect(collections(page)).to_have_value("other")


def test_late_groups_stay_out_of_another_collection(open_page: OpenPage) -> None:
    page = open_page("#collection?collection=default")
    expect(page.get_by_role("button", name="Draw map")).to_be_enabled()
    held = Held(page, "**/duplicates")
    page.get_by_role("button", name="Find near-duplicates").click()
    held.wait()
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
    held.wait()
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
    held.wait()
    collections(page).select_option("other")
    held.release()
    expect(page.locator(".facet summary")).to_have_text(["n", "e"])
    expect(page.locator(".choice")).to_have_text([" 7.1 1", " (empty) 1"])


def test_a_tab_that_was_left_does_not_change_the_address(open_page: OpenPage) -> None:
    page = open_page("#compare")
    held = Held(page, "**/collections")
    page.get_by_role("tab", name="Search").click()
    held.wait()
    page.get_by_role("tab", name="Compare").click()
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
    page.get_by_label("measure 2").select_option("rcmd1_words")
    page.get_by_role("tab", name="Collection").click()
    page.get_by_label("Least similarity").fill("0.6")
    page.get_by_role("button", name="Find near-duplicates").click()
    expect(page.get_by_text("9 groups of")).to_be_visible()
    page.get_by_role("button", name="Draw map").click()
    expect(page.locator(".legend-entry")).to_have_count(10)
    address = page.url
    page.get_by_role("tab", name="Compare").click()
    expect(page.get_by_label("measure 2")).to_have_value("rcmd1_words")
    page.get_by_role("tab", name="Collection").click()
    expect(page).to_have_url(address)
    expect(page.get_by_text("9 groups of")).to_be_visible()
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


@pytest.mark.parametrize("fragment", ["#search?query=lamp&collection=nosuch", "#collection?collection=nosuch"])
def test_a_missing_collection_is_named(open_page: OpenPage, fragment: str) -> None:
    page, said = open_page(fragment), "There is no collection named “nosuch”."
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
    second.select_option("rcmd1_words")
    expect(page.locator("output.score").nth(1)).not_to_have_text(score)
    expect(page.get_by_label("measure 2")).to_be_focused()
    page.get_by_role("button", name="Remove result 1").press("Enter")
    expect(page.locator("output.score")).to_have_count(1)
    expect(page.get_by_role("button", name="Compare with another")).to_be_focused()


def test_a_late_answer_leaves_the_chosen_word(open_page: OpenPage) -> None:
    page = open_page("#compare?a=late%20parcel&b=my%20late%20package")
    page.locator("output.score").wait_for()
    held = Held(page, "**/explain")
    page.get_by_role("tab", name="Search").click()
    page.get_by_role("tab", name="Compare").click()
    page.locator(".word").first.focus()
    page.keyboard.press("ArrowRight")
    held.release()
    expect(page.locator(".word:focus")).to_contain_text("parcel")
    expect(page.locator(".partners")).to_contain_text("is linked with package")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(page.locator(".word:focus")).to_contain_text("parcel")


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
