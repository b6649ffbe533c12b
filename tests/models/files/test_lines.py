"""Lines of files: what ends one, what is taken off, and whose error says that one cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.models.errors import BadCheckpoint, BadDataSet, SemblanceError
from semblance.models.files.lines import json_lines, numbered_lines


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lines"


def test_only_a_line_feed_ends_a_line_and_windows_marks_are_taken_off(file: Path) -> None:
    file.write_bytes("\ufeffone\u2028still one\x0b\r\n\ntwo\rtwo\n".encode())
    assert numbered_lines(file) == [(1, "one\u2028still one\x0b"), (2, ""), (3, "two\rtwo")]


@pytest.mark.parametrize("refusal", [BadDataSet, BadCheckpoint])
def test_what_cannot_be_read_is_refused_by_the_error_of_its_reader(file: Path, refusal: type[SemblanceError]) -> None:
    with pytest.raises(refusal, match="lines cannot be read: No such file"):
        numbered_lines(file, refusal=refusal)
    file.write_bytes(b"fine\n\xff\n")
    with pytest.raises(refusal, match="lines, line 2: this is not UTF-8"):
        numbered_lines(file, refusal=refusal)
    assert numbered_lines(file, "replace") == [(1, "fine"), (2, "\ufffd")]


def test_objects_keep_the_numbers_of_their_lines(file: Path) -> None:
    file.write_text('\n{"a": 1}\n \n{"a": 2}')
    assert list(json_lines(file)) == [(2, {"a": 1}), (4, {"a": 2})]
