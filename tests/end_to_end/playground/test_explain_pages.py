"""Pages of /explain have the playground's look, and browsers get pages for refusals too."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.end_to_end.playground.conftest import WIDTHS, OpenPage
from tests.end_to_end.playground.test_accessibility import assert_accessible, open_disclosures

SENTENCES = " ".join(f"The courier lost parcel {i} of our shop on its way to Berlin." for i in range(6))
PAGES = {
    "short": "explain?" + urlencode({"a": "late parcel", "b": "My package is late!", "measure": "rcmd"}),
    "long": "explain?" + urlencode({"a": SENTENCES, "b": SENTENCES.replace("parcel", "package")}),
    "document": "explain?" + urlencode({"a": "my parcel never came", "id": "shipping-001"}),
    "distance": "explain?" + urlencode({"a": "late parcel", "b": "late package", "measure": "word_movers"}),
    "difference": "explain/difference?" + urlencode({"query": "a lost parcel", "a": "shipping-001", "b": "orders-008"}),
    "refusal": "explain?" + urlencode({"a": "late parcel", "measure": "nosuch"}),
}


def brightness(page: Page, selector: str) -> list[float]:
    """Mean of red, green and blue of the background of each element."""
    colors = page.locator(selector).evaluate_all("all => all.map((each) => getComputedStyle(each).backgroundColor)")
    return [sum(float(each) for each in re.findall(r"[\d.]+", color)[:3]) / 3 for color in colors]


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_their_window_and_keep_their_bars(open_page: OpenPage, name: str) -> None:
    page = open_page(PAGES[name])
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if page.locator(".sum .bar").count():
            box = page.locator(".sum .bar").bounding_box()
            assert box is not None
            assert 0.7 * width < box["width"] <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_cards_have_the_chosen_scheme_and_axe_finds_nothing(open_page: OpenPage, name: str, scheme: str) -> None:
    page = open_page(PAGES[name], scheme=scheme)
    cards = brightness(page, ".card")
    assert min(cards) > 200 if scheme == "light" else max(*cards, *brightness(page, "body")) < 60
    open_disclosures(page)
    assert_accessible(page)


def test_a_print_has_every_part(open_page: OpenPage) -> None:
    page = open_page(PAGES["long"])
    words = page.get_by_role("group", name="Matrix of words")
    expect(words.locator("table")).to_be_hidden()
    page.emulate_media(media="print")
    expect(words.locator("table")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".sum .bar")).to_be_visible()


def test_a_difference_prints_the_partners_of_each_word(open_page: OpenPage) -> None:
    page = open_page(PAGES["difference"])
    partners = page.locator(".partners").filter(visible=True)
    shown = partners.count()
    assert shown
    page.emulate_media(media="print")
    expect(partners).to_have_count(shown)


def test_tables_and_code_of_help_fit_on_paper(open_page: OpenPage) -> None:
    page = open_page("help/docs/measures")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    cut = page.locator("table, pre").evaluate_all(
        "all => all.filter((each) => each.scrollWidth > each.clientWidth).length"
    )
    assert cut == 0


@pytest.mark.parametrize("fragment", [PAGES["document"], "#compare", "#search?query=my%20parcel%20never%20came&k=5"])
def test_decisive_words_are_legible_on_paper(open_page: OpenPage, fragment: str) -> None:
    """Browsers print no backgrounds unless they are asked to: words have 4.5 to 1 on theirs, in grey, too."""
    page = open_page(fragment, scheme="dark")
    words = page.locator(".shade-plus-5, .shade-plus-4, mark.semantic:not(.lexical), mark.lexical:not(.semantic)")
    words.first.wait_for()
    page.emulate_media(media="print", color_scheme="dark")
    style = "(each) => ['color', 'backgroundColor', 'printColorAdjust'].map((name) => getComputedStyle(each)[name])"
    for color, background, adjusted in words.evaluate_all(f"all => all.map({style})"):
        ink, paper = (luminance(each) for each in (color, background))
        assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) >= 4.5
        assert adjusted == "exact"
    expect(page.get_by_role("tab")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("PNG|Copy"))).to_have_count(0)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def luminance(color: str) -> float:
    """Relative luminance of a color without transparency, by WCAG 2."""
    channels = [float(each) / 255 for each in re.findall(r"[\d.]+", color)[:3]]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return sum(share * each for share, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_a_page_opens_in_the_playground(open_page: OpenPage) -> None:
    page = open_page(PAGES["short"])
    score = page.locator("output.score").inner_text()
    usual = page.locator("main header .faint").first.inner_text().partition(" \u00b7 ")[0]
    page.get_by_role("link", name="Open in the playground").click()
    expect(page.get_by_role("tab", name="Compare", selected=True)).to_be_visible()
    expect(page.locator("output.score")).to_have_text(f"{float(score):.3f}")
    expect(page.locator(".scale")).to_have_text(usual)
    expect(page.get_by_label("measure 1")).to_have_value("rcmd")


def test_a_missing_text_is_a_page_in_a_browser(open_page: OpenPage) -> None:
    page = open_page("explain?a=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&id=no%2Fsuch")
    expect(page.get_by_role("heading", level=1)).to_have_text("Unknown document")
    expect(page.locator(".card")).to_contain_text("no/such")
    page.goto(page.url.replace("id=", "nosuch="))
    expect(page.locator(".card")).to_contain_text("nosuch")


def test_a_shared_page_asks_for_a_key(open_page: OpenPage, guarded: str) -> None:
    """Its link leads to the playground, which takes the key and shows the same."""
    page = open_page(PAGES["document"], address=guarded)
    expect(page.get_by_role("heading", level=1)).to_have_text("Unauthorized")
    page.get_by_role("link", name="The playground asks").click()
    page.get_by_label("Key of this service").fill("secret")
    page.get_by_role("button", name="Use key").click()
    expect(page.get_by_role("textbox", name="First text")).to_have_value("my parcel never came")
    expect(page.get_by_role("textbox", name="Second text")).to_have_value(re.compile("My delivery is late"))
    expect(page.locator("output.score")).to_be_visible()
