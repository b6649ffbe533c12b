"""Low-rank adapters merged into a network, with PEFT itself as the oracle."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoModelForMaskedLM

from semblance.models.embeddings import unit_rows
from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.lora import CONFIG, WEIGHTS, read_low_rank_adapter
from semblance.service.model_loading.registry import read_source
from tests.support.project import PROJECT
from tests.support.small_model import BUILT_IN_FOLDER, edit, load

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # a query of PEFT

TEXTS = ["A man plays the Guitar.", "Someone is making MUSIC", "Completely unrelated: tax law in 1987"]
EVERY_MATRIX = ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"]


def random_adapter(**more: Any) -> peft.LoraConfig:
    """An adapter with random weights, which has an effect without training."""
    usual: dict[str, Any] = {"r": 4, "lora_alpha": 8, "target_modules": EVERY_MATRIX, "init_lora_weights": False}
    return peft.LoraConfig(**usual | more)


def save_adapter(network: Any, folder: Path, **more: Any) -> Path:
    with torch.random.fork_rng():
        torch.manual_seed(2)
        adapted = peft.get_peft_model(network, random_adapter(**more))
    adapted.save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="module")
def saved(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_adapter(AutoModel.from_pretrained(small), tmp_path_factory.mktemp("saved"))


@pytest.fixture
def adapter(saved: Path, tmp_path: Path) -> Path:
    """An adapter that a test may change."""
    return shutil.copytree(saved, tmp_path / "adapter")


def tokens_of(model: object, adapter: Path | None = None) -> list[np.ndarray]:
    encoder = load(model if adapter is None else f"{model}?adapter={adapter}")
    return [each.vectors for each in encoder.encode(encoder.tokenize(TEXTS, "document", "END"), "tokens")]


def tokens_by_peft(small: Path, adapter: Path) -> list[np.ndarray]:
    """Token vectors by PEFT, which does not merge the adapter."""
    adapted = peft.PeftModel.from_pretrained(AutoModel.from_pretrained(small), adapter).eval()
    encoder = load(small)
    with torch.inference_mode():
        return [
            adapted(input_ids=torch.from_numpy(text.ids.astype(np.int64))[None]).last_hidden_state[0].numpy()
            for text in encoder.tokenize(TEXTS, "document", "END")
        ]


def assert_the_same(actual: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for ours, theirs in zip(actual, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)
        np.testing.assert_allclose((unit_rows(ours) * unit_rows(theirs)).sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"target_modules": ["query", "value"], "r": 1, "lora_alpha": 3},
        {"use_rslora": True},
        {"layers_to_transform": [1]},
        {"target_modules": r".*\.(query|value)", "lora_dropout": 0.5},
    ],
    ids=str,
)
def test_vectors_equal_those_of_peft(small: Path, tmp_path: Path, config: Mapping[str, Any]) -> None:
    adapter = save_adapter(AutoModel.from_pretrained(small), tmp_path / "adapter", **config)
    vectors = tokens_of(small, adapter)
    assert_the_same(vectors, tokens_by_peft(small, adapter))
    for ours, without in zip(vectors, tokens_of(small), strict=True):
        assert np.abs(ours - without).max() > 0.05, "the adapter must have an effect"


@pytest.mark.slow
@pytest.mark.parametrize("model", ["minilm-graded", "minilm-words", "minilm-clrcmd"])
def test_a_built_in_adapter_gives_the_vectors_of_peft(model: str) -> None:
    adapter = PROJECT / "service" / "adapters" / model.replace("-", "_")
    assert_the_same(tokens_of(model), tokens_by_peft(BUILT_IN_FOLDER, adapter))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_in_half_precision_are_merged_in_float32(small: Path, adapter: Path, dtype: torch.dtype) -> None:
    halved = {name: tensor.to(dtype) for name, tensor in load_file(adapter / WEIGHTS).items()}
    save_file(halved, adapter / WEIGHTS)
    assert_the_same(tokens_of(small, adapter), tokens_by_peft(small, adapter))


def test_matrix_names_may_have_the_prefix_under_a_head(small: Path, adapter: Path, tmp_path: Path) -> None:
    under_head = save_adapter(AutoModelForMaskedLM.from_pretrained(small), tmp_path / "under", target_modules=["query"])
    weights = load_file(under_head / WEIGHTS)
    assert all(name.startswith("base_model.model.bert.encoder.") for name in weights)
    save_file({name.replace(".bert.", "."): tensor for name, tensor in weights.items()}, adapter / WEIGHTS)
    for ours, theirs in zip(tokens_of(small, under_head), tokens_of(small, adapter), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_an_adapter_saved_by_sentence_transformers_is_read(small: Path, tmp_path: Path) -> None:
    oracle = SentenceTransformer(str(small), device="cpu")
    with torch.random.fork_rng():
        torch.manual_seed(3)
        oracle.add_adapter(random_adapter(target_modules=["query", "value"]))
    oracle.save(str(tmp_path / "saved"))
    encoder = load(f"{small}?adapter={tmp_path / 'saved'}")
    embeddings = encoder.encode(encoder.tokenize(TEXTS, "document", "END"), "pooled")
    assert np.stack([each.pooled() for each in embeddings]) == pytest.approx(oracle.encode(TEXTS), abs=1e-5)
    assert np.abs(oracle.encode(TEXTS) - SentenceTransformer(str(small), device="cpu").encode(TEXTS)).max() > 0.01


def test_a_folder_with_an_adapter_is_rejected_with_a_remedy(small: Path, adapter: Path, tmp_path: Path) -> None:
    beside_its_model = shutil.copytree(small, tmp_path / "mixed")
    shutil.copy(adapter / CONFIG, beside_its_model)
    for folder in (adapter, beside_its_model):
        with pytest.raises(BadCheckpoint, match=rf"SOURCE\?adapter={folder}"):
            read_source(str(folder))


def test_the_space_depends_on_adapter_content_not_its_path(small: Path, adapter: Path, tmp_path: Path) -> None:
    def space() -> str:
        return read_source(f"{small}?adapter={adapter}").space

    first = space()
    moved = shutil.copytree(adapter, tmp_path / "elsewhere")
    assert read_source(f"{small}?adapter={moved}").space == first
    edit(adapter / CONFIG, lora_dropout=0.3, base_model_name_or_path="renamed")
    assert space() == first
    edit(adapter / CONFIG, lora_alpha=9)
    spaces = {read_source(str(small)).space, first, space()}
    edit(adapter / CONFIG, lora_alpha=8)
    weights = load_file(adapter / WEIGHTS)
    save_file({name: tensor + 1 for name, tensor in weights.items()}, adapter / WEIGHTS)
    assert len(spaces | {space()}) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"peft_type": "IA3"}, "peft_type 'IA3'"),
        ({"peft_type": None}, "peft_type None"),
        ({"use_dora": True}, "use_dora"),
        ({"rank_pattern": {"query": 8}}, "rank_pattern"),
        ({"alpha_pattern": {"query": 8}}, "alpha_pattern"),
        ({"bias": "all"}, "bias 'all'"),
        ({"lora_bias": True}, "lora_bias"),
        ({"modules_to_save": ["pooler"]}, "modules_to_save"),
        ({"fan_in_fan_out": True}, "fan_in_fan_out"),
        ({"trainable_token_indices": [1]}, "trainable_token_indices"),
        ({"layer_replication": [[0, 1]]}, "layer_replication"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights 'pissa'"),
        ({"future_option": {"x": 1}}, "future_option"),
        ({"r": 0}, "must state r"),
        ({"r": "four"}, "must state r"),
        ({"lora_alpha": None}, "must state r"),
        ({"r": 5}, r"in shape \(4, 32\), expected \(5, 32\)"),
        ({"lora_alpha": float("nan")}, "not finite"),
    ],
)
def test_unsupported_adapters_are_rejected_by_name(
    small: Path, adapter: Path, changes: dict[str, object], message: str
) -> None:
    edit(adapter / CONFIG, **changes)
    with pytest.raises(BadCheckpoint, match=message):
        load(f"{small}?adapter={adapter}")


A_QUERY = "base_model.model.encoder.layer.0.attention.self.query.lora_A.weight"


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        (A_QUERY, None, "lora_A of encoder.layer.0.attention.self.query in shape None"),
        (A_QUERY, torch.zeros(4, 31), r"query in shape \(4, 31\)"),
        (A_QUERY, torch.full((4, 32), torch.inf), "not finite"),
        (A_QUERY.replace("layer.0", "layer.7"), torch.zeros(4, 32), "encoder.layer.7.attention.self.query, but"),
        (A_QUERY.replace("self.query", "output.LayerNorm"), torch.zeros(4, 32), "LayerNorm, but"),
        ("base_model.model.embeddings.word_embeddings.lora_embedding_A", torch.zeros(4, 9), "lora_embedding_A"),
        ("encoder.layer.0.attention.self.query.weight", torch.zeros(32, 32), "no part of a low-rank update"),
    ],
)
def test_tensors_that_match_no_layer_are_rejected_by_name(
    small: Path, adapter: Path, name: str, tensor: torch.Tensor | None, message: str
) -> None:
    weights = load_file(adapter / WEIGHTS)
    changed = {each: value for each, value in (weights | {name: tensor}).items() if value is not None}
    save_file(changed, adapter / WEIGHTS)
    with pytest.raises(BadCheckpoint, match=message):
        load(f"{small}?adapter={adapter}")


def test_altered_missing_and_truncated_files_are_rejected(small: Path, adapter: Path, tmp_path: Path) -> None:
    with pytest.raises(BadCheckpoint, match="damaged or was replaced"):
        read_low_rank_adapter(adapter, "0" * 64)
    weights, whole = adapter / WEIGHTS, (adapter / WEIGHTS).read_bytes()
    for content in (whole[:-1], whole[:20], b""):
        weights.write_bytes(content)
        with pytest.raises(BadCheckpoint, match=f"cannot load {weights}"):
            load(f"{small}?adapter={adapter}")
    save_file({}, weights)
    with pytest.raises(BadCheckpoint, match="holds no tensor"):
        load(f"{small}?adapter={adapter}")
    weights.rename(adapter / "adapter_model.bin")
    with pytest.raises(BadCheckpoint, match="can run code and are not read"):
        read_source(f"{small}?adapter={adapter}")
    for folder in (tmp_path / "nowhere", small):
        with pytest.raises(BadCheckpoint, match=f"cannot read {folder}/{CONFIG}"):
            read_source(f"{small}?adapter={folder}")


@pytest.mark.slow
def test_an_adapter_is_served_without_peft(small: Path, adapter: Path) -> None:
    program = f"""
import sys
sys.modules["peft"] = None
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source
files = read_source({f"{small}?adapter={adapter}"!r})
assert "torch" not in sys.modules
encoder = files.load("m", Compute())
embeddings = encoder.encode(encoder.tokenize({TEXTS[:1]}, "document", "END"), "tokens")[0]
print(embeddings.vectors[0, :3].tolist())
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == pytest.approx(tokens_of(small, adapter)[0][0, :3].tolist(), abs=1e-6)
