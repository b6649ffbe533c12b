"""Reading aligned chunks and words: links of the releases, and errors that name file and pair."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.datasets.word_alignment import read_translations
from semblance_lab.evaluation.tasks import ChunkAlignment, ChunkedPair, WordAlignedPair, WordAlignment
from tests.lab.evaluation.samples import LINES, LINKS
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


SURE = {"id": "7", "source": "a dog runs", "target": "Dogs run", "sureAlign": "1-0 2-1", "possibleAlign": ""}
BOTH = SURE | {"sureAlign": "1-0 2-1 0-0", "possibleAlign": "0-0 0-1"}


def written_words(
    folder: Path, sure: object, both: object = None, names: tuple[str, str] = ("X.sure.json", "X.sure+poss.json")
) -> Path:
    for name, content in zip(names, ([sure], [BOTH] if both is None else [both]), strict=True):
        (folder / name).write_text(json.dumps(content))
    return folder / names[0]


def read_words(file: Path, name: str = "edinburgh") -> WordAlignment:
    task = data_set(name).read(file)
    assert isinstance(task, WordAlignment)
    return task


@pytest.mark.parametrize("names", [("X.sure.json", "X.sure+poss.json"), ("X.json", "X.sure+poss.json")])
def test_further_links_of_the_second_file_are_possible(tmp_path: Path, names: tuple[str, str]) -> None:
    sure, possible = frozenset({(1, 0), (2, 1)}), frozenset({(0, 0), (0, 1)})
    pair = WordAlignedPair("7", ("a", "dog", "runs"), ("Dogs", "run"), sure, possible)
    assert read_words(written_words(tmp_path, SURE, names=names)).pairs == [pair]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sureAlign": "1-0 3-1"}, "pair 7: link 3-1 is outside of sentences with 3 and 2 words"),
        ({"sureAlign": "1-2"}, "pair 7: link 1-2 is outside of sentences with 3 and 2 words"),
        ({"sureAlign": "1-0 -1-1"}, "pair 7: '-1-1' is not a link"),
        ({"sureAlign": "1:0"}, "pair 7: '1:0' is not a link"),
        ({"sureAlign": "0-0 1-1"}, "pair 7: the sure link 1-1 is not in the file of sure and possible links"),
        ({"source": "a dog ran"}, "pair 7: the words differ from those of the file of possible links"),
        ({"source": "  "}, "pair 7: source is empty"),
        ({"target": 3}, "pair number 1: an object with the strings id, source"),
        ({"id": "8"}, r"hold different pairs: [78] is in one of them only"),
    ],
)
def test_invalid_pairs_are_named_with_their_file(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    with pytest.raises(BadDataSet, match=rf"X\.sure\.json.*{says}"):
        read_words(written_words(tmp_path, SURE | changes))


def test_the_file_of_possible_links_must_be_valid(tmp_path: Path) -> None:
    file = written_words(tmp_path, SURE, BOTH | {"possibleAlign": "9-0"})
    with pytest.raises(BadDataSet, match="pair 7: link 9-0 is outside"):
        read_words(file)
    (tmp_path / "X.sure+poss.json").unlink()
    with pytest.raises(BadDataSet, match=r"X\.sure\+poss\.json cannot be read"):
        read_words(file)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[", "cannot be read"),
        ("{}", "is not a JSON array of sentence pairs"),
        ("[]", "is not a JSON array of sentence pairs"),
        (json.dumps([SURE, SURE]), "2 pairs with 1 different ids"),
    ],
)
def test_unreadable_files_are_refused(tmp_path: Path, content: str, says: str) -> None:
    file = written_words(tmp_path, SURE)
    file.write_text(content)
    with pytest.raises(BadDataSet, match=rf"X\.sure\.json.*{says}"):
        read_words(file)


TRANSLATION = {"src_words": ["the", "sitting"], "tgt_words": ["la", "sesión"], "alignment": [[0, 0], [1, 1]]}


def written_translations(folder: Path, *rows: dict[str, object]) -> Path:
    return write(folder / "en-es.jsonl", *map(json.dumps, rows))


def test_translations_are_read_once_each(tmp_path: Path) -> None:
    """The second line repeats the first, with fewer links; the third has only one side in common."""
    other = TRANSLATION | {"tgt_words": ["sesión"], "alignment": [[1, 0]], "source": "golden"}
    file = written_translations(tmp_path, TRANSLATION, TRANSLATION | {"alignment": []}, other)
    words, links = ("the", "sitting"), frozenset({(0, 0), (1, 1)})
    shorter = WordAlignedPair("3", words, ("sesión",), frozenset({(1, 0)}), frozenset())
    first = WordAlignedPair("1", words, ("la", "sesión"), links, frozenset())
    assert read_words(file, "words_en_es").pairs == [first, shorter]
    assert read_translations(file, source="golden").pairs == [shorter]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"alignment": [[0, 2]]}, "line 1: link 0-2 is outside of sentences with 2 and 2 words"),
        ({"alignment": [[-1, 0]]}, "line 1: '-1-0' is not a link"),
        ({"alignment": [[0]]}, "line 1: '0' is not a link"),
        ({"alignment": ["0-0"]}, "line 1: alignment must be a list of links"),
        ({"alignment": 3}, "line 1: alignment must be a list of links"),
        ({"src_words": []}, "line 1: src_words and tgt_words must be lists of words"),
        ({"tgt_words": "la"}, "line 1: src_words and tgt_words must be lists of words"),
        ({"tgt_words": [1]}, "line 1: src_words and tgt_words must be lists of words"),
    ],
)
def test_invalid_translations_are_named_with_their_line(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    with pytest.raises(BadDataSet, match=rf"en-es\.jsonl.*{says}"):
        read_words(written_translations(tmp_path, TRANSLATION | changes), "words_en_es")


def test_files_without_the_source_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadDataSet, match="has no pairs of the source golden"):
        read_translations(written_translations(tmp_path, TRANSLATION), source="golden")
    with pytest.raises(BadDataSet, match="has no pairs"):
        read_words(written_translations(tmp_path), "words_en_es")
