"""`semblance evaluate` as a user runs it, with a local model and with a service."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from semblance_client import Client, SemblanceError

from semblance_lab.cli.evaluate.remote_scorer import RemoteScorer
from tests.support.command_line import semblance
from tests.support.no_progress import no_progress
from tests.support.text_files import write_json, write_table
from tests.support.waiting import CEILING_S, until

PAIRS = [
    ("A man is playing a guitar.", "Someone plays an instrument.", 4.0),
    ("A cat sleeps on the sofa.", "The kitten naps on the couch.", 4.5),
    ("Stocks fell on Monday.", "A dog runs through the field.", 0.0),
    ("He ate a slice of bread.", "She was eating some toast.", 2.5),
    ("The train leaves at nine.", "At nine o'clock the train departs.", 5.0),
    ("It rains in Rome 🌧", "उज्जैन में बारिश", 1.0),
    ("x", "y", 0.5),
    ("مرحبا بالعالم", "你好，世界", 3.0),
]


def evaluation(tmp_path: Path, *arguments: str, **environment: str) -> Any:
    """Run `semblance evaluate`, and return the JSON that it writes."""
    file = tmp_path / "out" / "figures.json"
    ran = semblance("evaluate", *arguments, "--json", str(file), **environment)
    assert ran.returncode == 0, ran.stderr
    return json.loads(file.read_text("utf-8"))


def evaluated(tmp_path: Path, *arguments: str, **environment: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Set -> measure -> outcome, from the JSON."""
    by_set: dict[str, dict[str, dict[str, Any]]] = {}
    for outcome in evaluation(tmp_path, *arguments, **environment)["outcomes"]:
        by_set.setdefault(outcome["set"], {})[outcome["measure"]] = outcome
    return by_set


def value(outcome: dict[str, Any], figure: str) -> float:
    [found] = [each["value"] for each in outcome["figures"] if each["name"] == figure]
    return float(found)


def own_files(folder: Path) -> list[str]:
    """Write one small file of every kind; return the arguments of the command line."""

    def table(name: str, header: str, rows: Sequence[Sequence[object]]) -> Path:
        file = write_table(folder / name, [header.split(), *rows])
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))  # a BOM, and CRLF
        return file

    labels = [(a, b, int(score > 2)) for a, b, score in PAIRS]
    triplets = [(PAIRS[i][0], PAIRS[i][1], PAIRS[2][1]) for i in (0, 1, 3, 4)]
    ranking = {"query": PAIRS[1][0], "candidates": [b for _, b, _ in PAIRS], "relevance": [0, 1, 0, 0, 0, 0, 0, 0]}
    documents = [{"_id": str(i), "title": "", "text": b} for i, (_, b, _) in enumerate(PAIRS)]
    retrieval = folder / "retrieval"
    write_json(retrieval / "corpus.jsonl", *documents, {"_id": "invisible", "text": "\u200b"})
    write_json(retrieval / "queries.jsonl", *({"_id": str(i), "text": a} for i, (a, _, _) in enumerate(PAIRS)))
    judged = [(i, i, 1) for i, (_, _, score) in enumerate(PAIRS) if score]  # the rest would be relevant by chance
    write_table(retrieval / "qrels.tsv", [("query_id", "doc_id", "relevance"), *judged])
    return [
        f"pairs:{table('pairs.tsv', 'sentence1 sentence2 score', PAIRS)}",
        f"labels:{table('labels.tsv', 'sentence1 sentence2 label', labels)}",
        f"triplets:{table('triplets.tsv', 'anchor positive negative', triplets)}",
        f"ranking:{write_json(folder / 'ranking.jsonl', ranking)}",
        f"retrieval:{retrieval}",
    ]


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_built_in_models_reach_their_published_figures(data: Path, tmp_path: Path) -> None:
    """An STS set by "all", interpretable STS by the protocol of CLRCMD, and the model card.

    All seven STS sets take minutes: `semblance evaluate --model minilm-clrcmd --against minilm`.
    """
    models = ("--model", "minilm-clrcmd", "--against", "minilm", "--measure", "rcmd,cosine,dynamax_jaccard")
    sets = ("--sets", "sts16,ists_images", "--data", str(data), "--draws", "500")
    found = evaluated(tmp_path, *models, *sets, "--report", str(tmp_path / "report"))

    def untuned(name: str, measure: str) -> float:
        outcome = found[name][measure]
        return 100 * float(outcome["figures"][0]["value"] - outcome["against"]["value"])

    for name, measure, figure in (
        ("sts16", "cosine", 78.99),
        ("sts16", "rcmd", 81.34),
        ("sts16", "dynamax_jaccard", 78.63),
        ("ists_images", "rcmd", 90.3),
        ("ists_images", "cosine", 86.5),
    ):
        assert untuned(name, measure) == pytest.approx(figure, abs=0.15)
    parts = found["sts16"]["cosine"]["parts"]
    assert sorted(part["n"] for part in parts.values()) == [209, 230, 244, 249, 254]
    for kind in ("spearman", "pearson"):
        mean = np.mean([part["figures"][kind] for part in parts.values()])
        assert value(found["sts16"]["cosine"], f"{kind}_mean") == pytest.approx(mean)
    report = (tmp_path / "report" / "report.md").read_text("utf-8")
    assert "| sts16 | 1,186 | spearman | 8" in report
    for plot in ("figures.png", "differences.png"):
        assert f"]({plot})" in report
        assert (tmp_path / "report" / plot).read_bytes().startswith(b"\x89PNG")

    for measure in ("rcmd", "cosine"):
        against = found["sts16"][measure]["against"]
        assert against["baseline"] == "minilm"
        assert against["low"] > 0
    assert 100 * value(found["ists_images"]["rcmd"], "alignment_f1") > 90
    assert found["ists_images"]["rcmd"]["against"]["low"] > -0.01


def test_service_gives_the_same_figures_as_a_local_model(url: str, tmp_path: Path) -> None:
    sets, measures = ",".join(own_files(tmp_path)), "cosine,rcmd,set_jaccard"
    options = ("--sets", sets, "--measure", measures, "--draws", "100", "--deletion")
    here = evaluated(tmp_path, *options)
    there = evaluated(tmp_path, *options, "--url", url)
    assert here.keys() == there.keys()
    assert sum(name.endswith("_deletion") for name in here) == 1
    for name, outcomes in here.items():
        assert outcomes.keys() == there[name].keys() == {"cosine", "rcmd", "set_jaccard"}
        for measure, outcome in outcomes.items():
            for figure in outcome["figures"]:
                assert np.isfinite([figure["value"], figure["low"], figure["high"]]).all()
                remote = value(there[name][measure], figure["name"])
                assert remote == pytest.approx(figure["value"], abs=1e-4), (name, measure, figure["name"])


def test_service_aligns_chunks_like_a_local_model(url: str, data: Path, tmp_path: Path) -> None:
    folder = data / "ists" / "2016_test"
    first = (folder / "STSint.testinput.images.wa").read_text("utf-8").split("</sentence>")[:25]
    (tmp_path / "few.wa").write_text("</sentence>".join(first) + "</sentence>\n", "utf-8")
    options = ("--sets", f"ists:{tmp_path / 'few'}", "--measure", "rcmd", "--draws", "100")
    [here] = evaluated(tmp_path, *options).values()
    [there] = evaluated(tmp_path, *options, "--url", url).values()
    assert here["rcmd"]["n"] == 25
    assert value(here["rcmd"], "alignment_f1") > 0.8
    for figure in here["rcmd"]["figures"]:
        assert value(there["rcmd"], figure["name"]) == pytest.approx(figure["value"], abs=1e-6)


def test_about_names_the_default_model_of_a_service(url: str, tmp_path: Path) -> None:
    options = ("--sets", own_files(tmp_path)[0], "--draws", "100", "--measure", "set_jaccard")
    here = evaluation(tmp_path, *options)["about"]
    assert here["model"] == "minilm-graded"
    assert evaluation(tmp_path, *options, "--url", url)["about"] == here
    other = evaluation(tmp_path, *options, "--model", "minilm")["about"]
    assert other["model"] == "minilm"
    assert evaluation(tmp_path, *options, "--url", url, "--model", "minilm")["about"] == other
    ran = semblance("evaluate", *options, "--url", url, "--model", "nosuch")
    assert (ran.returncode, "no model 'nosuch' is served" in ran.stderr, "Traceback" in ran.stderr) == (1, True, False)
    said = "no model 'nosuch' is served; choose from minilm-graded, minilm-words"
    with Client(url) as client, pytest.raises(SemblanceError, match=said):
        RemoteScorer(client, "nosuch", no_progress).about()


def test_default_model_is_the_first_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("a 1 2\nb 3 4\n")
    models = f"mine={tmp_path / 'glove.txt'},minilm"
    options = ("--sets", own_files(tmp_path)[0], "--draws", "100", "--measure", "set_jaccard")
    assert evaluation(tmp_path, *options, SEMBLANCE_MODELS=models)["about"]["model"] == "mine"
    ran = semblance("evaluate", *options, "--model", models)
    assert (ran.returncode, "name one model, not 2" in ran.stderr) == (1, True)


def test_calibration_of_labeled_pairs(tmp_path: Path) -> None:
    own_files(tmp_path)
    labels, file = f"labels:{tmp_path / 'labels.tsv'}", tmp_path / "curve.json"
    ran = semblance("evaluate", "--calibrate", "--sets", labels, "--measure", "rcmd", "--json", str(file))
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"best F1[ │]+\d+\.\d \[\d+\.\d, \d+\.\d\]", ran.stdout)
    curve = json.loads(file.read_text("utf-8"))["thresholds"]["rcmd"][labels]
    assert curve["threshold"] == sorted(curve["threshold"], reverse=True)
    assert curve["recall"][-1] == 1.0
    assert curve["precision"][-1] == pytest.approx(sum(score > 2 for *_, score in PAIRS) / len(PAIRS))


def test_typical_scores_of_a_model(tmp_path: Path) -> None:
    head = ("sentence1", "sentence2")
    unrelated, related, same = PAIRS[2][:2], PAIRS[3][:2], PAIRS[4][:2]
    (tmp_path / "twitter").mkdir()
    for folder in ("stsb", "sick", "paraphrase"):
        (tmp_path / folder).mkdir()
    for file, grade in (("stsb/stsb.dev", "score"), ("sick/sick.trial", "score"), ("twitter/pit2015.dev", "score_0_5")):
        rows = [(*unrelated, 0), (*related, 2.5 if grade == "score" else 2), (*same, 5)]
        write_table(tmp_path / f"{file}.tsv", [(*head, grade), *rows])
    for file in ("qqp_sample.dev", "msrp.train"):
        rows = [(*unrelated, 0), (*related, 0), (*same, 1)]
        write_table(tmp_path / "paraphrase" / f"{file}.tsv", [(*head, "label"), *rows])
    out = tmp_path / "typical.json"
    ran = semblance("evaluate", "--typical", "--data", str(tmp_path), "--measure", "cosine,rcmd", "--json", str(out))
    assert ran.returncode == 0, ran.stderr
    assert "random" in ran.stdout
    for each in json.loads(out.read_text("utf-8"))["scores"]:
        assert each["paraphrases"][0] > each["related"][1], each["measure"]


def test_invalid_input_ends_with_a_message(tmp_path: Path) -> None:
    broken = tmp_path / "broken.tsv"
    broken.write_text("sentence1\tsentence2\tscore\na b\tc d\t3\na b\tc d\t\n")
    own_files(tmp_path)
    for arguments, message in (
        (("--sets", f"pairs:{broken}"), f"{broken}, line 3"),
        (("--sets", f"pairs:{tmp_path / 'none.tsv'}"), "none.tsv"),
        (("--sets", f"nosuch:{broken}"), "nosuch"),
        (("--sets", "nosuch"), "nosuch"),
        (("--sets", "stsb"), "SEMBLANCE_DATA"),
        (("--sets", "stsb", "--data", str(tmp_path)), "stsb/stsb.test.tsv"),
        (("--sets", "stsb", "--data", str(tmp_path), "--measure", "nosuch"), "nosuch"),
        (("--model", "nosuch", "--sets", f"pairs:{tmp_path / 'pairs.tsv'}"), "nosuch"),
        (("--url", "http://127.0.0.1:9", "--sets", f"pairs:{tmp_path / 'pairs.tsv'}"), "is the service running"),
        (("--calibrate", "--sets", f"pairs:{tmp_path / 'pairs.tsv'}"), "labels"),
        (("--reproduce", "nosuch"), "there is no 'nosuch' among the papers: choose one of clrcmd, dynamax"),
        (("--sets", f"pairs:{tmp_path / 'labels.tsv'}"), "named score; the columns are sentence1, sentence2, label"),
        (("--sets", f"pairs:{broken}", "--columns", "grade=score"), "grade=score is not COLUMN=NAME"),
    ):
        ran = semblance("evaluate", *arguments)
        assert ran.returncode == 1, arguments
        assert message in ran.stderr.replace("\n", " ")
        assert "Traceback" not in ran.stderr


def test_terminated_evaluation_deletes_its_collections(url: str, http: httpx2.Client, tmp_path: Path) -> None:
    own_files(tmp_path)
    corpus = [{"_id": str(i), "text": f"Sentence number {i} of a corpus that takes a while."} for i in range(5_000)]
    (tmp_path / "retrieval" / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus), "utf-8")

    def left() -> list[str]:
        names = [each["name"] for each in http.get("/collections").json()["collections"]]
        return [name for name in names if name.startswith("evaluation-")]

    asked = ["evaluate", "--url", url, "--sets", f"retrieval:{tmp_path / 'retrieval'}", "--measure", "cosine"]
    running = subprocess.Popen([sys.executable, "-m", "semblance.service.cli.main", *asked])
    until(left, "a collection of the evaluation")
    running.terminate()
    assert running.wait(CEILING_S) == 128 + signal.SIGTERM
    assert left() == []
