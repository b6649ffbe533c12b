"""Pages of differences: escaped, whole texts, and numbers that add up as they are printed."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.embeddings import Doubles
from semblance.models.explanation import DifferencePart, Explanation, Partner, ReadText, Share, difference_parts
from semblance.service.rendering.html.difference import DifferencePage, DocumentSide, render_difference
from semblance.service.rendering.labels import legal
from tests.service.rendering.test_rendering import Page, anything, whole, words
from tests.support.units import units_of

SHARE = st.floats(-2, 2) | st.sampled_from([0.0, 0.00005, -0.00005])


def side(query: str, text: str, parts: Doubles, special: float = 0.0, bonus: float = 0.0) -> DocumentSide:
    left, right = units_of(query), units_of(text)
    score = float(parts.sum()) + special
    why = Explanation(score, left, right, np.full(parts.shape, 0.83), parts, special, (query, text))
    return DocumentSide("a document", whole(text), why, bonus)


def compared(query: str, a: DocumentSide, b: DocumentSide, *terms: DifferencePart) -> DifferencePage:
    parts = [*difference_parts(a.explanation, b.explanation), *terms]
    ordered = sorted(parts, key=lambda part: -abs(part.difference))
    return DifferencePage(whole(query), a, b, ordered, "rcmd", "mini", terms=bool(terms))


def random_page(query: str, a: str, b: str) -> DifferencePage:
    rng = np.random.default_rng(0)
    sizes = [(len(units_of(query)), len(units_of(text))) for text in (a, b)]
    one, other = (side(query, text, rng.normal(0, 0.1, size), 0.01) for text, size in zip((a, b), sizes, strict=True))
    return compared(query, one, other)


def rows_in(page: str) -> list[tuple[str, list[float]]]:
    """Name and numbers (b, a, difference) of each row of the table, the total last."""
    table = page[page.index("<tbody>") : page.index("</table>")]
    rows = []
    for row in table.split("<tr>")[1:]:
        [name] = re.findall(r"<th[^>]*><bdi>(.*?)</bdi>", row)
        numbers = re.findall(r'<td class="number[^>]*>([^<]*)<', row)
        rows.append((html.unescape(name), [float(each.replace("\u2212", "-")) for each in numbers]))
    return rows


@given(anything, anything, anything)
def test_a_page_shows_all_texts_without_active_content(query: str, a: str, b: str) -> None:
    shown = random_page(query, a, b)
    page = Page(render_difference(replace(shown, a=replace(shown.a, id=query), warnings=(b,))))
    assert page.paragraphs == [legal(query), legal(a), legal(b)]
    assert not page.active


@given(st.lists(st.tuples(SHARE, SHARE), min_size=1, max_size=45), SHARE, st.floats(0, 0.2), st.floats(0, 0.2))
def test_the_printed_numbers_add_up_in_rows_and_columns(
    shares: list[tuple[float, float]], special: float, bonus_a: float, bonus_b: float
) -> None:
    query = words(len(shares))
    a, b = (np.array([[pair[i]] for pair in shares]) for i in (0, 1))
    term = DifferencePart("term", None, "w0", Share(bonus_a), Share(bonus_b))
    one, other = side(query, "x", a, special, bonus_a), side(query, "y", b, 0.0, bonus_b)
    *rows, (name, total) = rows_in(render_difference(compared(query, one, other, term)))
    assert name == "Total"
    assert len(rows) <= 31
    for _, (in_b, in_a, between) in [*rows, (name, total)]:
        assert between == pytest.approx(in_a - in_b, abs=1e-9)
    for column in range(3):
        assert sum(numbers[column] for _, numbers in rows) == pytest.approx(total[column], abs=1e-9)
    assert total[1] == pytest.approx(float(a.sum()) + special + bonus_a, abs=5.1e-5)
    assert total[0] == pytest.approx(float(b.sum()) + bonus_b, abs=5.1e-5)


def test_the_title_names_what_makes_the_difference() -> None:
    a = side("my late parcel", "x", np.array([[0.01], [0.05], [0.3]]), special=0.02)
    b = side("my late parcel", "y", np.array([[0.03], [0.01], [0.2]]), special=0.01)
    there = "A stands 0.1300 above B: “parcel” puts it 0.1000 ahead, “late” 0.0400; “my” takes back 0.0200"
    assert f"<h1>{there}</h1>" in render_difference(compared("my late parcel", a, b))
    back = "B stands 0.1300 above A: “parcel” puts it 0.1000 ahead, “late” 0.0400; “my” takes back 0.0200"
    assert f"<h1>{back}</h1>" in render_difference(compared("my late parcel", b, a))
    assert "<h1>A and B stand level, at 0.3800</h1>" in render_difference(compared("my late parcel", a, a))
    special = side("my late parcel", "x", np.array([[0.01], [0.05], [0.3]]), special=0.05)
    assert "special tokens put it 0.0300 ahead</h1>" in render_difference(compared("my late parcel", special, a))


def bars_in(page: str) -> list[tuple[str, float, float]]:
    """Direction, left end and width of each bar, in percent."""
    found = re.findall(r'<span class="toward-(\w)" style="left:([\d.]+)%;width:([\d.]+)%">', page)
    return [(key, float(left), float(width)) for key, left, width in found]


def test_bars_go_right_for_a_and_left_for_b() -> None:
    a = side("my late parcel", "x", np.array([[0.0], [0.1], [0.4]]))
    b = side("my late parcel", "y", np.array([[0.1], [0.1], [0.0]]))
    page = render_difference(compared("my late parcel", a, b))
    assert bars_in(page) == [("a", 50.0, 50.0), ("b", 37.5, 12.5)], "none where there is no difference"
    assert [name for name, _ in rows_in(page)] == ["parcel", "my", "late", "Total"]


def test_partners_and_terms_stand_beneath_their_numbers() -> None:
    a = side("late", "my <late> parcel", np.array([[0.1, 0.3, 0.0]]), bonus=0.1)
    b = side("late", "x", np.array([[0.0]]))
    term = DifferencePart("term", None, "late", Share(0.1, (Partner(4, 8), Partner(4, 8))), Share(0.0))
    page = render_difference(compared("late", a, b, term))
    assert '>0.4000<span class="partners"><bdi>&lt;late&gt;</bdi>, <bdi>my</bdi></span>' in page
    assert '<bdi>late</bdi> <span class="faint">term</span>' in page
    assert '>0.1000<span class="partners"><bdi>late</bdi></span>' in page
    assert "score 0.4000 + bonus of terms 0.1000 = 0.5000" in page


def test_a_word_at_distance_zero_names_its_partner() -> None:
    a = side("late parcel", "parcel x", np.array([[0.0, -3.0], [0.0, 0.0]]))
    same = replace(a.explanation, similarity=np.array([[-9.0, -3.0], [0.0, -5.0]]))
    b = side("late parcel", "y", np.array([[-4.0], [-2.0]]))
    page = render_difference(replace(compared("late parcel", replace(a, explanation=same), b), distance=True))
    assert "minus a distance: 0 is the best possible" in page
    assert '>0.0000<span class="partners"><bdi>parcel</bdi></span>' in page
    assert "<h1>A stands 3.0000 above B: “parcel” puts it 2.0000 ahead, “late” 1.0000</h1>" in page


def test_long_queries_have_thirty_rows_and_a_sum() -> None:
    shares = np.linspace(0.5, 0.1, 50)[:, None]
    page = render_difference(compared(words(50), side(words(50), "x", shares), side(words(50), "y", 0 * shares)))
    names = [name for name, _ in rows_in(page)]
    assert names == [*(f"w{i}" for i in range(30)), "21 other parts", "Total"]


def test_truncated_texts_say_so() -> None:
    shown = random_page("a b", "c d", "e f")
    cut = replace(shown, query=ReadText("a b c", True, 0, 3))
    assert "The query was cut: the model read up to character 3 of 5." in render_difference(cut)
    cut = replace(shown, b=replace(shown.b, text=ReadText("e f", True, 2, 3)))
    assert "The text of B was cut: the model did not read the first 2 of 3 characters." in render_difference(cut)
