"""Explanations add up, in every form, and their HTML is safe and self-contained."""

from __future__ import annotations

import re
import subprocess
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from semblance_client import Client, Explanation, Link, Place, Reason, Side, Token, Verdict

VOID = {"br", "hr"}
ATTACK = "<img src=x onerror=\"document.title=1\"> & 'quoted' </div>"
TEXTS = [
    ("my parcel never came", "my package has not arrived"),
    (f"my {ATTACK} never came", f"{ATTACK} the package"),
    ("אין לי חבילה 🙂", "私の荷物が届かない naïve"),
    ("A man plays. " * 150, "Someone plays an instrument. " + "It rains in the garden. " * 150),
]


class Page(HTMLParser):
    """Reads HTML; fails where an element is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.rows: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "tr" in self.open:
            self.rows[-1] += data


@pytest.mark.parametrize("measure", ["rcmd_words", "cosine", "word_movers", "rcmd"])
@pytest.mark.parametrize("texts", TEXTS, ids=["short", "attack", "scripts", "long"])
@pytest.mark.parametrize("max_links", [0, 5, 200])
def test_all_forms_of_an_explanation_sum_to_its_score(
    client: Client, measure: str, texts: tuple[str, str], max_links: int
) -> None:
    why = client.explain(*texts, measure=measure, max_links=max_links)
    assert sum(link.contribution for link in why.links) + why.rest == pytest.approx(why.score, abs=1e-5)
    assert sum(part.contribution for part in why.parts()) == pytest.approx(why.score, abs=1e-5)
    verdict, title, *rows = str(why).splitlines()
    assert (verdict, title) == (str(why.same), f"{why.score:.4f} by {measure}")
    for printed in (rows, Page(why._repr_html_()).rows):
        assert sum(float(row[-7:]) for row in printed) == pytest.approx(why.score, abs=0.0001 * (len(printed) + 1))


def test_the_html_shows_both_texts_and_the_words_of_links(client: Client) -> None:
    for texts in TEXTS[:3]:
        why = client.explain(*texts, measure="rcmd")
        page = Page(why._repr_html_())
        assert all(text in page.text for text in texts)
        words = ["".join(why.words(link)) for link in why.links[:12]]
        assert [row[:-7] for row in page.rows[: len(words)]] == words


def test_markup_of_texts_stays_text(client: Client) -> None:
    plain = Page(client.explain(*TEXTS[0], measure="rcmd")._repr_html_())
    html = client.explain(*TEXTS[1], measure="rcmd")._repr_html_()
    page = Page(html)
    assert page.tags == plain.tags == {"div", "span", "b", "table", "tbody", "tr", "td", "bdi"}
    assert page.attributes == plain.attributes == {"style", "title", "dir", "colspan"}
    assert "url(" not in html.replace(ATTACK, "")


def test_markup_in_any_field_of_an_answer_is_escaped() -> None:
    """Of four copies of it, the model read the two in the middle, and linked the first of these."""
    size = len(ATTACK)
    word = Token(text=ATTACK, start=size, end=2 * size)
    side = Side(text=4 * ATTACK, truncated=True, read_start=size, read_end=3 * size, tokens=[word])
    links = [Link(a=0, b=0, similarity=1.0, contribution=-0.5)]
    only = Reason(kind="only", log_odds=-2.0, a=[Place(start=0, end=size, text=ATTACK)], b=[])
    same = Verdict(verdict="different", log_odds=-2.0, base=2.0, rest=-2.0, reasons=[only])
    parts: dict[str, Any] = {"links": links, "special": 0.5, "omitted": 0.0, "same": same}
    why = Explanation(score=0.0, measure=ATTACK, granularity=ATTACK, a=side, b=side, **parts)
    page = Page(why._repr_html_())
    assert page.tags == {"div", "span", "b", "table", "tbody", "tr", "td", "bdi"}
    assert page.text.count(ATTACK) == 11, "two texts, a measure and two words"


def test_an_explanation_without_links_has_only_its_rest() -> None:
    side = Side(text="", truncated=False, read_start=0, read_end=0, tokens=[])
    why = Explanation(score=0.0, measure="m", granularity="word", a=side, b=side, links=[], special=0.0, omitted=0.0)
    assert str(why) == "0.0000 by m"
    assert Page(why._repr_html_()).rows == []


def test_unread_text_is_shortened(client: Client) -> None:
    why = client.explain(*TEXTS[3], truncate="END")
    assert why.truncated
    assert why.b.truncated
    text = Page(why._repr_html_()).text
    assert why.b.text[: why.b.read_end + 150] in text
    assert why.b.text not in text


@pytest.mark.parametrize("width", [390, 900])
def test_the_html_fits_its_page_in_a_browser(client: Client, chromium: str, tmp_path: Path, width: int) -> None:
    fragments = "<hr>".join(client.explain(*texts, measure="rcmd")._repr_html_() for texts in TEXTS)
    script = "const page = document.documentElement; parent.document.title = page.scrollWidth - page.clientWidth"
    inner = escape(f"<meta charset=utf-8><body style='margin:0'>{fragments}<script>{script}</script>")
    frame = f"<iframe style='border:0;width:{width}px;height:900px' srcdoc=\"{inner}\"></iframe>"
    page = tmp_path / "page.html"
    page.write_text(f"<meta charset=utf-8>{frame}", "utf-8")
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--dump-dom"]
    ran = subprocess.run(
        [*command, f"file://{quote(str(page))}"], capture_output=True, text=True, check=True, timeout=120
    )
    assert re.findall(r"<title>(.*?)</title>", ran.stdout) == ["0"]


def test_answers_print_a_line_for_each_result(client: Client) -> None:
    client.create_collection("printed")
    texts = ["My lamp\nflickers.", "My lamp flickers.", f"A parcel {'never ' * 40}came."]
    client.add_documents([{"id": str(i), "text": text} for i, text in enumerate(texts)], "printed")
    found = client.search(["a lamp", "my parcel"], "printed", k=2, explain=True)
    first, _, third = re.split(r"\n+", str(found))[:3]
    lamp = found.results[0].hits[0]
    assert first == f" 1  {lamp.id}  {lamp.score:.4f}  My lamp flickers."
    assert len(third) < 110
    assert third.endswith("…")
    [group] = client.duplicates("printed")
    score = group.documents[1].score
    assert str(group) == f"0  My lamp\nflickers.\n1  ({score:.4f} with 0)  My lamp flickers."
    assert str(client.similarity([("a", "a"), ("b", "b")])) == "1.0000\n1.0000"
    assert str(client.same([("a lamp", "a lamp"), ("a lamp", "two lamps")])).splitlines()[0] == "Same"
