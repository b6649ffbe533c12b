"""GET /docs, and / which leads there: the routes, to read and to try, without anything from another host."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from service.api.errors import responses
from service.api.keys import Guard, scope_of

ASSETS = "/docs/assets"

_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def install(app: FastAPI, guard: Guard) -> None:
    """Serve the page and its scripts, which come in the package fastapi-offline; describe what the edge asks for."""
    app.mount(ASSETS, StaticFiles(packages=[("fastapi_offline", "static")]), name="docs-assets")
    _describe_edge(app, guard)
    page = get_swagger_ui_html(
        openapi_url=str(app.openapi_url),
        title="Semblance",
        swagger_js_url=f"{ASSETS}/swagger-ui-bundle.js",
        swagger_css_url=f"{ASSETS}/swagger-ui.css",
        swagger_favicon_url=f"{ASSETS}/favicon.png",
    )
    content = bytes(page.body)
    headers = {"content-security-policy": _policy(content)}

    @app.get("/", include_in_schema=False)
    async def home() -> RedirectResponse:
        return RedirectResponse("/docs")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(content, headers=headers)


def _policy(page: bytes) -> str:
    """What the page may load: its own files, and the scripts that stand in it, each by its digest."""
    digests = (base64.b64encode(hashlib.sha256(script).digest()).decode() for script in _SCRIPT.findall(page))
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; frame-ancestors 'none'"
    )


def _describe_edge(app: FastAPI, guard: Guard) -> None:
    """Have the OpenAPI document name the key that a route wants, and the refusals that come before any route."""
    of_routes = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            described = of_routes()
            for method, path, operation in _operations(described):
                statuses = [408] if "requestBody" in operation else []
                if guard.needs_key(method, path):
                    statuses += [401, 403]
                    operation["security"] = [{"key": []}]
                    needs = f"Needs a key with the scope `{scope_of(method, path)}`."
                    operation["description"] = f"{operation.get('description', '')}\n\n{needs}".strip()
                operation["responses"] |= {str(status): answer for status, answer in responses(*statuses).items()}
            if guard.keys:
                described["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        return of_routes()

    app.openapi = openapi  # type: ignore[method-assign]  # the way that FastAPI documents


def _operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            yield method.upper(), path, operation
