"""Abbreviations that benchmarks.quality.search.jargon makes up."""

from __future__ import annotations

from benchmarks.quality.search.jargon import abbreviated, abbreviations
from semblance_lab.evaluation.tasks import Retrieval


def test_shared_phrases_get_abbreviations_that_no_text_has() -> None:
    corpus = {str(i): f"The boundary layer of wing {i} is thin; bl stays." for i in range(3)}
    task = Retrieval(corpus, {"q": "Is the Boundary layer of a wing thin?", "r": "a thin plate"}, {"q": {"0": 1}})
    made = abbreviations(task)
    assert list(made) == ["boundary layer"]
    assert made["boundary layer"].startswith("BL")
    assert abbreviated(task.queries["q"], made) == f"Is the {made['boundary layer']} of a wing thin?"
    assert abbreviated(task.queries["r"], made) == "a thin plate"
