"""What an origin folder says of its steps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from semblance.models.origin.errors import BadOrigin
from semblance.models.origin.origin_folder import add_about, is_made, read_about, read_step_about, write_step_about


def test_entries_are_added_and_replaced_by_step(tmp_path: Path) -> None:
    assert read_about(tmp_path) == {}
    add_about(tmp_path, "corpus", {"sentences": 3, "name": "größe"})
    add_about(tmp_path, "tokens", {"train": 9})
    add_about(tmp_path, "corpus", {"sentences": 4})
    assert read_about(tmp_path) == {"corpus": {"sentences": 4}, "tokens": {"train": 9}}
    assert not list(tmp_path.glob("*.partial"))


def test_entries_that_are_added_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: add_about(tmp_path, f"step {at}", {"at": at}), range(40)))
    assert read_about(tmp_path) == {f"step {at}": {"at": at} for at in range(40)}


def test_a_step_is_made_of_what_it_says_or_refused_by_what_differs(tmp_path: Path) -> None:
    made_of = {"settings": {"size": 3, "weights": (1.0, 2.0)}, "corpus": "abc"}
    assert not is_made(tmp_path / "step", made_of)
    write_step_about(tmp_path, made_of, {"count": 5})
    assert is_made(tmp_path, made_of)
    assert read_step_about(tmp_path)["count"] == 5
    with pytest.raises(BadOrigin, match="was made with another value of corpus, more: name another folder"):
        is_made(tmp_path, {**made_of, "corpus": "def", "more": 1})


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "origin.json").write_text("{")
    with pytest.raises(BadOrigin, match=r"cannot read .*origin\.json"):
        read_about(tmp_path)
