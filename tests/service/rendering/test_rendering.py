"""Pictures of explanations: well-formed, true to the numbers, with glyphs for every script."""

from __future__ import annotations

import html
import multiprocessing
import re
import struct
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from semblance.models.embeddings import Doubles
from semblance.models.explanation import Explanation, ReadText
from semblance.models.text import Units
from semblance.service.rendering import fonts
from semblance.service.rendering.caption import Caption, select
from semblance.service.rendering.colors import ColorScale, ink_on
from semblance.service.rendering.html.explanation import render_html
from semblance.service.rendering.labels import em_width, legal, rounded_parts, shorten
from semblance.service.rendering.layout import angle_for, cell_for
from semblance.service.rendering.png import DrawingProcess, render_png
from semblance.service.rendering.svg import render_svg
from tests.support.units import units_of

SVG = "{http://www.w3.org/2000/svg}"
BIDI_CONTROLS = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067")
# Text that could break XML, HTML or a renderer is generated more often than by chance.
hostile = st.sampled_from(
    ["<script>alert(1)</script>", "]]>", "&amp;", '"', "\x00\x0b\x1f\ufffe", "\u202eabc\u2069", "\r\n"]
)
anything = st.lists(st.one_of(st.text(max_size=12), hostile), max_size=6).map("".join)


def whole(text: str) -> ReadText:
    """A text that the model read to its end."""
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
    """A text of `count` different words."""
    return " ".join(f"{stem}{i}" for i in range(count))


def texts_in(svg: str) -> list[str]:
    """All text of the picture, without tooltips."""
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter(f"{SVG}text")]


def printed(svg: str) -> dict[str, float]:
    """The numbers beside the bars."""
    found = {e.get("data-value"): "".join(e.itertext()) for e in ET.fromstring(svg).iter(f"{SVG}text")}
    return {name: float(number.replace("\u2212", "-")) for name, number in found.items() if name}


@settings(max_examples=60, deadline=None)
@given(anything, anything, anything)
def test_any_texts_and_names_give_well_formed_svg(a: str, b: str, name: str) -> None:
    """The parser accepts the picture, and finds only the elements that this package draws."""
    explanation, caption = explained(a, b)
    named = Caption(name, name, caption.a, caption.b, "word")
    tags = {element.tag.removeprefix(SVG) for element in ET.fromstring(render_svg(explanation, named)).iter()}
    assert tags <= {"svg", "g", "rect", "text", "tspan", "title", "line", "defs", "linearGradient", "stop"}


@settings(max_examples=60, deadline=None)
@given(anything, anything)
def test_direction_controls_never_reach_the_picture(a: str, b: str) -> None:
    """No text can reorder its neighbors; every isolate is closed."""
    svg = render_svg(*explained(a, b))
    assert not BIDI_CONTROLS & set(svg)
    assert svg.count("\u2068") == svg.count("\u2069")


class Page(HTMLParser):
    """Parsed page: tags, attributes, and the text of both paragraphs."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.paragraphs: list[str] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if ("class", "text") in attrs:
            self._inside = True
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "p"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.paragraphs[-1] += data


@settings(max_examples=60, deadline=None)
@given(anything, anything)
def test_a_page_shows_the_whole_texts_without_active_content(a: str, b: str) -> None:
    """Both texts are shown as sent; no text adds a script, a resource or an event handler."""
    page = Page(render_html(*explained(a, b)))
    assert page.paragraphs == [legal(a), legal(b)]
    assert not page.tags & {"script", "img", "link", "iframe", "a", "object", "form", "base"}
    assert not [name for name in page.attributes if name.startswith(("on", "src", "href"))]


@settings(max_examples=40, deadline=None)
@given(anything, st.integers(0, 20), st.integers(0, 20))
def test_a_page_shows_what_was_not_read_as_unread(text: str, before: int, after: int) -> None:
    """A cut at either end leaves the text complete, and marks exactly the part outside."""
    start, end = min(before, len(text)), max(min(before, len(text)), len(text) - after)
    explanation, caption = explained(text[start:end], "x")
    units = replace(explanation.left, text=text, spans=explanation.left.spans + start)
    cut = replace(caption, a=ReadText(text, True, start, end))
    page = render_html(replace(explanation, left=units), cut)
    assert Page(page).paragraphs == [legal(text), "x"]
    unread = re.findall(r'<span class="unread"[^>]*>([^<]*)</span>', page)
    assert [html.unescape(each) for each in unread] == [legal(each) for each in (text[:start], text[end:]) if each]


def test_a_cut_text_is_named_with_its_character() -> None:
    explanation, caption = explained("one two", "three")
    for read, note in (
        (ReadText("one two" + 2000 * "!", True, 0, 7), "Text b was cut: the model read up to character 7 of 2,007."),
        (ReadText("one two", True, 4, 7), "Text b was cut: the model did not read the first 4 of 7 characters."),
    ):
        cut = replace(caption, b=read)
        assert note in texts_in(render_svg(explanation, cut))
        assert f'<p class="message">{note}</p>' in render_html(explanation, cut)
    assert "was cut" not in render_svg(explanation, caption) + render_html(explanation, caption)


def test_warnings_are_shown_with_the_score() -> None:
    explanation, caption = explained("a", "b")
    warned = replace(caption, warnings=("text b: <b>unreadable</b>",))
    assert "text b: <b>unreadable</b>" in texts_in(render_svg(explanation, warned))
    assert '<p class="warning">text b: &lt;b&gt;unreadable&lt;/b&gt;</p>' in render_html(explanation, warned)


def at_distances(distances: Doubles, *, distance: bool = True) -> tuple[Explanation, Caption]:
    """An explanation by minus a distance, whose plan is the diagonal."""
    explanation, caption = explained(words(len(distances)), words(len(distances)), -np.diag(np.diag(distances)), 0.0)
    return replace(explanation, similarity=-distances), replace(caption, distance=distance)


def outlined(svg: str) -> int:
    """The number of outlined cells."""
    return sum(rect.get("stroke-width") == "2" for rect in ET.fromstring(svg).iter(f"{SVG}rect"))


def rows_in(page: str) -> list[list[str]]:
    """Cells of the table."""
    body = page[page.index("<tbody>") : page.index("</tbody>")]
    return [re.findall(r">([^<>]+)<", row) for row in body.split("<tr>")[1:]]


def test_identical_texts_are_called_so_and_linked() -> None:
    """A distance of 0 is the best score, and every word has its partner."""
    explanation, caption = at_distances(5.0 - 5.0 * np.eye(3))
    svg, page = render_svg(explanation, caption), render_html(explanation, caption)
    said = "identical to the model: distance 0, the best possible"
    assert any(said in text for text in texts_in(svg))
    assert said in page
    assert outlined(svg) == outlined(page[page.index("<svg") : page.index("</svg>") + 6]) == 3
    assert texts_in(svg).count("0") == 3 + 1, "one in each cell, and the middle of the scale"
    assert rows_in(page) == [[f"w{i}", f"w{i}", "0.00", "0.000"] for i in range(3)]
    assert page.count('<mark class="matched"') == 6
    assert "at distance 0 of w2" in page


def test_distances_are_shown_as_such_with_their_best_score() -> None:
    explanation, caption = at_distances(np.array([[0.0, 4.0], [4.0, 3.0]]))
    svg, page = render_svg(explanation, caption), render_html(explanation, caption)
    assert any("minus a distance: 0 is the best possible" in text for text in texts_in(svg))
    assert "minus a distance: 0 is the best possible" in page
    assert (outlined(svg), page.count('<mark class="matched"')) == (1, 2)
    assert rows_in(page) == [["w1", "w1", "3.00", "\u22123.000"], ["w0", "w0", "0.00", "0.000"]]
    assert "w1 \u2013 w1: distance 3.00, contributes \u22123.000" in svg
    assert "raises the score" not in texts_in(svg)


def test_zeros_of_other_measures_are_no_matches() -> None:
    explanation, caption = at_distances(np.zeros((2, 2)), distance=False)
    svg, page = render_svg(explanation, caption), render_html(explanation, caption)
    assert outlined(svg) == 0
    assert "No words are linked." in page
    assert "best possible" not in svg + page


def test_units_that_share_characters_show_each_character_once() -> None:
    """Two byte-level tokens of one emoji do not repeat it."""
    spans = np.array([[0, 1], [0, 1], [1, 2]], np.int32)
    units = Units("\U0001f600x", spans, np.array([0, 0, 1], np.int32))
    explanation = Explanation(1.0, units, units_of("x"), np.ones((3, 1)), np.full((3, 1), 0.2), 0.4, ("", ""))
    assert Page(render_html(explanation, Caption("m", "m", whole("\U0001f600x"), whole("x"), "token"))).paragraphs == [
        "\U0001f600x",
        "x",
    ]


def test_a_page_forbids_scripts_and_resources() -> None:
    """The policy in the head holds even if escaping fails."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in render_html(*explained("a", "b"))


def test_the_table_lists_the_thirty_strongest_links_in_order() -> None:
    """Of 64 links the 30 largest by absolute value, the largest first."""
    parts = np.arange(1.0, 65.0).reshape(8, 8) / 1000
    page = render_html(*explained(words(8), words(8), -parts))
    numbers = re.findall(r'class="number" style="[^"]*">([^<]*)<', page)
    assert numbers == [f"\u22120.{k:03d}" for k in range(64, 34, -1)]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.floats(-2, 2), min_size=4, max_size=4), st.floats(-1, 1))
@example([0.10295, 0.0, 0.0, 0.0], 0.0)  # slightly less than 0.10295, until it is multiplied
def test_the_printed_parts_sum_to_the_printed_score(parts: list[float], special: float) -> None:
    """Read back from the picture: links + special + omitted = score, to the last digit."""
    numbers = printed(render_svg(*explained("a b", "c d", np.array(parts).reshape(2, 2), special)))
    assert set(numbers) == {"links", "special", "omitted", "score"}
    assert round(numbers["links"] + numbers["special"] + numbers["omitted"], 4) == numbers["score"]
    assert numbers["special"] == pytest.approx(special, abs=1.6e-4)


def bars(svg: str) -> dict[str, tuple[float, float]]:
    """Left and right end of each bar."""
    found = {e.get("data-part"): e for e in ET.fromstring(svg).iter(f"{SVG}rect")}
    starts = {name: float(e.attrib["x"]) for name, e in found.items() if name}
    return {name: (x, x + float(found[name].attrib["width"])) for name, x in starts.items()}


@pytest.mark.parametrize("size", [0.01, 1.0, 30.0, 2000.0])
def test_a_negative_score_is_drawn_from_zero_to_the_left(size: float) -> None:
    """As of `word_movers`: all parts are negative, and still end to end."""
    svg = render_svg(*explained("a b", "c d", np.array([[-3.0, 0.0], [0.0, -1.5]]) * size, -0.5 * size))
    drawn = bars(svg)
    zero = drawn["score"][1]
    reached = zero - 0.9 * (zero - drawn["score"][0])
    assert list(drawn["links"]) == pytest.approx([reached, zero], abs=0.2)
    assert list(drawn["special"]) == pytest.approx([drawn["score"][0], reached], abs=0.2)
    assert drawn["omitted"][0] == pytest.approx(drawn["omitted"][1], abs=1e-9)
    assert printed(svg)["score"] == pytest.approx(-5.0 * size)
    cells = [text for text in texts_in(svg) if re.fullmatch(r"\u2212[\d.]+", text)]
    assert all(em_width(text) * 11.0 <= 50.0 for text in cells[:2]), "the numbers fit into their cells"
    assert "lowers the score" in texts_in(svg)


def test_a_wrong_sum_is_not_hidden_by_rounding() -> None:
    """Parts that do not sum to the score are printed unchanged."""
    assert rounded_parts([0.1, 0.1, 0.1], 0.5, 4) == (0.1, 0.1, 0.1)


def test_long_texts_are_cropped_with_a_note() -> None:
    """Both notes are shown, forty labels of each text remain, and the printed sum holds."""
    explanation, caption = explained(words(212), words(90, "v"))
    svg = render_svg(explanation, caption)
    written = texts_in(svg)
    assert [text for text in written if text.startswith("Showing 40 of 212 words of a;")]
    assert [text for text in written if text.startswith("Showing 40 of 90 words of b;")]
    assert sum(bool(re.fullmatch(r"w\d+", text)) for text in written) == 40
    numbers = printed(svg)
    assert numbers["omitted"] != 0.0
    assert round(numbers["links"] + numbers["special"] + numbers["omitted"], 4) == numbers["score"]


def test_short_texts_are_not_cropped() -> None:
    """Forty units are drawn without a note."""
    explanation, caption = explained(words(40), words(3))
    assert select(explanation, caption).explanation is explanation
    assert "Showing" not in render_svg(explanation, caption)


def test_cropping_keeps_partners_together() -> None:
    """If each unit has one partner, every unit that remains keeps it."""
    strength = np.random.default_rng(1).permutation(np.linspace(0.5, 1.0, 100))
    partner = np.random.default_rng(2).permutation(100)
    parts = np.zeros((100, 100))
    parts[np.arange(100), partner] = strength
    shown = select(*explained(words(100), words(100), parts)).explanation
    assert np.count_nonzero(shown.contribution) == 40
    assert float(shown.contribution.sum()) == pytest.approx(np.sort(strength)[-40:].sum())


@given(st.text(max_size=80), st.floats(3, 20))
def test_labels_are_shortened_only_if_too_wide(text: str, max_em: float) -> None:
    """An ellipsis replaces the middle of a wide label."""
    short = shorten(text, max_em)
    assert em_width(short) <= max_em
    assert short == text if em_width(text) <= max_em else "\u2026" in short


def test_a_shortened_word_has_its_full_text_as_tooltip() -> None:
    """A URL keeps its beginning and end on the axis."""
    url = "https://example.org/a/very/long/path/index.html?q=1#end"
    root = ET.fromstring(render_svg(*explained(f"see {url}", "x")))
    labels = [e for e in root.iter(f"{SVG}text") if "\u2026" in "".join(e.itertext())]
    assert [label.findtext(f"{SVG}title") for label in labels] == [url]
    assert re.search(r"https://.*\u2026.*#end$", "".join(labels[0].itertext()))


def test_a_cell_describes_its_link() -> None:
    """Words, similarity and signed contribution, in one sentence."""
    svg = render_svg(*explained("cat", "dog", np.array([[0.041]])))
    tooltips = [title.text for title in ET.fromstring(svg).iter(f"{SVG}title")]
    assert tooltips == ["cat \u2013 dog: similarity 0.83, contributes +0.041"]


@pytest.mark.parametrize(("a", "b"), [("", ""), ("", "x y"), ("x y", ""), ("x", "y")])
def test_empty_sides_and_links_of_zero_are_drawn(a: str, b: str) -> None:
    """No links are no error in any of the three formats."""
    shape = (len(a.split()), len(b.split()))
    explanation, caption = explained(a, b, np.zeros(shape), special=0.0)
    assert printed(render_svg(explanation, caption))["score"] == 0.0
    assert render_png(explanation, caption).startswith(b"\x89PNG")
    assert "No words are linked." in render_html(explanation, caption)


def size_of(png: bytes) -> tuple[int, int]:
    """Width and height from the header."""
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_a_png_has_twice_the_size_of_the_svg() -> None:
    """The largest possible picture has less than 4,000 px a side."""
    explanation, caption = explained(words(60, "W" * 50), words(60, "W" * 50))
    caption = Caption("M" * 200, "M" * 200, caption.a, caption.b, "token")
    png, svg = render_png(explanation, caption), ET.fromstring(render_svg(explanation, caption))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert size_of(png) == (2 * int(svg.attrib["width"]), 2 * int(svg.attrib["height"]))
    assert max(size_of(png)) <= 4000


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
        pytest.param("ש", "ל", "\u05ff", id="hebrew"),
        pytest.param("ж", "λ", "\u0378", id="cyrillic and greek"),
    ],
)
def test_letters_of_every_supported_script_are_drawn(one: str, other: str, unassigned: str) -> None:
    """Two letters look different, and neither looks like the box of a missing glyph."""
    assert size_of(picture_of(one)) == size_of(picture_of(other)) == size_of(picture_of(unassigned))
    assert len({picture_of(one), picture_of(other), picture_of(unassigned)}) == 3
    assert picture_of(one) == picture_of(one)


def test_arabic_letters_are_joined() -> None:
    """Two adjacent letters have other shapes than the same two apart."""
    assert picture_of("بب") != picture_of("ب\u200cب")


def test_a_label_of_mixed_scripts_has_all_its_letters() -> None:
    """Each run has its own font, even if the number of glyphs differs between fonts."""
    whole = picture_of("ab漢é")
    assert whole != picture_of("ab\U0002fa20é")
    assert whole != picture_of("ab漢\u0378")


def test_han_characters_have_the_shapes_of_the_language() -> None:
    """The character for bone has different shapes in Japan and in China."""
    japanese, chinese = explained("骨 が", "x"), explained("骨 头", "x")
    family = {
        name: render_svg(*pair).count(f"Noto Sans CJK {name}") for name, pair in (("JP", japanese), ("SC", chinese))
    }
    assert min(family.values()) > 0
    alone, caption = explained("骨", "x", np.array([[0.5]]))
    captions = [Caption("rcmd", "mini", whole(text), caption.b, "word") for text in ("骨が", "骨头")]
    assert len({render_png(alone, each, system_fonts=False) for each in captions}) == 2


def test_a_missing_font_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the missing font package, instead of a picture of boxes."""
    monkeypatch.setattr(fonts, "_FILES", (("no_such_fonts", "Some.ttf"),))
    fonts.font_files.cache_clear()
    with pytest.raises(RuntimeError, match=r"Some\.ttf of the Python package no_such_fonts"):
        fonts.font_files()


@given(st.floats(0, 1))
def test_colors_are_symmetric_and_numbers_on_them_legible(value: float) -> None:
    """Text has the WCAG contrast of 4.5 on the color of any value."""
    scale = ColorScale.over(np.array([1.0, -0.5]))
    for signed in (value, -value):
        assert contrast(scale.color(signed), ink_on(scale.color(signed))) >= 4.5
    if value > 0.01:  # below, the rounding of a channel decides
        assert scale.color(0.0) not in (scale.color(value), scale.color(-value))


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio, computed independently."""
    brightness = []
    for color in (one, other):
        channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        brightness.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(brightness) + 0.05) / (min(brightness) + 0.05)


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.6, 14))
def test_adjacent_labels_do_not_touch(rows: int, columns: int, longest_em: float) -> None:
    """Baselines are a line's height apart, at any rotation of the labels."""
    cell = cell_for(rows, columns)
    angle = angle_for(cell, longest_em)
    across = cell.width * np.sin(np.radians(-angle)) if angle else cell.width
    assert cell.height >= 1.2 * cell.label_size
    assert across >= (1.2 * cell.label_size if angle else longest_em * cell.label_size)


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
