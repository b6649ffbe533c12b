"""`semblance calibrate`, and the probabilities that the service then gives."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.integration.conftest import Api, code_of, served
from tests.support.command_line import semblance
from tests.support.running_service import running_process
from tests.support.text_files import write, write_table

NOUNS = ("cat", "train", "violin", "river", "teacher", "storm", "market", "bridge", "doctor", "garden")
NAME = "small questions"


class Calibrated(NamedTuple):
    """A running service with one calibrated measure and a bound on false hits, and the files of both."""

    api: Api
    file: dict[str, Any]
    bound: dict[str, Any]
    home: Path


def labeled_pairs(folder: Path) -> Path:
    """120 pairs: paraphrases that match, and half as many sentences about something else."""
    rows: list[tuple[str, str, int]] = []
    for a, b in itertools.product(NOUNS, NOUNS[:8]):
        rows.append((f"Where can I see the {a}?", f"At which place is the {b} to be seen?", int(a == b)))
    rows += [(f"The {a} is old.", f"An old {a}.", 1) for a in NOUNS] * 4
    return write_table(folder / "pairs.tsv", [("sentence1", "sentence2", "label"), *rows])


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calibrated]:
    folder = tmp_path_factory.mktemp("calibrate")
    home = folder / "home"
    pairs = f"labels:{labeled_pairs(folder)}"
    ran = semblance("calibrate", pairs, "--measure", "rcmd_words", "--name", NAME, "--home", str(home))
    assert ran.returncode == 0, ran.stderr
    assert "restart the service" in ran.stdout
    [file] = (home / "calibrations").glob("*.json")
    ran = semblance("calibrate", pairs, "--same", "--allowed", "0.05", "--name", NAME, "--home", str(home))
    assert ran.returncode == 0, ran.stderr
    assert "With 95 % confidence, that takes at most 0.05 of the pairs that differ" in " ".join(ran.stdout.split())
    assert re.search(r"0\.01 +\W needs 299", ran.stdout)
    [bound] = (home / "calibrations" / "same").iterdir()
    with served(home, sample="1") as (_, api):
        yield Calibrated(api, json.loads(file.read_text("utf-8")), json.loads(bound.read_text("utf-8")), home)


def expected(service: Calibrated, scores: Any) -> Any:
    return pytest.approx(np.interp(scores, service.file["scores"], service.file["probabilities"]))


def test_the_file_tells_its_data_and_reliability(service: Calibrated) -> None:
    file = service.file
    shown = [file[name] for name in ("model", "measure", "data", "pairs", "matches")]
    assert shown == ["minilm-graded", "rcmd_words", NAME, 120, 48]
    assert sum(each["pairs"] for each in file["reliability"]) == 120
    low, high = file["error_interval"]
    assert low <= file["error"] <= high < 0.3


def test_an_evaluation_says_which_pairs_the_map_has_seen(service: Calibrated, tmp_path: Path) -> None:
    rows = labeled_pairs(tmp_path).read_text("utf-8").splitlines()
    part = write(tmp_path / "part.tsv", *rows[:60], "A new pair.\tOf other words.\t0", *rows[-20:])
    options = ("evaluate", "--calibrate", "--measure", "rcmd_words", "--draws", "100", "--sets")
    ran = semblance(*options, f"labels:{part}", SEMBLANCE_HOME=str(service.home))
    assert ran.returncode == 0, ran.stderr
    said = f"rcmd_words: 79 of the 80 pairs of labels:{part} are among those that {NAME} (stored) was fitted to"
    assert said in ran.stderr
    assert "lowest with precision 95" in ran.stdout
    ran = semblance(*options, f"labels:{tmp_path / 'pairs.tsv'}", SEMBLANCE_HOME=str(service.home))
    assert "was fitted to:" not in ran.stderr, "it is tested by cross-fitting"


def test_scores_of_pairs_come_with_probabilities(service: Calibrated) -> None:
    pairs = [
        {"a": "The cat is old.", "b": "The cat is very old."},
        {"a": "Wo ist der Hund?", "b": "Es regnet auf dem Markt."},
    ]
    found = service.api.ok("/similarity", {"pairs": pairs, "measure": "rcmd_words"})
    assert found["probabilities"] == expected(service, found["scores"])
    first, second = found["probabilities"]
    assert first > 0.8
    assert second < 0.6
    assert found["calibration"] == {"data": NAME, "pairs": 120, "error": service.file["error"]}
    texts = ["The cat is old.", "An old cat.", "It rains in the market."]
    matrix = service.api.ok("/similarity", {"left": texts[:1], "right": texts, "measure": "rcmd_words"})
    assert np.ravel(matrix["probabilities"]) == expected(service, np.ravel(matrix["scores"]))


def test_measures_without_calibration_have_no_probability(service: Calibrated) -> None:
    pairs = [{"a": "The cat is old.", "b": "The cat is very old."}]
    for options in ({"measure": "cosine"}, {"measure": "rcmd_words", "model": "minilm"}):
        found = service.api.ok("/similarity", {"pairs": pairs, **options})
        assert found["probabilities"] is None
        assert found["calibration"] is None
    for path, more, status in (("/search", {}, 422), ("/v2/rerank", {"documents": ["x"], "measure": "cosine"}, 400)):
        refused = service.api.post(path, {"query": "parcel", "min_probability": 0.5, **more})
        assert code_of(refused) == (status, "not_calibrated")
        assert "cosine has no calibration under minilm-graded" in refused.text


def test_hits_below_the_least_probability_are_left_out(service: Calibrated) -> None:
    body = {"query": "my parcel never came", "k": 20, "measure": "rcmd_words"}
    everything = service.api.ok("/search", body)
    [hits] = [each["hits"] for each in everything["results"]]
    probabilities = [each["probability"] for each in hits]
    assert probabilities == expected(service, [each["score"] for each in hits])
    assert everything["calibration"]["data"] == NAME
    least = (probabilities[0] + probabilities[-1]) / 2
    kept = service.api.hits(**body, min_probability=least)
    assert [each["id"] for each in kept] == [each["id"] for each in hits if each["probability"] >= least]
    assert 0 < len(kept) < len(hits)


def test_reranked_documents_have_the_probability_as_relevance(service: Calibrated) -> None:
    documents = ["The weather is fine.", "An old cat.", "The cat is very old.", " "]
    body = {"query": "The cat is old.", "documents": documents, "measure": "rcmd_words"}
    found = service.api.ok("/v2/rerank", body)
    assert found["calibration"]["data"] == NAME
    read = [each for each in found["results"] if each["index"] != 3]
    assert [each["relevance_score"] for each in read] == expected(service, [each["raw_score"] for each in read])
    assert [each["probability"] for each in read] == [each["relevance_score"] for each in read]
    assert found["results"][-1]["relevance_score"] == 0
    assert "probability" not in found["results"][-1]  # it has no text
    kept = service.api.ok("/v2/rerank", {**body, "min_probability": 0.5})["results"]
    assert {each["index"] for each in kept} == {each["index"] for each in read if each["relevance_score"] >= 0.5}
    assert "calibration" not in service.api.ok("/v2/rerank", {**body, "measure": "rcmd"})


def test_explanations_have_a_probability(service: Calibrated) -> None:
    pair = {"a": "The cat is old.", "b": "The cat is very old."}
    found = service.api.get("/explain", **pair)
    assert found["probability"] == expected(service, found["score"])
    assert found["calibration"]["pairs"] == 120
    for kind in ("svg", "html"):
        picture = service.api.http.get("/explain", params={**pair, "format": kind}).text
        said = " ".join(re.sub("<[^>]*>", " ", picture).split())  # lines of a picture are elements of their own
        cases = f"{100 * found['probability']:.0f} of 100 cases"
        assert f"people call such a pair the same in {cases}, judging by {NAME}" in said
        assert "people mostly call two texts the same" in said


@pytest.mark.parametrize("explain", [False, True])
def test_pairs_that_are_different_have_no_probability(service: Calibrated, explain: bool) -> None:
    texts = [
        ("The cat is old.", "The cat is very old."),
        ("The cat is old.", "The cat is not old."),
        ("Bridge 117 is old.", "Bridge 113 is old."),
        ("Die Katze ist alt.", "Die Katze ist nicht alt."),
    ]
    pairs = [{"a": a, "b": b} for a, b in texts]
    found = service.api.ok("/similarity", {"pairs": pairs, "measure": "rcmd_words", "explain": explain})
    verdicts = [each["verdict"] for each in service.api.ok("/same", {"pairs": pairs})["verdicts"]]
    assert verdicts == ["same", "different", "different", "unsure"]
    assert [each is None for each in found["probabilities"]] == [each == "different" for each in verdicts]
    known = [i for i, each in enumerate(verdicts) if each != "different"]
    assert [found["probabilities"][i] for i in known] == expected(service, [found["scores"][i] for i in known])


def test_explanations_of_different_texts_say_why_instead(service: Calibrated) -> None:
    pair = {"a": "The bridge is old.", "b": "The bridge is not old."}
    found = service.api.get("/explain", **pair)
    assert (found["probability"], found["same"]["verdict"]) == (None, "different")
    assert found["calibration"]["pairs"] == 120
    for kind in ("svg", "html"):
        said = service.api.http.get("/explain", params={**pair, "format": kind}).text
        assert "negation in b" in said
        assert "people" not in said


def test_models_list_their_calibrations(service: Calibrated) -> None:
    models = {each["name"]: each["calibrations"] for each in service.api.get("/models")["models"]}
    own = {"measure": "rcmd_words", "data": NAME, "pairs": 120, "error": service.file["error"]}
    assert (models["minilm"], models["minilm-graded"]) == ([], [own])


def test_verdicts_follow_the_fitted_cut(service: Calibrated, tmp_path: Path) -> None:
    rows = [line.split("\t") for line in labeled_pairs(tmp_path).read_text("utf-8").splitlines()[1:]]
    found = service.api.ok("/same", {"pairs": [{"a": a, "b": b} for a, b, _ in rows]})
    bound = found["bound"]
    assert bound == service.bound["bound"]
    assert (bound["data"], bound["allowed"], bound["different"], bound["same"]) == (NAME, 0.05, 72, 48)
    taken = [each["verdict"] == "same" for each in found["verdicts"]]
    assert taken == [each["log_odds"] >= bound["cut"] for each in found["verdicts"]]
    hits, false_hits = (
        sum(same for same, row in zip(taken, rows, strict=True) if row[2] == label) for label in ("1", "0")
    )
    assert hits == round(48 * bound["hit_rate"])
    assert false_hits == 0  # more than none of 72 pairs could be more than 5 percent of all


def test_unusable_pairs_are_refused_by_name(tmp_path: Path) -> None:
    few = write_table(tmp_path / "few.tsv", [("sentence1", "sentence2", "label"), ("a cat", "a dog", 1), ("a", "b", 0)])
    graded = write_table(tmp_path / "graded.tsv", [("sentence1", "sentence2", "score"), ("a", "b", 1), ("c", "d", 2)])
    for arguments, said in (
        ((f"labels:{few}",), "has 2 pairs, 1 of which match: a calibration needs 100 pairs or more"),
        ((f"pairs:{graded}",), "--same-from"),
        ((f"triplets:{few}", "--measure", "nosuch"), "nosuch"),
        (
            (f"labels:{labeled_pairs(tmp_path)}", "--same"),
            "72 pairs that differ, and a bound of 0.01 needs 299 or more",
        ),
        ((f"labels:{labeled_pairs(tmp_path)}", "--same", "--model", "minilm"), "minilm has no paraphrase classifier"),
    ):
        assert said in semblance("calibrate", *arguments, "--home", str(tmp_path / "home")).stderr
    assert not (tmp_path / "home").exists()


def test_a_damaged_calibration_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "calibrations").mkdir()
    (tmp_path / "calibrations" / "x.json").write_text("{}")
    refusal = r"x\.json is not a calibration .*delete it"
    with pytest.raises(RuntimeError, match=refusal), running_process(home=tmp_path):
        pytest.fail("the service started")


def test_evaluate_prints_the_reliability_of_every_map_on_every_set(service: Calibrated, tmp_path: Path) -> None:
    labels = f"labels:{labeled_pairs(tmp_path)}"
    rows = [(f"A {a} on a hill.", f"On a hill, a {b}.", 5 if a == b else 1) for a in NOUNS for b in NOUNS]
    graded = f"pairs:{write_table(tmp_path / 'graded.tsv', [('sentence1', 'sentence2', 'score'), *rows])}"
    out, report = tmp_path / "reliability.json", tmp_path / "report"
    ran = semblance(
        *("evaluate", "--calibrate", "--sets", f"{labels},{graded}", "--same-from", "4", "--measure", "rcmd_words"),
        *("--draws", "100", "--json", str(out), "--report", str(report), "--url", str(service.api.http.base_url)),
    )
    assert ran.returncode == 0, ran.stderr
    assert "calibration error, on its own set by cross-fitting" in ran.stdout
    found = json.loads(out.read_text("utf-8"))["reliability"]["rcmd_words"]
    assert [(each["fitted_to"], each["tested_on"]) for each in found] == [
        *itertools.product((labels, graded), (labels, graded))
    ]
    errors = {(each["fitted_to"], each["tested_on"]): each["error"] for each in found}
    assert errors[labels, labels] == pytest.approx(service.file["error"], abs=0.02)  # another runtime of the network
    assert (report / "reliability_rcmd_words.png").read_bytes().startswith(b"\x89PNG")
    assert "reliability_rcmd_words.png" in (report / "report.md").read_text("utf-8")
