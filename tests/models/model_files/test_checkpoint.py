"""Model folders: which settings are read, and what is rejected."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from transformers import AutoConfig, AutoModel

from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadCheckpoint, BuildDisagrees
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_served, read_source
from tests.support.small_model import BUILT_IN_FOLDER, DIM, draw_weights, edit, make_small

TEXTS = ["A man plays the Guitar.", "Someone is making MUSIC", "Completely unrelated: tax law in 1987"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_small(tmp_path_factory.mktemp("small") / "model")


@pytest.fixture
def folder(small: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    copy = tmp_path / "model"
    shutil.copytree(small, copy)
    return copy


def pooled(folder: Path, role: str = "document") -> np.ndarray:
    encoder = Transformer("copy", read_checkpoint(folder))
    embeddings = encoder.encode(encoder.tokenize(TEXTS, role, "END"), "tokens")  # type: ignore[arg-type]
    return np.stack([each.pooled() for each in embeddings])


def test_the_built_in_weights_match_their_digest() -> None:
    checkpoint = read_source("minilm")
    assert (checkpoint.pooling, checkpoint.normalize, checkpoint.max_tokens) == ("mean", True, 256)


def test_altered_weights_are_rejected(folder: Path) -> None:
    weights = folder / "model.safetensors"
    pinned = hashlib.sha256(weights.read_bytes()).hexdigest()
    read_checkpoint(folder, pinned)
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(BadCheckpoint, match="damaged or was replaced"):
        read_checkpoint(folder, pinned)


@pytest.mark.parametrize("mode", ["mean", "cls", "max"])
def test_pooling_equals_that_of_sentence_transformers(folder: Path, mode: str) -> None:
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"embedding_dimension": DIM, "pooling_mode": mode}))
    expected = SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    assert pooled(folder) == pytest.approx(expected, abs=1e-5)


def test_the_poolings_differ(folder: Path) -> None:
    """So that the test above can distinguish them."""
    vectors = []
    for mode in ("mean", "cls", "max"):
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": mode}))
        vectors.append(pooled(folder))
    for one, other in itertools.combinations(vectors, 2):
        assert (one * other).sum(axis=1).max() < 0.99


def test_without_a_normalize_module_the_mean_keeps_its_length(folder: Path) -> None:
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps(modules[:2]))
    expected = SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    assert np.linalg.norm(expected, axis=1).max() > 1.5
    assert pooled(folder) == pytest.approx(expected, abs=1e-4)


def test_a_plain_hugging_face_folder_is_pooled_by_the_mean(folder: Path) -> None:
    named = pooled(folder)
    for extra in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"):
        (folder / extra).unlink()
    plain = pooled(folder)
    assert plain / np.linalg.norm(plain, axis=1, keepdims=True) == pytest.approx(named, abs=1e-5)


@pytest.mark.parametrize("include_prompt", [True, False])
def test_prompts_equal_those_of_sentence_transformers(folder: Path, include_prompt: bool) -> None:
    edit(folder / "config_sentence_transformers.json", prompts={"query": "find this: ", "document": ""})
    pooling = {"embedding_dimension": DIM, "pooling_mode": "mean", "include_prompt": include_prompt}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    oracle = SentenceTransformer(str(folder), device="cpu")
    assert pooled(folder, "query") == pytest.approx(oracle.encode(TEXTS, prompt_name="query"), abs=1e-5)
    assert pooled(folder, "document") == pytest.approx(oracle.encode(TEXTS, prompt_name="document"), abs=1e-5)


def test_prompt_tokens_are_special_and_outside_the_spans(folder: Path) -> None:
    edit(folder / "config_sentence_transformers.json", prompts={"query": "find this: "})
    encoder = Transformer("copy", read_checkpoint(folder))
    text = encoder.tokenize(["A guitar"], "query", "END")[0]
    assert [(unit.text, unit.start) for unit in text.units()] == [("A", 0), ("guitar", 2)]
    assert int(text.special.sum()) == 2 + 3  # [CLS], [SEP]; find, this, :


def test_truncation_at_the_start_keeps_the_prompt(folder: Path) -> None:
    edit(folder / "config_sentence_transformers.json", prompts={"query": "find this: "})
    encoder = Transformer("copy", read_checkpoint(folder))
    cut = encoder.tokenize(["word " * 600], "query", "START")[0]
    prompt = encoder.tokenize(["x"], "query", "END")[0].ids[:4]
    assert cut.ids[:4].tolist() == prompt.tolist()
    assert len(cut) == encoder.max_tokens


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("1_Pooling/config.json", {"pooling_mode": "lasttoken"}, "lasttoken"),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}, "pooling_mode"),
        ("config.json", {"auto_map": {"AutoModel": "evil.py"}}, "code in the folder"),
        ("config.json", {"text_config": {"auto_map": {"AutoModel": "evil.py"}}}, "code in the folder"),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": [None, "evil.Tokenizer"]}}, "code in the folder"),
        ("config.json", {"attn_implementation": "kernels-community/evil"}, "third-party code"),
        ("config.json", {"_attn_implementation": "flash_attention_2"}, "third-party code"),
        ("config.json", {"experts_implementation": "kernels-community/evil"}, "third-party code"),
        ("config.json", {"quantization_config": {"quant_method": "fp8"}}, "quantized weights"),
        ("config.json", {"model_type": "no-such-network"}, "cannot load"),
    ],
)
def test_unsupported_settings_are_rejected_by_name(
    folder: Path, file: str, changes: dict[str, object], message: str
) -> None:
    edit(folder / file, **changes)
    with pytest.raises(BadCheckpoint, match=message):
        Transformer("copy", read_checkpoint(folder))


@pytest.mark.parametrize("name", ["LSTM", "Dense"])
def test_modules_unknown_or_after_the_pooling_are_rejected(folder: Path, name: str) -> None:
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 3, "name": "3", "path": f"3_{name}", "type": f"sentence_transformers.models.{name}"})
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(BadCheckpoint, match=name):
        read_checkpoint(folder)


def test_a_module_of_another_library_is_rejected(folder: Path) -> None:
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["type"] = "custom_st.Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(BadCheckpoint, match="custom_st"):
        read_checkpoint(folder)


def test_a_second_weights_file_is_rejected(folder: Path) -> None:
    shutil.copy(folder / "model.safetensors", folder / "a.safetensors")
    pinned = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    with pytest.raises(BadCheckpoint, match=r"expected model\.safetensors"):
        read_checkpoint(folder, pinned)


def test_missing_weights_are_rejected_instead_of_random(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file({f"wrapped.{name}": tensor for name, tensor in weights.items()}, folder / "model.safetensors")
    with pytest.raises(BadCheckpoint, match="lacks"):
        Transformer("copy", read_checkpoint(folder))


def test_a_network_in_a_subfolder_is_found(folder: Path) -> None:
    expected = pooled(folder)
    inner = folder / "0_Transformer"
    inner.mkdir()
    for file in [*folder.glob("*.safetensors"), *folder.glob("*token*"), folder / "config.json", folder / "vocab.txt"]:
        file.rename(inner / file.name)
    (folder / "sentence_bert_config.json").rename(inner / "sentence_bert_config.json")
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))
    assert pooled(folder) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("family", ["mpnet", "roberta", "distilbert"])
def test_a_text_of_max_tokens_can_be_encoded(tmp_path: Path, family: str) -> None:
    """Some families count positions from the padding id, and so have fewer for tokens."""
    config = AutoConfig.for_model(
        family,
        vocab_size=30522,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        pad_token_id=1,
    )
    AutoModel.from_config(config).save_pretrained(tmp_path)  # type: ignore[no-untyped-call]
    for file in BUILT_IN_FOLDER.glob("*token*"):
        shutil.copy(file, tmp_path)
    edit(tmp_path / "tokenizer_config.json", model_max_length=10**30)
    encoder = Transformer(family, read_checkpoint(tmp_path))
    assert encoder.max_tokens == {"mpnet": 510, "roberta": 510, "distilbert": 512}[family]


def test_a_network_that_cannot_encode_is_rejected_at_load(tmp_path: Path) -> None:
    config = AutoConfig.for_model("t5", vocab_size=30522, d_model=32, num_layers=1, num_heads=2, d_ff=32, d_kv=16)
    AutoModel.from_config(config).save_pretrained(tmp_path)  # type: ignore[no-untyped-call]
    for file in BUILT_IN_FOLDER.glob("*token*"):
        shutil.copy(file, tmp_path)
    with pytest.raises(BadCheckpoint, match="cannot encode"):
        Transformer("t5", read_checkpoint(tmp_path))


def test_weights_that_can_run_code_are_rejected(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(BadCheckpoint, match="safetensors"):
        read_checkpoint(folder)


@pytest.mark.parametrize("path", ["../other/1_Pooling", "/other/1_Pooling", "1_Pooling/../../other/1_Pooling"])
def test_a_module_outside_the_folder_is_rejected(folder: Path, path: str) -> None:
    read_checkpoint(folder)
    path = path.replace("/other", str(folder.parent / "other"), 1) if path.startswith("/") else path
    shutil.copytree(folder / "1_Pooling", folder.parent / "other" / "1_Pooling")
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["path"] = path
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(BadCheckpoint, match="outside that folder"):
        read_checkpoint(folder)


def test_weights_outside_the_folder_are_rejected(folder: Path) -> None:
    shutil.copy(folder / "model.safetensors", folder.parent / "model-1-of-1.safetensors")
    (folder / "model.safetensors").rename(folder / "model-1-of-1.safetensors")
    named = dict.fromkeys(load_file(folder / "model-1-of-1.safetensors"), "model-1-of-1.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": named}))
    Transformer("local shards", read_checkpoint(folder))
    index.write_text(json.dumps({"metadata": {}, "weight_map": {name: f"../{file}" for name, file in named.items()}}))
    with pytest.raises(BadCheckpoint, match="weights must lie in the same folder"):
        read_checkpoint(folder)


def test_every_setting_that_changes_vectors_changes_the_space(folder: Path) -> None:
    spaces = {read_checkpoint(folder).space}
    edit(folder / "sentence_bert_config.json", max_seq_length=128)
    spaces.add(read_checkpoint(folder).space)
    edit(folder / "config_sentence_transformers.json", prompts={"query": "q: "})
    spaces.add(read_checkpoint(folder).space)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "cls"}))
    spaces.add(read_checkpoint(folder).space)
    edit(folder / "tokenizer_config.json", do_lower_case=False)
    spaces.add(read_checkpoint(folder).space)
    assert len(spaces) == 5


def test_lower_case_is_applied_before_the_tokenizer(folder: Path) -> None:
    """A cased tokenizer in a folder with do_lower_case: both spellings have the same ids."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["normalizer"]["lowercase"] = False
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    edit(folder / "tokenizer_config.json", do_lower_case=False)
    edit(folder / "sentence_bert_config.json", do_lower_case=True)
    encoder = Transformer("copy", read_checkpoint(folder))
    loud, quiet = encoder.tokenize(["A GUITAR", "a guitar"], "query", "END")
    assert loud.ids.tolist() == quiet.ids.tolist()
    assert [unit.text for unit in loud.units()] == ["A", "GUITAR"]


def test_a_precision_that_disagrees_with_float32_is_rejected(folder: Path) -> None:
    """Weights 50 times as wide as usual amplify rounding."""
    Transformer("copy", read_checkpoint(folder), Compute(precision="bfloat16"))
    edit(folder / "config.json", initializer_range=1.0)
    draw_weights(folder)
    with pytest.raises(BuildDisagrees, match="serve it in float32"):
        Transformer("copy", read_checkpoint(folder), Compute(precision="bfloat16"))


@pytest.mark.parametrize("served", ["nosuch", "=x", "Big=/tmp", "minilm,minilm", "", ","])
def test_a_malformed_list_of_models_is_rejected(served: str) -> None:
    with pytest.raises(BadCheckpoint, match="SEMBLANCE_MODELS"):
        read_served(served)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("config.json", "[]", "config.json is not a JSON object"),
        ("1_Pooling/config.json", '"mean"', "config.json is not a JSON object"),
        ("modules.json", "{}", "modules.json is not a JSON array"),
        ("tokenizer_config.json", "{", "cannot read .*tokenizer_config.json"),
    ],
)
def test_malformed_json_is_rejected_by_file_name(folder: Path, file: str, content: str, message: str) -> None:
    (folder / "sentence_bert_config.json").unlink(missing_ok=True)
    (folder / file).write_text(content)
    with pytest.raises(BadCheckpoint, match=message):
        read_checkpoint(folder)
