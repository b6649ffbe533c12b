"""Reading word alignments: links of both files, and errors that name file and pair."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet
from semblance.models.evaluation.datasets import data_set
from semblance.models.evaluation.tasks import WordAlignedPair, WordAlignment

SURE = {"id": "7", "source": "a dog runs", "target": "Dogs run", "sureAlign": "1-0 2-1", "possibleAlign": ""}
BOTH = SURE | {"sureAlign": "1-0 2-1 0-0", "possibleAlign": "0-0 0-1"}


def written(
    folder: Path, sure: object, both: object = None, names: tuple[str, str] = ("X.sure.json", "X.sure+poss.json")
) -> Path:
    for name, content in zip(names, ([sure], [BOTH] if both is None else [both]), strict=True):
        (folder / name).write_text(json.dumps(content))
    return folder / names[0]


def read(file: Path, name: str = "edinburgh") -> WordAlignment:
    task = data_set(name).read(file)
    assert isinstance(task, WordAlignment)
    return task


@pytest.mark.parametrize("names", [("X.sure.json", "X.sure+poss.json"), ("X.json", "X.sure+poss.json")])
def test_further_links_of_the_second_file_are_possible(tmp_path: Path, names: tuple[str, str]) -> None:
    sure, possible = frozenset({(1, 0), (2, 1)}), frozenset({(0, 0), (0, 1)})
    pair = WordAlignedPair("7", ("a", "dog", "runs"), ("Dogs", "run"), sure, possible)
    assert read(written(tmp_path, SURE, names=names)).pairs == [pair]


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
        read(written(tmp_path, SURE | changes))


def test_the_file_of_possible_links_must_be_valid(tmp_path: Path) -> None:
    file = written(tmp_path, SURE, BOTH | {"possibleAlign": "9-0"})
    with pytest.raises(BadDataSet, match="pair 7: link 9-0 is outside"):
        read(file)
    (tmp_path / "X.sure+poss.json").unlink()
    with pytest.raises(BadDataSet, match=r"X\.sure\+poss\.json cannot be read"):
        read(file)


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
    file = written(tmp_path, SURE)
    file.write_text(content)
    with pytest.raises(BadDataSet, match=rf"X\.sure\.json.*{says}"):
        read(file)
