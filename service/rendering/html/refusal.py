"""Render a refusal as a page, for browsers."""

from __future__ import annotations

from collections.abc import Sequence

from semblance.service.rendering.html.page import Heading, escaped, page

_OPEN = "The playground asks for what is missing, and shows the same."


def render_refusal(status: int, title: str, details: Sequence[str], playground: str) -> str:
    """Render what was wrong, with a link to a relative address in the playground.

    Every text is escaped.
    """
    listed = "".join(f"<p>{escaped(each)}</p>" for each in details)
    links = f'<p><a href="{escaped(playground)}">{_OPEN}</a></p>'
    heading = Heading(title, f"status {status}", (), ())
    return page(heading, [f'<section class="card">{listed}{links}</section>'], playground=playground)
