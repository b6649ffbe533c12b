"""Render an error as a page, for browsers."""

from __future__ import annotations

from collections.abc import Sequence

from semblance.service.rendering.html.page import render


def render_refusal(status: int, title: str, details: Sequence[str], playground: str) -> str:
    """Render what was wrong, with a link to a relative address in the playground.

    Every text is escaped.
    """
    return render("refusal.html", title=title, subtitle=f"status {status}", details=details, playground=playground)
