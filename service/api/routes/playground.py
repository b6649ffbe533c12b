"""GET /: the playground in a browser, a short description for programs."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

from semblance.service.api.formats import prefers_page

PATH = "/playground"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
_PACKAGE = files("semblance.service")
_WORDS = (  # which name no region of a map
    files("semblance.models.tokenization") / "function_words.txt",
    files("semblance.models.paraphrases") / "negations.txt",
)


class _Assets(StaticFiles):
    """Files that browsers may keep.

    Their address has a digest of them all, so that a new release has another one.
    """

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers["cache-control"] = "public, max-age=31536000, immutable"
        return answer


def install(app: FastAPI) -> str:
    """Serve the page and its files. Returns the address of the files, without a leading slash."""
    assets = _PACKAGE / "playground" / "assets"
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in sorted(assets.iterdir(), key=str))).hexdigest()[:12]
    folders = {"sample": _PACKAGE / "sample", "": assets}  # the longer path first, which the shorter would also match

    @app.get(f"{PATH}/{digest}/words.txt", include_in_schema=False)
    async def words() -> PlainTextResponse:
        return PlainTextResponse("\n".join(each.read_text("utf-8") for each in _WORDS))

    for name, folder in folders.items():
        app.mount(f"{PATH}/{digest}/{name}".rstrip("/"), _Assets(directory=str(folder)), name=f"playground {name}")
    # without a leading slash, so that a path prefix before the service stays
    page = (_PACKAGE / "playground" / "index.html").read_text("utf-8")
    address = f"{PATH.removeprefix('/')}/{digest}"
    page = page.replace("{assets}", address)
    about = {"name": "semblance", "version": app.version, "api": "docs", "openapi": "openapi.json"}

    @app.get("/", include_in_schema=False)
    async def home(request: Request) -> Response:
        if not prefers_page(request):
            return JSONResponse(about, headers={"vary": "Accept"})
        return HTMLResponse(page, headers={"content-security-policy": _POLICY, "vary": "Accept"})

    return address
