"""GET /help/: the documentation, without files of other hosts.

Its addresses are relative, so that a path prefix before the service stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from semblance.models.tokenization.terms import Term
from semblance.service.indexes.terms.bm25 import Bm25, TextTerms
from semblance.service.rendering.html.help_pages import CONTENTS, HelpPages
from semblance.service.turns import in_thread

PATH = "/help"
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def install(app: FastAPI, style: str) -> None:
    """Serve the pages; `style` is the address of the style sheet, without a leading slash."""
    pages = HelpPages(_root())
    headers = {"content-security-policy": _POLICY}

    @app.get(PATH, include_in_schema=False)
    async def contents() -> Response:
        return RedirectResponse(f"{PATH.removeprefix('/')}/{CONTENTS}")

    @app.get(f"{PATH}/{{name:path}}", include_in_schema=False)
    async def page(name: str, q: str | None = None) -> Response:
        if name in pages.pictures:
            return FileResponse(pages.pictures[name], headers=headers)
        if q and not name:
            return HTMLResponse(await in_thread(pages.found, q, style, _scored), headers=headers)
        html = await in_thread(pages.html, name, style)
        if html is not None:
            return HTMLResponse(html, headers=headers)
        meant = CONTENTS if name.strip("/") in ("", "docs") else f"docs/{name}".removesuffix(".md")
        if meant not in pages.names:
            raise HTTPException(404)
        return RedirectResponse("../" * name.count("/") + meant)


def _scored(texts: Sequence[str], terms: Sequence[Term]) -> Sequence[tuple[int, float]]:
    """Positions and scores of the texts that have some of the terms, by BM25."""
    return _index(tuple(texts)).best(terms, len(texts), None)


@lru_cache(maxsize=1)
def _index(texts: tuple[str, ...]) -> Bm25:
    index = Bm25()
    for text in texts:
        index.add(TextTerms.of(text))
    return index


def _root() -> Path:
    """The folder with README.md and docs/: in the package if it was built, else the project."""
    built = Path(str(files("semblance.service"))) / "help"
    return built if built.is_dir() else Path(__file__).resolve().parents[3]
