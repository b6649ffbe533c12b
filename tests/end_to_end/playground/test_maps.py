"""The map of the playground: moved, colored by a field that tells documents apart, and listed by regions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from playwright.sync_api import Locator, expect
from semblance_client import Client

from tests.end_to_end.playground.conftest import OpenPage

TOPICS = (
    "Die Rechnung fehlt mir noch",
    "Das Paket kam beschädigt an",
    "Die Lampe flackert beim Dimmen",
    "Das Kennwort ist vergessen",
    "Der Liefertermin soll später sein",
    "Die Kündigung wurde nicht bestätigt",
)
LETTERS: list[Mapping[str, Any]] = [
    {
        "id": f"letters/{i}",
        "text": f"Guten Tag, {TOPICS[i % 6].lower()}, Vorgang {i}. Viele Grüße",
        "metadata": {"created": f"2026-01-01T10:{i:02}", "status": ("open", "closed")[i % 2]},
    }
    for i in range(60)
]


def middle_of(shown: Locator) -> tuple[float, float]:
    box = shown.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_map_is_dragged_and_its_regions_listed(open_page: OpenPage, url: str) -> None:
    with Client(url) as client:
        client.create_collection("six-topics")
        client.add_documents(LETTERS, collection="six-topics")
    page = open_page("#collection?collection=six-topics")
    region = page.get_by_role("region", name="Map")
    expect(region.get_by_label("Color by")).to_have_value("status")
    region.get_by_role("button", name="Draw map").click()
    names = region.locator(".map-name")
    expect(names.first).to_be_visible()
    words = {word for each in names.all_inner_texts() for word in each.split(", ")}
    assert words
    assert not words & {"viele", "grüße", "guten", "nicht", "beim", "noch"}
    names.first.press("Enter")
    listed = region.get_by_role("list").last
    expect(region).to_contain_text(f"{listed.get_by_role('listitem').count()} documents of {names.first.inner_text()}")
    listed.locator("summary").first.click()
    expect(listed).to_contain_text("created: 2026-01-01T10:")
    region.get_by_role("button", name="List the documents in view").click()
    expect(listed.get_by_role("listitem")).to_have_count(50)
    region.get_by_role("button", name="Show 10 more of 10").click()
    expect(listed.get_by_role("listitem")).to_have_count(60)
    frame = region.locator(".map")
    frame.press("Home")
    expect(region.locator(".map-tip")).to_contain_text("letters/0")
    region.get_by_role("button", name="Zoom in").click()
    frame.scroll_into_view_if_needed()
    x, y = middle_of(frame)
    before = names.evaluate_all("all => all.map((each) => parseFloat(each.style.left))")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=3)
    page.mouse.up()
    after = names.evaluate_all("all => all.map((each) => parseFloat(each.style.left))")
    assert [round(new - old) for new, old in zip(after, before, strict=True)] == [60] * len(before)
    frame.press("Shift+ArrowRight")
    moved = names.evaluate_all("all => all.map((each) => parseFloat(each.style.left))")
    assert all(new < old for new, old in zip(moved, after, strict=True))


def test_paper_names_the_colors_and_has_no_empty_card(open_page: OpenPage) -> None:
    page = open_page("#collection?collection=default&map=shown&color=category", scheme="dark")
    expect(page.locator(".legend-entry")).to_have_count(10)
    drawn = "document.querySelector('.map canvas').toDataURL()"
    on_screen = page.evaluate(drawn)
    page.emulate_media(media="print", color_scheme="dark")
    page.wait_for_function(f"(before) => {drawn} !== before", arg=on_screen)
    expect(page.locator(".legend-entry").last).to_be_visible()
    expect(page.get_by_role("region", name="All collections").get_by_text("default", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="Near-duplicates")).to_be_hidden()
    expect(page.get_by_role("button", name="Zoom in")).to_be_hidden()
    expect(page.locator(".map-card")).to_have_css("min-height", "0px")  # else a blank strip follows the map


def test_names_of_regions_cover_no_other(open_page: OpenPage) -> None:
    page = open_page("#collection?collection=default&map=shown")
    page.set_viewport_size({"width": 390, "height": 900})
    names = page.locator(".map-name")
    expect(names.filter(visible=True)).not_to_have_count(names.count())
    boxes = [box for each in names.all() if (box := each.bounding_box())]
    assert 2 <= len(boxes) < names.count()
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            left, right = sorted((one, other), key=lambda box: box["x"])
            upper, lower = sorted((one, other), key=lambda box: box["y"])
            assert left["x"] + left["width"] <= right["x"] or upper["y"] + upper["height"] <= lower["y"]
