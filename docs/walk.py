"""Take the pictures of the playground: a screenshot, and a walk through its tabs, by Chromium.

python -m docs.walk
"""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.support.browser import find_chromium
from tests.support.running_service import running_service

IMAGES = Path(__file__).parent / "images"
SIZE = {"width": 1100, "height": 760}
SHARE = 0.7  # of the size of the page in the walk
STILL_MS, LETTER_MS = 1400, 90  # a frame that is looked at, and one of typing
A, B = "My parcel is late and no one answers.", "The package has not arrived, and support does not reply."


class Walk:
    """Frames of a page, and how long each is shown."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._frames: list[Image.Image] = []
        self._durations: list[int] = []

    def frame(self, milliseconds: int = STILL_MS) -> None:
        """Take a picture of what the page shows now."""
        picture = Image.open(io.BytesIO(self._page.screenshot())).convert("RGB")
        size = (round(picture.width * SHARE), round(picture.height * SHARE))
        self._frames.append(picture.resize(size, Image.Resampling.LANCZOS))
        self._durations.append(milliseconds)

    def save(self, path: Path) -> None:
        """Save the frames as an animated picture."""
        first, *others = self._frames
        first.save(path, save_all=True, append_images=others, duration=self._durations, loop=0, quality=70, method=6)


def walk(page: Page, url: str) -> None:
    """Compare two texts, look at partners, search, and see why one hit stands above the next."""
    seen = Walk(page)
    page.goto(f"{url}/#compare")
    page.locator("output.score").wait_for()
    second = page.get_by_role("textbox", name="Second text")
    second.fill("")
    for end in range(0, len(B), 6):
        second.press_sequentially(B[end : end + 6])
        seen.frame(LETTER_MS)
    page.wait_for_timeout(STILL_MS)  # for the answer to the last letter
    page.mouse.move(0, 0)
    seen.frame()
    page.screenshot(path=IMAGES / "playground.png")
    page.locator(".word", has_text="parcel").hover()
    seen.frame()
    page.locator("table.matrix").scroll_into_view_if_needed()
    seen.frame()
    page.get_by_role("tab", name="Search").click()
    page.get_by_role("combobox", name="Query").fill("my parcel never came")
    page.locator(".hit").first.wait_for()
    seen.frame()
    page.get_by_role("button", name="Why above").first.click()
    page.locator("table.difference").wait_for()
    seen.frame()
    page.get_by_role("tab", name="Rerank").click()
    page.get_by_role("tabpanel", name="Rerank").locator("mark.semantic").first.wait_for()
    seen.frame()
    seen.save(IMAGES / "playground.webp")


if __name__ == "__main__":
    with running_service(sample="1") as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        walk(browser.new_page(viewport=SIZE, color_scheme="light"), address)  # type: ignore[arg-type]
        browser.close()
