"""Entries and provenance of the steps of an origin folder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.origin_folder import add_about, read_about, read_step_about, step_is_done, write_step_about


def test_entries_are_added_and_replaced_by_step(tmp_path: Path) -> None:
    assert read_about(tmp_path) == {}
    add_about(tmp_path, "corpus", {"sentences": 3, "name": "größe"})
    add_about(tmp_path, "tokens", {"train": 9})
    add_about(tmp_path, "corpus", {"sentences": 4})
    assert read_about(tmp_path) == {"corpus": {"sentences": 4}, "tokens": {"train": 9}}
    assert not list(tmp_path.glob("*.partial"))


def test_concurrent_entries_are_all_written(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: add_about(tmp_path, f"step {at}", {"at": at}), range(40)))
    assert read_about(tmp_path) == {f"step {at}": {"at": at} for at in range(40)}


def test_a_step_with_another_provenance_is_refused_with_the_difference(tmp_path: Path) -> None:
    made_of = {"settings": {"size": 3, "weights": (1.0, 2.0)}, "corpus": "abc"}
    assert not step_is_done(tmp_path / "step", made_of)
    write_step_about(tmp_path, made_of, {"count": 5})
    assert step_is_done(tmp_path, made_of)
    assert read_step_about(tmp_path)["count"] == 5
    with pytest.raises(BadOrigin, match="was made with another value of corpus, more: choose another folder"):
        step_is_done(tmp_path, {**made_of, "corpus": "def", "more": 1})


def test_a_broken_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "origin.json").write_text("{")
    with pytest.raises(BadOrigin, match=r"cannot read .*origin\.json"):
        read_about(tmp_path)
