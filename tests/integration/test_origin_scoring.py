"""`semblance origin score`, `evaluate` and `explain`, on a folder with untrained networks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from semblance.service.cli.main import app
from semblance_lab.origin.corpus.tokens import TokenTable, Vocabulary
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.networks.coherence import Coherence
from semblance_lab.origin.networks.generation import Generation
from semblance_lab.origin.origin_folder import (
    COHERENCE,
    GENERATION,
    SCREENING,
    TOKENS,
    VOCABULARY,
    add_about,
    write_step_about,
)
from semblance_lab.origin.origin_settings import ContextSettings
from semblance_lab.origin.scoring.origin import Origin
from semblance_lab.origin.scoring.scoring import ABLATIONS, CONTEXT_PARTS, FORMS, TERMS, find_variant, scores
from tests.lab.origin.tiny_corpus import tiny_documents
from tests.lab.origin.untrained_origin import MAX_TOKENS, write_untrained
from tests.support.text_files import write, write_table

A = "The doctor gave Anna 12 pills against a high fever."
B = "Buyers in the north paid 14 dollars more than on Friday, Hugo said."
SIZE = ("--size", "4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_untrained(tmp_path_factory.mktemp("untrained") / "origin")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixteen graded pairs with different grades."""
    documents = [sentences for _, sentences in tiny_documents(60, seed=5)]
    rows = [(documents[i][3], documents[-1 - i][2], i / 4) for i in range(16)]
    file = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    return write_table(file, [("sentence1", "sentence2", "score"), *rows])


def ran(*arguments: object) -> Result:
    environment = {"COLUMNS": "300", "SEMBLANCE_DEVICE": "cpu"}
    return CliRunner().invoke(app, ["origin", *map(str, arguments)], env=environment)


def printed(*arguments: object) -> str:
    found = ran(*arguments)
    assert found.exit_code == 0, found.output
    return found.stdout


def refused(*arguments: object) -> str:
    found = ran(*arguments)
    assert found.exit_code in (1, 2)
    assert found.exception is None or isinstance(found.exception, SystemExit)
    return found.output


def evaluated(folder: Path, pairs: Path, tmp_path: Path, *arguments: object) -> Any:
    file = tmp_path / "out" / "figures.json"
    printed("evaluate", folder, "--sets", f"pairs:{pairs}", "--draws", 100, "--json", file, *SIZE, *arguments)
    return json.loads(file.read_text("utf-8"))


def test_terms_match_the_networks_for_single_contexts(folder: Path) -> None:
    origin = Origin.open(folder, contexts=ContextSettings(size=4))
    coherence, generation = Coherence.open(folder / "coherence"), Generation.open(folder / "generation")
    tokens, vocabulary = TokenTable.open(folder / "tokens"), Vocabulary.open(folder / "vocabulary")
    for text, each in zip((A, B), origin.context_sets([A, B]), strict=True):
        assert len(each) >= 3
        assert np.all(np.diff(scores(each.terms, origin.contexts.weights)) <= 1e-6)
        for context, found in zip(each.contexts.tolist(), each.terms, strict=True):
            left, right = ([row] for row in tokens.rows([context - 1, context + 1]))
            center = vocabulary.encode([text], MAX_TOKENS)
            logit = coherence.logits(*(coherence.vectors(row) for row in (left, center, right))).item()
            assert found[0] == pytest.approx(-np.logaddexp(0, -logit), abs=5e-3)  # vectors are stored in float16
            for part in CONTEXT_PARTS:
                alone = generation.log_likelihoods(part, left, center, right)[0]
                assert found[TERMS.index(part)] == pytest.approx(alone, abs=1e-4)


def test_a_score_is_symmetric_and_independent_of_other_rows(folder: Path, tmp_path: Path) -> None:
    rows = write_table(tmp_path / "rows.tsv", [("sentence1", "sentence2"), (A, B), (B, A), (A, A)])
    for form in FORMS:
        alone = float(printed("score", folder, A, B, "--form", form, *SIZE))
        assert -1 <= alone <= 1
        header, *lines = printed("score", folder, "--rows", rows, "--form", form, *SIZE).splitlines()
        assert header == "score\tsentence1\tsentence2"
        fields = [line.split("\t") for line in lines if line]
        assert [each[1:] for each in fields] == [[A, B], [B, A], [A, A]]
        assert "2 sentences" in ran("score", folder, "--rows", rows, "--form", form, *SIZE).stderr
        assert [float(each[0]) for each in fields] == pytest.approx([alone, alone, 1.0], abs=2e-6)


def test_unusual_sentences_are_scored_and_reported(folder: Path, tmp_path: Path) -> None:
    rows = [("sentence1", "sentence2"), ("quantum", A), ("उज्जैन में बारिश", "你好，世界"), ("rain " * 1000, "x")]
    found = ran("score", folder, "--rows", write_table(tmp_path / "odd.tsv", rows), *SIZE)
    assert found.exit_code == 0, found.output
    assert "5 of them share no bigram with the corpus" in found.stderr
    assert "1 of them were truncated" in found.stderr
    assert "too few chunks" not in found.stderr
    scored = [float(line.split("\t")[0]) for line in found.stdout.splitlines()[1:] if line]
    assert len(scored) == 3
    assert np.isfinite(scored).all()


def test_an_evaluation_uses_the_sampled_pairs_and_the_printed_scores(folder: Path, pairs: Path, tmp_path: Path) -> None:
    named = ("--pairs", 10, "--seed", 3, "--variants", "cosine,centred,random,without_left_centred")
    resumed = ("--resume", tmp_path / "batches")
    found = evaluated(folder, pairs, tmp_path, *named, *resumed, "--report", tmp_path / "report")
    written = {file: file.stat().st_mtime_ns for file in (tmp_path / "batches").glob("*.json")}
    assert evaluated(folder, pairs, tmp_path, *named, *resumed)["outcomes"] == found["outcomes"]
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "batches").glob("*.json")} == written
    other = refused("evaluate", folder, "--sets", f"pairs:{pairs}", "--size", 5, *resumed)
    assert "started with another value of contexts.size" in " ".join(other.split())
    assert (found["settings"]["pairs"], found["settings"]["pairs_seed"]) == (10, 3)
    expected_names = ["cosine", "centred", "random_cosine", "without_left_centred"]
    assert [each["measure"] for each in found["outcomes"]] == expected_names
    from scipy.stats import spearmanr

    rows = np.sort(np.random.default_rng(3).choice(16, 10, replace=False))
    table = [line.split("\t") for line in pairs.read_text("utf-8").splitlines()[1:]]
    origin = Origin.open(folder, contexts=ContextSettings(size=4))
    for outcome in found["outcomes"]:
        assert outcome["n"] == 10
        each = find_variant(outcome["measure"])
        scored = origin.similarities([table[i][0] for i in rows], [table[i][1] for i in rows], each.form, each.ablation)
        expected = spearmanr(scored, [float(table[i][2]) for i in rows]).statistic
        assert outcome["figures"][0]["value"] == pytest.approx(expected, abs=1e-6)
        assert (outcome["against"] is None) == (outcome["measure"] == "cosine")
    assert set(found["spread"]) == {"all terms", *TERMS}
    assert found["sentences"]["sentences"] == 20
    assert found["origin"]["contexts"]["size"] == 4
    assert found["origin"]["computed"] == dict(Generation.open(folder / "generation").about())
    assert "random_cosine" in (tmp_path / "report" / "report.md").read_text("utf-8")


def test_variants_are_those_that_fit_unless_they_are_named(folder: Path, pairs: Path, tmp_path: Path) -> None:
    def names(*options: object) -> list[str]:
        return [each["measure"] for each in evaluated(folder, pairs, tmp_path, *options)["outcomes"]]

    fitting = [f"{name}_cosine" for name, each in ABLATIONS.items() if each.size is None]
    assert names("--pairs", 9) == [*FORMS, *fitting]
    named = ("--pairs", 99, "--variants", "centred,random,without_sides", "--form", "centred")
    assert names(*named) == ["centred", "random_centred", "without_sides_centred"]


def test_contexts_and_terms_of_an_explanation_sum_to_the_score(folder: Path, tmp_path: Path) -> None:
    options = ("--form", "centred", *SIZE)
    shown = printed("explain", folder, A, B, "--top", 2, "--json", tmp_path / "why.json", *options)
    found = json.loads((tmp_path / "why.json").read_text("utf-8"))
    assert found["score"] == pytest.approx(float(printed("score", folder, A, B, *options)), abs=1e-6)
    assert sum(found["by_term"].values()) == pytest.approx(found["score"], abs=1e-9)
    assert sum(each["contribution"] for each in found["contexts"]) == pytest.approx(found["score"], abs=1e-9)
    added = [each["contribution"] for each in found["contexts"]]
    assert added == sorted(added, reverse=True)
    assert shown.count("___") == 2
    for each in found["contexts"][:2]:
        assert f"{each['left']} ___ {each['right']}" in shown
    assert found["fallback"] == {"a": False, "b": False}


def test_the_corpus_settings_apply_unless_a_file_overrides_them(folder: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(folder, tmp_path / "origin"))
    add_about(own, "settings", {"contexts": {"size": 3, "overlap": 1.0}})
    config = write(tmp_path / "other.yaml", "contexts: {size: 1, overlap: 1.0}")
    for options, size in (((), 3), (("--size", 2), 2), (("--config", config), 1)):
        assert f"2 sentences, {size}.0 contexts each" in ran("score", own, A, B, *options).stderr
    narrow = write(tmp_path / "narrow.yaml", "contexts: {chunks: 2, overlap: 1.0}")
    assert "2 of them share bigrams with too few chunks" in ran("score", folder, A, B, "--config", narrow, *SIZE).stderr


@pytest.mark.parametrize("step", [VOCABULARY, TOKENS, SCREENING, COHERENCE, GENERATION])
def test_a_step_built_from_another_corpus_is_refused(folder: Path, tmp_path: Path, step: str) -> None:
    mixed = Path(shutil.copytree(folder, tmp_path / "mixed"))
    about = json.loads((mixed / step / "about.json").read_text("utf-8"))
    write_step_about(mixed / step, {**about["made_of"], "corpus": "of another one"}, {})
    with pytest.raises(BadOrigin, match=f"{step} was built from another corpus"):
        Origin.open(mixed)


def test_tokens_unknown_to_the_networks_are_refused(folder: Path, tmp_path: Path) -> None:
    mixed = Path(shutil.copytree(folder, tmp_path / "mixed"))
    ids = np.load(mixed / TOKENS / "train-ids.npy")
    np.save(mixed / TOKENS / "train-ids.npy", ids[::-1])
    with pytest.raises(BadOrigin, match="coherence was built from another tokens"):
        Origin.open(mixed)


def test_invalid_arguments_are_reported(folder: Path, pairs: Path, tmp_path: Path) -> None:
    half, empty = Path(shutil.copytree(folder, tmp_path / "half")), tmp_path / "empty"
    shutil.rmtree(half / "generation")
    empty.mkdir()
    bad = write(tmp_path / "bad.tsv", "sentence1\tscore", "a\t1")
    weights = write(tmp_path / "c.yaml", "contexts: {weights: [0, 0, 0, 0]}")
    labels = write(tmp_path / "labels.tsv", "sentence1\tsentence2\tlabel", "a b\tc d\t1", "e f\tg h\t0")
    evaluate = ("evaluate", folder, *SIZE, "--sets")
    for arguments, said in (
        (("score", half, A, B), "semblance origin train"),
        (("score", empty, A, B), "semblance origin corpus"),
        (("score", folder, A), "either two sentences"),
        (("score", folder, A, B, "--rows", pairs), "either two sentences"),
        (("score", folder, A, " "), "no visible character"),
        (("score", folder, "--rows", bad), "sentence2"),
        (("score", folder, A, B, "--config", weights), "contexts.weights"),
        ((*evaluate, f"pairs:{pairs}", "--variants", "cosine,nonsense"), "random"),
        ((*evaluate, f"pairs:{pairs}", "--variants", "contexts_20"), "4 contexts"),
        ((*evaluate, f"pairs:{pairs}", "--variants", ","), "name at least one"),
        ((*evaluate, f"labels:{labels}", "--variants", "cosine"), "no graded pairs"),
    ):
        assert said in refused(*arguments), arguments
