"""From plain text to a model that is served: every step of Origin and its surrogate, as a user runs them."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from tests.command_line import semblance
from tests.models.origin.tiny_corpus import write_tiny_corpus
from tests.models.origin.tiny_networks import SETTINGS

CONTEXTS = {"size": 12, "candidates": 2}
PAIRS = 150
SURROGATE = "epochs: 8\nbatch_size: 16\nlearning_rate: 5.0e-4\ncheck_every: 20\nprecision: float32\n"


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = semblance(*arguments, SEMBLANCE_DEVICE="cpu")
    assert done.returncode == 0, done.stderr
    return done


def test_a_model_learns_from_text_alone_what_origin_says_of_pairs(tmp_path: Path) -> None:
    """The surrogate agrees with Origin, on pairs that it has not seen, better than its untrained start; in 90 s."""
    began = time.monotonic()
    origin, harvest, pairs = tmp_path / "origin", tmp_path / "harvest", tmp_path / "pairs"
    settings = SETTINGS.model_copy(update={"contexts": SETTINGS.contexts.model_copy(update=CONTEXTS)})
    config = tmp_path / "origin.yaml"
    config.write_text(json.dumps(settings.model_dump(mode="json")), "utf-8")  # JSON is YAML
    texts = write_tiny_corpus(tmp_path / "texts", documents=120)

    ran("origin", "corpus", str(texts), "--out", str(origin), "--config", str(config))
    ran("origin", "train", str(origin))
    for shard in ("1/2", "2/2"):
        ran("harvest", str(origin), "--out", str(harvest), "--pairs", str(PAIRS), "--shard", shard)
    ran("pairs", "harvest", str(harvest), "--out", str(pairs), *("--form", "centred", "--dev", "0.15", "--test", "0.3"))
    start, trained = tmp_path / "start", tmp_path / "surrogate"
    ran("origin", "start", str(origin), "--by", "static", "--out", str(start), "--dim", "32", "--heads", "2")
    recipe = tmp_path / "surrogate.yaml"
    recipe.write_text(f"model: {start}\ndev: ['pairs:{pairs / 'dev.tsv'}']\n{SURROGATE}", "utf-8")
    rows = str(pairs / "train.tsv")
    ran("train", "surrogate", "--rows", rows, "--config", str(recipe), "--out", str(trained))
    assert time.monotonic() - began < 90 * 2.5  # other work on the machine may hold it up

    file = tmp_path / "figures.json"
    compared = ("--model", str(trained), "--against", str(start), "--measure", "cosine", "--json", str(file))
    ran("evaluate", *compared, "--sets", f"pairs:{pairs / 'test.tsv'}", "--draws", "500")
    [outcome] = json.loads(file.read_text("utf-8"))["outcomes"]
    assert outcome["figures"][0]["name"] == "spearman"
    assert outcome["against"]["low"] > 0
