"""Fill the templates of pages, and color the words of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from markupsafe import Markup

from semblance.models.explanation import ReadText
from semblance.models.text import Unit
from semblance.service.rendering.caption import Caption
from semblance.service.rendering.colors import ColorScale
from semblance.service.rendering.fonts import BEGINNING, language_of, runs
from semblance.service.rendering.labels import decimals_for, in_sentence, label, legal, plain, signed
from semblance.service.rendering.view import Side

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: Any) -> str:
    """Fill a template: every text is escaped, and illegal characters are U+FFFD.

    A content security policy in the head of every page forbids scripts and resources, even if escaping fails.
    """
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - not needed to start

    environment = Environment(
        loader=PackageLoader("semblance.service.rendering.html"),
        autoescape=True,
        finalize=_markup,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.filters |= {shape.__name__: shape for shape in (decimals_for, label, plain, signed)}
    style = (files("semblance.service") / "playground" / "assets" / "style.css").read_text("utf-8")
    environment.globals |= {"warnings": (), "messages": (), "verdict": None}
    environment.globals["playground_style"] = Markup(style)  # nosec B704 # noqa: S704 - a file of this package
    return environment


def _markup(value: object) -> Markup:
    return value if isinstance(value, Markup) else escaped(str(value))


def escaped(text: str) -> Markup:
    """Escape a text for content or an attribute of HTML."""
    return Markup(escape(legal(text)))  # nosec B704 # noqa: S704 - it has been escaped


class ColoredUnit(NamedTuple):
    """A unit of a text with its classes and its tooltip."""

    unit: Unit
    name: str
    title: str


def colored_units(side: Side, caption: Caption, scale: ColorScale) -> Iterator[ColoredUnit]:
    """The units of a text colored by contribution; a tooltip names the strongest partner."""
    decimals = decimals_for(scale.limit)
    for i, (unit, name) in enumerate(zip(side.units, side.shades(scale), strict=True)):
        yield ColoredUnit(unit, name + " matched" * bool(side.matched[i]), _description(side, i, caption, decimals))


def _description(side: Side, i: int, caption: Caption, decimals: int) -> str:
    parts = side.contribution[i]
    total = f"contributes {signed(float(parts.sum()), decimals)}"
    if side.matched[i]:
        return f"{total}; at distance 0 of {in_sentence(side.others[int(side.matches[i].argmax())].text)}"
    if not np.any(parts):
        return total
    j = int(np.abs(parts).argmax())
    partner = f"{in_sentence(side.others[j].text)} ({signed(float(parts[j]), decimals)}"
    return f"{total}; strongest with {partner}, {caption.closeness(float(side.similarity[i, j]))})"


def paragraph(read: ReadText, units: Iterable[ColoredUnit]) -> Markup:
    """Render a text as a `<p>` with automatic direction, and its units as marks."""
    text, reached = read.text, read.start
    pieces = [_unread(text[:reached])]
    for unit, name, title in units:
        start = max(unit.start, reached)  # tokens may share characters; each character is shown once
        if unit.end <= start:
            continue
        word = escaped(text[start : unit.end])
        pieces.append(f'{escaped(text[reached:start])}<mark class="{name}" title="{escaped(title)}">{word}</mark>')
        reached = unit.end
    end = max(reached, read.end)
    pieces += [escaped(text[reached:end]), _unread(text[end:])]
    marks = "".join(pieces)
    return Markup(f'<p class="text" dir="auto" lang="{_language(text)}">{marks}</p>')  # nosec B704 # noqa: S704 - pieces are escaped


def color_key(scale: ColorScale, caption: Caption, *, matched: bool, differs: bool = False) -> str:
    """Legend of the colors of marked texts."""
    unit = caption.granularity
    key = f"Red {unit}s lower the score" if caption.distance else f"Blue {unit}s raise the score, red ones lower it"
    key += "; function words and punctuation are grey"
    if matched:
        key += "; underlined ones have a partner at distance 0, which costs nothing"
    if differs:
        key += "; bold ones differ, by the verdict"
    if scale.limit > 0:
        key += f"; the strongest color stands for {plain(scale.limit, decimals_for(scale.limit))}"
    return f"{key}. Rest the pointer on one for its strongest partner."


def _unread(text: str) -> str:
    return f'<span class="unread" title="not read by the model">{escaped(text)}</span>' if text else ""


def _language(text: str) -> str:
    # without one, Han characters take the shapes of the reader's country; for other scripts the language is not known
    return language_of(text) if any(asian for asian, _ in runs(text[:BEGINNING])) else ""
