"""Running text from JSON Lines and plain files, without texts that evaluations use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from semblance.models.training.errors import BadTrainingData
from semblance.models.training.running_text import read_running_text
from tests.support.text_files import write


def test_texts_of_all_files_are_read_in_order(tmp_path: Path) -> None:
    lines = write(tmp_path / "a.txt", "It was  a dark night.", "", "Too short here", "The storm came from the west.")
    objects = write(tmp_path / "b.jsonl", '{"text": "She sold the old house.", "doc": 1}', '{"text": ""}')
    found = read_running_text([lines, objects], ())
    assert found.texts == ["It was a dark night.", "The storm came from the west.", "She sold the old house."]
    assert (len(found), found.removed) == (3, 0)


def test_evaluated_texts_are_left_out_and_counted(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "It was a DARK night!", "The storm came from the west.")
    found = read_running_text([file], {"it was a dark night"})
    assert found.texts == ["The storm came from the west."]
    assert found.removed == 1


def test_the_digest_depends_on_every_file(tmp_path: Path) -> None:
    first, second = (write(tmp_path / name, f"The storm came from {name} today.") for name in ("a.txt", "b.txt"))
    digests = {read_running_text(files, ()).sha256 for files in ([first], [second], [first, second])}
    assert len(digests) == 3


@pytest.mark.parametrize(
    ("name", "line", "complaint"),
    [
        ("a.jsonl", '{"title": "x"}', "a.jsonl, line 1: the field text is missing or no string"),
        ("a.jsonl", '{"text": 3}', "a.jsonl, line 1: the field text is missing or no string"),
        ("a.jsonl", "no JSON", "a.jsonl, line 1: this is not JSON"),
        ("a.txt", "Too short", "a.txt: no text of 4 words or more to train with"),
    ],
)
def test_unusable_files_are_refused(name: str, line: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(BadTrainingData, match=re.escape(complaint)):
        read_running_text([write(tmp_path / name, line)], ())
