"""Model folders: which settings are read, and what is rejected."""

from __future__ import annotations

import hashlib
import itertools
import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer

from semblance.models.embeddings import unit_rows
from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadCheckpoint, BuildDisagrees
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.runtime import Compute
from semblance.models.text import Role
from semblance.service.model_loading.registry import read_source
from tests.support.devices import computes_in_bfloat16
from tests.support.model_folders import add_head, edit_modules, family_folder, save_head, set_pooling
from tests.support.small_model import DIM, WORDS, draw_weights, edit

TEXTS = ["A man plays the Guitar.", "Someone is making MUSIC", "Completely unrelated: tax law in 1987"]


HEAD = "1_Head/config.json"


def loaded(folder: Path, precision: Any = "float32") -> Transformer:
    return Transformer("copy", read_checkpoint(folder), Compute(precision=precision))


def pooled(folder: Path, role: Role = "document") -> np.ndarray:
    encoder = loaded(folder)
    embeddings = encoder.encode(encoder.tokenize(TEXTS, role, "END"), "tokens")
    return np.stack([each.pooled() for each in embeddings])


def by_sentence_transformers(folder: Path, prompt: str | None = None) -> np.ndarray:
    return SentenceTransformer(str(folder), device="cpu").encode(TEXTS, prompt_name=prompt)


def test_the_built_in_weights_match_their_digest() -> None:
    checkpoint = read_source("minilm")
    assert (checkpoint.pooling, checkpoint.normalize, checkpoint.max_tokens) == ("mean", True, 256)


def test_altered_and_additional_weights_are_rejected(folder: Path) -> None:
    weights = folder / "model.safetensors"
    pinned = hashlib.sha256(weights.read_bytes()).hexdigest()
    read_checkpoint(folder, pinned)
    shutil.copy(weights, folder / "a.safetensors")
    with pytest.raises(BadCheckpoint, match=r"expected model\.safetensors"):
        read_checkpoint(folder, pinned)
    (folder / "a.safetensors").unlink()
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(BadCheckpoint, match="damaged or was replaced"):
        read_checkpoint(folder, pinned)


@pytest.mark.parametrize("head", [None, 20])
def test_vectors_equal_those_of_sentence_transformers(folder: Path, head: int | None) -> None:
    """By every pooling, with an affine head and without one."""
    if head:
        add_head(folder, head)
    vectors = []
    for mode in ("mean", "cls", "max"):
        set_pooling(folder, mode, head or DIM)
        encoder, oracle = loaded(folder), SentenceTransformer(str(folder), device="cpu")
        vectors.append(pooled(folder))
        assert encoder.dim == (head or DIM)
        assert vectors[-1] == pytest.approx(oracle.encode(TEXTS), abs=1e-5)
        tokens = encoder.encode(encoder.tokenize(TEXTS, "document", "END"), "tokens")
        for each, expected in zip(tokens, oracle.encode(TEXTS, output_value="token_embeddings"), strict=True):
            assert each.vectors == pytest.approx(expected.numpy(), abs=1e-4)
    for one, other in itertools.combinations(map(unit_rows, vectors), 2):
        assert (one * other).sum(axis=1).max() < 0.99, "the poolings must differ"


def test_without_a_normalize_module_the_mean_keeps_its_length(folder: Path) -> None:
    edit_modules(folder, list.pop)
    expected = by_sentence_transformers(folder)
    assert np.linalg.norm(expected, axis=1).max() > 1.5
    assert pooled(folder) == pytest.approx(expected, abs=1e-4)


def test_a_plain_hugging_face_folder_is_pooled_by_the_mean(folder: Path) -> None:
    named = pooled(folder)
    for extra in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"):
        (folder / extra).unlink()
    assert unit_rows(pooled(folder)) == pytest.approx(named, abs=1e-5)


@pytest.mark.parametrize("include_prompt", [True, False])
def test_prompts_equal_those_of_sentence_transformers(folder: Path, include_prompt: bool) -> None:
    edit(folder / "config_sentence_transformers.json", prompts={"query": "find this: ", "document": ""})
    set_pooling(folder, "mean", include_prompt=include_prompt)
    for role in ("query", "document"):
        assert pooled(folder, role) == pytest.approx(by_sentence_transformers(folder, role), abs=1e-5)


def test_prompt_tokens_are_special_outside_the_spans_and_never_cut(folder: Path) -> None:
    edit(folder / "config_sentence_transformers.json", prompts={"query": "find this: "})
    encoder = loaded(folder)
    [text] = encoder.tokenize(["A guitar"], "query", "END")
    assert [(unit.text, unit.start) for unit in text.units()] == [("A", 0), ("guitar", 2)]
    assert int(text.special.sum()) == 2 + 3  # [CLS], [SEP]; find, this, :
    [cut] = encoder.tokenize(["word " * 600], "query", "START")
    assert cut.ids[:4].tolist() == text.ids[:4].tolist()
    assert len(cut) == encoder.max_tokens


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("1_Pooling/config.json", {"pooling_mode": "median"}, "median"),
        ("config.json", {"auto_map": {"AutoModel": "evil.py"}}, "code in the folder"),
        ("config.json", {"text_config": {"auto_map": {"AutoModel": "evil.py"}}}, "code in the folder"),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": [None, "evil.Tokenizer"]}}, "code in the folder"),
        ("config.json", {"attn_implementation": "kernels-community/evil"}, "third-party code"),
        ("config.json", {"_attn_implementation": "flash_attention_2"}, "third-party code"),
        ("config.json", {"experts_implementation": "kernels-community/evil"}, "third-party code"),
        ("config.json", {"quantization_config": {"quant_method": "fp8"}}, "quantized weights"),
        ("config.json", {"model_type": "no-such-network"}, "cannot load"),
        (HEAD, {"activation_function": "torch.nn.modules.activation.Softplus"}, "Softplus"),
        (HEAD, {"module_input_name": "sentence_embedding"}, "sentence_embedding"),
        (HEAD, {"module_output_name": "mapped"}, "mapped"),
        (HEAD, {"use_residual": True}, "cannot load"),
        (HEAD, {"in_features": None}, "in_features"),
        (HEAD, {"in_features": 31}, "cannot load"),
        (HEAD, {"bias": False}, "cannot load"),
    ],
)
def test_unsupported_settings_are_rejected_by_name(
    folder: Path, file: str, changes: dict[str, object], message: str
) -> None:
    if file == HEAD:
        add_head(folder, 20)
    edit(folder / file, **changes)
    with pytest.raises(BadCheckpoint, match=message):
        loaded(folder)


def with_head(change: Callable[[Path], object]) -> Callable[[Path], None]:
    """Add an affine head, and change its folder."""

    def act(folder: Path) -> None:
        add_head(folder, 20)
        change(folder / "1_Head")

    return act


def appended(name: str) -> Callable[[Path], object]:
    module = {"path": f"3_{name}", "type": f"sentence_transformers.models.{name}"}
    return lambda folder: edit_modules(folder, lambda modules: modules.append(module))


def pooling_at(path: str) -> Callable[[Path], object]:
    """Move the folder of a module elsewhere; `{}` is the folder above that of the model."""

    def act(folder: Path) -> None:
        shutil.copytree(folder / "1_Pooling", folder.parent / "other" / "1_Pooling")
        edit_modules(folder, lambda modules: modules[1].update(path=path.format(folder.parent)))

    return act


def written(file: str, content: str) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_text(content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (appended("LSTM"), "LSTM"),
        (appended("Dense"), "Dense"),  # after the pooling
        (lambda folder: edit_modules(folder, lambda all_: all_[0].update(type="custom_st.Transformer")), "custom_st"),
        (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), "safetensors"),
        (pooling_at("../other/1_Pooling"), "outside that folder"),
        (pooling_at("{}/other/1_Pooling"), "outside that folder"),
        (pooling_at("1_Pooling/../../other/1_Pooling"), "outside that folder"),
        (with_head(lambda own: (own / "model.safetensors").rename(own / "pytorch_model.bin")), "safetensors"),
        (written("config.json", "[]"), "config.json is not a JSON object"),
        (written("1_Pooling/config.json", '"mean"'), "config.json is not a JSON object"),
        (written("modules.json", "{}"), "modules.json is not a JSON array"),
        (written("tokenizer_config.json", "{"), "cannot read .*tokenizer_config.json"),
    ],
)
def test_foreign_and_malformed_folders_are_rejected_when_read(
    folder: Path, change: Callable[[Path], object], message: str
) -> None:
    (folder / "sentence_bert_config.json").unlink()
    read_checkpoint(folder)
    change(folder)
    with pytest.raises(BadCheckpoint, match=message):
        read_checkpoint(folder)


def test_a_head_of_another_width_than_the_network_is_rejected(folder: Path) -> None:
    with_head(lambda own: save_head(own, DIM + 1, 20))(folder)
    with pytest.raises(BadCheckpoint, match=f"maps {DIM + 1} dimensions, but it gets {DIM}"):
        read_checkpoint(folder)


def test_missing_weights_are_rejected_instead_of_random(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file({f"wrapped.{name}": tensor for name, tensor in weights.items()}, folder / "model.safetensors")
    with pytest.raises(BadCheckpoint, match="lacks"):
        loaded(folder)


def test_a_network_in_a_subfolder_is_found(folder: Path) -> None:
    expected = pooled(folder)
    inner = folder / "0_Transformer"
    inner.mkdir()
    for pattern in ("*.safetensors", "*token*", "config.json", "vocab.txt", "sentence_bert_config.json"):
        for file in folder.glob(pattern):
            file.rename(inner / file.name)
    edit_modules(folder, lambda modules: modules[0].update(path="0_Transformer"))
    assert pooled(folder) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("family", "most"), [("mpnet", 510), ("roberta", 510), ("distilbert", 512)])
def test_a_text_of_max_tokens_can_be_encoded(small: Path, tmp_path: Path, family: str, most: int) -> None:
    """Some families count positions from the padding id, and so have fewer for tokens."""
    sizes = {"vocab_size": WORDS, "max_position_embeddings": 512}
    folder = family_folder(family, small, tmp_path / "model", **sizes)
    edit(folder / "tokenizer_config.json", model_max_length=10**30)
    assert loaded(folder).max_tokens == most


def test_a_network_that_cannot_encode_is_rejected_at_load(small: Path, tmp_path: Path) -> None:
    folder = family_folder("t5", small, tmp_path / "model", vocab_size=WORDS)
    with pytest.raises(BadCheckpoint, match="is a t5, which reads and writes text"):
        read_checkpoint(folder)
    edit(folder / "config.json", is_encoder_decoder=False)
    with pytest.raises(BadCheckpoint, match="cannot encode"):
        loaded(folder)


@pytest.mark.parametrize("head", ["BertForSequenceClassification", "BertForTokenClassification"])
def test_a_network_that_classifies_is_no_encoder(folder: Path, head: str) -> None:
    """A folder with the modules of an encoder is one, whatever its network was before."""
    edit(folder / "config.json", architectures=[head])
    read_checkpoint(folder)
    (folder / "modules.json").unlink()
    with pytest.raises(BadCheckpoint, match=f"is a {head}, which scores pairs of texts or classifies"):
        read_checkpoint(folder)
    edit(folder / "config.json", architectures=["BertForMaskedLM"])
    read_checkpoint(folder)


def test_weights_of_torch_are_refused_with_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, folder = pooled(folder), folder.rename(folder.with_name("it's mine"))
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadCheckpoint, match=r"has no \*\.safetensors file") as refusal:
        read_checkpoint(folder)
    _, _, program, *arguments = shlex.split(str(refusal.value).split("`")[1])
    monkeypatch.setattr(sys, "argv", ["-c", *arguments])
    exec(program, {"__name__": "__main__"})
    assert pooled(folder.with_name(f"{folder.name}-safetensors")) == pytest.approx(expected, abs=1e-6)


def test_weights_outside_the_folder_are_rejected(folder: Path) -> None:
    shutil.copy(folder / "model.safetensors", folder.parent / "model-1-of-1.safetensors")
    (folder / "model.safetensors").rename(folder / "model-1-of-1.safetensors")
    named = load_file(folder / "model-1-of-1.safetensors")
    for place in ("", "../"):
        index = {"metadata": {}, "weight_map": dict.fromkeys(named, f"{place}model-1-of-1.safetensors")}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        if not place:
            loaded(folder)
    with pytest.raises(BadCheckpoint, match="weights must lie in the same folder"):
        read_checkpoint(folder)


def test_every_setting_that_changes_vectors_changes_the_space(folder: Path) -> None:
    spaces = {read_checkpoint(folder).space}
    for file, setting in (
        ("sentence_bert_config.json", {"max_seq_length": 128}),
        ("config_sentence_transformers.json", {"prompts": {"query": "q: "}}),
        ("tokenizer_config.json", {"do_lower_case": False}),
    ):
        edit(folder / file, **setting)
        spaces.add(read_checkpoint(folder).space)
    set_pooling(folder, "cls")
    spaces.add(read_checkpoint(folder).space)
    for bias in (True, False):
        with_head(lambda own, bias=bias: save_head(own, DIM, 20, bias=bias))(folder)  # type: ignore[misc]
        spaces.add(read_checkpoint(folder).space)
        edit_modules(folder, lambda modules: modules.pop(1))
    assert len(spaces) == 7


def test_another_length_has_another_space(folder: Path) -> None:
    plain, longer = (read_source(f"{folder}{option}") for option in ("", "?max_tokens=512"))
    assert (plain.max_tokens, longer.max_tokens) == (256, 512)
    assert plain.space != longer.space
    encoder = longer.load("longer", Compute())
    [tokens] = encoder.tokenize(["word " * 600], "query", "END")
    assert len(tokens) == encoder.max_tokens == 512


@pytest.mark.parametrize(("tokens", "reason"), [("513", "512 positions"), ("0", "positive"), ("many", "positive")])
def test_lengths_that_the_network_cannot_read_are_rejected(folder: Path, tokens: str, reason: str) -> None:
    with pytest.raises(BadCheckpoint, match=reason):
        read_source(f"{folder}?max_tokens={tokens}")


def test_lower_case_is_applied_before_the_tokenizer(folder: Path) -> None:
    """A cased tokenizer in a folder with do_lower_case: both spellings have the same ids."""
    normalizer = json.loads((folder / "tokenizer.json").read_text())["normalizer"]
    edit(folder / "tokenizer.json", normalizer=normalizer | {"lowercase": False})
    edit(folder / "tokenizer_config.json", do_lower_case=False)
    edit(folder / "sentence_bert_config.json", do_lower_case=True)
    loud, quiet = loaded(folder).tokenize(["A GUITAR", "a guitar"], "query", "END")
    assert loud.ids.tolist() == quiet.ids.tolist()
    assert [unit.text for unit in loud.units()] == ["A", "GUITAR"]


@pytest.mark.skipif(not computes_in_bfloat16(), reason="this CPU computes in float32 only, and so rounds nothing")
def test_a_precision_that_disagrees_with_float32_is_rejected(folder: Path) -> None:
    """Weights 50 times as wide as usual amplify rounding."""
    loaded(folder, "bfloat16")
    edit(folder / "config.json", initializer_range=1.0)
    draw_weights(folder)
    with pytest.raises(BuildDisagrees, match="serve it in float32"):
        loaded(folder, "bfloat16")
