"""Reading interpretable STS: chunks, words and links of the release, and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet
from semblance.models.evaluation.datasets import data_set
from semblance.models.evaluation.tasks import ChunkAlignment, ChunkedPair
from tests.models.evaluation.samples import LINES, LINKS
from tests.support.text_files import write


def read(file: Path, name: str = "ists_images") -> ChunkAlignment:
    task = data_set(name).read(file)
    assert isinstance(task, ChunkAlignment)
    return task


def test_alignment_defines_the_chunks_without_chunk_files(tmp_path: Path) -> None:
    words = (("A", "dog", "runs", ":", "yes", "."), ("Dogs", "[", "run", "]"))
    chunks = (((1, 2), (3,), (4,), (6,)), ((1,), (2, 3, 4)))
    assert read(write(tmp_path / "X.wa", *LINES)).pairs == [ChunkedPair("7", *words, *chunks, LINKS)]


def test_chunk_files_define_the_chunks_if_their_words_match(tmp_path: Path) -> None:
    file = write(tmp_path / "X.wa", *LINES)
    write(tmp_path / "X.sent1.chunk.txt", "[ A dog ] [ runs ] [ : yes ] [ . ] ")
    write(tmp_path / "X.sent2.chunk.txt", "[ Dogs ] [ ran ]")
    pair = read(file).pairs[0]
    assert pair.left_chunks == ((1, 2), (3,), (4, 5), (6,))
    assert pair.right_chunks == ((1,), (2, 3, 4))
    write(tmp_path / "X.sent1.chunk.txt", "[ A dog ]", "[ runs ]")
    with pytest.raises(BadDataSet, match=r"X\.sent1\.chunk\.txt, line 2: 2 chunked sentences for 1 pairs"):
        read(file)
    (tmp_path / "X.sent1.chunk.txt").unlink()
    with pytest.raises(BadDataSet, match=r"only one of the chunk files X\.sent1\.chunk\.txt and X\.sent2\.chunk\.txt"):
        read(file)


@pytest.mark.parametrize(
    ("number", "line", "says"),
    [
        (8, "1 2 <==> 9 // EQUI // 5 // ", r"line 8: words '9' of a sentence with 4"),
        (8, "0 1 <==> 1 // EQUI // 5 // ", r"line 8: words '0 1'"),
        (8, "1 2 <==> 1 // EQUI // high // ", r"line 8: score is 'high', not a number"),
        (8, "1 2 <==> 1 // EQUI // nan // ", r"line 8: score is 'nan'"),
        (8, "1 2 <==> 1 // EQUI", "line 8: not an alignment"),
        (8, "one <==> 1 // EQUI // 5 // ", "line 8: not an alignment"),
        (8, "1 2 <==> 1 // EQUI // 9 // ", r"line 8: score 9 is not between 0 and 5"),
        (8, "3 <=> 3 // EQUI // 5 // ", "line 8: not an alignment"),
        (5, "garbage", "line 5: neither a sentence"),
        (2, "A dog runs", r"line 2: neither a sentence"),
        (13, "", "line 1: the end of pair 7 is missing"),
        (12, '<sentence id="8" status="">', "line 12: a sentence pair begins before the end of pair 7"),
        (1, "", "contains no sentence pairs"),
    ],
)
def test_invalid_alignment_error_names_file_and_line(tmp_path: Path, number: int, line: str, says: str) -> None:
    with pytest.raises(BadDataSet, match=rf"X\.wa.*{says}"):
        read(write(tmp_path / "X.wa", *LINES[: number - 1], line, *LINES[number:]))


def test_only_headlines_of_2015_may_contain_invalid_utf8(tmp_path: Path) -> None:
    file = write(tmp_path / "X.wa", *LINES)
    file.write_bytes(file.read_bytes().replace(b"yes", b"y\xe9s"))
    assert read(file, "ists_headlines_2015").pairs[0].left[4] == "y\ufffds"
    with pytest.raises(BadDataSet, match=r"X\.wa, line 2: this is not UTF-8"):
        read(file)
