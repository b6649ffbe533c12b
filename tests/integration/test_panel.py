"""`semblance evaluate --sets panel` on small files of every set, by word vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from semblance_lab.evaluation.datasets import panel_parts
from semblance_lab.evaluation.datasets.panel_parts import pair_hash
from semblance_lab.evaluation.results import PANEL, PANEL_MEAN
from tests.support.command_line import semblance
from tests.support.small_model import random_vectors, write_glove
from tests.support.text_files import write, write_json, write_table

WORDS = ("a", "dog", "cat", "man", "runs", "sleeps", "in", "the", "park", "house", "fast", "red", "old", "barks")
TABLES = {  # set -> file, columns, number of grades
    "stsb_dev": ("stsb/stsb.dev.tsv", ("sentence1", "sentence2", "score"), 6),
    "sickr_trial": ("sick/sick.trial.tsv", ("sentence1", "sentence2", "score"), 5),
    "cxc_val": ("captions/cxc_sts_val_text.tsv", ("sentence1", "sentence2", "score_0_5"), 6),
    "pit_dev": ("twitter/pit2015.dev.tsv", ("sentence1", "sentence2", "score_0_5"), 6),
    "turl_train": ("twitter/turl.train.tsv", ("sentence1", "sentence2", "label"), 2),
    "qqp_dev": ("paraphrase/qqp_sample.dev.tsv", ("sentence1", "sentence2", "label"), 2),
    "msrp_train": ("paraphrase/msrp.train.tsv", ("sentence1", "sentence2", "label"), 2),
    "argkp_dev": ("argument/argkp2021.dev.tsv", ("argument", "key_point", "label"), 2),
}


ALIGNED = {"edinburgh_train": "edinburgh/gold.train.sure.json", "msr_rte": "msr_rte/RTE2_dev_M.align.json"}


def sentence(draw: np.random.Generator) -> str:
    return " ".join(draw.choice(WORDS, size=5))


def pairs(draw: np.random.Generator, n: int = 12) -> list[tuple[str, str]]:
    return [(sentence(draw), sentence(draw)) for _ in range(n)]


def write_chunks(file: Path, texts: Sequence[tuple[str, str]]) -> None:
    """Write pairs whose words are chunks, aligned in order."""
    lines: list[str] = []
    for number, both in enumerate(texts):
        links = (f"{i} <==> {i} // EQUI // 5 //" for i in range(1, 6))
        lines += [f'<sentence id="{number}" status="">', *(f"// {text}" for text in both)]
        lines += ["<alignment>", *links, "</alignment>", "</sentence>"]
    write(file, *lines)


def write_alignments(file: Path, texts: Sequence[tuple[str, str]]) -> None:
    """Write pairs with words aligned in order: all links are sure."""
    links = " ".join(f"{i}-{i}" for i in range(5))
    rows = [
        {"id": str(number), "source": left, "target": right, "sureAlign": links, "possibleAlign": ""}
        for number, (left, right) in enumerate(texts)
    ]
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(rows), "utf-8")
    stem = file.name.removesuffix(".json").removesuffix(".sure")
    file.with_name(f"{stem}.sure+poss.json").write_text(json.dumps(rows), "utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data with a small file of each set; each part lists all pairs of its file."""
    draw, folder = np.random.default_rng(5), tmp_path / "data"
    listed = {}
    for name, (file, header, values) in TABLES.items():
        texts = pairs(draw)
        write_table(folder / file, [header, *((*each, i % values) for i, each in enumerate(texts))])
        listed[f"{name}_panel"] = frozenset(pair_hash(*each) for each in texts)
    texts = pairs(draw)
    for i, source in enumerate(("images", "headlines", "answers-students")):
        write_chunks(folder / "ists" / "2016_train" / f"STSint.input.{source}.wa", texts[i::3])
    listed["ists_train_panel"] = frozenset(pair_hash(*each) for each in texts)
    for name, file in ALIGNED.items():
        texts = pairs(draw)
        write_alignments(folder / "word_alignment" / file, texts)
        listed[f"{name}_panel"] = frozenset(pair_hash(*each) for each in texts)
    for name in ("nfcorpus_dev", "cranfield", "cisi", "medline"):
        for file, count in (("corpus", 12), ("queries", 6)):
            rows = ({"_id": str(i), "text": sentence(draw)} for i in range(count))
            write_json(folder / "ir" / name / f"{file}.jsonl", *rows)
        judged = [("query_id", "doc_id", "relevance"), *((i, i, 1) for i in range(6))]
        write_table(folder / "ir" / name / "qrels.tsv", judged)
    columns = ("question_id", "question", "answer_sentence", "label")
    answers = [(i % 3, WORDS[i % 3], sentence(draw), int(i < 3)) for i in range(12)]
    write_table(folder / "ir" / "wikiqa" / "dev.tsv", [columns, *answers])
    monkeypatch.setattr(panel_parts, "listed_parts", lambda: listed)
    return folder


def test_two_models_are_compared_on_the_panel(folder: Path, tmp_path: Path) -> None:
    models = [write_glove(tmp_path / "own.txt", WORDS), tmp_path / "base.txt"]
    write_glove(models[1], WORDS, random_vectors(len(WORDS))[::-1])
    ran = semblance(
        *("evaluate", "--sets", "panel", "--model", str(models[0]), "--against", str(models[1])),
        *("--measure", "cosine,rcmd,set_jaccard", "--data", str(folder), "--draws", "100"),
        *("--json", str(tmp_path / "panel.json"), "--report", str(tmp_path / "report")),
    )
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"evaluated 16 sets in 0:\d\d:\d\d", ran.stderr)
    found = json.loads((tmp_path / "panel.json").read_text("utf-8"))
    assert set(found["panel"]) == set(PANEL)
    worst: dict[str, float] = {}
    for each in found["outcomes"]:
        value = each["against"]["value"]
        worst[each["set"]] = min(value, worst.get(each["set"], value))
    mean = worst.pop(PANEL_MEAN)
    assert list(worst) == found["panel"] == sorted(worst, key=lambda name: worst[name])
    assert worst[found["panel"][0]] < mean < worst[found["panel"][-1]]
    shown = [row.split()[1] for row in ran.stdout.splitlines() if row.startswith("│")]
    assert shown == [*found["panel"], PANEL_MEAN]
    report = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert re.findall(r"^\| (\w+) \| [\d,]+", report, re.MULTILINE) == shown


def test_measures_that_do_not_explain_have_no_mean(folder: Path, tmp_path: Path) -> None:
    """They have no alignments: a mean over the other sets would be of another panel."""
    ran = semblance(
        *("evaluate", "--sets", "panel", "--model", str(write_glove(tmp_path / "own.txt", WORDS))),
        *("--measure", "cosine,soft_cardinality", "--data", str(folder), "--draws", "100"),
    )
    assert ran.returncode == 0, ran.stderr
    rows = {row.split()[1]: row.split("│") for row in ran.stdout.splitlines() if row.startswith("│")}
    assert rows["ists_train_panel"][5].strip() == rows[PANEL_MEAN][5].strip() == "-"
    assert rows["stsb_dev_panel"][5].strip() != "-"


def test_a_missing_set_of_the_panel_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / "sick" / "sick.trial.tsv").unlink()
    ran = semblance("evaluate", "--sets", "panel", "--model", str(tmp_path), "--data", str(folder))
    assert ran.returncode == 1
    assert "sickr_trial_panel is not in" in ran.stderr
