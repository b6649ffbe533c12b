"""Pictures of explanations: well-formed, true to the numbers, with glyphs for every script."""

from __future__ import annotations

import html
import math
import multiprocessing
import re
import struct
from dataclasses import replace
from decimal import Decimal
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from semblance.models.embeddings import Doubles
from semblance.models.explanation import Explanation, ReadText
from semblance.models.text import Units
from semblance.service.rendering import fonts
from semblance.service.rendering.caption import Caption, Probable, headline, subtitle
from semblance.service.rendering.colors import MINUS, PLUS, QUIET, ColorScale, ink_on
from semblance.service.rendering.html.explanation import render_html
from semblance.service.rendering.labels import beginning, em_width, legal, rounded_parts, shorten
from semblance.service.rendering.parts import word_scale
from semblance.service.rendering.playground import playground_view
from semblance.service.rendering.png import DrawingProcess, render_png
from semblance.service.rendering.svg.matrix import angle_for
from semblance.service.rendering.svg.picture import render_svg
from semblance.service.rendering.svg.sheet import INNER_WIDTH
from semblance.service.rendering.view import MAX_SIDE, grid_of
from tests.support.units import units_of

SVG = "{http://www.w3.org/2000/svg}"
BIDI_CONTROLS = set("\u202a\u202b\u202c\u202d\u202e\u2066")
# Text that could break XML, HTML or a renderer is generated more often than by chance.
hostile = st.sampled_from(
    ["<script>alert(1)</script>", "]]>", "&amp;", '"', "\x00\x0b\x1f\ufffe", "\u202eabc\u2069", "\r\n"]
)
anything = st.lists(st.one_of(st.text(max_size=12), hostile), max_size=6).map("".join)


def whole(text: str) -> ReadText:
    return ReadText(text, False, 0, len(text))


def explained(a: str, b: str, contribution: Doubles | None = None, special: float = 0.1) -> tuple[Explanation, Caption]:
    """An explanation of the words of two texts, with random contributions by default."""
    left, right = units_of(a), units_of(b)
    shape = (len(left), len(right))
    parts = np.random.default_rng(0).normal(0.01, 0.02, shape) if contribution is None else contribution
    score = float(parts.sum()) + special
    explanation = Explanation(score, left, right, np.full(shape, 0.83), parts, special, (a, b))
    return explanation, Caption("rcmd", "mini", whole(a), whole(b), "word")


def words(count: int, stem: str = "w") -> str:
    return " ".join(f"{stem}{i}" for i in range(count))


def texts_in(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter(f"{SVG}text")]


def printed(svg: str) -> tuple[list[Decimal], Decimal]:
    found = [(e.get("data-value"), "".join(e.itertext())) for e in ET.fromstring(svg).iter(f"{SVG}text")]
    numbers = [(kind, Decimal(text.split()[-1].replace("\u2212", "-"))) for kind, text in found if kind]
    [score] = [number for kind, number in numbers if kind == "score"]
    return [number for kind, number in numbers if kind != "score"], score


@given(anything, anything, anything)
def test_any_texts_and_names_give_well_formed_svg(a: str, b: str, name: str) -> None:
    """It has only the elements that this package draws, and no text can reorder its neighbors."""
    explanation, caption = explained(a, b)
    svg = render_svg(explanation, Caption(name, name, caption.a, caption.b, "word"))
    tags = {element.tag.removeprefix(SVG) for element in ET.fromstring(svg).iter()}
    assert tags <= {"svg", "g", "rect", "text", "tspan", "title"}
    assert not BIDI_CONTROLS & set(svg)
    assert svg.count("\u2067") + svg.count("\u2068") == svg.count("\u2069"), "every isolate is closed"


class Page(HTMLParser):
    """Parsed page: tags, active content, and the texts of paragraphs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.active: set[str] = set()
        self.paragraphs: list[str] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.active |= {tag} & {"script", "img", "link", "iframe", "a", "object", "form", "base"}
        self.active |= {name for name, _ in attrs if name.startswith(("on", "src", "href"))}
        if ("class", "text") in attrs:
            self._inside = True
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "p"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.paragraphs[-1] += data


@given(anything, anything, st.sampled_from([0, 0, 3, 20]), st.sampled_from([0, 0, 3, 20]))
def test_a_page_shows_the_whole_texts_without_active_content(text: str, other: str, before: int, after: int) -> None:
    """No text adds a script, a resource or a handler; a cut at either end marks exactly the part outside."""
    start, end = min(before, len(text)), max(min(before, len(text)), len(text) - after)
    explanation, caption = explained(text[start:end], other)
    units = replace(explanation.left, text=text, spans=explanation.left.spans + start)
    page = render_html(replace(explanation, left=units), replace(caption, a=ReadText(text, True, start, end)))
    assert Page(page).paragraphs == [legal(text), legal(other)]
    assert not Page(page).active
    unread = re.findall(r'<span class="unread"[^>]*>([^<]*)</span>', page)
    assert [html.unescape(each) for each in unread] == [legal(each) for each in (text[:start], text[end:]) if each]


def test_cuts_and_warnings_are_shown_with_the_score() -> None:
    explanation, caption = explained("one two", "three")
    for read, note in (
        (ReadText("one two" + 2000 * "!", True, 0, 7), "Text b was cut: the model read up to character 7 of 2,007."),
        (ReadText("one two", True, 4, 7), "Text b was cut: the model did not read the first 4 of 7 characters."),
    ):
        cut = replace(caption, b=read)
        assert note in " ".join(texts_in(render_svg(explanation, cut)))
        assert f'<p class="message">{note}</p>' in render_html(explanation, cut)
    assert "was cut" not in render_svg(explanation, caption) + render_html(explanation, caption)
    warned = replace(caption, warnings=("text b: <b>unreadable</b>",))
    assert "text b: <b>unreadable</b>" in texts_in(render_svg(explanation, warned))
    assert '<p class="warning">text b: &lt;b&gt;unreadable&lt;/b&gt;</p>' in render_html(explanation, warned)


def at_distances(distances: Doubles) -> tuple[Explanation, Caption]:
    """An explanation by minus a distance, whose plan is the diagonal."""
    explanation, caption = explained(words(len(distances)), words(len(distances)), -np.diag(np.diag(distances)), 0.0)
    return replace(explanation, similarity=-distances), replace(caption, best=0.0)


def outlined(svg: str) -> int:
    return sum(rect.get("stroke-width") == "2" for rect in ET.fromstring(svg).iter(f"{SVG}rect"))


def rows_in(page: str) -> list[list[str]]:
    table = page[page.index('<table class="links">') :]
    body = table[table.index("<tbody>") : table.index("</tbody>")]
    return [re.findall(r">([^<>]+)<", row) for row in body.split("<tr>")[1:]]


def test_identical_texts_are_called_so_and_linked() -> None:
    explanation, caption = at_distances(5.0 - 5.0 * np.eye(3))
    svg, page = render_svg(explanation, caption), render_html(explanation, caption)
    said = "Identical to the model: distance 0, the best possible"
    assert said in texts_in(svg)
    assert f"<h1>{said}</h1>" in page
    assert outlined(svg) == page.count('class="matched-cell"') == 3
    assert texts_in(svg).count("0") == 3, "one in each cell"
    assert rows_in(page) == [[f"w{i}", f"w{i}", "0.00", "0.000"] for i in range(3)]
    assert page.count('<mark class="shade-0 matched"') == 6
    assert "at distance 0 of w2" in page


def test_distances_are_shown_as_such_with_their_best_score() -> None:
    explanation, caption = at_distances(np.array([[0.0, 4.0], [4.0, 3.0]]))
    svg, page = render_svg(explanation, caption), render_html(explanation, caption)
    assert "Score \u22123.00, minus a distance: 0 is the best possible" in texts_in(svg)
    assert "minus a distance: 0 is the best possible" in page
    assert (outlined(svg), page.count(' matched"')) == (1, 2)
    assert rows_in(page) == [["w1", "w1", "3.00", "\u22123.000"], ["w0", "w0", "0.00", "0.000"]]
    assert "w1 \u2013 w1: distance 3.00, contributes \u22123.000" in svg
    assert not [text for text in texts_in(svg) if text.startswith("+")]


def test_units_that_share_characters_show_each_character_once() -> None:
    """Two byte-level tokens of one emoji do not repeat it."""
    spans = np.array([[0, 1], [0, 1], [1, 2]], np.int32)
    units = Units("\U0001f600x", spans, np.array([0, 0, 1], np.int32))
    explanation = Explanation(1.0, units, units_of("x"), np.ones((3, 1)), np.full((3, 1), 0.2), 0.4, ("", ""))
    page = render_html(explanation, Caption("m", "m", whole(units.text), whole("x"), "token"))
    assert Page(page).paragraphs == [units.text, "x"]


def test_the_table_lists_the_thirty_strongest_links_in_order() -> None:
    parts = np.arange(1.0, 65.0).reshape(8, 8) / 1000
    page = render_html(*explained(words(8), words(8), -parts))
    numbers = re.findall(r'class="number shade[^"]*">([^<]*)<', page)
    assert numbers == [f"\u22120.{k:03d}" for k in range(64, 34, -1)]


@given(st.lists(st.floats(-2, 2), min_size=4, max_size=4), st.floats(-1, 1))
@example([0.10295, 0.0, 0.0, 0.0], 0.0)  # slightly less than 0.10295, until it is multiplied
def test_the_printed_parts_sum_to_the_printed_score(parts: list[float], special: float) -> None:
    explanation, caption = explained("one two", "three four", np.array(parts).reshape(2, 2), special)
    drawn, score = printed(render_svg(explanation, caption))
    assert sum(drawn) == score
    assert float(score) == pytest.approx(sum(parts) + special, abs=5.1e-5)
    listed = re.findall(r"<data[^>]*>([^<]*)</data>", render_html(explanation, caption))
    assert [Decimal(each.replace("\u2212", "-")) for each in listed] == [*drawn, score]


@pytest.mark.parametrize("size", [0.01, 2000.0])
def test_segments_are_as_long_as_their_parts(size: float) -> None:
    svg = render_svg(*explained("one two", "three four", np.array([[-3.0, 0.0], [0.0, -1.5]]) * size, -0.5 * size))
    drawn = [e for e in ET.fromstring(svg).iter(f"{SVG}rect") if e.get("data-part")]
    widths = np.array([float(each.attrib["width"]) for each in drawn])
    outlines = [e for e in ET.fromstring(svg).iter(f"{SVG}rect") if (e.get("rx"), e.get("fill")) == ("3", "none")]
    [whole] = [float(each.attrib["width"]) for each in outlines]
    assert widths + 1 == pytest.approx(whole * np.array([3.0, 1.5, 0.5]) / 5.0, abs=0.2)
    starts = np.array([float(each.attrib["x"]) for each in drawn])
    assert starts[1:] == pytest.approx(starts[:-1] + widths[:-1] + 1, abs=0.2)
    assert float(printed(svg)[1]) == pytest.approx(-5.0 * size)


def test_a_bar_names_words_that_say_much() -> None:
    parts = np.array([[0.3, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.2]])
    written = texts_in(render_svg(*explained("the parcel .", "the package .", parts)))
    assert "parcel ~ package +0.1000" in written
    assert "function words and punctuation +0.5000" in written
    assert "special tokens +0.1000" in written


def test_a_bar_ends_at_the_best_score() -> None:
    """Negative parts lie over the end of the positive ones."""
    explanation, caption = explained("parcel the", "package the", np.array([[0.5, 0.0], [0.0, -0.1]]), 0.0)
    view = playground_view(explanation, best=1.0)
    assert [(part["kind"], part["start"], part["width"]) for part in view["parts"]] == [
        ("link", 0.0, 50.0),
        ("function", 40.0, 10.0),
    ]
    assert view["a"] == [("shade-plus-5", "+0.500"), ("says-little", "\u22120.100")]
    svg = render_svg(explanation, replace(caption, best=1.0))
    assert "Parts of the score, in a bar from 0 to 1" in texts_in(svg)
    assert QUIET in {each.get("fill") for each in ET.fromstring(svg).iter(f"{SVG}rect")}


def test_a_wrong_sum_is_not_hidden_by_rounding() -> None:
    assert rounded_parts([0.1, 0.1, 0.1], 0.5, 4) == (0.1, 0.1, 0.1)


@given(st.integers(0, 60), st.integers(1, 60), st.sampled_from([" ", ". ", " the , "]), st.booleans())
def test_the_cells_of_a_matrix_sum_to_all_links(rows: int, columns: int, join: str, by_sentence: bool) -> None:
    """Nothing is left out: what has no row of its own is in the one of the others."""
    a, b = join.join(f"W{i}" for i in range(rows)), join.join(f"v{i}" for i in range(columns))
    explanation, _ = explained(a, b)
    grid = grid_of(explanation, by_sentence=by_sentence)
    assert grid.values.sum() == pytest.approx(explanation.contribution.sum())
    for side, units in ((grid.rows, explanation.left), (grid.columns, explanation.right)):
        assert sorted(i for row in side for i in row.units) == list(range(len(units)))
        assert len(side) <= MAX_SIDE + 1
    for i, row in enumerate(grid.rows):
        for j, column in enumerate(grid.columns):
            cell = explanation.contribution[np.ix_(row.units, column.units)].sum()
            assert grid.cells[i][j].value == pytest.approx(cell, rel=1e-9, abs=1e-9)


def test_function_words_and_punctuation_share_a_row() -> None:
    grid = grid_of(explained("The cat , and the dog .", "a parcel")[0])
    assert [row.text for row in grid.rows] == ["cat", "dog", "5 others"]
    assert [row.text for row in grid.columns] == ["a", "parcel"], "a single other word keeps its name"


def test_long_texts_have_a_matrix_of_sentences() -> None:
    text = " ".join(f"Sentence number {i} has {i} other words." for i in range(9))
    explanation, caption = explained(text, "one two")
    assert [row.text for row in grid_of(explanation).rows][:2] == [
        "1. Sentence number 0 has 0 other words.",
        "2. Sentence number 1 has 1 other words.",
    ]
    page = render_html(explanation, caption)
    assert page.index("<details open><summary>Matrix of sentences") < page.index("<details><summary>Matrix of words")
    assert "Matrix of sentences" not in render_html(*explained("one two", "three"))


def test_a_single_long_sentence_keeps_its_strongest_words() -> None:
    parts = np.zeros((30, 1))
    parts[::2, 0] = np.linspace(0.1, 0.5, 15)
    rows = grid_of(explained(words(30), "x", parts)[0]).rows
    assert [row.text for row in rows] == [*(f"w{i}" for i in range(2, 30, 2)), "16 others"]


def test_a_text_of_many_lines_is_cut_with_a_note() -> None:
    written = texts_in(render_svg(*explained(words(900), "x")))
    [note] = [text for text in written if text.startswith("\u2026 and ")]
    shown = sum(bool(re.fullmatch(r"w\d+", text)) for text in written[: written.index(note)])
    assert note == f"\u2026 and {900 - shown} more"


@pytest.mark.parametrize(
    ("best", "special", "probable", "title"),
    [
        (1.0, 0.0, None, "Word matches make 0.61 of 1"),
        (1.0, 0.06, None, "Word matches make 0.61 of the score 0.67; 1 is the best possible"),
        (math.inf, 0.0, None, "Word matches make the score 0.61"),
        (math.inf, 0.06, None, "Word matches make 0.61 of the score 0.67"),
        (1.0, 0.0, 0.7, "Word matches make 0.61 of 1; from 0.70, people mostly call two texts the same"),
    ],
)
def test_the_title_says_what_words_make_of_the_score(
    best: float, special: float, probable: float | None, title: str
) -> None:
    explanation, caption = explained("cat", "dog", np.array([[0.61]]), special)
    known = replace(caption, best=best, probable=Probable(0.83, probable, "mine") if probable else None)
    assert headline(explanation, known) == title
    assert f"<h1>{title}</h1>" in render_html(explanation, known)
    assert ("in 83 of 100 cases, judging by mine" in subtitle(explanation, known)) == bool(probable)


@pytest.mark.parametrize(("part", "said"), [(0.208, "; +0.21 of it by the glossary"), (0.0, ""), (None, "")])
def test_the_title_names_the_part_of_the_glossary(part: float | None, said: str) -> None:
    explanation, caption = explained("rma", "return", np.array([[1.0]]), special=0.0)
    caption = replace(caption, best=1.0)
    assert headline(replace(explanation, by_glossary=part), caption) == f"Word matches make 1.00 of 1{said}"


def test_a_page_links_to_the_playground_and_forbids_scripts() -> None:
    """The policy in the head holds even if escaping fails."""
    page = render_html(*explained("a", "b"), playground='./#compare?a="><script>&b=x')
    assert 'href="./#compare?a=&quot;&gt;&lt;script&gt;&amp;b=x"' in page
    assert Page(page).active == {"a", "href"}
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in page


def test_one_color_stands_for_one_number() -> None:
    """In texts, matrix and links: equal classes have equal steps, and larger numbers no smaller ones."""
    explanation, caption = explained("red parcel lamp", "blue package desk")
    page, scale = render_html(explanation, caption), word_scale(explanation)
    for name, number in re.findall(r'<td class="(?:number )?(shade[\w-]+)">([+\u2212][\d.]+)</td>', page):
        value = float(number.replace("\u2212", "-"))
        assert name in {scale.name(value - 0.0005), scale.name(value), scale.name(value + 0.0005)}
    totals = explanation.contribution.sum(axis=1)
    assert [scale.name(float(each)) for each in totals] == re.findall(r'<mark class="(shade[\w-]+)"', page)[:3]


def test_pictures_have_the_colors_of_pages() -> None:
    style = (files("semblance.service") / "playground" / "assets" / "style.css").read_text()
    light = style[: style.index("@media")]
    for kind, colors in (("plus", PLUS), ("minus", MINUS)):
        assert tuple(re.findall(rf"--{kind}-\d: (#\w+);", light)) == colors


@given(st.text(max_size=80), st.floats(3, 20))
def test_labels_are_shortened_only_if_too_wide(text: str, max_em: float) -> None:
    """An ellipsis replaces the middle of a wide label, or the end of a sentence."""
    assert em_width(beginning(text, max_em)) <= max_em
    short = shorten(text, max_em)
    assert em_width(short) <= max_em
    assert short == text if em_width(text) <= max_em else "\u2026" in short


def test_a_shortened_word_has_its_full_text_as_tooltip() -> None:
    """A URL keeps its beginning and end on the axis."""
    url = "https://example.org/a/very/long/path/index.html?q=1#end"
    root = ET.fromstring(render_svg(*explained(f"see {url}", "x")))
    labels = [e for e in root.iter(f"{SVG}text") if "\u2026" in "".join(e.itertext())]
    assert [title for label in labels if (title := label.findtext(f"{SVG}title"))] == [url]
    assert all(re.search(r"https://.*\u2026.*#end", "".join(label.itertext())) for label in labels)


def test_a_picture_has_both_texts_and_describes_its_links() -> None:
    explanation, caption = explained("cat", "dog", np.array([[0.041]]))
    svg = render_svg(explanation, replace(caption, document="shipping-001"))
    assert {"cat", "dog", "Text a", "Text b: document shipping-001"} <= set(texts_in(svg))
    tooltips = [title.text for title in ET.fromstring(svg).iter(f"{SVG}title")]
    assert "cat \u2013 dog: similarity 0.83, contributes +0.041" in tooltips
    assert "cat: contributes +0.041" in tooltips


@pytest.mark.parametrize(("a", "b"), [("", ""), ("", "x y"), ("x y", ""), ("x", "y")])
def test_empty_sides_and_links_of_zero_are_drawn(a: str, b: str) -> None:
    shape = (len(a.split()), len(b.split()))
    explanation, caption = explained(a, b, np.zeros(shape), special=0.0)
    svg, page = render_svg(explanation, caption), render_html(explanation, caption)
    assert printed(svg) == ([Decimal(0)], Decimal(0))
    assert render_png(explanation, caption).startswith(b"\x89PNG")
    assert "No words are linked." in page
    assert outlined(svg) == 0
    assert "best possible" not in svg + page


def size_of(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_a_png_has_twice_the_size_of_the_svg() -> None:
    """The largest possible picture has less than 4,000 px a side."""
    explanation, caption = explained(words(400, "W" * 50), words(400, "W" * 50))
    caption = Caption("M" * 200, "M" * 200, caption.a, caption.b, "token")
    png, svg = render_png(explanation, caption), ET.fromstring(render_svg(explanation, caption))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert size_of(png) == (2 * int(svg.attrib["width"]), 2 * int(svg.attrib["height"]))
    assert max(size_of(png)) <= 4000


@cache
def picture_of(label: str) -> bytes:
    """A picture that differs only in one label, without system fonts and with the same layout."""
    return render_png(*explained(label, "x", np.array([[0.5]])), system_fonts=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other", "unassigned"),
    [
        pytest.param("漢", "語", "\U0002fa20", id="chinese"),
        pytest.param("か", "キ", "\U0002fa20", id="japanese"),
        pytest.param("한", "글", "\U0002fa20", id="korean"),
        pytest.param("م", "ش", "\u05ff", id="arabic"),
        pytest.param("بب", "ب\u200cب", "\u05ff\u05ff", id="arabic, joined and apart"),
        pytest.param("ש", "ל", "\u05ff", id="hebrew"),
        pytest.param("ж", "λ", "\u0378", id="cyrillic and greek"),
        pytest.param("ab漢é", "ab漢\u0378", "ab\U0002fa20é", id="mixed, each run by its own font"),
    ],
)
def test_letters_of_every_supported_script_are_drawn(one: str, other: str, unassigned: str) -> None:
    assert len({picture_of(one), picture_of(other), picture_of(unassigned)}) == 3
    if len(one) == 1:
        assert size_of(picture_of(one)) == size_of(picture_of(other)) == size_of(picture_of(unassigned))


def test_han_characters_have_the_shapes_of_the_language() -> None:
    japanese, chinese = explained("骨 が", "x"), explained("骨 头", "x")
    family = {
        name: render_svg(*pair).count(f"Noto Sans CJK {name}") for name, pair in (("JP", japanese), ("SC", chinese))
    }
    assert min(family.values()) > 0
    alone, caption = explained("骨", "x", np.array([[0.5]]))
    captions = [Caption("rcmd", "mini", whole(text), caption.b, "word") for text in ("骨が", "骨头")]
    assert len({render_png(alone, each, system_fonts=False) for each in captions}) == 2


def test_a_missing_font_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_FONTS", (fonts.Font("no_such_fonts", "Some.ttf", "Some"),))
    fonts.font_files.cache_clear()
    with pytest.raises(RuntimeError, match=r"Some\.ttf of the Python package no_such_fonts"):
        fonts.font_files()


@given(st.floats(0, 1))
def test_colors_are_symmetric_and_numbers_on_them_legible(value: float) -> None:
    """Text has the WCAG contrast of 4.5 on the color of any value."""
    scale = ColorScale.over(np.array([1.0, -0.5]))
    assert scale.step(value) == -scale.step(-value)
    for signed in (value, -value):
        assert contrast(scale.color(signed), scale.ink(signed)) >= 4.5
        assert contrast(scale.color(signed), ink_on(scale.color(signed))) >= 4.5


def contrast(one: str, other: str) -> float:
    brightness = []
    for color in (one, other):
        channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        brightness.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(brightness) + 0.05) / (min(brightness) + 0.05)


@given(st.integers(1, MAX_SIDE + 1), st.floats(0.6, 24), st.floats(0.6, 15))
def test_adjacent_labels_do_not_touch(columns: int, row_em: float, column_em: float) -> None:
    cell = min((INNER_WIDTH - 12.5 * row_em) / columns, 112.0)
    angle = angle_for(cell, column_em)
    across = cell * np.sin(np.radians(-angle)) if angle else cell
    assert across >= (1.2 * 12.5 if angle else column_em * 12.5)


async def test_the_drawing_process_restarts_after_it_dies() -> None:
    drawing = DrawingProcess()
    explanation, caption = explained("a cat", "a dog")
    first = await drawing.png(explanation, caption)
    assert first == render_png(explanation, caption)
    for child in multiprocessing.active_children():
        child.kill()
        child.join()
    assert await drawing.png(explanation, caption) == first
    drawing.close()
