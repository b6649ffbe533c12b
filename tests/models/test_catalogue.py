"""Entries of a family, by file name."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.models.catalogue import find, names
from semblance.models.errors import UnknownName


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / f"family_{tmp_path.name}"  # modules are cached by name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "two_words.py").write_text("class TwoWords: ...")
    (folder / "one.py").write_text("class Other: ...")
    (folder / "_shared.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder.name


def test_files_are_entries_except_those_that_begin_with_an_underscore(family: str) -> None:
    assert names(family) == ("one", "two_words")


def test_an_entry_is_the_class_named_as_its_file(family: str) -> None:
    assert find(family, "two_words").__name__ == "TwoWords"
    with pytest.raises(ImportError, match="must define a class named 'one'"):
        find(family, "one")
    with pytest.raises(UnknownName, match=f"there is no '_shared' among the {family}: choose one of one, two_words"):
        find(family, "_shared")
