"""HTML pages and pictures in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from semblance.service.app import create_app
from semblance.service.settings import Settings
from tests.end_to_end.conftest import Browse
from tests.integration.edge.conftest import serving
from tests.support.small_model import write_glove

PREFIX = "/semblance"

EVIL = "</p></text><script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\"> cat"
PAIRS = {
    "english": ("A cat sits outside.", "The kitten is in the garden."),
    "arabic": ("ذهب الولد إلى المدرسة", "The boy went to school"),
    "chinese": ("今天天气很好", "今日は天気がいい"),
    "script": (EVIL, f"dog {EVIL}"),
}


def address(url: str, pair: tuple[str, str], format_: str) -> str:
    return f"{url}/explain?{urlencode({'a': pair[0], 'b': pair[1], 'measure': 'rcmd', 'format': format_})}"


@pytest.mark.parametrize("format_", ["html", "svg"])
def test_script_in_a_text_runs_in_no_rendering(browse: Browse, url: str, format_: str) -> None:
    document = browse(address(url, PAIRS["script"], format_))
    assert "<script" not in document.lower()
    assert "<img" not in document.lower()
    assert "hacked</title>" not in document
    assert "hacked" in document, "the text is shown escaped"


def test_the_browser_runs_scripts(browse: Browse) -> None:
    page = "data:text/html,<title>fine</title><script>document.title='hacked'</script>"
    assert "hacked</title>" in browse(page)


@pytest.mark.parametrize(
    ("name", "format_"),
    [
        ("english", "html"),
        ("arabic", "svg"),
        ("chinese", "png"),
        *(("script", each) for each in ("html", "svg", "png")),
    ],
)
def test_every_rendering_shows_a_colored_picture(
    browse: Browse, url: str, tmp_path: Path, name: str, format_: str
) -> None:
    shot = tmp_path / "shot.png"
    browse(address(url, PAIRS[name], format_), shot)
    with Image.open(shot) as image:
        pixels = np.asarray(image.convert("RGB"), np.int16)
    assert int((pixels[..., 2] > pixels[..., 0] + 40).sum()) > 1000, "cells and bars are blue"


def test_the_page_shows_the_score_and_both_texts(browse: Browse, url: str) -> None:
    document = browse(address(url, PAIRS["english"], "html"))
    assert "<h1>Word matches make 0." in document
    assert "rcmd score 0." in document
    for word in ("cat", "outside", "kitten", "garden"):
        assert word in document


def test_docs_shows_all_routes_without_another_host(browse: Browse, url: str) -> None:
    document = browse(f"{url}/docs")
    for path in ("/similarity", "/search", "/explain", "/collections/{name}", "/ready", "/metrics"):
        assert f'data-path="{path}"' in document


def test_docs_work_behind_a_prefix(browse: Browse, tmp_path: Path) -> None:
    """As behind a proxy that cuts the prefix off, and tells nothing of it."""
    settings = Settings(home=tmp_path, models=f"words={write_glove(tmp_path / 'glove.txt', ['a', 'cat'])}")
    service = create_app(settings)

    async def behind_prefix(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if not scope["path"].startswith(f"{PREFIX}/"):
                await PlainTextResponse("not of this service", 404)(scope, receive, send)
                return
            scope["path"] = scope["path"].removeprefix(PREFIX)
        await service(scope, receive, send)

    with serving(behind_prefix, settings) as url:
        document = browse(f"{url}{PREFIX}/docs")
    assert 'data-path="/similarity"' in document
    assert re.search(r'<option value="\.">', document), "requests go to the folder of the document"
