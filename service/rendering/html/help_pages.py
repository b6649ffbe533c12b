"""Pages of the documentation, from the Markdown of README.md and docs/, and from notebooks."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from semblance.models.tokenization.terms import Term, places, query_terms
from semblance.service.rendering.html.page import render

CONTENTS = "docs/README"
MOST_FOUND = 20  # sections of a search
SHOWN = 220  # characters of each

Scored: TypeAlias = Callable[[Sequence[str], Sequence[Term]], Iterable[tuple[int, float]]]

_PAGES = (
    "README.md",
    "C*.md",
    "docs/**/*.md",
    "docs/notebooks/*.ipynb",
    "clients/*/README.md",
    "service/adapters/*/README.md",
)
_PICTURES = ("docs/images/*", "service/adapters/*/*.png")
_LATE = ("CHANGELOG", "CONTRIBUTING", "docs/decisions/")  # which hardly anybody looks for
_SUFFIX = re.compile(r"\.(md|ipynb)$")
_HEADING = re.compile(r"^#{1,6} (.+)$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_NO_SLUG = re.compile(r"[^\w\- ]")
_MARKUP = re.compile(r"[`*]|\]\([^)]*\)|\[|<!--.*?-->")


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page: its heading, anchor and text in Markdown."""

    page: str
    title: str
    anchor: str
    text: str


class HelpPages:
    """Pages in a folder that is laid out as the project.

    A page is named by its path without `.md` or `.ipynb`, so that links between pages lead to the same pages here. A
    link to a file that is not among them is text.

    Args:
        root: the folder.
    """

    def __init__(self, root: Path) -> None:
        self._files = {
            file.relative_to(root).with_suffix("").as_posix(): file
            for pattern in _PAGES
            for file in sorted(root.glob(pattern))
        }
        self.pictures = {
            file.relative_to(root).as_posix(): file
            for pattern in _PICTURES
            for file in sorted(root.glob(pattern))
            if file.is_file()
        }

    @property
    def names(self) -> Sequence[str]:
        """Names of all pages."""
        return list(self._files)

    def html(self, name: str, style: str) -> str | None:
        """A page as HTML, or None for an unknown name.

        Args:
            name: of the page.
            style: address of the style sheet, relative to the folder of all pages.
        """
        if name not in self._files:
            return None
        tokens = _markdown().parse(_text(self._files[name]))
        self._adjust(tokens, name)
        content = Markup(_markdown().renderer.render(tokens, _markdown().options, {}))  # nosec B704 # noqa: S704 - ours
        title = next(self._sections(name)).title
        return _page(title, content, "../" * name.count("/"), style)

    def found(self, query: str, style: str, scored: Scored) -> str:
        """The sections with words of a query, as HTML with links.

        Decisions and the list of changes count half.

        Args:
            query: as typed.
            style: as for `html`.
            scored: positions and scores of the texts that have some of the terms.
        """
        sections = [section for name in self._files for section in self._sections(name)]
        terms = [term._replace(stems="en") for term in query_terms(query)]
        scores = {
            sections[place]: score / 2 if sections[place].page.startswith(_LATE) else score
            for place, score in scored([f"{(each.title + ' ') * 3}{each.text}" for each in sections], terms)
        }
        best = sorted(scores, key=lambda section: -scores[section])[:MOST_FOUND]
        listed = [
            (f"{each.page}#{each.anchor}", each.title, each.page, _part_with(each.text, terms))
            for each in best
            if scores[each] > scores[best[0]] / 2
        ]
        return render(
            "help_search.html", title=f"“{query}”", root="", style=style, query=query, listed=listed, contents=CONTENTS
        )

    def _sections(self, name: str) -> Iterator[Section]:
        """The sections of a page, each with the text up to the next heading."""
        title, anchor, lines, in_code = name, "", [], False
        for line in _text(self._files[name]).splitlines():
            in_code ^= _FENCE.match(line) is not None
            heading = None if in_code else _HEADING.match(line)
            if heading is None:
                lines.append(line)
                continue
            if anchor:
                yield Section(name, title, anchor, "\n".join(lines))
            title, anchor, lines = _MARKUP.sub("", heading[1]), slug(heading[1]), []
        yield Section(name, title, anchor, "\n".join(lines))

    def _adjust(self, tokens: Sequence[Token], name: str) -> None:
        """Give headings their anchors, and pages the addresses that they have here."""
        for token, after in zip(tokens, [*tokens[1:], None], strict=True):
            if token.type == "heading_open" and after is not None:
                token.attrSet("id", slug(after.content))
            removed = 0
            for child in token.children or ():
                if child.type == "link_open":
                    target = self._target(str(child.attrs["href"]), posixpath.dirname(name))
                    removed += target is None
                    child.attrs = {} if target is None else {"href": target}
                    child.tag = "span" if target is None else "a"
                elif child.type == "link_close" and removed:
                    child.tag, removed = "span", removed - 1

    def _target(self, href: str, folder: str) -> str | None:
        """The address of a link on a page; None if it leads to a file that is not here."""
        path, mark, anchor = href.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return href
        file = posixpath.normpath(posixpath.join(folder, path))
        if _SUFFIX.sub("", file) in self._files:
            return _SUFFIX.sub("", path) + mark + anchor
        return href if file in self.pictures else None


def _text(file: Path) -> str:
    """The Markdown of a page; a notebook's cells and their outputs, as text."""
    text = file.read_text("utf-8")
    if file.suffix != ".ipynb":
        return text
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            shown = output["data"]["text/plain"] if "data" in output else output["text"]
            parts.append("```text\n{}\n```".format("".join(shown).rstrip("\n")))
    return "\n\n".join(parts) + "\n"


def slug(heading: str) -> str:
    """The anchor of a heading, as code hosts make it.

    >>> slug("`rcmd1`, and what *carries* a score")
    'rcmd1-and-what-carries-a-score'
    """
    return _NO_SLUG.sub("", _MARKUP.sub("", heading).lower()).strip().replace(" ", "-")


def _part_with(text: str, terms: Sequence[Term]) -> str:
    """The sentences of a section from the one that has most of the terms on, shortened."""
    sentences = re.split(r"(?<=[.:|]) ", " ".join(_MARKUP.sub("", text).split()))
    parts = [" ".join(sentences[i:])[:SHOWN] for i in range(len(sentences))]
    return max(parts, key=lambda part: sum(map(bool, places(part, terms).values())))


def _page(title: str, content: Markup, root: str, style: str) -> str:
    return render("help.html", title=title, content=content, root=root, style=style, query="", contents=CONTENTS)


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")
