"""The playground works by role and name, its sums hold, and links restore what was shown."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Route, expect
from semblance_client import Client

from tests.end_to_end.playground.conftest import WIDTHS, OpenPage
from tests.support.cross_encoders import save_cross_encoder
from tests.support.running_service import running_service

TABS = {
    "Compare": "Why are two texts alike?",
    "Search": "Search, with reasons",
    "Rerank": "Rerank, with the words that decided",
    "Collection": "Collections",
}
MEASURES = ["rcmd_words", "rcmd1", "cosine", "word_movers", "dynamax_jaccard"]
BUDGET_BYTES = 150_000


def number(text: str) -> Decimal:
    return Decimal(text.replace("−", "-").replace("+", ""))


def test_each_tab_is_found_by_role_and_name(open_page: OpenPage) -> None:
    page = open_page()
    for name, heading in TABS.items():
        page.get_by_role("tab", name=name).click()
        expect(page.get_by_role("tab", name=name, selected=True)).to_be_visible()
        expect(page.get_by_role("heading", level=1, name=heading)).to_be_visible()
        expect(page.get_by_role("tabpanel", name=name)).to_be_visible()


@pytest.mark.parametrize("measure", MEASURES)
def test_the_parts_on_the_page_sum_to_the_score(open_page: OpenPage, measure: str) -> None:
    page = open_page(f"#compare?a=The%20late%20parcel%20came%20back.&b=My%20package%20is%20late!&by={measure}")
    score = page.locator("output.score")
    score.wait_for()
    parts = page.locator(".parts li:not(.total) data")
    values = [float(each.get_attribute("value") or "nan") for each in parts.all()]
    assert len(values) >= 2
    assert math.fsum(values) == pytest.approx(float(score.get_attribute("data-value") or "nan"), abs=1e-6)
    assert sum(number(each) for each in parts.all_inner_texts()) == number(score.inner_text())


def test_the_score_follows_the_typing_under_an_open_table(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_text("Table of links").click()
    expect(page.locator("table.links")).to_be_visible()
    before = page.locator("output.score").inner_text()
    page.get_by_role("textbox", name="Second text").fill("A parcel is late.")
    expect(page.locator("output.score")).not_to_have_text(before)
    expect(page.locator("#status")).to_contain_text("The score is")
    expect(page.locator("table.links")).to_be_visible()


@pytest.mark.parametrize(("sentences", "name"), [(1, "Matrix of words"), (8, "Matrix of sentences")])
def test_the_cells_of_a_matrix_sum_to_the_links(open_page: OpenPage, sentences: int, name: str) -> None:
    text = " ".join(f"The parcel number {i} was lost by the courier of the shop." for i in range(sentences))
    page = open_page(f"#compare?a={quote(text)}&b={quote('My package never came. No one helped.')}&by=rcmd_words")
    matrix = page.get_by_role("group", name=name).locator("table.matrix")
    matrix.wait_for()
    heads = matrix.locator("tbody th").all_inner_texts()
    assert [each.startswith(("1. The parcel number", "others")) for each in heads].count(True) == (sentences > 1)
    cells = [number(each.replace(".", "0.", 1)) for each in matrix.locator("td").all_inner_texts() if each.strip()]
    score = float(page.locator("output.score").get_attribute("data-value") or "nan")
    assert float(sum(cells)) == pytest.approx(score, abs=0.0005 * matrix.locator("td").count())


def test_a_link_may_name_a_document(open_page: OpenPage, url: str) -> None:
    page = open_page("#compare?a=my%20parcel%20never%20came&id=shipping-001&measure=rcmd1")
    with Client(url) as client:
        found = client.explain("my parcel never came", id="shipping-001", measure="rcmd1")
    expect(page.locator("output.score")).to_have_text(f"{found.score:.3f}")
    expect(page.get_by_role("textbox", name="Second text")).to_have_value(found.b.text)
    expect(page.get_by_label("measure 1")).to_have_value("rcmd1")


def test_a_copied_link_restores_everything(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_role("textbox", name="First text").fill("Ein Café & 50 % “more” #1?")
    page.get_by_role("textbox", name="Second text").fill("two\nlines 🙂")
    page.get_by_role("button", name="Compare with another").click()
    page.get_by_label("measure 2").select_option("rcmd1_words")
    expect(page.get_by_role("article", name="Result by rcmd1_words").locator("output.score")).to_be_visible()
    page.get_by_role("button", name="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    scores = page.locator("output.score").all_inner_texts()
    assert "?" not in link.partition("#")[0]
    other = open_page("#" + link.partition("#")[2])
    expect(other.locator("output.score")).to_have_text(scores)
    expect(other.get_by_role("textbox", name="First text")).to_have_value("Ein Café & 50 % “more” #1?")
    expect(other.get_by_role("textbox", name="Second text")).to_have_value("two\nlines 🙂")
    expect(other.get_by_label("measure 2")).to_have_value("rcmd1_words")
    other.reload()
    expect(other.locator("output.score")).to_have_text(scores)


def test_a_search_shows_reasons_and_filters(open_page: OpenPage) -> None:
    page = open_page(f"#search?query={quote('my parcel never came')}&k=5")
    hits = page.get_by_role("listitem")
    expect(hits).to_have_count(5)
    expect(hits.first.locator("mark.semantic").first).to_be_visible()
    expect(page.locator("mark.lexical").first).to_be_visible()
    page.get_by_text("category", exact=True).click()
    page.get_by_role("checkbox", name=re.compile("shipping")).check()
    expect(page.locator(".metadata")).to_contain_text(["category: shipping"] * 5)


def test_a_hit_and_its_reasons_have_one_number(open_page: OpenPage, url: str) -> None:
    document = {
        "id": "long",
        "text": " ".join(f"Order {i} is a lamp. It was sent in May." for i in range(40)) + " Lost!",
    }
    with Client(url) as client:
        client.create_collection("long")
        client.add_documents([document], collection="long")
    for measure, collection in (("rcmd_words", "default"), ("cosine", "default"), ("rcmd1", "long")):
        page = open_page(f"#search?query=a%20lost%20parcle&k=5&measure={measure}&collection={collection}")
        hit = page.locator(".hit").first
        why = hit.get_by_role("link", name="Why")
        shown = why.inner_text().removeprefix("Why ").removesuffix("?")
        expect(hit.locator(".hit-head")).to_contain_text(f"{measure} {shown}")
        why.click()
        expect(page.locator("output.score")).to_have_text(shown)
        expect(page.get_by_label("measure 1")).to_have_value(measure)
        query = "a lost parcel" if collection == "default" else "a lost parcle"
        expect(page.get_by_role("textbox", name="First text")).to_have_value(query)
        expect(page.get_by_text("Second text: ")).to_contain_text(f"in the collection {collection}")
        page.get_by_role("textbox", name="Second text").fill("another text")
        expect(page.get_by_text("Second text: ")).to_have_count(0)


def test_terms_sum_to_the_number_of_a_lexical_search(open_page: OpenPage) -> None:
    page = open_page("#search?query=my%20parcel%20never%20came&k=5&mode=lexical")
    hit = page.locator(".hit").first
    hit.get_by_role("button", name=re.compile("^Why [0-9]")).click()
    [shown] = re.findall(r"BM25 ([\d.]+)", hit.locator(".hit-head").inner_text())
    parts = hit.locator("table data").all_inner_texts()
    assert sum(map(number, parts)) == number(shown)


def test_a_search_completes_corrects_and_doubts(open_page: OpenPage) -> None:
    page = open_page("#search?query=a%20lost%20parcle")
    expect(page.get_by_text("Read as: ")).to_contain_text("a lost parcel")
    page.get_by_role("combobox", name="Query").fill("who was king of France in 1700")
    expect(page.get_by_text("No document seems to answer this.")).to_be_visible()
    expect(page.get_by_text("Word for word in no document: ")).to_contain_text("France")
    page.get_by_role("combobox", name="Query").fill("my parc")
    expect(page.locator("datalist option[value='my parcel']")).to_have_count(1)


def test_a_hit_shows_its_title(open_page: OpenPage, url: str) -> None:
    document = {"id": "g1", "text": "We send you another one.", "metadata": {"title": "Lost parcels", "views": 3}}
    with Client(url) as client:
        client.create_collection("titled", text_fields=["title"])
        client.upload([document], "titled")
    page = open_page("#search?collection=titled&query=lost%20parcels")
    hit = page.locator(".hit")
    expect(hit.locator(".hit-head")).to_contain_text("in title")
    expect(hit.locator(".snippet")).to_contain_text("Lost parcels")
    page.get_by_role("combobox", name="Query").fill("another one is sent")
    expect(page.locator(".hit .snippet")).to_contain_text("We send you another one.")
    expect(page.get_by_role("heading", level=2, name="Lost parcels")).to_be_visible()
    expect(page.locator(".metadata")).to_have_text("views: 3")


def test_a_rerank_model_orders_hits(open_page: OpenPage, tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "cross")
    with running_service(sample="1", rerank_models=str(folder)) as address:
        page = open_page("#search?query=parcel", address)
        expect(page.locator(".hit").first).not_to_contain_text("cross")
        page.get_by_label("Rerank by").select_option("cross")
        expect(page.locator(".hit").first).to_contain_text("cross 0.")
        scores = [number(text.split("cross ")[1].split()[0]) for text in page.locator(".hit-head").all_inner_texts()]
        assert scores == sorted(scores, reverse=True)
        assert "rerank_model=cross" in page.url
        expect(page.get_by_role("button", name="Why above")).to_have_count(0)
        again = open_page(page.url[page.url.index("#") :], address)
        expect(again.get_by_label("Rerank by")).to_have_value("cross")
        compare = open_page("#compare", address)
        expect(compare.get_by_label("model 1").locator("option")).to_have_text(
            ["minilm-graded", "minilm-words", "minilm-clrcmd", "minilm"]
        )


def test_documents_are_reranked_and_their_spans_marked(open_page: OpenPage) -> None:
    page = open_page("#rerank")
    rows = page.get_by_role("listitem")
    expect(rows.first).to_contain_text("was number 3")
    expect(rows.first.locator("mark")).not_to_have_count(0)
    page.get_by_label("Documents").fill('["a lost parcel", {"text": "a cat"}]')
    expect(rows).to_have_count(2)
    page.get_by_text("The request, as Cohere").click()
    expect(page.locator("pre")).to_contain_text('"documents": [')


def test_a_dropped_file_is_indexed_and_its_duplicates_are_found(open_page: OpenPage) -> None:
    page = open_page("#collection")
    content = b"id,text\n1,Another.\n2,The same thing twice.\n3,The same thing twice!\n"
    page.get_by_label("Files").set_input_files({"name": "dropped.csv", "mimeType": "text/csv", "buffer": content})
    page.get_by_role("button", name="Add 3 documents").click()
    expect(page.get_by_text("3 documents stored in dropped.").first).to_be_visible()
    expect(page.get_by_role("region", name="Listed documents").get_by_role("listitem")).to_have_count(3)
    page.get_by_role("button", name="Find near-duplicates").click()
    expect(page.get_by_text("1 group of 2 documents.")).to_be_visible()
    expect(page.get_by_role("region", name="Near-duplicates")).to_contain_text(
        "with 2 Why?Sameboth: same, thing, twice"
    )
    [shown] = re.findall(r"([01][.][0-9]{3}) with 2", page.get_by_role("region", name="Near-duplicates").inner_text())
    page.emulate_media(media="print")
    expect(page.get_by_role("link", name="Why?")).to_be_hidden()
    page.emulate_media(media="screen")
    page.get_by_role("link", name="Why?").click()
    expect(page.locator("output.score")).to_have_text(shown)


def test_a_map_colors_documents_and_is_walked_by_keyboard(open_page: OpenPage) -> None:
    page = open_page("#collection")
    region = page.get_by_role("region", name="Map")
    region.get_by_role("button", name="Draw map").click()
    entries = region.get_by_role("group", name="Values").get_by_role("button")
    expect(entries).to_have_count(10)
    expect(region).to_contain_text("200 documents. The two directions hold")
    shown = region.get_by_role("application", name="Map")
    card = region.locator(".map-card")
    shown.press("Home")
    expect(card).to_contain_text("account-001 category: account")
    pixels = "(each) => each.toDataURL()"
    before = shown.locator("canvas").evaluate(pixels)
    shown.press("ArrowRight")
    expect(card).not_to_contain_text("account-001")
    assert shown.locator("canvas").evaluate(pixels) != before
    entries.filter(has_text="returns").click()
    expect(entries.filter(has_text="returns")).to_have_attribute("aria-pressed", "true")
    shown.press("ArrowUp")
    expect(card).to_contain_text("category: returns")
    link = page.url
    assert "color=category" in link
    other = open_page("#" + link.partition("#")[2])
    expect(other.get_by_role("group", name="Values").get_by_role("button")).to_have_count(10)


def test_a_pointed_mark_is_the_nearest_document(open_page: OpenPage) -> None:
    page = open_page("#collection?collection=default&map=shown")
    canvas = page.locator(".map canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    for share in range(5, 95):
        page.mouse.move(box["x"] + box["width"] * share / 100, box["y"] + box["height"] / 2)
    page.locator(".map").press("Home")
    first = page.locator(".map-card strong").first.inner_text()
    page.mouse.move(0, 0)
    expect(page.locator(".map-card strong")).to_have_text([first])


def test_words_can_be_walked_by_keyboard(open_page: OpenPage) -> None:
    page = open_page("#compare?a=late%20parcel&b=my%20late%20package")
    page.locator("output.score").wait_for()
    page.get_by_role("tab", name="Compare").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Search", selected=True)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.locator("output.score").wait_for()
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('word')"):
            break
    expect(page.locator(".word.chosen")).to_contain_text("late")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".word.chosen")).to_contain_text("parcel")
    expect(page.locator(".partners")).to_contain_text("is linked with package")
    expect(page.locator(".word.partner").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator('.word[aria-pressed="true"]')).to_contain_text("parcel")


def test_a_key_is_asked_for_kept_and_forgotten(open_page: OpenPage, guarded: str) -> None:
    page = open_page("#collection", address=guarded)
    expect(page.get_by_role("alert")).to_have_text("This service asks for a key.")
    key = page.get_by_label("Key of this service")
    assert key.get_attribute("type") == "password"
    for wrong, said in (("schlüssel", "letters, digits and signs of ASCII"), ("wrong", "does not know this key.")):
        key.fill(wrong)
        key.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text(said)
    key.fill("secret")
    key.press("Enter")
    expect(page.get_by_text("account-001")).to_be_visible()
    expect(key).to_be_hidden()
    assert "secret" not in page.url
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    page.reload()
    expect(page.get_by_text("account-001")).to_be_visible()
    page.get_by_role("button", name="Key").click()
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_text("account-001")).to_have_count(0)


@pytest.mark.parametrize("fragment", ["#compare", "#search?query=lamp", "#rerank", "#collection"])
def test_no_page_is_wider_than_its_window(open_page: OpenPage, fragment: str) -> None:
    page = open_page(fragment)
    page.wait_for_load_state("networkidle")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_first_view_is_small(open_page: OpenPage) -> None:
    page = open_page()
    page.locator("output.score").wait_for()
    size = "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
    assert page.evaluate(f"{size}.reduce((sum, each) => sum + each.decodedBodySize, 0)") < BUDGET_BYTES


def test_documents_are_listed_by_pages_and_maps_name_parts(open_page: OpenPage) -> None:
    def answer(route: Route) -> None:
        drawn = route.fetch()
        route.fulfill(response=drawn, json={**drawn.json(), "documents": 10_000})

    page = open_page("#collection")
    rows = page.get_by_role("region", name="Listed documents").get_by_role("listitem")
    expect(rows).to_have_count(10)
    first = rows.first.inner_text()
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("11 to 20 of 200")).to_be_visible()
    page.get_by_role("button", name="Previous").click()
    expect(page.get_by_text("1 to 10 of 200")).to_be_visible()
    assert rows.first.inner_text() == first
    expect(page.get_by_role("button", name="Previous")).to_be_disabled()
    page.route("**/map", answer)
    page.get_by_role("button", name="Draw map").click()
    region = page.get_by_role("region", name="Map")
    expect(region).to_contain_text("200 of 10,000 documents, evenly chosen.")
    for _ in range(4):
        region.get_by_role("button", name="Zoom in").click()
    region.get_by_role("button", name="List the documents in view").click()
    listed = region.get_by_role("list", name="Documents in view").get_by_role("listitem")
    [shown] = re.findall(r"(\d+) documents in view", region.inner_text())
    assert 0 < listed.count() <= int(shown) < 200


def test_collections_are_created_named_and_deleted(open_page: OpenPage, url: str) -> None:
    page = open_page("#collection")
    region = page.get_by_role("region", name="All collections")
    expect(region).to_contain_text("200 documents, by minilm-graded, about 307 kB ready")
    region.get_by_text("Create a collection").click()
    region.get_by_label("Name").fill("made-here")
    region.get_by_role("button", name="Create").click()
    row = region.get_by_role("listitem").filter(has_text="made-here")
    expect(row).to_contain_text("0 documents")
    row.get_by_role("button", name="Alias").click()
    alias, set_alias = region.get_by_label("Another name of made-here"), region.get_by_role("button", name="Set alias")
    expect(set_alias).to_be_disabled()
    alias.fill("Not a name")
    expect(region).to_contain_text("A name has 1 to 64 characters")
    expect(set_alias).to_be_disabled()
    alias.fill("also-here")
    set_alias.click()
    expect(row).to_contain_text("also named also-here")
    region.get_by_role("button", name="Alias of default").click()
    region.get_by_label("Another name of default").fill("also-here")
    expect(region).to_contain_text("It is a name of made-here now, and will be one of default instead.")
    row.get_by_role("button", name="Remove the name also-here").click()
    expect(row).not_to_contain_text("also named")
    with Client(url) as client:
        assert "also-here" not in [each.name for each in client.aliases()]
    row.get_by_role("button", name="Delete").click()
    typed = region.get_by_label("Type made-here exactly to delete it")
    typed.fill("made")
    sure = region.get_by_role("button", name="Delete", exact=True)
    expect(sure).to_be_disabled()
    typed.fill("made-here")
    sure.click()
    expect(row).to_have_count(0)


def test_a_first_visit_has_examples_and_an_answered_search(open_page: OpenPage) -> None:
    page = open_page("#search")
    expect(page.locator(".hit")).to_have_count(10)
    expect(page.get_by_role("contentinfo")).to_contain_text(re.compile(r"Semblance \d"))
    page.get_by_role("combobox", name="Query").fill("")
    page.get_by_role("button", name="two bills for one order").click()
    expect(page.get_by_role("combobox", name="Query")).to_have_value("two bills for one order")
    page.get_by_role("tab", name="Compare").click()
    page.get_by_role("textbox", name="First text").fill("")
    page.get_by_role("button", name="A negation").click()
    expect(page.get_by_role("textbox", name="Second text")).to_have_value(re.compile("did not help"))


def test_other_measures_have_a_sentence_each(open_page: OpenPage) -> None:
    page = open_page("#compare")
    menu = page.get_by_label("measure 1")
    expect(menu.locator("option")).to_have_text(["rcmd_words", "cosine", "rcmd1_words", "more …"])
    menu.select_option("more")
    listed = page.get_by_role("group", name="All measures")
    expect(listed).to_contain_text("dynamax_jaccard The fuzzy Jaccard index of two texts")
    listed.get_by_role("button", name="dynamax_jaccard").click()
    expect(menu).to_have_value("dynamax_jaccard")
    expect(page.locator(".score-line")).to_contain_text("dynamax_jaccard by minilm-graded")


@pytest.mark.parametrize("is_served", [False, True])
def test_unread_texts_are_offered_a_model(open_page: OpenPage, *, is_served: bool) -> None:
    page = open_page("#rerank")

    def models(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        more = [{**body["models"][1], "name": "multilingual", "default": False}] if is_served else []
        route.fulfill(response=answer, json={**body, "models": [*body["models"], *more]})

    page.route("**/models", models)
    page.goto(page.url.replace("#rerank", f"#compare?a={quote('Кошка спит')}&b={quote('Собака спит')}"))
    page.reload()
    if is_served:
        page.get_by_role("button", name="Use multilingual").click()
        expect(page.get_by_label("model 1")).to_have_value("multilingual")
    else:
        expect(page.locator(".notice").first).to_contain_text("scripts/install multilingual")
        expect(page.get_by_role("button", name="Use multilingual")).to_have_count(0)


def test_hits_with_one_text_are_one_card(open_page: OpenPage, url: str) -> None:
    texts = ["The lamp flickers.", "The lamp flickers.", "A lamp hums.", "The lamp flickers."]
    with Client(url) as client:
        client.create_collection("twice")
        rows = [{"id": f"{i}", "text": text, "metadata": {"order_no": f"A-{i}"}} for i, text in enumerate(texts)]
        client.add_documents(rows, collection="twice")
    page = open_page("#search?collection=twice&query=my%20lamp%20flickers")
    cards = page.locator(".hit-list > li")
    expect(cards).to_have_count(2)
    expect(cards.first.get_by_role("button", name="Why above 2?")).to_be_visible()
    cards.first.get_by_text("2 more documents with this text").click()
    expect(cards.first.get_by_role("listitem")).to_have_text(["1 order_no: A-1", "3 order_no: A-3"])
    page.get_by_label("Query").fill("A-3 lamp flickers")
    expect(cards).to_have_count(3)  # the document with the code stands apart
    expect(cards.first).to_contain_text("has the code as order_no")
    expect(cards.first.get_by_role("button", name=re.compile("Why above"))).to_have_count(0)


def test_tabs_keep_the_collection_and_search_offers_aliases(open_page: OpenPage, url: str) -> None:
    with Client(url) as client:
        client.create_collection("kept-2")
        client.add_documents([{"id": "1", "text": "The lamp flickers."}], collection="kept-2")
        client.set_alias("kept", "kept-2")
    page = open_page("#collection?collection=kept-2")
    chosen = page.locator("select[name=collection]").filter(visible=True)
    expect(page.get_by_text("The lamp flickers.")).to_be_visible()
    page.get_by_role("tab", name="Search").click()
    expect(chosen).to_have_value("kept-2")
    chosen.select_option("kept → kept-2")
    page.get_by_label("Query").fill("lamp")
    expect(page.locator(".hit")).to_have_count(1)
    page.get_by_role("tab", name="Collection").click()
    expect(chosen).to_have_value("kept-2")
    page.get_by_role("tab", name="Search").click()
    expect(chosen).to_have_value("kept")
    page.get_by_role("tab", name="Collection").click()
    chosen.select_option("default")
    page.get_by_role("tab", name="Search").click()
    expect(chosen).to_have_value("default")
