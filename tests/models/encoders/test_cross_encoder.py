"""Cross-encoders score pairs as `CrossEncoder.predict` of sentence-transformers does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from sentence_transformers import CrossEncoder as Reference

from semblance.models.encoders.cross_encoder import CrossEncoder
from semblance.models.errors import BadCheckpoint, BadTexts
from semblance.models.model_files.cross_encoder import read_cross_encoder
from semblance.models.model_files.source import Source
from semblance.models.networks.bert_graph import has_graph
from semblance.models.runtime import Compute
from tests.support.cross_encoders import KINDS, QUERY, TEXTS, save_cross_encoder
from tests.support.small_model import edit

ROUNDING = 2e-5
LONG_QUERY = "did my parcel come " * 30
IDENTITY = "torch.nn.modules.linear.Identity"


def load(folder: Path, runtime: str | None = None) -> CrossEncoder:
    return CrossEncoder("m", read_cross_encoder(Source(folder)), Compute(runtime=runtime))


def scores(model: CrossEncoder, query: str, texts: Sequence[str]) -> list[float]:
    pairs = model.paired_with(query)
    encoded = pairs.encode(pairs.tokenize(texts, "document", "END"), "pooled")
    return [float(each.pooled()[0]) for each in encoded]


def predicted(model: Reference, query: str, texts: Sequence[str]) -> list[float]:
    found: list[float] = model.predict([(query, text) for text in texts]).tolist()
    return found


def reference(folder: Path, query: str, texts: Sequence[str]) -> list[float]:
    return predicted(Reference(str(folder), device="cpu", local_files_only=True), query, texts)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_sentence_transformers(kind: str, tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "m", kind)
    edit(folder / "config.json", sentence_transformers={"activation_fn": IDENTITY})
    assert has_graph(read_cross_encoder(Source(folder)).network)
    peer = Reference(str(folder), device="cpu", local_files_only=True)
    for model in (load(folder, "openvino"), load(folder, "torch")):
        for query in (QUERY, LONG_QUERY):
            expected = predicted(peer, query, TEXTS)
            assert np.ptp(expected) > 0.01
            assert scores(model, query, TEXTS) == pytest.approx(expected, abs=ROUNDING)


def test_scores_of_a_folder_that_sentence_transformers_saved(tmp_path: Path) -> None:
    plain = save_cross_encoder(tmp_path / "plain", "xlm-roberta")
    saved = tmp_path / "saved"
    Reference(str(plain), device="cpu", max_length=24, activation_fn=torch.nn.Identity()).save_pretrained(str(saved))
    assert (saved / "modules.json").exists()
    assert scores(load(saved), QUERY, TEXTS) == pytest.approx(reference(saved, QUERY, TEXTS), abs=ROUNDING)
    assert scores(load(saved), QUERY, TEXTS) != pytest.approx(scores(load(plain), QUERY, TEXTS), abs=ROUNDING)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}},
        {"sentence_transformers": {"activation_fn": "other.Identity"}},
        {"sentence_transformers": {"version": "5"}, "sbert_ce_default_activation_function": IDENTITY},
        {"sentence_transformers": {"activation_fn": None}, "sbert_ce_default_activation_function": IDENTITY},
    ],
)
def test_the_activation_is_that_of_sentence_transformers(settings: dict[str, Any], tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "m")
    edit(folder / "config.json", **settings)
    assert scores(load(folder), QUERY, TEXTS) == pytest.approx(reference(folder, QUERY, TEXTS), abs=ROUNDING)


def test_a_pair_has_one_score_alone_and_in_any_batch(tmp_path: Path) -> None:
    model = load(save_cross_encoder(tmp_path / "m"))
    ours, others = model.paired_with(QUERY), model.paired_with("two bills")
    batch = [*others.tokenize(TEXTS, "document", "END"), *ours.tokenize(TEXTS, "document", "END")]
    together = [float(each.pooled()[0]) for each in ours.encode(batch, "pooled")]
    alone = [scores(model, query, [text])[0] for query in ("two bills", QUERY) for text in TEXTS]
    assert together == pytest.approx(alone, abs=1e-6)


def test_encoders_of_two_queries_are_equal_except_for_builds(tmp_path: Path) -> None:
    model = load(save_cross_encoder(tmp_path / "m"))
    ours, others = model.paired_with(QUERY), model.paired_with("two bills")
    assert ours == others
    assert hash(ours) == hash(others)
    assert len({ours.build, others.build, model.build}) == 3


def test_pairs_that_are_too_long_are_told(tmp_path: Path) -> None:
    pairs = load(save_cross_encoder(tmp_path / "m")).paired_with(QUERY)
    short, long = pairs.tokenize(["x", "x " * 99], "document", "END")
    assert (short.truncated, long.truncated, len(long)) == (False, True, 64)
    with pytest.raises(BadTexts) as error:
        pairs.tokenize(["x", "x " * 99], "document", "NONE")
    assert [(problem.index, problem.code) for problem in error.value.problems] == [(1, "text_too_long")]


def test_a_text_without_tokens_is_scored_as_an_empty_one(tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "m")
    unread = "\ue000"  # visible, but BERT's tokenizer drops it
    assert scores(load(folder), QUERY, [unread]) == pytest.approx(reference(folder, QUERY, [unread]), abs=ROUNDING)


def drop_head(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file({name: each for name, each in weights.items() if name != "classifier.bias"}, folder / "model.safetensors")


def swap_head(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"] = np.zeros((1, 16), np.float32)
    save_file(weights, folder / "model.safetensors")


def change(name: str, **settings: object) -> Callable[[Path], None]:
    return lambda folder: edit(folder / name, **settings)


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (drop_head, "classifier.bias"),
        (swap_head, r"classifier.weight has the shape \(1, 16\)"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json"),
        (lambda folder: (folder / "model.safetensors").unlink(), "safetensors"),
        (change("config.json", id2label={"0": "no", "1": "yes"}), "2 labels"),
        (change("config.json", architectures=["BertModel"]), "BertModel"),
        (change("config.json", model_type="deberta-v2"), "deberta-v2"),
        (change("config_sentence_transformers.json", activation_fn="torch.nn.Tanh"), "torch.nn.Tanh"),
        (change("config_sentence_transformers.json", prompts={"q": "q: "}, default_prompt_name="q"), "'q: '"),
        (change("config_sentence_transformers.json", model_type="SparseEncoder"), "SparseEncoder"),
        (change("sentence_bert_config.json", processor_kwargs={"text": {"max_length": 5}}), "processor_kwargs"),
    ],
)
def test_folders_that_are_not_supported_are_rejected_by_name(
    damage: Callable[[Path], None], named: str, tmp_path: Path
) -> None:
    plain = save_cross_encoder(tmp_path / "plain")
    folder = tmp_path / "m"
    Reference(str(plain), device="cpu").save_pretrained(str(folder))
    read_cross_encoder(Source(folder))
    damage(folder)
    with pytest.raises(BadCheckpoint, match=named):
        read_cross_encoder(Source(folder))


def test_weights_that_are_not_finite_are_rejected(tmp_path: Path) -> None:
    folder = save_cross_encoder(tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    weights["classifier.bias"] = np.full(1, np.nan, np.float32)
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(BadCheckpoint, match="not finite"):
        load(folder)
