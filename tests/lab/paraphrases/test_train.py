"""`python -m semblance_lab.paraphrases.train`: the file that it writes and the table that it prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors import safe_open

from semblance.models.encoders.transformer import Transformer
from semblance.models.files.tensors import read_tensors
from semblance_lab.paraphrases import train as command
from semblance_lab.paraphrases.pairs import without_contrasts
from tests.lab.paraphrases.drawn_pairs import drawn_pairs


@pytest.fixture(autouse=True)
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "collect", lambda *_: without_contrasts(drawn_pairs(60)))


def test_the_classifier_names_its_encoder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], minilm: Transformer
) -> None:
    out = tmp_path / "out"
    command.train(model="minilm", data=tmp_path, wordnet=tmp_path, output=out, without=["nouns"])
    with safe_open(out / "classifier.safetensors", "np") as file:
        assert file.metadata() == {"model": "minilm", "space": minilm.space, "languages": "en"}
    assert read_tensors(out / "classifier.safetensors")["word.weight"].shape == (24, 384)
    printed = capsys.readouterr()
    rows = [[cell.strip() for cell in line.split("│")[1:7]] for line in printed.out.splitlines() if "│" in line]
    assert rows == [
        ["contrast", "nouns", "no", "20", "0", "no"],
        ["generated", "filler", "yes", "10", "10", "yes"],
        ["snli", "neutral", "no", "9", "11", "yes"],
    ]
    assert "trained on 19 pairs" in " ".join(printed.err.split())


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="--without verbs: Breaking NLI has the kinds nouns"):
        command.train(model="minilm", data=tmp_path, wordnet=tmp_path, output=tmp_path / "out", without=["verbs"])
    assert not (tmp_path / "out").exists()
