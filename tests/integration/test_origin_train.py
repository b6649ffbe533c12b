"""`semblance origin train`, from the command line."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file

from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.model_files.source import Source
from semblance_lab.cli.origin.train import train
from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.tokens import TokenTable, Vocabulary, write_token_table
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.networks.coherence import CoherenceRanking
from semblance_lab.origin.networks.generation import ALL, Generation
from semblance_lab.origin.networks.generation_network import max_sentence_tokens, open_network
from semblance_lab.origin.networks.training import Report, Training, train_networks
from semblance_lab.origin.origin_folder import COHERENCE, GENERATION, add_about
from semblance_lab.origin.scoring.scoring import CONTEXT_PARTS
from tests.lab.origin.tiny_networks import SETTINGS, write_tiny_origin
from tests.support.command_line import semblance
from tests.support.held_command import held
from tests.support.text_files import write

SHORT = SETTINGS.model_copy(
    update={
        "coherence": SETTINGS.coherence.model_copy(update={"epochs": 2.0}),
        "generation": SETTINGS.generation.model_copy(update={"epochs": 1.0}),
    }
)
WEIGHTS = (f"{COHERENCE}/model.safetensors", f"{GENERATION}/all/model.safetensors")


class Killed(Exception):
    """Simulates the end of the process."""


def ignore_progress(*_: object) -> None:
    pass


@pytest.fixture(scope="module")
def corpus_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_tiny_origin(tmp_path_factory.mktemp("origin") / "corpus only")
    add_about(folder, "settings", SHORT.model_dump(mode="json"))
    return folder


@pytest.fixture
def folder(corpus_only: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(corpus_only, tmp_path / "origin"))


def test_ctrl_c_names_the_checkpoint_of_the_next_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("semblance_lab.origin.networks.training.train_coherence", interrupted)
    stopped = "stopped; the same command {}\n"
    ran = semblance("origin", "train", str(folder))
    assert ran.returncode == 1
    assert ran.stderr.endswith(stopped.format("has no checkpoint yet and begins this network again"))
    checkpoint = write(folder / "checkpoints" / "5f3a.pt", "")
    ran = semblance("origin", "train", str(folder))
    assert ran.stderr.endswith(stopped.format(f"resumes from {checkpoint}"))


@pytest.mark.nightly
def test_training_uses_the_corpus_settings_and_survives_a_kill(folder: Path) -> None:
    after_coherence = "semblance_lab.origin.networks.training:train_generation"
    with held(after_coherence, "origin", "train", folder, "--device", "cpu") as command:
        command.interrupt(signal.SIGKILL)
    written = (folder / WEIGHTS[0]).stat().st_mtime_ns
    ran = semblance("origin", "train", str(folder), SEMBLANCE_DEVICE="cpu")
    assert ran.returncode == 0, ran.stderr
    assert (folder / WEIGHTS[0]).stat().st_mtime_ns == written
    about = json.loads((folder / "origin.json").read_text("utf-8"))
    for name, figures in ((COHERENCE, "held_out_accuracy"), (GENERATION, "held_out_perplexity")):
        assert about[name]["training_tokens"] == TokenTable.open(folder / "tokens").tokens
        assert f"{about[name]['parameters']:,}" in ran.stdout
        assert about[name]["made_of"]["settings"] == getattr(SHORT, name).model_dump(mode="json")
        assert set(about[name][figures]) <= {"same document", "anywhere", "both", *CONTEXT_PARTS}
    for part, figure in about[GENERATION]["held_out_perplexity"].items():
        assert f"held-out perplexity, {part}" in ran.stdout
        assert f"{figure:,.1f}" in ran.stdout
    assert not list(folder.glob("checkpoints/*"))
    again: list[str] = []
    assert train_networks(Training(folder, SHORT), lambda what, *_: again.append(what)).keys() <= about.keys()
    assert again == []
    corpus = Corpus.open(folder / "corpus")
    rows = TokenTable.open(folder / "tokens").rows([1, 2, 3])
    assert CoherenceRanking.open(folder / COHERENCE, corpus).log_probabilities(rows).max() <= 0
    found = Generation.open(folder / GENERATION).log_likelihoods("centre", rows[:1], rows[1:2], rows[2:])
    assert found.shape == (1,)


@pytest.mark.nightly
def test_interrupted_networks_resume_to_the_same_weights(folder: Path, tmp_path: Path) -> None:
    whole = Path(shutil.copytree(folder, tmp_path / "whole"))
    train_networks(Training(whole, SHORT), ignore_progress)
    for network in (COHERENCE, GENERATION):
        with pytest.raises(Killed):
            train_networks(Training(folder, SHORT, check_every=4), cut_off(network))
        assert not (folder / network).exists()
    steps: list[int] = []
    train_networks(
        Training(folder, SHORT, check_every=4),
        lambda what, done, *_: steps.append(done) if what.startswith(GENERATION) else None,
    )
    assert steps[0] == 9
    for name in WEIGHTS:
        expected, found = load_file(whole / name), load_file(folder / name)
        assert found.keys() == expected.keys()
        for key, each in expected.items():
            np.testing.assert_array_equal(found[key], each, f"{name} {key}")
    config = write(tmp_path / "other.yaml", yaml.safe_dump({"coherence": {"hidden": 7}}))
    with pytest.raises(SystemExit, match="another value of settings"):
        train(whole, config, "cpu")


def cut_off(network: str) -> Report:
    """Interrupt the training of a network after its ninth step."""

    def report(what: str, done: int, *_: object) -> None:
        if what.startswith(network) and done == 9:
            raise Killed

    return report


def test_three_networks_write_one_part_each(folder: Path) -> None:
    settings = SHORT.model_copy(
        update={"generation": SHORT.generation.model_copy(update={"one_network": False, "epochs": 0.5})}
    )
    results = train_networks(Training(folder, settings), ignore_progress)
    assert {each.name for each in (folder / GENERATION).iterdir() if each.is_dir()} == set(CONTEXT_PARTS)
    rows = TokenTable.open(folder / "tokens").rows([1, 2, 3])
    generation = Generation.open(folder / GENERATION)
    triple = ([rows[0]], [rows[1]], [rows[2]])
    assert len({float(generation.log_likelihoods(part, *triple)[0]) for part in CONTEXT_PARTS}) == 3
    assert results[GENERATION]["steps"] > 3


def test_a_start_from_an_encoder_needs_its_vocabulary(folder: Path, small: Path) -> None:
    checkpoint = read_transformer(Source(small))
    settings = SHORT.model_copy(
        update={"generation": SHORT.generation.model_copy(update={"model": str(small), "epochs": 0.1})}
    )
    with pytest.raises(BadOrigin, match="another vocabulary"):
        train_networks(Training(folder, settings, checkpoint=checkpoint), ignore_progress)
    assert not (folder / COHERENCE).exists(), "it was trained in vain"
    own = Vocabulary.of(small)
    own.save(folder / "vocabulary")
    for part in ("train", "held_out"):
        write_token_table(Corpus.open(folder / "corpus", part), own, 32, folder / "tokens", ignore_progress)
    results = train_networks(Training(folder, settings, checkpoint=checkpoint), ignore_progress)
    assert results[GENERATION]["made_of"]["start"] == checkpoint.space


def test_networks_have_the_size_of_the_stored_tokens(tmp_path: Path) -> None:
    short = SHORT.model_copy(update={"vocabulary": SHORT.vocabulary.model_copy(update={"max_tokens": 9})})
    folder = write_tiny_origin(tmp_path / "short", settings=short)
    config = write(tmp_path / "other.yaml", yaml.safe_dump({"vocabulary": {"max_tokens": 32}}))
    with pytest.raises(SystemExit, match=r"vocabulary.max_tokens is 32, but .* 9"):
        train(folder, config, "cpu")
    write(config, yaml.safe_dump(SHORT.model_dump(mode="json", include={"coherence", "generation"})))
    train(folder, config, "cpu")
    network: Any = open_network(folder / GENERATION / ALL, "cpu")
    assert max_sentence_tokens(network) == 9


def test_invalid_arguments_are_reported(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="semblance origin corpus"):
        train(tmp_path, None, "cpu")
    with pytest.raises(SystemExit, match="abacus"):
        train(folder, None, "abacus")
    add_about(folder, "settings", {"no": "such"})
    with pytest.raises(SystemExit, match="another version"):
        train(folder, None, "cpu")
