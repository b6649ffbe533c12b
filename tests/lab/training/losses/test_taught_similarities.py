"""The loss of taught similarities equals its formula over the scores of served encoders."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import softmax
from scipy.stats import entropy
from sentence_transformers import SentenceTransformer
from torch import Tensor

from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.measures.cosine import Cosine
from semblance.models.measures.rcmd_words import RcmdWords
from semblance.models.model_files.source import Source
from semblance.models.protocols import Encoder, Similarity
from semblance_lab.training.losses.taught_similarities import TaughtSimilarities, _relative
from semblance_lab.training.recipes.clrcmd import Clrcmd
from semblance_lab.training.sentence_model import build_model, merge_adapters, prompt_tokens
from tests.lab.training.losses.test_word_and_token_vectors import tuned_model
from tests.support.small_model import edit, load

TEMPERATURE = 0.1
PROMPT = "find this: "
TEXTS = ["the dog runs near the river", "a storm", "the ship waits near the bridge today", "she sold the house"]
LEFT = ["der Hund läuft am Fluss", "ein Sturm", "das Schiff wartet heute", "the house is not for sale"]
RIGHT = ["le chien court", "une tempête", "le navire attend près du pont", "she sold the house"]


def taught(model: SentenceTransformer, teacher: Encoder, rows: Sequence[Sequence[str]] = ()) -> TaughtSimilarities:
    return TaughtSimilarities(model, teacher, rows, 3.0, 0.2, 4, 64, TEMPERATURE)


def similarities(encoder: Encoder, left: Sequence[str], right: Sequence[str], measure: Similarity) -> np.ndarray:
    """(b, b) scores of a served encoder."""
    x, y = (encoder.encode(encoder.tokenize(side, "query", "END"), "tokens") for side in (left, right))
    return np.array([[measure.score(a, b) for b in y] for a in x])


def formula(found: np.ndarray, taught: np.ndarray) -> float:
    """E + 0.2 K of the docstring."""
    apart = ~np.eye(len(TEXTS), dtype=bool)
    mean = taught[apart].mean()
    taught = (taught - mean) / (1 - mean)
    pairs = np.equal.outer(np.arange(4) // 2, np.arange(4) // 2)
    squared = (found - taught) ** 2
    distances = np.mean([squared[~apart].mean(), squared[pairs & apart].mean(), squared[~pairs].mean()])
    divergences = [
        entropy(softmax(t / TEMPERATURE), softmax(s / TEMPERATURE))
        for s, t in zip([*found, *found.T], [*taught, *taught.T], strict=True)
    ]
    return float(distances + 0.2 * np.mean(divergences))


@pytest.mark.parametrize("prompt", ["", PROMPT])
def test_the_loss_equals_its_formula(prompt: str, small: Path, tmp_path: Path) -> None:
    start, trained = tmp_path / "start", tmp_path / "trained"
    shutil.copytree(small, start)
    edit(start / "config_sentence_transformers.json", prompts={"query": prompt, "document": prompt})
    model, teacher = tuned_model(start).eval(), load(small)
    loss = taught(model, teacher).of(TEXTS, LEFT, RIGHT).item()
    merge_adapters(model, 1.0).save_pretrained(str(trained), create_model_card=False)
    student = load(trained)
    expected = np.mean(
        [
            formula(similarities(student, LEFT, RIGHT, measure), similarities(teacher, TEXTS, TEXTS, measure))
            for measure in (Cosine(), RcmdWords())
        ]
    )
    assert loss == pytest.approx(3 * expected, rel=1e-3)
    assert loss > 0.01, "the encoders agree: this test proves nothing"


def test_only_relative_similarities_are_taught() -> None:
    taught = torch.tensor([[1.0, 0.9, 0.8], [0.9, 1.0, 0.7], [0.8, 0.7, 1.0]])
    expected = torch.tensor([[1.0, 0.5, 0.0], [0.5, 1.0, -0.5], [0.0, -0.5, 1.0]])
    torch.testing.assert_close(_relative(taught), expected)
    torch.testing.assert_close(_relative(0.5 + taught / 2), expected)
    repeated = torch.ones(2, 2)  # a batch of one text
    torch.testing.assert_close(_relative(repeated), repeated)


def test_rows_are_drawn_in_twos_with_two_translations(small: Path) -> None:
    rows = [*zip(TEXTS[:3], LEFT[:3], RIGHT[:3], strict=True), ("alone in its language",)]
    batches = []

    class Recorder(TaughtSimilarities):
        def of(self, texts: Sequence[str], left: Sequence[str], right: Sequence[str]) -> Tensor:
            batches.append((texts, left, right))
            return torch.zeros(())

    loss = Recorder(
        build_model(read_transformer(Source(small)), Clrcmd()), load(small), rows, 1.0, 0.1, 4, 64, TEMPERATURE
    )
    for seed in range(20):
        torch.manual_seed(seed)
        loss()
    numbers = {row[0]: number for number, row in enumerate(rows)}
    for texts, left, right in batches:
        drawn = [numbers[text] for text in texts]
        assert drawn[1::2] == [number + 1 for number in drawn[::2]]
        for number, x, y in zip(drawn, left, right, strict=True):
            assert {x, y} <= set(rows[number])
            assert (x != y) == (len(rows[number]) > 1)
    assert {x for _, left, _ in batches for x in left} == {text for row in rows for text in row}


def test_the_tokens_of_a_prompt_are_counted(small: Path) -> None:
    model = build_model(read_transformer(Source(small)), Clrcmd())
    assert prompt_tokens(model, "") == 0
    for prompt in ("query: ", "find:", "a b c "):
        own = model.tokenizer(f"{prompt}storm")["input_ids"][prompt_tokens(model, prompt) :]
        assert model.tokenizer.decode(own, skip_special_tokens=True) == "storm"
