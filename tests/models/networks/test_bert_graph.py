"""The graph of a BERT that is made without torch has the vectors of torch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.checkpoint import Checkpoint, read_checkpoint
from semblance.models.model_files.lora import read_low_rank_adapter
from semblance.models.networks.bert_graph import bert_graph, import_openvino, is_plain_bert
from semblance.models.networks.shape_buckets import graph_inputs
from semblance.models.networks.torch_network import TorchNetwork
from semblance.models.text import Ints
from semblance.service.model_loading.registry import read_source, source_of
from tests.support.small_model import DIM, draw_weights, edit, make_small


def vectors_of(checkpoint: Checkpoint, texts: list[Ints]) -> list[Floats]:
    """Token vectors of each text, in one batch."""
    made = bert_graph(checkpoint)
    options = {"INFERENCE_PRECISION_HINT": "f32"}
    request = import_openvino().Core().compile_model(made.graph, "CPU", options).create_infer_request()
    hidden = request.infer(dict(enumerate(graph_inputs(texts, made.facts))))[0]
    return np.split(hidden, np.cumsum([len(each) for each in texts]))[:-1]


def require_same(checkpoint: Checkpoint, lengths: list[int] | None = None, tolerance: float = 2e-5) -> None:
    """Vectors and facts equal those of torch, each text alone."""
    rng = np.random.default_rng(0)
    texts = [rng.integers(5, 30_000, n).astype(np.int32) for n in lengths or [1, 7, 90, 12]]
    whole = TorchNetwork(checkpoint)
    for ours, theirs in zip(vectors_of(checkpoint, texts), map(whole.encode_one, texts), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=tolerance)
    facts = bert_graph(checkpoint).facts
    assert json.loads(facts.tokenizer) == json.loads(whole.facts.tokenizer)
    for name in ("dim", "max_tokens", "pad_id", "first_position"):
        assert getattr(facts, name) == getattr(whole.facts, name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_small(tmp_path / "model")


@settings(max_examples=10)
@given(
    heads=st.sampled_from([1, 2, 8]),
    layers=st.integers(1, 3),
    inner=st.sampled_from([8, 48]),
    epsilon=st.sampled_from([1e-12, 1e-3]),
    lengths=st.lists(st.integers(1, 200), min_size=1, max_size=20),
)
def test_any_sizes_give_the_vectors_of_torch(
    tmp_path_factory: pytest.TempPathFactory, heads: int, layers: int, inner: int, epsilon: float, lengths: list[int]
) -> None:
    folder = make_small(tmp_path_factory.mktemp("sizes") / "model")
    sizes = {"num_attention_heads": heads, "num_hidden_layers": layers, "intermediate_size": inner}
    edit(folder / "config.json", layer_norm_eps=epsilon, **sizes)
    draw_weights(folder)
    require_same(read_checkpoint(folder), lengths)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minilm", "minilm-words", "minilm-clrcmd"])
def test_the_built_in_models_are_made_without_torch(name: str) -> None:
    source = source_of(name)
    adapter = source.options.get("adapter")
    checkpoint = read_checkpoint(source.path, adapter=read_low_rank_adapter(Path(adapter)) if adapter else None)
    assert checkpoint.space == read_source(name).space or name == "minilm-words"  # which pools words
    assert is_plain_bert(checkpoint)
    require_same(checkpoint, tolerance=1e-4)


def renamed(change: Callable[[str], str]) -> Callable[[Path], None]:
    """Rename the weights of a folder."""

    def act(folder: Path) -> None:
        file = folder / "model.safetensors"
        save_file({change(name): each.clone() for name, each in load_file(file).items()}, file, {"format": "pt"})

    return act


def in_half(number: torch.dtype) -> Callable[[Path], None]:
    """Store the weights of a folder in 16 bits."""

    def act(folder: Path) -> None:
        file = folder / "model.safetensors"
        save_file({name: each.to(number) for name, each in load_file(file).items()}, file, {"format": "pt"})

    return act


def with_head(bias: bool) -> Callable[[Path], None]:
    """Append a head to a folder."""

    def act(folder: Path) -> None:
        head = folder / "2_Dense"
        head.mkdir()
        kind = "sentence_transformers.models."
        listed = [("0", "", "Transformer"), ("1", "2_Dense", "Dense"), ("2", "1_Pooling", "Pooling")]
        modules = [{"idx": int(i), "name": i, "path": path, "type": kind + name} for i, path, name in listed]
        (folder / "modules.json").write_text(json.dumps(modules))
        edit(
            head / "config.json",
            in_features=DIM,
            out_features=5,
            bias=bias,
            activation_function="torch.nn.modules.linear.Identity",
            module_input_name="token_embeddings",
            module_output_name="token_embeddings",
        )
        linear = torch.nn.Linear(DIM, 5, bias=bias)
        weights = {f"linear.{name}": each.detach() for name, each in linear.named_parameters()}
        save_file(weights, head / "model.safetensors")

    return act


KINDS: dict[str, Callable[[Path], None]] = {
    "under a head": renamed(lambda name: f"bert.{name}"),
    "with old names": renamed(lambda name: name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta")),
    "float16": in_half(torch.float16),
    "bfloat16": in_half(torch.bfloat16),
    "with a head": with_head(bias=True),
    "with a head without bias": with_head(bias=False),
    "lower-cased texts": lambda folder: edit(folder / "sentence_bert_config.json", do_lower_case=True),
    "without a limit": lambda folder: edit(folder / "sentence_bert_config.json", max_seq_length=None),
}


@pytest.mark.parametrize("change", KINDS.values(), ids=KINDS)
def test_every_kind_of_folder_gives_the_vectors_of_torch(folder: Path, change: Callable[[Path], None]) -> None:
    change(folder)
    checkpoint = read_checkpoint(folder)
    assert is_plain_bert(checkpoint)
    require_same(checkpoint)


def remove_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def other_pre_tokenizer(folder: Path) -> None:
    edit(folder / "tokenizer.json", pre_tokenizer={"type": "Whitespace"})


OTHERS: dict[str, Callable[[Path], Any]] = {
    "another network": lambda folder: edit(folder / "config.json", model_type="roberta"),
    "another activation": lambda folder: edit(folder / "config.json", hidden_act="relu"),
    "relative positions": lambda folder: edit(folder / "config.json", position_embedding_type="relative_key"),
    "a decoder": lambda folder: edit(folder / "config.json", is_decoder=True),
    "other case": lambda folder: edit(folder / "tokenizer_config.json", do_lower_case=False),
    "another tokenizer": lambda folder: edit(folder / "tokenizer_config.json", tokenizer_class="RobertaTokenizer"),
    "an added token": lambda folder: edit(
        folder / "tokenizer_config.json", added_tokens_decoder={"7": {"content": "[NEW]"}}
    ),
    "another pre-tokenizer": other_pre_tokenizer,
    "no tokenizer.json": remove_tokenizer,
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_other_networks_and_tokenizers_are_left_to_torch(folder: Path, change: Callable[[Path], Any]) -> None:
    assert is_plain_bert(read_checkpoint(folder))
    change(folder)
    assert not is_plain_bert(read_checkpoint(folder))


def test_missing_and_damaged_weights_are_refused(folder: Path) -> None:
    checkpoint = read_checkpoint(folder)
    weights = load_file(folder / "model.safetensors")
    name = "encoder.layer.1.output.dense.weight"
    save_file({key: each for key, each in weights.items() if key != name}, folder / "model.safetensors")
    with pytest.raises(BadCheckpoint, match=f"lacks weights or settings of its network, such as .*{name}"):
        bert_graph(checkpoint)
    save_file(weights | {name: torch.ones(3, 3)}, folder / "model.safetensors")
    with pytest.raises(BadCheckpoint, match="do not fit its"):
        bert_graph(checkpoint)
    (folder / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(BadCheckpoint, match="copy it again"):
        bert_graph(checkpoint)
