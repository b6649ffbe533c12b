"""From plain text to a served model: every step of Origin, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from semblance.models.judgments.pairs import graded_pairs
from semblance.service.model_loading.device import load_source
from semblance.service.settings import read_settings
from semblance_lab.evaluation.scorer import LocalScorer
from tests.lab.origin.tiny_corpus import write_tiny_corpus
from tests.lab.origin.tiny_networks import SETTINGS
from tests.support.command_line import semblance
from tests.support.no_progress import no_progress

PAIRS = 240
SURROGATE = "epochs: 20\nbatch_size: 16\nlearning_rate: 2.0e-3\nprecision: float32\n"


def run(*arguments: str) -> None:
    done = semblance(*arguments, SEMBLANCE_DEVICE="cpu", OMP_NUM_THREADS="1")  # more threads slow down tiny networks
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_a_surrogate_is_trained_from_plain_text_alone(tmp_path: Path) -> None:
    """The text is too small to generalize far: the fit is checked on the training pairs."""
    origin, harvest, pairs = tmp_path / "origin", tmp_path / "harvest", tmp_path / "pairs"
    settings = SETTINGS.model_copy(
        update={
            "coherence": SETTINGS.coherence.model_copy(update={"epochs": 10.0}),
            "generation": SETTINGS.generation.model_copy(update={"epochs": 2.0}),
            "contexts": SETTINGS.contexts.model_copy(update={"size": 12, "candidates": 2}),
        }
    )
    config = tmp_path / "origin.yaml"
    config.write_text(json.dumps(settings.model_dump(mode="json")), "utf-8")  # JSON is YAML
    texts = write_tiny_corpus(tmp_path / "texts", documents=60)

    run("origin", "corpus", str(texts), "--out", str(origin), "--config", str(config))
    run("origin", "train", str(origin))
    for shard in ("1/2", "2/2"):
        run("harvest", str(origin), "--out", str(harvest), "--pairs", str(PAIRS), "--shard", shard)
    made_of = json.loads((harvest / "shard-1-of-2" / "harvest.json").read_text("utf-8"))
    assert made_of["teacher"]["contexts"] == settings.contexts.model_dump(mode="json")
    assert made_of["teacher"]["contexts"]["size"] == 12
    run("pairs", "harvest", str(harvest), "--out", str(pairs), *("--form", "centred", "--dev", "0.15", "--test", "0.3"))
    start, trained = tmp_path / "start", tmp_path / "surrogate"
    sizes = ("--dim", "32", "--heads", "2", "--layers", "1")
    run("origin", "start", str(origin), "--by", "static", "--out", str(start), *sizes)
    recipe = tmp_path / "surrogate.yaml"
    recipe.write_text(f"model: {start}\n{SURROGATE}", "utf-8")
    rows = pairs / "train.tsv"
    run("train", "surrogate", "--rows", str(rows), "--config", str(recipe), "--out", str(trained))
    assert squared_error(trained, rows) < squared_error(start, rows) / 4

    file, test = tmp_path / "figures.json", pairs / "test.tsv"
    against = ("--model", str(trained), "--against", str(start), "--measure", "cosine")
    run("evaluate", *against, "--sets", f"pairs:{test}", "--json", str(file))
    [outcome] = json.loads(file.read_text("utf-8"))["outcomes"]
    assert (outcome["figures"][0]["name"], outcome["against"]["baseline"]) == ("spearman", str(start))
    assert outcome["figures"][0]["low"] > 0
    bundles = {row.split("\t")[4] for row in test.read_text("utf-8").splitlines()[1:]}
    assert outcome["groups"] == len(bundles)


def squared_error(model: Path, file: Path) -> float:
    """Mean squared error of cosines from Origin's scores: the paper's figure for its surrogate."""
    task = graded_pairs(file)
    scorer = LocalScorer(load_source(str(model), read_settings()), no_progress)
    found = scorer.scores(["cosine"], task.left, task.right)["cosine"]
    return float(np.mean((found - np.array(task.gold)) ** 2))
