"""Reading lines: separators, normalization, line numbers and errors."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from semblance.models.errors import BadCheckpoint, BadDataSet, SemblanceError
from semblance.models.files.lines import json_lines, numbered_lines, raw_lines


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


def test_compressed_lines_equal_plain_ones(tmp_path: Path) -> None:
    content = "\ufeffone\r\n\ntwo é\n".encode() + b"word " * 50_000
    plain, compressed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes(content)
    compressed.write_bytes(gzip.compress(content))
    assert numbered_lines(compressed) == numbered_lines(plain)
    for file in (plain, compressed):
        read: list[int] = []
        assert [number for number, _ in raw_lines(file, advance=read.append)] == [1, 2, 3, 4]
        assert sum(read) == file.stat().st_size


@pytest.mark.parametrize(
    "content",
    [b"no gzip\n", gzip.compress(b"cut\n" * 999)[:-9], gzip.compress(b"x\n" * 999)[:20]],
    ids=["no gzip", "without its end", "only the start"],  # the bytes have the time, so that workers would disagree
)
def test_damaged_compressed_files_are_rejected(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(content)
    with pytest.raises(BadDataSet, match=r"a\.jsonl\.gz cannot be decompressed: "):
        list(raw_lines(file))
