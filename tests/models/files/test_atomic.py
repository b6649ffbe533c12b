"""Files get their names only when they are on disk, and the names are on disk, too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from semblance.models.files.atomic import publish, write_json


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is flushed and renamed, in order."""
    taken: list[str] = []
    replace = os.replace

    def renamed(source: Path, target: Path) -> None:
        taken.append(f"rename to {Path(target).name}")
        replace(source, target)

    monkeypatch.setattr(
        os, "fsync", lambda descriptor: taken.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
    )
    monkeypatch.setattr(os, "replace", renamed)
    return taken


def test_a_file_is_flushed_before_and_its_name_after(tmp_path: Path, steps: list[str]) -> None:
    write_json(tmp_path / "a.json", [1])
    assert steps == ["a.json.partial", "rename to a.json", tmp_path.name]


def test_all_of_a_folder_is_flushed_before_its_name(tmp_path: Path, steps: list[str]) -> None:
    (tmp_path / "partial" / "inner").mkdir(parents=True)
    (tmp_path / "partial" / "inner" / "file").touch()
    publish(tmp_path / "partial", tmp_path / "done")
    assert sorted(steps[:3]) == ["file", "inner", "partial"]
    assert steps[3:] == ["rename to done", tmp_path.name]
