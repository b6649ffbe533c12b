"""The names that the package `semblance` exports."""

from __future__ import annotations

import subprocess
import sys

import pytest

import semblance


def test_importing_the_package_imports_neither_numpy_nor_torch() -> None:
    program = "import sys, semblance; print(sorted({'numpy', 'torch', 'pydantic'} & set(sys.modules)))"
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"


@pytest.mark.parametrize("name", semblance.__all__)
def test_every_exported_name_resolves(name: str) -> None:
    assert getattr(semblance, name) is not None


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'semblance' has no attribute 'nosuch'"):
        _ = semblance.nosuch


def test_a_loaded_model_scores_and_explains_a_pair() -> None:
    encoder = semblance.load("minilm")
    a, b = semblance.encode(encoder, ["Owls hoot at night.", "At night you can hear owls."])
    explanation = semblance.explain("rcmd", a, b).by_word()
    assert explanation.score == pytest.approx(semblance.similarity("rcmd").score(a, b))
    pairs = [(explanation.left[link.left].text, explanation.right[link.right].text) for link in explanation.links]
    assert ("night", "night") in pairs
    assert ("Owls", "owls") in pairs
    assert "rcmd" in semblance.measures()
