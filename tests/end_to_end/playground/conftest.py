"""Fixtures: pages of the playground in Chromium, driven by Playwright."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, expect, sync_playwright

from tests.support.running_service import running_service
from tests.support.waiting import CEILING_S

expect.set_options(timeout=1000 * CEILING_S)


@dataclass(slots=True)
class Faults:
    """What a page must never do."""

    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def watch(self, page: Page, url: str) -> None:
        """Record errors, requests to other hosts (which get no answer) and dialogs."""

        def answer(route: Route) -> None:
            if route.request.url.startswith((url, "blob:", "data:")):
                route.fallback()
            else:
                self.foreign.append(route.request.url)
                route.abort()

        def dismiss(dialog: Dialog) -> None:
            self.dialogs.append(dialog.message)
            dialog.dismiss()

        page.route("**/*", answer)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self.errors.append(said.text) if "Content Security" in said.text else None)
        page.on("dialog", dismiss)


OpenPage = Callable[..., Page]
WIDTHS = (390, 820, 1440)  # of windows
SECRET_DIGEST = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"  # of the key "secret"


@pytest.fixture(scope="session")
def guarded() -> Iterator[str]:
    with running_service(sample="1", api_keys=f"reader:read:{SECRET_DIGEST}") as address:
        yield address


def let_it_run(page: Page) -> None:
    """Let a page do what it has begun: for some frames, which take as long as the machine needs."""
    page.evaluate("async () => { for (let i = 0; i < 6; i++) await new Promise(requestAnimationFrame); }")


@pytest.fixture(scope="package")  # its event loop must not run in tests of other packages, which have their own
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Browser, url: str) -> Iterator[OpenPage]:
    """Open the playground at a fragment; the test fails if any page did what no page may do."""
    faults = Faults()
    contexts = []

    def opened(fragment: str = "", address: str = url, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": 1280, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        context.set_default_timeout(1000 * CEILING_S)
        page = context.new_page()
        faults.watch(page, address)
        page.goto(f"{address}/{fragment}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == Faults()
