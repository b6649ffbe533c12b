"""Reading lines: separators, normalization, line numbers and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.models.errors import BadCheckpoint, BadDataSet, SemblanceError
from semblance.models.files.lines import json_lines, numbered_lines


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lines"


def test_only_line_feeds_split_lines_and_windows_marks_are_removed(file: Path) -> None:
    file.write_bytes("\ufeffone\u2028still one\x0b\r\n\ntwo\rtwo\n".encode())
    assert numbered_lines(file) == [(1, "one\u2028still one\x0b"), (2, ""), (3, "two\rtwo")]


@pytest.mark.parametrize("refusal", [BadDataSet, BadCheckpoint])
def test_unreadable_files_raise_the_requested_error(file: Path, refusal: type[SemblanceError]) -> None:
    with pytest.raises(refusal, match="lines cannot be read: No such file"):
        numbered_lines(file, error_type=refusal)
    file.write_bytes(b"fine\n\xff\n")
    with pytest.raises(refusal, match="lines, line 2: this is not UTF-8"):
        numbered_lines(file, error_type=refusal)
    assert numbered_lines(file, "replace") == [(1, "fine"), (2, "\ufffd")]


def test_objects_have_their_line_numbers(file: Path) -> None:
    file.write_text('\n{"a": 1}\n \n{"a": 2}')
    assert list(json_lines(file)) == [(2, {"a": 1}), (4, {"a": 2})]
