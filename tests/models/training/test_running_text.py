"""Running text from JSON Lines and plain files, without texts that evaluations use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from semblance.models.training.errors import BadTrainingData
from semblance.models.training.running_text import read_running_text
from tests.support.text_files import write


def test_texts_of_all_files_are_read_without_evaluated_ones(tmp_path: Path) -> None:
    lines = write(tmp_path / "a.txt", "It was  a dark night.", "", "Too short here", "The storm came from the west.")
    objects = write(tmp_path / "b.jsonl", '{"text": "She sold the old house.", "doc": 1}', '{"text": ""}')
    found = read_running_text([lines, objects], ())
    assert found.texts == ["It was a dark night.", "The storm came from the west.", "She sold the old house."]
    assert (len(found), found.removed) == (3, 0)
    some = read_running_text([lines, objects], {"the storm came from the west"})
    assert (some.texts, some.removed) == ([found.texts[0], found.texts[2]], 1)
    assert len({read_running_text(files, ()).sha256 for files in ([lines], [objects], [lines, objects])}) == 3


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
