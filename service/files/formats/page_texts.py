"""Title and text of a page in HTML, Markdown, reStructuredText or plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from semblance.models.files.lines import text_lines
from semblance.models.files.tables import collapse_spaces

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_UNREAD = ("script", "style", "template", "noscript", "svg", "title")
_BLOCKS = (
    "address", "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt", "fieldset", "figcaption", "figure",
    "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre",
    "section", "table", "tr", "ul",
)  # fmt: skip
_HEADINGS = ("h1", "h2", "h3")
_AROUND = (  # the content, as most pages of a site have it; a header within the content is a part of that
    "nav, footer, aside, dialog, form:not(:has(p, h1, main, article)), header:not(:is(main, article) *), "
    ":is([role=navigation], [role=banner], [role=contentinfo], [role=search], [role=dialog])"
)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*\n", re.DOTALL)
_TITLE = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE)
_UNDERLINED = re.compile(r"^[ \t]*(?P<title>\S.*)\n([=\-~^\"'#*+])\2{2,}[ \t]*$", re.MULTILINE)
_END = "\0"  # of a line, which the line feeds of HTML are not
_MAX_TITLE = 100  # characters of a first line that is taken for a title


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is a document.

    Attributes:
        text: its text; blocks, such as paragraphs, are lines.
        title: empty if it has none.
        number: its number in a file of several, from 1.
    """

    text: str
    title: str = ""
    number: int | None = None


def html_page(content: bytes | str) -> Page:
    """A page of HTML without markup, scripts, styles and navigation.

    Of a page with `main`, or with one `article`, that alone is read. Bytes may declare their encoding.
    """
    from bs4 import BeautifulSoup  # noqa: PLC0415 - a tenth of a second, and only pages need it

    soup = BeautifulSoup(content, "html.parser")
    heading = soup.title or soup.find(_HEADINGS)
    title = collapse_spaces(heading.get_text()) if heading else ""
    for unread in soup.find_all(_UNREAD):
        unread.decompose()
    part = _content(soup)
    for kept in soup.find_all(string=True):
        if kept.find_parent("pre"):
            kept.replace_with(kept.replace("\n", _END))
    for line_break in soup.find_all("br"):
        line_break.replace_with(_END)
    for cell in soup.find_all(["td", "th"]):
        cell.append(" ")
    for block in soup.find_all(_BLOCKS):
        block.insert_before(_END)
        block.append(_END)
    lines = map(collapse_spaces, part.get_text().split(_END))
    return Page("\n".join(filter(None, lines)), title)


def _content(page: BeautifulSoup) -> Tag:
    """The content of a page, without what stands around it, unless that is all."""
    articles = page.find_all("article")
    candidates = [*page.select("main, [role=main]"), *(articles if len(articles) == 1 else ())]
    part = next((each for each in candidates if each.get_text(strip=True)), page)
    around = part.select(_AROUND)
    theirs = {id(text) for each in around for text in each.strings}
    if any(text.strip() and id(text) not in theirs for text in part.strings):
        for each in around:
            each.extract()
    return part


def markdown_page(content: str) -> Page:
    """A page of Markdown without markup; its front matter is left out, except for the title."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only pages need it

    found = _FRONT_MATTER.match(content)
    page = html_page(MarkdownIt("commonmark").enable("table").render(content[found.end() :] if found else content))
    named = _TITLE.search(found[1]) if found else None
    return Page(page.text, named[1].strip().strip("\"'") if named else page.title)


def rst_page(content: str) -> Page:
    """A page of reStructuredText, with its markup; the title is the first underlined line."""
    found = _UNDERLINED.search(content)
    return Page(content.strip(), found["title"].strip() if found else "")


def text_page(content: str) -> Page:
    """A plain text; a short first line before a blank one is its title."""
    first, _, rest = content.strip().partition("\n")
    is_title = len(first) <= _MAX_TITLE and (not rest or not rest.partition("\n")[0].strip())
    return Page(content.strip(), first.strip() if is_title else "")


def text_of(file: Path, encoding: str) -> str:
    """The content of a text file. Raises BadDataSet."""
    return "\n".join(line for _, line in text_lines(file, encoding=encoding))
