"""Numbers on the page agree at the digits that are shown; what is left out is named."""

from __future__ import annotations

import re
from decimal import Decimal
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.end_to_end.playground.conftest import OpenPage
from tests.end_to_end.playground.test_playground import number

LONG = [
    " ".join(f"Item {i}: the {thing} of customer {i + start} was {done} on day {i}." for i in range(14))
    for start, thing, done in ((1, "parcel", "lost"), (3, "package", "missing"))
]


def numbers(found: Locator) -> list[Decimal]:
    return [number(each) for each in found.all_inner_texts()]


def compare(open_page: OpenPage, a: str, b: str, by: str) -> Page:
    page = open_page(f"#compare?a={quote(a)}&b={quote(b)}&by={by}")
    page.locator("output.score").wait_for()
    return page


def test_all_links_of_long_texts_are_counted(open_page: OpenPage) -> None:
    a, b = LONG
    page = compare(open_page, a, b, "cosine")
    page.get_by_text("Table of links").click()
    expect(page.get_by_text(re.compile(r"^200 of \d+,\d{3} links$"))).to_be_visible()
    expect(page.locator("table.links tbody tr")).to_have_count(200)
    assert sum(numbers(page.locator(".parts li:not(.total) data"))) == number(page.locator("output.score").inner_text())


def test_links_that_are_left_out_are_in_a_part(open_page: OpenPage) -> None:
    page = open_page("#compare")
    page.locator("output.score").wait_for()
    page.route("**/explain", lambda route: route.continue_(post_data={**route.request.post_data_json, "max_links": 1}))
    page.get_by_role("textbox", name="First text").fill("My parcel is late and lost.")
    expect(page.get_by_role("group", name="Words of the first text")).to_contain_text("lost")
    expect(page.locator(".parts")).to_contain_text("other words")
    for word in page.locator(".word").all():
        word.hover()
        expect(page.locator(".partners")).not_to_contain_text("adds nothing")


@pytest.mark.parametrize("measure", ["dynamax_jaccard", "rcmd_words"])
def test_bar_and_matrix_have_the_same_digits(open_page: OpenPage, measure: str) -> None:
    pairs = ["late parcel", "two new cats sat", "parcel lost today"], ["package late", "three old dogs ran", "my box"]
    for a, b in zip(*pairs, strict=True):
        page = compare(open_page, a, b, measure)
        cells = {
            number(each.replace(".", "0.", 1)) for each in page.locator(".matrix td").all_inner_texts() if each.strip()
        }
        shown = numbers(page.locator(".parts li.link data"))
        assert shown
        assert {each for each in shown if each} <= cells


def test_equal_pairs_of_words_share_a_part(open_page: OpenPage) -> None:
    long_word = "Donaudampfschifffahrtsgesellschaftskapitän"
    page = compare(open_page, f"cat cat {long_word}", f"cat {long_word} cat", "cosine")
    names = page.locator(".parts .name").all_inner_texts()
    assert len(names) == len(set(names))
    assert "cat = cat" in names
    assert max(map(len, names)) < 52


@pytest.mark.parametrize("fragment", ["#compare?a=😀&b=🎉", "#search?query=Кошка%20спит"])
def test_warnings_of_the_service_are_shown(open_page: OpenPage, fragment: str) -> None:
    page = open_page(fragment)
    notice = page.locator(".notice").first
    expect(notice).to_contain_text(re.compile("(First text|Query): most of its words or signs are unknown"))


@pytest.mark.parametrize("mode", ["hybrid", "vector", "lexical"])
@pytest.mark.parametrize("measure", ["cosine", "rcmd1"])
def test_parts_sum_to_the_shown_difference(open_page: OpenPage, mode: str, measure: str) -> None:
    page = open_page(f"#search?query=my%20parcel%20never%20came&k=5&mode={mode}&measure={measure}")
    page.locator(".hit").first.wait_for()
    hits = page.locator(".hit")
    heads = [re.findall(r"[-+−]?\d+\.\d{3}", head) for head in page.locator(".hit-head").all_inner_texts()]
    scores = [number(head[-1]) for head in heads]
    assert scores == [sum(map(number, head[:-1] or head)) for head in heads]
    assert scores == sorted(scores, reverse=True)
    assert ("BM25" in hits.first.inner_text()) == (mode == "lexical")
    for i in range(4):
        hits.nth(i).get_by_role("button", name="Why above").click()
        table = hits.nth(i).locator("table.difference")
        table.wait_for()
        [shown] = re.findall(r"is ([\d.]+) above", table.locator("caption").inner_text())
        assert sum(numbers(table.locator("data"))) == number(shown)
        assert number(shown) == scores[i] - scores[i + 1]


def test_the_stages_of_a_search_take_no_longer_than_all(open_page: OpenPage) -> None:
    page = open_page()
    page.locator("output.score").wait_for()
    with page.expect_response("**/search") as found:
        page.evaluate("location.hash = '#search?query=an%20unseen%20question&k=50&measure=rcmd'")
    spent = {name: float(ms) for name, ms in re.findall(r"(\w+);dur=([\d.]+)", found.value.headers["server-timing"])}
    total = spent.pop("total")
    assert 0 < sum(spent.values()) <= total


def test_a_list_without_texts_is_refused(open_page: OpenPage) -> None:
    page = open_page("#rerank")
    page.locator(".hit").first.wait_for()
    page.get_by_label("Documents").fill('["a cat", {"title": "x"}]')
    expect(page.get_by_role("alert")).to_have_text("Entry 2 of the list has no field “text”.")
    expect(page.locator(".hit")).to_have_count(0)
