"""A typo is read as the near word that stands beside the query's other words."""

from __future__ import annotations

import pytest

from semblance.models.tokenization.terms import query_terms
from semblance.service.filters import Filter, OneOf
from semblance.service.indexes.passage_rows import PassageRows
from semblance.service.indexes.terms.bm25 import TextTerms
from semblance.service.indexes.terms.corrections import corrections

OTHERS = "delivered subscribe encrypted abzahlung segregation enable dutch rechnungen kaffeemaschine typical"
TEXTS = [OTHERS, *["please alter this order"] * 3, "it stops after a minute", "after the storm"]


@pytest.fixture(scope="module")
def documents() -> PassageRows:
    rows = PassageRows()
    for number, text in enumerate(TEXTS):
        rows.add(str(number), {"number": number}, [TextTerms.of(text)])
    return rows


def corrected(documents: PassageRows, query: str, where: Filter | None = None) -> dict[str, str]:
    return {term.text: word for term, word in corrections(query_terms(query), documents, where, None).items()}


def test_the_near_word_beside_the_others_is_taken(documents: PassageRows) -> None:
    assert corrected(documents, "it stops ater a minute") == {"ater": "after"}
    assert corrected(documents, "please ater this order") == {"ater": "alter"}


def test_without_others_more_passages_decide(documents: PassageRows) -> None:
    assert corrected(documents, "ater") == {"ater": "alter"}


def test_passages_that_do_not_match_do_not_count(documents: PassageRows) -> None:
    visible = OneOf("number", (1, 2, 3, 5))
    assert corrected(documents, "it stops ater a minute", visible) == {"ater": "alter"}


@pytest.mark.parametrize(
    "word",
    [
        "undelivered",
        "unsubscribe",
        "decrypted",
        "Zahlung",
        "Desegregation",
        "unable",
        "Richtungen",
        "atypical",
        "Butch",
    ],
)
def test_other_words_are_no_typos(documents: PassageRows, word: str) -> None:
    """By a prefix, by the first letter of a short word, or by two replaced letters."""
    assert corrected(documents, word) == {}


@pytest.mark.parametrize(
    ("typo", "word"),
    [
        ("delivred", "delivered"),
        ("welivered", "delivered"),
        ("ubscribe", "subscribe"),
        ("Kafeemashine", OTHERS.split()[8]),
    ],
)
def test_typos_in_long_words_are_read(documents: PassageRows, typo: str, word: str) -> None:
    assert list(corrected(documents, typo).values()) == [word]
