"""The playground shows whether two texts say the same: one line above the score, and what differs in bold."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from semblance_client import Client

from tests.end_to_end.playground.conftest import OpenPage

PAIRS = {
    "replaced": ("How do I turn on dark mode?", "How do I turn off dark mode?"),
    "number": ("Invoice 117 was paid", "Invoice 113 was paid"),
    "only": ("We deliver daily except weekends.", "We deliver daily."),
    "negation": ("The drug helped most patients.", "The drug did not help most patients."),
    "order": ("Anna called Otto", "Otto called Anna"),
    "several": ("Refunds take 5 days.", "Refunds take 7 days, except on Sundays, and need receipt 12 and form 9."),
    "same": ("How can I reset my password?", "What is the best way to reset my password?"),
    "apart": ("The cat is old.", "The cat is very old."),
    "language": ("Wo ist mein Paket?", "Wo ist es nicht?"),
}


def compare(open_page: OpenPage, a: str, b: str, by: str = "") -> Page:
    page = open_page(f"#compare?a={quote(a)}&b={quote(b)}&by={by}")
    page.locator("output.score").first.wait_for()
    return page


@pytest.mark.parametrize("name", PAIRS)
def test_the_line_above_the_score_is_that_of_the_client(open_page: OpenPage, url: str, name: str) -> None:
    a, b = PAIRS[name]
    with Client(url) as client:
        [verdict] = client.same([(a, b)]).verdicts
    page = compare(open_page, a, b)
    line = page.locator(".verdict")
    said = str(verdict).replace("in a", "in the first text").replace("in b", "in the second text")
    expect(line).to_have_text(said)
    expect(page.locator("#status")).to_have_text(f"{said}. The score is {page.locator('output.score').inner_text()}.")
    above, score = line.bounding_box(), page.locator("output.score").bounding_box()
    assert above is not None
    assert score is not None
    assert above["y"] + above["height"] <= score["y"]


def test_words_that_differ_are_bold(open_page: OpenPage) -> None:
    page = compare(open_page, *PAIRS["replaced"])
    bold = "all => all.filter((each) => getComputedStyle(each).fontWeight >= 700).map((each) => each.firstChild.data)"
    assert page.locator(".word").evaluate_all(bold) == ["on", "off"]
    expect(page.get_by_text("Bold words differ, by the verdict.")).to_be_visible()
    page = compare(open_page, *PAIRS["same"])
    assert page.locator(".word").evaluate_all(bold) == []
    expect(page.get_by_text("Bold words differ")).to_have_count(0)


def test_a_score_says_what_it_is_usual_for(open_page: OpenPage) -> None:
    page = compare(open_page, "a cat sat", "the meeting was moved", by="rcmd_words,cosine:minilm")
    scale = page.locator(".scale")
    expect(scale).to_have_count(1)
    expect(scale).to_have_text("unrelated; unrelated pairs reach 0.24, paraphrases begin at 0.60")
    expect(page.locator(".ticks").first).to_have_text("00.240.601")
    page = compare(open_page, *PAIRS["number"], by="rcmd_words")
    expect(page.locator(".scale strong")).to_have_text("worded like a paraphrase")


def test_a_model_without_classifier_has_no_verdict(open_page: OpenPage) -> None:
    page = compare(open_page, *PAIRS["number"], by="rcmd_words:minilm,rcmd_words:minilm-graded")
    expect(page.locator("output.score")).to_have_count(2)
    expect(page.locator(".verdict")).to_have_count(1)


def test_near_duplicates_say_what_differs(open_page: OpenPage, url: str) -> None:
    a, b = PAIRS["only"]
    with Client(url) as client:
        client.create_collection("judged")
        client.add_documents([{"id": "1", "text": a}, {"id": "2", "text": b}], collection="judged")
    page = open_page("#collection?collection=judged")
    page.get_by_label("Least similarity").fill("0.6")
    page.get_by_role("button", name="Find near-duplicates").click()
    region = page.get_by_role("region", name="Near-duplicates")
    expect(region.locator(".verdict")).to_have_text("Different: only there: except weekends")


def test_duplicates_that_say_the_same_come_first_and_go(open_page: OpenPage, url: str) -> None:
    paid = "Invoice 117 was paid"
    texts = {"a": paid, "b": "Invoice 113 was paid", "c": f"{paid}!", "x": "A late parcel", "y": "A late parcel."}
    with Client(url) as client:
        client.create_collection("repeated")
        documents = [{"id": each, "text": text, "metadata": {"no": f"A-{each}"}} for each, text in texts.items()]
        client.add_documents(
            [*documents, {"id": "p", "text": "Room 4 is free"}, {"id": "q", "text": "Room 5 is free"}],
            collection="repeated",
        )
    page = open_page("#collection?collection=repeated")
    region = page.get_by_role("region", name="Near-duplicates")
    find = region.get_by_role("button", name="Find near-duplicates")
    least = region.get_by_label("Least similarity")
    expect(least).to_have_value("0.9")
    least.fill("80")
    find.click()
    expect(region.get_by_role("alert")).to_have_text("The least similarity is a number from −1 to 1, such as 0.9.")
    least.fill("0.7")
    find.click()
    expect(region).to_contain_text("3 groups of 7 documents.")
    groups = region.get_by_role("listitem")
    expect(groups.last).to_contain_text("Room 5")
    ids = groups.first.locator(".duplicate > strong")
    expect(ids).to_have_text(["a", "c", "b"])
    with page.expect_download() as saved:
        region.get_by_role("button", name="CSV of the groups").click()
    rows = saved.value.path().read_text("utf-8-sig").splitlines()
    assert rows[:2] == ["group,id,like,score,verdict,text", "1,a,,,,Invoice 117 was paid"]
    assert [each.split(",")[4] for each in rows[2:4]] == ["same", "different"]
    groups.first.get_by_role("button", name="Keep the first, delete the other that says the same").click()
    expect(groups.first).to_contain_text("no: A-c")
    asked = "Delete c from repeated? This cannot be undone. Their metadata differ from the first one's."
    expect(groups.first).to_contain_text(asked)
    groups.first.get_by_role("button", name="Delete 1 document").click()
    expect(ids).to_have_text(["a", "b"])
    expect(page.get_by_role("region", name="Listed documents")).to_contain_text("1 to 6 of 6")
    with Client(url) as client:
        assert "c" not in [each.id for each in client.documents("repeated").documents]
