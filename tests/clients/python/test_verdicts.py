"""Verdicts as text: one line in plain words, with the main reasons."""

from __future__ import annotations

from typing import Any

import pytest
from semblance_client import Place, Reason, Verdict


def places(text: str, *words: str) -> list[Place]:
    starts = [text.index(word) for word in words]
    return [Place(start=at, end=at + len(word), text=word) for at, word in zip(starts, words, strict=True)]


def reason(kind: Any, log_odds: float, a: list[Place], b: list[Place]) -> Reason:
    return Reason(kind=kind, log_odds=log_odds, a=a, b=b)


def verdict(name: Any, *reasons: Reason, unsure: Any = None, log_odds: float = -9.0) -> Verdict:
    return Verdict(verdict=name, unsure=unsure, log_odds=log_odds, base=2.75, rest=0.0, reasons=list(reasons))


ONE = [Place(start=0, end=3, text="117")]
OTHER = [Place(start=0, end=3, text="113")]
CALLED = "Anna never called old Otto"


@pytest.mark.parametrize(
    ("kind", "a", "b", "said"),
    [
        ("number", ONE, OTHER, "number 117 / 113"),
        ("number", ONE, [], "only in a: 117"),
        ("negation", [], places(CALLED, "never"), "negation in b"),
        ("negation", places(CALLED, "never"), [], "negation in a"),
        ("negation", places("no one did not", "no", "not"), places(CALLED, "never"), "negation no … not / never"),
        ("replaced", places("turn on", "on"), places("turn off", "off"), "on / off"),
        ("only", [], places("daily, except on Sundays", "except", "on", "Sundays"), "only in b: except on Sundays"),
        ("only", places("red, and blue", "red", "and", "blue"), [], "only in a: red and blue"),
        ("order", places(CALLED, "Anna", "Otto"), places(CALLED, "Otto"), "order Anna … Otto / Otto"),
        ("only", [Place(start=0, end=60, text="x" * 60)], [], f"only in a: {'x' * 39}…"),
    ],
)
def test_each_kind_of_reason_has_plain_words(kind: str, a: list[Place], b: list[Place], said: str) -> None:
    assert str(reason(kind, -3.0, a, b)) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (verdict("same"), "Same"),
        (verdict("different"), "Different"),
        (verdict("different", log_odds=-3.9), "Perhaps different"),
        (verdict("unsure", unsure="close_call"), "Unsure: a close call"),
        (verdict("unsure", unsure="language"), "Unsure: a language that the classifier does not read"),
        (verdict("unsure", reason("number", -2.0, ONE, OTHER), unsure="close_call"), "Unsure: number 117 / 113"),
        (verdict("same", reason("number", -1.0, ONE, OTHER)), "Same, apart from: number 117 / 113"),
    ],
)
def test_a_verdict_is_one_line(given: Verdict, said: str) -> None:
    assert str(given) == said


def test_weak_reasons_are_left_out_and_many_are_counted() -> None:
    many = [reason("only", log_odds, ONE, []) for log_odds in (-5.0, -4.0, -3.0, -0.5, -0.49)]
    assert verdict("different", *many).main_reasons == many[:4]
    assert str(verdict("different", *many)) == "Different: only in a: 117; only in a: 117; only in a: 117; 1 more"
