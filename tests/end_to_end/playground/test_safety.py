"""Whatever texts, ids, metadata and names of models hold, the page shows it as text."""

from __future__ import annotations

import json
import re
from functools import partial
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from semblance_client import Client

from tests.end_to_end.playground.conftest import OpenPage
from tests.support.waiting import until

PAYLOADS = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    "<svg onload=alert(3)>",
    "<svg><script>alert(4)</script></svg>",
    "<iframe src=javascript:alert(5)></iframe>",
    "<a href=javascript:alert(6)>link</a>",
    "<body onload=alert(7)>",
    "<details open ontoggle=alert(8)>x</details>",
    "<input autofocus onfocus=alert(9)>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(10)>",
    "<style>*{display:none}</style>",
    "<link rel=stylesheet href=//example.org/x.css>",
    "<meta http-equiv=refresh content=0;url=//example.org>",
    "<base href=//example.org/>",
    "<object data=javascript:alert(11)>",
    "<embed src=javascript:alert(12)>",
    "<template><img src=x onerror=alert(13)></template>",
    "<video><source onerror=alert(14)></video>",
    "<marquee onstart=alert(15)>x</marquee>",
    "<form action=javascript:alert(16)><button>x</button></form>",
    "</textarea><script>alert(17)</script>",
    "</title><script>alert(18)</script>",
    "--><script>alert(19)</script>",
    "]]><script>alert(20)</script>",
    '"><script>alert(21)</script>',
    "' onmouseover='alert(22)",
    "javascript:alert(23)",
    "data:text/html,<script>alert(24)</script>",
    "{{constructor.constructor('alert(25)')()}}",
    "${alert(26)}",
    "`;alert(27);//",
    "\\u003cscript\\u003ealert(28)\\u003c/script\\u003e",
    "&lt;script&gt;alert(29)&lt;/script&gt;",
    "__proto__",
    "%3Cscript%3Ealert(30)%3C/script%3E",
]
COLLECTION = "payloads"


@pytest.fixture(scope="module")
def stored(url: str) -> None:
    """A collection whose ids, texts and metadata are payloads."""
    with Client(url) as client:
        client.create_collection(COLLECTION)
        entries = [{"id": each, "text": f"{each} parcel", "metadata": {"note": each, each: "x"}} for each in PAYLOADS]
        client.upload(entries, COLLECTION)


def require_harmless(page: Page) -> None:
    """The page has the elements that it makes itself, and no others."""
    for foreign in (
        "main :is(img, svg, iframe, object, embed, script, style, link, meta, base, video)",
        "[onerror], [onload], [onfocus], [ontoggle], [onmouseover]",
        "a[href^='javascript'], a[href^='data']",
    ):
        assert page.locator(foreign).count() == 0


def test_texts_stay_text(open_page: OpenPage) -> None:
    page = open_page("#compare")
    shown = page.get_by_role("group", name="Words of the first text").locator(".text")
    shown.wait_for()
    page.locator("summary", has_text="Table of links").click()
    page.locator("summary", has_text="Matrix of words").click()
    words = (
        "(each) => [...each.childNodes].map((n) => n.firstChild ? n.firstChild.textContent : n.textContent).join('')"
    )
    for payload in PAYLOADS:
        page.evaluate("(hash) => { location.hash = hash; }", f"#compare?a={quote(payload)}&b={quote('x ' + payload)}")
        until(partial(shows, shown, words, payload), f"the text {payload}")
        require_harmless(page)


def shows(shown: Locator, words: str, text: str) -> bool:
    return bool(shown.evaluate(words) == text)


@pytest.mark.usefixtures("stored")
def test_ids_and_metadata_stay_text(open_page: OpenPage) -> None:
    page = open_page(f"#search?query=parcel&k=50&collection={COLLECTION}")
    heads = page.locator(".hit-head .id")
    expect(heads).to_have_count(len(PAYLOADS))
    assert set(heads.all_inner_texts()) == set(PAYLOADS)
    require_harmless(page)
    page.get_by_role("button", name="Why above").first.click()
    page.locator("table.difference").wait_for()
    require_harmless(page)
    listed = open_page(f"#collection?collection={COLLECTION}")
    rows = listed.locator(".documents li strong")
    shown: set[str] = set()
    for start in range(0, len(PAYLOADS), 10):
        expect(rows.nth(min(10, len(PAYLOADS) - start) - 1)).to_be_visible()
        shown |= set(rows.all_text_contents())
        if start + 10 < len(PAYLOADS):
            listed.get_by_role("button", name="Next").click()
            expect(listed.get_by_text(f"{start + 11} to ")).to_be_visible()
    assert shown == set(PAYLOADS)
    listed.get_by_label("Least similarity").fill("0.2")
    listed.get_by_role("button", name="Find near-duplicates").click()
    expect(listed.get_by_text(re.compile(r"\d groups? of \d+ documents\."))).to_be_visible()
    listed.get_by_label("Color by").select_option("note")
    listed.get_by_role("button", name="Draw map").click()
    listed.locator(".map").press("Home")
    expect(listed.locator(".map-card strong")).to_have_text(min(PAYLOADS))
    assert len(set(listed.locator(".legend-entry").all_inner_texts())) == 13
    require_harmless(listed)


def test_names_of_models_and_refusals_stay_text(open_page: OpenPage) -> None:
    page = open_page("#rerank")
    page.locator(".hit").first.wait_for()

    def models(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        body["models"] += [{**body["models"][0], "name": each, "default": False} for each in PAYLOADS]
        route.fulfill(response=answer, body=json.dumps(body))

    page.route("**/models", models)
    page.route("**/v2/rerank", lambda route: route.fulfill(status=400, json={"detail": PAYLOADS[0]}))
    page.reload()
    expect(page.get_by_role("alert")).to_have_text(PAYLOADS[0])
    page.get_by_role("tab", name="Compare").click()
    options = page.get_by_label("model 1").locator("option")
    expect(options).to_have_count(4 + len(PAYLOADS))
    assert set(PAYLOADS) <= set(options.all_inner_texts())
    require_harmless(page)


def test_a_fragment_cannot_add_anything_but_fields(open_page: OpenPage) -> None:
    page = open_page("#<img src=x onerror=alert(1)>?a=%3Cscript%3E&b=x&by=<b>:<i>&__proto__=x")
    page.locator("output.score").wait_for()
    expect(page.get_by_role("tab", name="Compare", selected=True)).to_be_visible()
    require_harmless(page)
