"""Read running text, whose token vectors training keeps near those before it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from semblance.models.files.digests import digest, file_sha256
from semblance.models.files.lines import json_lines, text_lines
from semblance.models.files.tables import collapse_spaces
from semblance_lab.evaluation.contamination import LEAST_WORDS, normal_form
from semblance_lab.training.errors import BadTrainingData


@dataclass(frozen=True, slots=True)
class RunningText:
    """Texts of files, without labels.

    Attributes:
        texts: in the order of the files, of four words or more.
        removed: number of texts that were left out because an evaluation uses them.
        sha256: of the SHA-256 digests of the files.
    """

    texts: Sequence[str]
    removed: int
    sha256: str

    def __len__(self) -> int:
        return len(self.texts)


def read_running_text(files: Sequence[Path], exclude: Collection[str]) -> RunningText:
    """Read the texts of files, one a line.

    Args:
        files: one or more; the lines of a `.jsonl` file are objects with the field `text`.
        exclude: normal forms of texts that evaluations use; they are left out.

    Raises:
        BadTrainingData: a file cannot be read, or no text of four words is left; the message names it.
    """
    read = [text for file in files for text in _texts(file) if len(normal_form(text).split()) >= LEAST_WORDS]
    texts = [text for text in read if normal_form(text) not in exclude]
    if not texts:
        raise BadTrainingData(f"{', '.join(map(str, files))}: no text of {LEAST_WORDS} words or more to train with")
    return RunningText(texts, len(read) - len(texts), digest(files=[file_sha256(file) for file in files]))


def _texts(file: Path) -> Iterator[str]:
    if ".jsonl" not in file.suffixes:
        yield from (collapse_spaces(line) for _, line in text_lines(file, "strict", BadTrainingData))
        return
    for number, fields in json_lines(file, BadTrainingData):
        text = fields.get("text")
        if not isinstance(text, str):
            raise BadTrainingData(f"{file}, line {number}: the field text is missing or no string")
        yield collapse_spaces(text)
