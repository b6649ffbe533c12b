"""The defects apply to the present source, and their command tells caught ones from others."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.defects.catalogue import DEFECTS
from tests.defects.defect import Defect, Outdated, edit_of
from tests.defects.run import outcomes
from tests.support.project import PROJECT

FILES = {
    "semblance/__init__.py": "",
    "semblance/sums.py": "STEP = 1\n\n\nclass Sums:\n    def next(self, x: int) -> int:\n        return x + STEP\n",
    "clients/python/semblance_client/__init__.py": "",
    "tests/__init__.py": "",
    "tests/test_sums.py": "from semblance.sums import Sums\n\n\ndef test_next():\n    assert Sums().next(1) == 2\n",
}
CAUGHT = Defect("a sign", "semblance.sums.Sums.next", "x + STEP", "x - STEP", ("tests/test_sums.py",))
MISSED = Defect("an order", "semblance.sums.Sums.next", "x + STEP", "STEP + x", ("tests/test_sums.py",))


@pytest.fixture
def small_project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.place)
def test_every_defect_applies_and_names_its_tests(defect: Defect) -> None:
    edit_of(defect, PROJECT)
    assert [each for each in defect.tests if "/" in each and not (PROJECT / each).exists()] == []


def test_there_are_thirty_different_defects() -> None:
    assert len({each.name for each in DEFECTS}) == len({each.replacement for each in DEFECTS}) == 30


@pytest.mark.parametrize(
    "change",
    [
        {"place": "semblance.sums.Sums.last"},
        {"place": "semblance.products.Sums.next"},
        {"snippet": "x * STEP"},
        {"snippet": "x"},
        {"replacement": "x +"},
        {"replacement": "(x + STEP)"},
    ],
    ids=str,
)
def test_an_outdated_defect_is_an_error(small_project: Path, change: dict[str, str]) -> None:
    edit_of(CAUGHT, small_project)
    edit_of(Defect("a constant", "semblance.sums.STEP", "1", "2", ()), small_project)
    with pytest.raises(Outdated):
        edit_of(replace(CAUGHT, **change), small_project)  # type: ignore[arg-type]  # mypy does not know the fields


def test_what_no_test_notices_is_reported(small_project: Path) -> None:
    caught, missed = outcomes([CAUGHT, MISSED], small_project)
    assert caught.caught_by == "tests/test_sums.py::test_next"
    assert missed.caught_by is None
    assert str(missed).endswith("NOT CAUGHT")
    assert {name: (small_project / name).read_text() for name in FILES} == FILES, "only copies are changed"


def test_a_test_that_always_fails_catches_nothing(small_project: Path) -> None:
    (small_project / "tests/test_sums.py").write_text("def test_next():\n    assert False\n")
    with pytest.raises(RuntimeError, match="fails without a defect, too"):
        list(outcomes([CAUGHT], small_project))
