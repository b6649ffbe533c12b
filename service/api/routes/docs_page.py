"""GET /docs: documentation, without files of other hosts.

Its addresses are relative, so that a path prefix before the service stays.
"""

from __future__ import annotations

import base64
import hashlib
import re

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles

ASSETS = "docs/assets"

_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def install(app: FastAPI) -> None:
    """Serve the page and its scripts, which are part of the package fastapi-offline."""
    app.mount(f"/{ASSETS}", StaticFiles(packages=[("fastapi_offline", "static")]), name="docs-assets")
    page = get_swagger_ui_html(
        openapi_url=str(app.openapi_url).removeprefix("/"),
        title="Semblance",
        swagger_js_url=f"{ASSETS}/swagger-ui-bundle.js",
        swagger_css_url=f"{ASSETS}/swagger-ui.css",
        swagger_favicon_url=f"{ASSETS}/favicon.png",
    )
    content = bytes(page.body)
    headers = {"content-security-policy": _policy(content)}

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(content, headers=headers)


def _policy(page: bytes) -> str:
    """Content security policy of the page: own files, and inline scripts by their digests."""
    digests = (base64.b64encode(hashlib.sha256(script).digest()).decode() for script in _SCRIPT.findall(page))
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; frame-ancestors 'none'"
    )
