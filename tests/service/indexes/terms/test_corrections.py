"""A typo is read as the near word that stands beside the query's other words."""

from __future__ import annotations

import pytest

from semblance.models.tokenization.terms import query_terms
from semblance.service.filters import Filter, OneOf
from semblance.service.indexes.passage_rows import PassageRows
from semblance.service.indexes.terms.bm25 import TextTerms
from semblance.service.indexes.terms.corrections import corrections

TEXTS = [*["the tap leaks water"] * 3, "it stops after a minute", "after the storm"]


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
    assert corrected(documents, "the tap leaks ater") == {"ater": "water"}


def test_without_others_more_passages_decide(documents: PassageRows) -> None:
    assert corrected(documents, "ater") == {"ater": "water"}


def test_passages_that_do_not_match_do_not_count(documents: PassageRows) -> None:
    visible = OneOf("number", (0, 1, 2, 4))
    assert corrected(documents, "it stops ater a minute", visible) == {"ater": "water"}
