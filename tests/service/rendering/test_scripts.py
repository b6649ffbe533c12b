"""Texts in every script: the order and shape of letters, fonts, labels and function words."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFont

from semblance.models.explanation import Explanation
from semblance.models.text import Units
from semblance.models.tokenization.word_boundaries import words as words_of
from semblance.service.rendering.advances import advances
from semblance.service.rendering.caption import Caption
from semblance.service.rendering.direction import levels_of, places_in_line, visual_order
from semblance.service.rendering.fonts import BASE, font_files, font_of, missing_scripts, runs
from semblance.service.rendering.html.explanation import render_html
from semblance.service.rendering.labels import beginning, em_width, shorten
from semblance.service.rendering.png import _rasterized, _sample, render_png
from semblance.service.rendering.svg.picture import render_svg
from tests.service.rendering.test_rendering import SVG, explained, size_of, texts_in, whole

SAMPLES = {
    "arabic": "اشترى والدي سيارة (جديدة) في عام 2019",
    "hebrew": "הילדה הקטנה מצאה כלב",
    "hindi": "किसान ने गेहूँ और चावल बोया",
    "bengali": "আমার ভাই প্রতিদিন মাছ ধরে",
    "tamil": "என் சகோதரர் மீன் பிடிக்கிறார்",
    "thai": "คุณครูดื่มกาแฟร้อน",
    "khmer": "ខ្ញុំទៅសាលារៀន",
    "burmese": "ကျွန်တော် ကျောင်းသွားတယ်",
    "amharic": "ልጆቹ ኳስ ይጫወታሉ",
    "chinese": "那座旧桥被关闭了",
    "jamo": "\u1112\u1161\u11ab \u1100\u1173\u11af",
    "emoji": "a 👩‍👩‍👧 🙂 ok 👍🏽",
}
letters = st.sampled_from("".join(SAMPLES.values()) + "abc .,()3:\u0301\u200d")
mixed = st.lists(letters, max_size=24).map("".join)
samples = st.lists(st.sampled_from([word for text in SAMPLES.values() for word in text.split()]), max_size=4).map(
    " ".join
)


def split(text: str, other: str = "x") -> tuple[Explanation, Caption]:
    """An explanation of all words of a text, cut as models cut them."""
    spans = np.array(words_of(text), np.int32).reshape(-1, 2)
    units = Units(text, spans, np.arange(len(spans), dtype=np.int32))
    explanation, caption = explained(other, other)
    parts = np.full((len(units), len(explanation.right)), 0.02)
    shown = Explanation(parts.sum(), units, explanation.right, parts + 0.5, parts, 0.0, (text, other))
    return shown, Caption("rcmd", "mini", whole(text), caption.b, "word")


def placed(svg: str) -> list[tuple[str, float]]:
    """The words of text a with the left edges of their boxes, in the order of reading."""
    group = next(each for each in ET.fromstring(svg).iter(f"{SVG}g") if each.get("class") == "text")
    texts = ["".join(text.itertext()) for text in group.iter(f"{SVG}text")][1:]
    edges = [float(box.attrib["x"]) for box in group.iter(f"{SVG}rect")]
    return list(zip(texts, edges, strict=True))


def pixels(svg: str) -> bytes:
    return _rasterized(svg, 1.0, system_fonts=False)


def ink_width(text: str, size: float) -> float:
    """Width of what is drawn of a text, in units of the font size."""
    [(font, _)] = runs(text)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="90"><text x="99" y="60" font-size="{size}" '
        f'font-family="{font.family.removesuffix(" CJK")}">{text}</text></svg>'
    )
    with Image.open(io.BytesIO(pixels(svg))) as image:
        columns = np.flatnonzero(np.asarray(image)[..., 3].any(axis=0))
    return float(columns[-1] - columns[0] + 1) / size


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("one two three", "one two three"),
        ("שלום עולם גדול", "גדול עולם שלום"),
        ("באר see https://a.org/b עד", "עד see https : / / a . org / b באר"),
        ("the words אחת שתיים שלוש end", "the words שלוש שתיים אחת end"),
        ("סך 3.5 אחוז", "אחוז 3 . 5 סך"),
        ("قال (نعم) ثم", "ثم ) نعم ( قال"),
        ("عام 2019 2020", "2020 2019 عام"),
        ("the words אחת (שתיים) end", "the words ) שתיים ( אחת end"),
    ],
)
def test_words_stand_in_the_order_of_writing(text: str, seen: str) -> None:
    spans = [match.span() for match in regex.finditer(r"\w+|[^\w\s]", text)]
    order = places_in_line(levels_of(text), spans)
    assert " ".join(text[slice(*spans[place])] for place in order) == seen


@given(mixed)
def test_levels_order_all_words_and_keep_latin_texts(text: str) -> None:
    levels = levels_of(text)
    assert len(levels) == len(text)
    assert sorted(visual_order(levels)) == list(range(len(text)))
    assert levels_of(f"abc {text.encode('ascii', 'ignore').decode()}") == [0] * (
        4 + len(text.encode("ascii", "ignore"))
    )


def test_a_picture_writes_arabic_from_the_right_margin() -> None:
    svg = render_svg(*split(SAMPLES["arabic"]))
    texts, edges = zip(*placed(svg), strict=True)
    assert list(edges) == sorted(edges, reverse=True)
    assert [text for text in texts if "(" in text or ")" in text] == ["\u2067(\u2069", "\u2067)\u2069"]


@pytest.mark.parametrize(
    ("text", "forms"),
    [("باد", "\ufea9\ufe8e\ufe91"), ("שלום", "םולש")],
    ids=["arabic is joined", "hebrew"],
)
def test_pixels_of_a_word_run_from_the_right(text: str, forms: str) -> None:
    """They are those of its shaped letters, drawn from the left in reverse."""
    svg = render_svg(*split(text))
    assert f"\u2067{text}\u2069" in svg
    assert pixels(svg) == pixels(svg.replace(f"\u2067{text}\u2069", f"\u202d{forms}\u202c"))
    assert pixels(svg) != pixels(svg.replace(f"\u2067{text}\u2069", f"\u202d{text}\u202c"))


def test_pixels_of_parentheses_are_mirrored_in_arabic() -> None:
    svg = render_svg(*split(SAMPLES["arabic"]))
    assert pixels(svg) == pixels(svg.replace("\u2067(\u2069", ")").replace("\u2067)\u2069", "("))


@pytest.mark.parametrize("control", ["\u202e", "\u202a", "\u2067", "\u2069", "\u202c"])
def test_direction_controls_of_a_word_end_with_it(control: str) -> None:
    explanation, caption = explained(f"{control}שלום late", f"{control}parcel שלום{control}", np.full((2, 2), 0.1))
    svg, page = render_svg(explanation, caption), render_html(explanation, caption)
    assert [text for text in texts_in(svg) if "\u2068שלום\u2069 ~ parcel +0.1000" in text]
    assert '<span class="name">\u2068שלום\u2069 ~ parcel</span>' in page
    around = re.sub('<p class="text".*?</p>', "", page)
    assert control == "\u2069" or control not in around
    for drawn in (svg, around):
        assert drawn.count("\u2067") + drawn.count("\u2068") == drawn.count("\u2069"), "every isolate is closed"


@pytest.mark.parametrize("path", font_files(), ids=lambda path: Path(path).stem)
def test_advances_are_those_of_freetype(path: str) -> None:
    known = advances(Path(path))
    font = ImageFont.truetype(path, 1000, layout_engine=ImageFont.Layout.BASIC)
    some = sorted(known)[:: max(len(known) // 40, 1)]
    assert [1000 * known[code] for code in some] == pytest.approx(
        [font.getlength(chr(code)) for code in some], abs=1.01
    )


@pytest.mark.parametrize("name", ["arabic", "hebrew", "hindi", "bengali", "tamil", "thai", "amharic"])
def test_a_word_is_no_wider_than_its_box(name: str) -> None:
    """Nor much narrower, though fonts join some letters."""
    for start, end in words_of(SAMPLES[name]):
        word = SAMPLES[name][start:end]
        if len(word) > 2:
            assert 0.6 * em_width(word) <= ink_width(word, 40.0) <= em_width(word) + 0.1, word


@given(mixed)
def test_runs_keep_the_text_and_its_fonts(text: str) -> None:
    pieces = list(runs(text))
    assert "".join(run for _, run in pieces) == text
    for font, run in pieces:
        assert all(font_of(letter) in {font, BASE, None} for letter in run if letter.isalpha())


def test_runs_of_several_fonts_have_places_of_their_own() -> None:
    """Together the renderer would draw letters of one by another, or panic."""
    explanation, caption = explained("गेहूँ", "小麦", np.array([[0.4]]))
    [part] = [text for text in ET.fromstring(render_svg(explanation, caption)).iter(f"{SVG}text") if len(text) == 4]
    assert [(each.text, "x" in each.attrib) for each in part] == [
        ("गेहूँ", True),
        (" ~ ", True),
        ("小麦", True),
        (" +0.4000", True),
    ]


def test_a_picture_of_all_scripts_is_drawn() -> None:
    everything = " ".join(SAMPLES.values())
    explanation, caption = split(everything, "x " + "".join(SAMPLES.values()))
    assert render_png(explanation, caption, system_fonts=False).startswith(b"\x89PNG")


def test_a_script_without_a_font_is_named() -> None:
    def draw(text: str) -> bytes:
        return _rasterized(_sample(text), 1.0, system_fonts=False)

    assert missing_scripts("".join(SAMPLES.values()), draw) == []
    assert missing_scripts("བོད་ཡིག ᠮᠣᠩᠭᠣᠯ ไทย \U000e0001\u0378", draw) == ["Mongolian", "Tibetan"]
    known, missing = (render_png(*split(text), system_fonts=False) for text in ("ไทย", "བོད"))
    with_line = render_png(*_warned(*split("ไทย")), system_fonts=False)
    assert size_of(missing) == size_of(with_line) > size_of(known)


def _warned(explanation: Explanation, caption: Caption) -> tuple[Explanation, Caption]:
    note = (
        "No font here has Tibetan, drawn as boxes. Install one for the system, such as Noto Sans, or open the SVG or "
        "the page, which use the fonts of the browser."
    )
    return explanation, Caption(caption.measure, caption.model, caption.a, caption.b, "word", warnings=(note,))


def _clusters(text: str) -> Iterator[str]:
    yield from regex.findall(r"\X", text)


@given(mixed | samples, st.floats(2, 9))
def test_labels_are_cut_between_what_readers_call_characters(text: str, max_em: float) -> None:
    text = f"x{text}"  # a mark at the beginning would join the ellipsis
    head, _, tail = shorten(text, max_em).partition("…")
    if em_width(text) > max_em:
        clusters = list(_clusters(text))
        assert list(_clusters(head)) == clusters[: len(list(_clusters(head)))]
        assert list(_clusters(tail)) == clusters[len(clusters) - len(list(_clusters(tail))) :]
    start = beginning(text, max_em).removesuffix("…")
    assert list(_clusters(" ".join(text.split())))[: len(list(_clusters(start)))] == list(_clusters(start))
