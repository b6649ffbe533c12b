"""`semblance train`: every recipe on a few rows, from the command line to a servable folder."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from semblance.models import catalogue
from semblance.models.errors import SemblanceError
from semblance.service.cli.toolbox.options import split_lists
from semblance_lab.cli.train import RECIPES, TrainingOptions, run_training
from tests.lab.training.tiny_runs import sentence, vectors
from tests.support.command_line import semblance
from tests.support.held_command import held
from tests.support.project import PROJECT
from tests.support.small_model import load
from tests.support.text_files import write, write_json, write_table

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning:transformers")

QUIET = Console(quiet=True)
LABELS: dict[str, Callable[[int], object]] = {
    "score": lambda i: i % 6 / 5,
    "label": lambda i: ("entailment", "neutral", "contradiction")[i % 3],
}


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of benchmark data with a small STS-B dev set."""
    folder = tmp_path_factory.mktemp("data")
    draw = random.Random(3)
    rows = [("genre", "file", "year", "id", "sentence1", "sentence2", "score")]
    rows += [("g", "f", "y", str(i), sentence(draw), sentence(draw), str(i % 6)) for i in range(30)]
    write_table(folder / "stsb" / "stsb.dev.tsv", rows)
    return folder


def rows_for(recipe: str, file: Path, n: int = 40) -> Path:
    kind = catalogue.find(RECIPES, recipe)()
    label = [] if kind.label is None else [kind.label]
    draw = random.Random(4)
    texts = [[sentence(draw) for _ in kind.columns] for _ in range(n)]
    rows = [[*row, *(LABELS[name](i) for name in label)] for i, row in enumerate(texts)]
    return write_table(file, [[*kind.columns, *label], *rows])


def config_for(file: Path, small: Path, *more: str) -> Path:
    return write(
        file, f"model: {small}", "epochs: 1", "batch_size: 8", "check_every: 2", "learning_rate: 1.0e-3", *more
    )


@pytest.mark.parametrize("recipe", catalogue.names(RECIPES))
def test_every_recipe_writes_a_servable_sentence_transformers_folder(
    recipe: str, small: Path, data: Path, tmp_path: Path
) -> None:
    teachers = ["teachers: [minilm]"] if recipe == "distillation" else []
    rows, config = rows_for(recipe, tmp_path / "rows.tsv"), config_for(tmp_path / "config.yaml", small, *teachers)
    out = tmp_path / "out"
    ended = semblance(
        *("train", recipe, "--rows", str(rows), "--config", str(config), "--out", str(out), "--data", str(data))
    )
    assert ended.returncode == 0, ended.stderr
    assert "40 rows (0 left out by --exclude, 0 without a label)" in ended.stderr
    assert f"{out}: 5 steps" in ended.stderr
    from sentence_transformers import SentenceTransformer

    encoder = load(out)
    texts = ["the dog runs near the river", "a storm moves"]
    ours = [each.pooled() for each in encoder.encode(encoder.tokenize(texts, "query", "END"), "pooled")]
    library = SentenceTransformer(str(out), device="cpu", local_files_only=True).encode(texts)
    np.testing.assert_allclose(ours, library, atol=1e-6)
    assert not np.allclose(vectors(out), vectors(small), atol=1e-4)
    record = json.loads((out / "training.json").read_text())
    assert record["recipe"] == recipe
    assert [point["step"] for point in record["loss"]] == [1, 2, 3, 4, 5]
    assert (out / "training.png").read_bytes().startswith(b"\x89PNG")
    if kind_dev := catalogue.find(RECIPES, recipe)().dev:
        assert [point["step"] for point in record["dev"]] == [0, 2, 4, 5]
        assert set(record["dev"][0]) == {"step", "dev", *kind_dev}


def test_evaluated_rows_and_running_text_are_left_out_and_counted(small: Path, tmp_path: Path) -> None:
    graded, data, out = ("sentence1", "sentence2", "score"), tmp_path / "data", tmp_path / "out"
    evaluated = [graded, ("The dog RUNS fast!", "a dog", 1), ("x", "y", 2)]
    write_table(data / "stsb" / "stsb.test.tsv", evaluated)
    write_table(
        data / "sick" / "sick.test.tsv", [graded, ("the dog runs fast", "It rains, in Rome.", 1), ("x", "y", 2)]
    )
    rows = rows_for("clrcmd", tmp_path / "rows.tsv", n=40)
    leaks = ["the dog -- runs fast\tit rains in rome\tx", "a dog\tit rains in ROME\tx", "a dog\tx\ty"]
    write(rows, *rows.read_text("utf-8").splitlines(), *leaks)
    texts = write_json(tmp_path / "text.jsonl", {"text": "The ship  waits near the bridge."}, {"text": evaluated[1][0]})
    config = config_for(tmp_path / "config.yaml", small, "dev: []", "low_rank: {rank: 4}", "keep: {weight: 2}")
    ended = semblance(
        *("train", "clrcmd", "--rows", str(rows), "--keep", str(texts)),
        *("--config", str(config), "--out", str(out), "--data", str(data), "--exclude", "evaluation"),
    )
    assert ended.returncode == 0, ended.stderr
    assert "41 rows (2 left out by --exclude, 0 without a label)" in ended.stderr
    assert "left out by --exclude, some rows by several sets: sickr 2, stsb 1" in ended.stderr
    steps = [line for line in ended.stderr.splitlines() if line.startswith("step ")]
    assert len(steps) == 5, "lines in a file, a bar on a terminal"
    assert re.match(r"step 5 of 5 loss \d\.\d{4}$", steps[-1])
    record = json.loads((out / "training.json").read_text())
    assert record["rows_removed_by"] == {"sickr": 2, "stsb": 1}
    assert (record["kept_texts"], record["kept_texts_removed"], record["settings"]["keep"]["weight"]) == (1, 1, 2.0)
    card = " ".join((out / "README.md").read_text("utf-8").split())
    for said in (
        "2 rows were left out because an evaluation uses their texts (by set, some by several: `sickr` 2, ",
        "Token vectors of 1 running texts",
        "1 texts were left out likewise",
    ):
        assert said in card


def test_a_bad_row_is_refused_before_torch_is_imported(tmp_path: Path) -> None:
    rows = write_table(tmp_path / "rows.tsv", [("sentence1", "sentence2", "score"), ("A cat", "The cat", "good")])
    config = write(tmp_path / "config.yaml", "dev: []")
    code = "import sys; from semblance.service.cli.main import app\ntry: app()\nfinally: print('torch' in sys.modules)"
    options = ("--rows", str(rows), "--config", str(config), "--out", str(tmp_path / "out"))
    command = [sys.executable, "-c", code, "train", "sbert_regression", *options]
    ran = subprocess.run(command, capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, b"False\n")
    assert ran.stderr.decode() == f"{rows}, line 2: score is 'good', not a number\n"


@pytest.mark.nightly
def test_a_stopped_run_resumes_when_started_again(small: Path, data: Path, tmp_path: Path) -> None:
    rows, config = rows_for("clrcmd", tmp_path / "rows.tsv"), config_for(tmp_path / "config.yaml", small)
    out, work = tmp_path / "out", tmp_path / "out.training"
    command = ("train", "clrcmd", "--rows", str(rows), "--config", str(config), "--out", str(out), "--data", str(data))
    with held("semblance_lab.training.trainer:Trainer.training_step", *command, calls=3) as third_step:
        third_step.process.send_signal(signal.SIGINT)
        third_step.release()
        stderr = third_step.process.communicate()[1]
    assert f"stopped; the same command resumes from {work}/checkpoint-3" in stderr
    assert re.search(r"^before training: spearman by rcmd -?\d+\.\d\d on stsb_dev$", stderr, re.MULTILINE)
    assert re.search(r"^step 2 of 5 loss \d\.\d{4}, \d:\d\d:\d\d left$", stderr, re.MULTILINE)
    assert re.search(r"^step 2: spearman by rcmd -?\d+\.\d\d on stsb_dev$", stderr, re.MULTILINE)
    assert not out.exists()
    ended = semblance(*command)
    assert ended.returncode == 0, ended.stderr
    assert f"resuming from {work}/checkpoint-3" in ended.stderr
    assert re.findall(r"^(.*): spearman", ended.stderr, re.MULTILINE) == ["step 4", "step 5"], "each when measured"
    assert not work.exists()
    record = json.loads((out / "training.json").read_text())
    assert [point["step"] for point in record["dev"]] == [0, 2, 4, 5]


def test_a_run_without_a_checkpoint_says_that_it_begins_again(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("semblance_lab.training.train._run_trainer", interrupted)
    rows, config = rows_for("clrcmd", tmp_path / "rows.tsv"), config_for(tmp_path / "config.yaml", small, "dev: []")
    options = TrainingOptions("clrcmd", config, rows, [], tmp_path / "out", [], None)
    with pytest.raises(SystemExit, match="has no checkpoint yet and begins again"):
        run_training(options, QUIET)
    assert not (tmp_path / "out.training").exists(), "other settings would be refused for nothing"


def test_pairs_of_the_page_train_a_model(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (PROJECT / "docs/training.md").read_text("utf-8")
    table, settings = (re.search(rf"```{kind}\n([^`]*?grade[^`]*)```", page) for kind in ("csv", "yaml"))
    assert table is not None
    assert settings is not None
    monkeypatch.chdir(tmp_path)
    for name in ("train.csv", "dev.csv"):
        write(Path(name), *table[1].splitlines())
    config = write(Path("own.yaml"), *settings[1].splitlines(), f"model: {small}", "batch_size: 2")
    options = TrainingOptions("sbert_regression", config, Path("train.csv"), [], Path("out"), [], None)
    run_training(options, QUIET)
    assert json.loads(Path("out/training.json").read_text())["rows"] == 4
    write(Path("dev.csv"), "sentence1,sentence2,score", "a,b,1")
    with pytest.raises(SemblanceError, match=r"no column is named asked, similar, .* that fields and label give"):
        run_training(options, QUIET)
    write(config, f"model: {small}")
    with pytest.raises(
        SemblanceError, match=r"stsb_dev needs a folder of data: pass --data, or .* dev: \[pairs:FILE\]"
    ):
        run_training(options, QUIET)


BAD: dict[str, tuple[str, list[str], str, str]] = {
    "an unknown setting": (
        "clrcmd",
        ["temprature: 1"],
        "",
        "temprature: there is no such setting: did you mean `temperature`?",
    ),
    "a setting of nothing": ("clrcmd", ["xyzzy: 1"], "", "xyzzy: there is no such setting"),
    "a column that the recipe lacks": (
        "sbert_nli",
        ["fields: {label: x}"],
        "",
        "label is none of the text columns premi",
    ),
    "a value out of range": ("clrcmd", ["epochs: 0"], "", "epochs: Input should be greater than 0"),
    "no YAML": ("clrcmd", ["a: [1"], "", "config.yaml cannot be read as YAML"),
    "a list": ("clrcmd", ["- 1"], "", "it: Input should be a valid dictionary"),
    "a model that is not there": ("clrcmd", ["model: /nowhere"], "", "/nowhere"),
    "a dev set that is not there": ("clrcmd", ["dev: [stsb]"], "", "stsb is not in"),
    "a batch larger than the data": ("clrcmd", ["batch_size: 64"], "", "3 rows are fewer than a batch of 64"),
    "a measure that there is not": ("clrcmd", ["measure: rcdm"], "", "there is no 'rcdm' among the measures"),
    "a label of texts": ("clrcmd", ["label: x"], "", "label has no effect: this recipe reads texts only"),
    "too few columns": ("twitter4sse", ["fields: [a]"], "", "fields must name 2 different columns, to replace"),
    "a column twice": ("clrcmd", ["fields: [a, a]"], "", "fields must name 2 or 3 different columns, to replace"),
    "grades the wrong way round": ("sbert_regression", ["lowest: 5"], "", "lowest must be below highest"),
    "another column": ("sbert_triplet", [], "", "no column is named anchor, positive, negative; the columns are sent0"),
    "kept vectors without adapters": ("clrcmd", ["keep: {}"], "", "set low_rank, too"),
    "kept vectors without texts": ("clrcmd", ["keep: {}", "low_rank: {}", "batch_size: 2"], "", "give both or neither"),
    "more rank than is trained": ("clrcmd", ["low_rank: {saved_rank: 32}"], "", "saved_rank must be at most rank"),
    "twos in odd batches": ("distillation", ["batch_size: 3"], "", "batches in_twos need an even batch_size"),
    "nothing to leave out by": ("clrcmd", [], "nothing", "there is no 'nothing' among the data sets"),
}


@pytest.mark.parametrize("name", BAD)
def test_errors_are_reported_and_nothing_is_written(name: str, small: Path, data: Path, tmp_path: Path) -> None:
    recipe, settings, exclude, complaint = BAD[name]
    rows = rows_for("clrcmd", tmp_path / "rows.tsv", n=3)
    config = write(tmp_path / "config.yaml", *(settings or [f"model: {small}"]))
    out = tmp_path / "out"
    with pytest.raises(SemblanceError, match=re.escape(complaint)):
        run_training(TrainingOptions(recipe, config, rows, [], out, split_lists([exclude]), data), QUIET)
    assert not out.exists()
    assert not (tmp_path / "out.training").exists()


def test_an_error_is_one_line_on_the_command_line(tmp_path: Path) -> None:
    rows = rows_for("clrcmd", tmp_path / "rows.tsv")
    ended = semblance("train", "nothing", "--rows", str(rows), "--out", str(tmp_path / "out"))
    assert ended.returncode == 1
    assert ended.stderr.startswith("there is no 'nothing' among the recipes: choose one of clrcmd, distillation, ")
    assert ended.stderr.count("\n") == 1
