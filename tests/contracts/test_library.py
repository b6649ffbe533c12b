"""The names that the package `semblance` exports."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import pytest
import torch

import semblance
from semblance.models.embeddings import unit_rows
from semblance.models.encoders.sentence_transformer import SentenceTransformerEncoder
from semblance.models.errors import BadCheckpoint, NotExplainable
from semblance.models.explanation import tokens_of
from semblance.service.model_loading.registry import read_source
from tests.support.page_commands import blocks
from tests.support.project import PROJECT
from tests.support.small_model import DIM, edit, make_small

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer  # takes seconds


def test_importing_the_package_imports_neither_numpy_nor_torch() -> None:
    program = "import sys, semblance; print(sorted({'numpy', 'torch', 'pydantic'} & set(sys.modules)))"
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"


def test_exported_names_resolve_and_others_are_attribute_errors() -> None:
    assert all(getattr(semblance, name) is not None for name in semblance.__all__)
    with pytest.raises(AttributeError, match="module 'semblance' has no attribute 'nosuch'"):
        _ = semblance.nosuch


OWLS = ("Owls hoot at night.", "At night you can hear owls.")


def test_texts_are_compared_and_explained_by_the_default_model() -> None:
    from sentence_transformers import SentenceTransformer

    score = semblance.similarity(*OWLS)
    loaded = SentenceTransformer(str(read_source("minilm").location), device="cpu")
    reference = semblance.similarity(*OWLS, model="minilm")
    vectors = loaded.encode(list(OWLS))
    assert reference == pytest.approx(float(loaded.similarity(vectors[:1], vectors[1:])), abs=1e-5)
    assert score != pytest.approx(reference, abs=1e-4)
    explanation = semblance.explain(*OWLS)
    assert ("night", "night") in [explanation.words(link) for link in explanation.links]
    assert explanation.score == pytest.approx(semblance.similarity(*OWLS, measure="rcmd_words"))
    parts = sum(link.contribution for link in explanation.links) + explanation.special + explanation.omitted
    assert parts == pytest.approx(explanation.score, abs=1e-6)
    tokens = semblance.explain(*OWLS, granularity="token")
    assert len(tokens.a.tokens) > len(explanation.a.tokens)
    assert tokens.score == pytest.approx(explanation.score)


@pytest.mark.parametrize("measure", ["cosine", "rcmd", "negative_manhattan"])
def test_scores_are_those_of_torch_in_float32_on_every_machine(measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMBLANCE_PRECISION", "bfloat16")
    texts = [*OWLS, "Ärztinnen, 東京 2024", "the quick brown fox jumps over the lazy dog " * 20]
    exact = semblance.load("minilm-graded", semblance.Compute(runtime="torch"))
    found = semblance.similarity(texts, texts, measure=measure)
    np.testing.assert_allclose(
        found, semblance.similarity(texts, texts, measure=measure, model=exact), atol=2e-5, rtol=0
    )


def test_only_a_bert_runs_by_openvino_others_by_torch(tmp_path: Path) -> None:
    bert = make_small(tmp_path / "bert")
    other = Path(shutil.copytree(bert, tmp_path / "other"))
    edit(other / "config.json", hidden_act="relu")
    for folder, runtime in ((bert, "openvino"), (other, "torch")):
        named = semblance.load(str(folder), semblance.Compute(runtime=runtime))
        assert semblance.load(str(folder)).build == named.build


def test_lists_give_a_matrix() -> None:
    left, right = ["Owls hoot.", "It rains."], ["An owl is heard.", "Rain falls.", "It rains."]
    matrix = semblance.similarity(left, right, measure="rcmd")
    assert matrix.shape == (2, 3)
    assert matrix[1, 2] == pytest.approx(1)
    assert matrix[0, 1] == pytest.approx(semblance.similarity(left[0], right[1], measure="rcmd"), abs=1e-6)
    assert semblance.similarity(left[:1], right[:1]).shape == (1, 1)
    for a, b, expected in (
        (left[0], right, matrix[:1]),
        (left, right[1], matrix[:, 1:2]),
        (left[0], [], matrix[:1, :0]),
    ):
        np.testing.assert_allclose(semblance.similarity(a, b, measure="rcmd"), expected, atol=1e-6)


@pytest.mark.parametrize("measure", ["cosine", "rcmd"])
def test_paired_lists_give_the_score_of_each_pair(measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semblance.models.judgments.pair_scorer.PAIRS_PER_BLOCK", 2)
    left = ["Owls hoot.", "It rains.", "a cat " * 40]
    right = semblance.encode(["An owl is heard.", "Rain falls.", "It rains."])
    scores = semblance.similarity(pd.Series(left), right, measure=measure, paired=True)
    one_by_one = [semblance.similarity(*pair, measure=measure) for pair in zip(left, right, strict=True)]
    np.testing.assert_allclose(scores, one_by_one, atol=1e-6)
    assert semblance.similarity([], [], paired=True).shape == (0,)
    with pytest.raises(ValueError, match="paired lists must have the same length, not 3 and 2"):
        semblance.similarity(left, right[:2], paired=True)


def test_what_is_no_text_or_no_model_is_refused() -> None:
    with pytest.raises(TypeError, match="two texts, or their embeddings"):
        semblance.explain(["a cat"], ["a dog"])  # type: ignore[arg-type]
    for wrong in (None, torch.nn.Linear(2, 2)):
        with pytest.raises(TypeError, match="model must be a built-in name"):
            semblance.similarity("a cat", "a dog", model=wrong)  # type: ignore[call-overload]


def test_a_wrong_argument_is_named() -> None:
    cases: list[tuple[Any, Any, str]] = [
        (1, "b", "a must be a text or a list of texts, not 1"),
        ("a", ["b", None], "b must be a text or a list of texts: at 1 stands None"),
    ]
    for a, b, message in cases:
        with pytest.raises(TypeError, match=message):
            semblance.similarity(a, b)
    with pytest.raises(TypeError, match="texts must be a text or a list of texts: at 0 stands 1"):
        semblance.encode([1])  # type: ignore[list-item]


def test_a_misspelt_model_names_the_one_that_was_meant() -> None:
    with pytest.raises(BadCheckpoint, match=r"\(minilm-.*'minilm-gradet': did you mean `minilm-graded`\?"):
        semblance.similarity("a", "b", model="minilm-gradet")


@pytest.mark.parametrize("page", ["library", "coming-from"])
def test_the_examples_of_a_page_print_what_it_shows(page: str) -> None:
    names: dict[str, object] = {}
    examples = [each for each in blocks(PROJECT / "docs" / f"{page}.md") if each.language == "python"]
    for block in [each for each in examples if "semblance_client" not in each.code]:  # those have a test of the client
        with redirect_stdout(StringIO()) as printed:
            exec(block.code, names)
        assert printed.getvalue() == block.shown


def test_one_text_has_one_embedding_and_a_column_a_list() -> None:
    one = semblance.encode("A cat sleeps.")
    column = pd.Series(["A cat sleeps.", "It rains."], index=[7, 3])
    for texts in (column, tuple(column), column.to_numpy()):
        found = semblance.encode(texts, model=semblance.load("minilm-graded"))
        np.testing.assert_array_equal(found[0].pooled(), one.pooled())
        assert [tokens_of(each).text for each in found] == [*column]
    matrix = semblance.similarity("A cat sleeps.", column)
    np.testing.assert_allclose(matrix, semblance.similarity("A cat sleeps.", [*column]))


def test_a_loaded_model_and_embeddings_give_the_same() -> None:
    encoder = semblance.load("minilm")
    a, b = semblance.encode(OWLS, model=encoder)
    expected = semblance.similarity(*OWLS, measure="rcmd", model="minilm")
    assert semblance.similarity(a, b, measure="rcmd") == pytest.approx(expected, abs=1e-6)
    assert semblance.similarity(*OWLS, measure="rcmd", model=encoder) == pytest.approx(expected, abs=1e-6)
    assert semblance.explain(a, b, measure="rcmd").score == pytest.approx(expected, abs=1e-6)
    assert "rcmd" in semblance.measures()


@pytest.fixture(scope="module")
def prompted(tmp_path_factory: pytest.TempPathFactory) -> SentenceTransformer:
    """A small random network with a prompt, which its mean leaves out."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules as models

    folder = make_small(tmp_path_factory.mktemp("small") / "model")
    network = models.Transformer(str(folder))
    pooling = models.Pooling(DIM, include_prompt=False)
    return SentenceTransformer(modules=[network, pooling], prompts={"query": "query: "}, device="cpu")


@pytest.mark.parametrize("pooling", ["mean", "cls", "dense", "prompted"])
def test_sentence_transformers_keep_their_vectors(prompted: SentenceTransformer, pooling: str) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules as models

    network = prompted[0]
    modules = {
        "mean": [network, models.Pooling(DIM), models.Normalize()],
        "cls": [network, models.Pooling(DIM, pooling_mode="cls")],
        "dense": [network, models.Pooling(DIM), models.Dense(DIM, 8)],
    }
    model = prompted if pooling == "prompted" else SentenceTransformer(modules=modules[pooling], device="cpu")
    texts = ["Owls hoot.", "At night you can hear owls, " * 60, "naïve 🦉 café"]
    encoder = SentenceTransformerEncoder(model)
    found = encoder.encode(encoder.tokenize(texts, "query", "END"), "tokens")
    prompt = "query: " if pooling == "prompted" else None
    expected = model.encode(texts, prompt=prompt)
    tokens = model.encode(texts, output_value="token_embeddings", prompt=prompt)
    for each, vector, vectors in zip(found, expected, tokens, strict=True):
        np.testing.assert_allclose(each.pooled(), vector, atol=1e-5)
        np.testing.assert_allclose(each.vectors, vectors.numpy(), atol=1e-5)
        assert each.mean_pooled == (pooling in ("mean", "prompted"))
    cosine = pytest.approx(float(unit_rows(expected[0]) @ unit_rows(expected[2])), abs=1e-5)
    assert semblance.similarity(texts[0], texts[2], model=model) == cosine
    if found[0].mean_pooled:
        assert semblance.explain(texts[0], texts[2], measure="cosine", model=model).score == cosine
    else:
        with pytest.raises(NotExplainable):
            semblance.explain(texts[0], texts[2], measure="cosine", model=model)


def test_a_changed_length_of_a_sentence_transformer_counts_at_once(prompted: SentenceTransformer) -> None:
    model = deepcopy(prompted)
    texts = "owls hoot at night", "owls hoot by day in the rain"
    whole = semblance.similarity(*texts, model=model)
    model.max_seq_length = 6
    one, other = unit_rows(model.encode(list(texts), prompt="query: "))
    assert semblance.similarity(*texts, model=model) == pytest.approx(float(one @ other), abs=1e-5)
    assert semblance.similarity(*texts, model=model) != pytest.approx(whole, abs=1e-5)
    assert semblance.similarity(*texts, model=semblance.load(model)) == semblance.similarity(*texts, model=model)


def test_the_space_of_a_sentence_transformer_follows_its_weights(prompted: SentenceTransformer) -> None:
    before = SentenceTransformerEncoder(prompted).space
    assert SentenceTransformerEncoder(prompted).space == before
    changed = deepcopy(prompted)
    next(changed.parameters()).data[0] += 1
    assert SentenceTransformerEncoder(changed).space != before


def test_a_model_without_fast_tokenizer_is_refused() -> None:
    class WithoutTokenizer(torch.nn.Module):
        tokenizer = None
        encode = None

    with pytest.raises(BadCheckpoint, match="fast tokenizer"):
        semblance.similarity("a", "b", model=cast("SentenceTransformer", WithoutTokenizer()))
