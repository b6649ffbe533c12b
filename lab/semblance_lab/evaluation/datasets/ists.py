"""Interpretable STS: aligned chunks of two sentences, with labels and scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import numbered_lines
from semblance.models.files.tables import finite_number, row_error
from semblance_lab.evaluation.datasets import benchmark
from semblance_lab.evaluation.tasks import ChunkAlignment, ChunkedPair, ChunkLink

Chunks = tuple[tuple[int, ...], ...]

_OPENING = re.compile(r'<sentence id="([^"]*)"')
_TAG = re.compile(r"<(/?)(source|translation|alignment)>")
_TOKEN = re.compile(r"\d+ \S+\s*:?")
_LINK = re.compile(r"([\d ]+?)\s*<==>\s*([\d ]+?)\s*//\s*([^\s/]+)\s*//\s*([^\s/]+)\s*(//.*)?")


def read(path: Path, errors: str = "strict") -> ChunkAlignment:
    """Read a file X.wa of the release.

    If X.sent1.chunk.txt and X.sent2.chunk.txt exist next to it, they define the chunks. Words are numbered by splitting
    the two sentence lines at spaces. Without chunk files (2015), or if their words differ from those of the sentence (4
    pairs of answers-students), the chunks are those of the alignment, unaligned ones (NOALI, ALIC) included.

    Args:
        path: the .wa file.
        errors: "replace" for the 2015 headlines, which contain a few bytes that are not UTF-8.
    """
    read_pairs = [_pair(block) for block in _blocks(path, errors)]
    if not read_pairs:
        raise BadDataSet(f"{path} contains no sentence pairs")
    files = [path.with_suffix(f".sent{side}.chunk.txt") for side in (1, 2)]
    if files[0].exists() != files[1].exists():
        raise BadDataSet(
            f"{path} has only one of the chunk files {files[0].name} and {files[1].name}; add the other or remove both"
        )
    sides = [_chunk_lines(file, len(read_pairs)) for file in files]
    return ChunkAlignment([_with_chunks(pair, *lines) for pair, *lines in zip(read_pairs, *sides, strict=True)])


def read_folder(path: Path) -> ChunkAlignment:
    """Read the three files X.wa of the folder of 2016 train, one after the other."""
    files = [path / f"STSint.input.{source}.wa" for source in ("images", "headlines", "answers-students")]
    return ChunkAlignment([pair for file in files for pair in read(file).pairs])


@dataclass(slots=True)
class _Block:
    """The relevant lines of a sentence pair: both sentences, and links with line numbers."""

    file: Path
    line: int
    id: str
    sentences: list[str] = field(default_factory=list)
    links: list[tuple[int, str]] = field(default_factory=list)


def _blocks(path: Path, errors: str) -> Iterator[_Block]:
    block: _Block | None = None
    part = ""
    for number, line in numbered_lines(path, errors):
        opening = _OPENING.match(line)
        if opening:
            if block:
                raise row_error(path, number, f"a sentence pair begins before the end of pair {block.id}")
            block = _Block(path, number, opening[1])
        elif block and line.startswith("</sentence>"):
            yield block
            block = None
        elif block:
            part = _add_line(block, part, number, line.strip())
    if block:
        raise row_error(path, block.line, f"the end of pair {block.id} is missing")


def _add_line(block: _Block, part: str, number: int, line: str) -> str:
    """Add a line to the block; return the part of the block that the next line is in."""
    if tag := _TAG.fullmatch(line):
        return "" if tag[1] else tag[2]
    if line.startswith("//"):
        block.sentences.append(line[2:])
    elif "<==>" in line or (line and part == "alignment"):
        block.links.append((number, line))
    elif line and not (part and _TOKEN.fullmatch(line)):
        raise row_error(block.file, number, "neither a sentence (//), nor a numbered word, nor an alignment")
    return part


def _pair(block: _Block) -> ChunkedPair:
    if len(block.sentences) != 2:
        raise row_error(
            block.file, block.line, f"pair {block.id} has {len(block.sentences)} sentences (lines with //), not 2"
        )
    left, right = (tuple(sentence.split()) for sentence in block.sentences)
    gold = tuple(_link(block.file, number, line, (len(left), len(right))) for number, line in block.links)
    return ChunkedPair(
        block.id, left, right, _linked_chunks([x.left for x in gold]), _linked_chunks([x.right for x in gold]), gold
    )


def _link(file: Path, number: int, line: str, lengths: tuple[int, int]) -> ChunkLink:
    link = _LINK.fullmatch(line)
    if not link:
        raise row_error(file, number, "not an alignment; expected: words <==> words // LABEL // score // comment")
    left, right = (_words(ids, length, file, number) for ids, length in zip(link.group(1, 2), lengths, strict=True))
    score = None if link[4] == "NIL" else finite_number(link[4], file, number, "score")
    if score is not None and not 0 <= score <= 5:
        raise row_error(file, number, f"score {score:g} is not between 0 and 5")
    return ChunkLink(left, right, frozenset(link[3].split("_")), score)


def _words(ids: str, length: int, file: Path, number: int) -> tuple[int, ...]:
    words = tuple(map(int, ids.split()))
    if words == (0,):
        return ()
    if not words or min(words) < 1 or max(words) > length:
        raise row_error(file, number, f"words {ids.strip()!r} of a sentence with {length} words")
    return words


def _linked_chunks(chunks: Sequence[tuple[int, ...]]) -> Chunks:
    return tuple(sorted({chunk for chunk in chunks if chunk}))


def _chunk_lines(file: Path, pairs: int) -> Sequence[str | None]:
    if not file.exists():
        return [None] * pairs
    lines = [line for _, line in numbered_lines(file) if line.strip()]
    if len(lines) != pairs:
        raise row_error(file, len(lines), f"{len(lines)} chunked sentences for {pairs} pairs")
    return lines


def _with_chunks(pair: ChunkedPair, left: str | None, right: str | None) -> ChunkedPair:
    chunks_left = _bracketed(left, pair.left) or pair.left_chunks
    chunks_right = _bracketed(right, pair.right) or pair.right_chunks
    return ChunkedPair(pair.id, pair.left, pair.right, chunks_left, chunks_right, pair.gold)


def _bracketed(line: str | None, words: tuple[str, ...]) -> Chunks | None:
    """Chunks, as word numbers, of a line such as `[ A child ] [ runs ]`; None for other words."""
    groups = [group.split() for group in re.findall(r"(?<!\S)\[\s(.*?)\s\](?!\S)", line or "")]
    if [word for group in groups for word in group] != list(words):
        return None
    ends = [sum(map(len, groups[:i])) for i in range(len(groups) + 1)]
    return tuple(tuple(range(start + 1, end + 1)) for start, end in pairwise(ends))


SETS = tuple(
    data_set
    for name, what, file, read_file in (
        ("images", "2016 test, image captions", "2016_test/STSint.testinput.images.wa", read),
        ("headlines", "2016 test, news headlines", "2016_test/STSint.testinput.headlines.wa", read),
        ("answers", "2016 test, answers of students", "2016_test/STSint.testinput.answers-students.wa", read),
        ("images_train", "2016 train, image captions", "2016_train/STSint.input.images.wa", read),
        ("headlines_train", "2016 train, news headlines", "2016_train/STSint.input.headlines.wa", read),
        ("answers_train", "2016 train, answers of students", "2016_train/STSint.input.answers-students.wa", read),
        ("train", "2016 train, all three", "2016_train", read_folder),
        ("images_2015", "2015 test, image captions", "2015_test/STSint.gs.images.wa", read),
        (
            "headlines_2015",
            "2015 test, news headlines",
            "2015_test/STSint.gs.headlines.wa",
            partial(read, errors="replace"),
        ),
    )
    for data_set in benchmark(
        read_file,
        "interpretable STS of SemEval-2015 and 2016 [agirre-etal-2015-sts, agirre-etal-2016-ists]",
        (f"ists_{name}", f"iSTS {what}: chunks to align", f"ists/{file}", file),
    )
)
