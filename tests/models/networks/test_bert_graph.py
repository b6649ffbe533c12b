"""The graph of a BERT that is made without torch has the vectors of torch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.checkpoint import Checkpoint, read_checkpoint
from semblance.models.model_files.lora import read_low_rank_adapter
from semblance.models.networks.bert_graph import bert_graph, has_graph
from semblance.models.networks.graph_layers.bert import buckets_of
from semblance.models.networks.graph_layers.packed import import_openvino
from semblance.models.networks.shape_buckets import graph_inputs
from semblance.models.networks.torch_network import TorchNetwork
from semblance.service.model_loading.registry import read_source, source_of
from tests.models.model_files.test_lora import save_adapter
from tests.support.four_bit_folder import quantize
from tests.support.model_folders import add_head, family_folder
from tests.support.random_networks import LIKE_BERT, VOCABULARY, random_network
from tests.support.small_model import WORDS, draw_weights, edit, load

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # a query of PEFT


def require_same(checkpoint: Checkpoint, lengths: Sequence[int] = (1, 7, 90, 12), vocabulary: int = 30_000) -> None:
    """Vectors of texts in one batch, and facts, equal those of torch, which reads each text alone."""
    rng = np.random.default_rng(0)
    texts = [rng.integers(5, vocabulary, n).astype(np.int32) for n in lengths]
    made, whole = bert_graph(checkpoint), TorchNetwork(checkpoint)
    options = {"INFERENCE_PRECISION_HINT": "f32"}
    request = import_openvino().Core().compile_model(made.graph, "CPU", options).create_infer_request()
    hidden = request.infer(dict(enumerate(graph_inputs(texts, made.facts))))[0]
    expected = np.concatenate([whole.encode_one(each) for each in texts])
    np.testing.assert_allclose(hidden[: len(expected)], expected, atol=2e-5)
    assert json.loads(made.facts.tokenizer) == json.loads(whole.facts.tokenizer)
    for name in ("dim", "max_tokens", "pad_id", "first_position"):
        assert getattr(made.facts, name) == getattr(whole.facts, name)


SIZES = {
    "num_attention_heads": st.sampled_from([1, 2, 8]),
    "num_hidden_layers": st.integers(1, 3),
    "intermediate_size": st.sampled_from([8, 48]),
    "layer_norm_eps": st.sampled_from([1e-12, 1e-3]),
}


@settings(max_examples=5)
@given(sizes=st.fixed_dictionaries(SIZES), lengths=st.lists(st.integers(1, 200), min_size=1, max_size=20))
def test_any_sizes_give_the_vectors_of_torch(
    tmp_path_factory: pytest.TempPathFactory, small: Path, sizes: dict[str, float], lengths: list[int]
) -> None:
    folder = shutil.copytree(small, tmp_path_factory.mktemp("sizes") / "model")
    edit(folder / "config.json", **sizes)
    draw_weights(folder)
    require_same(read_checkpoint(folder), lengths)


@pytest.mark.parametrize("name", ["minilm", "minilm-graded", "minilm-words", "minilm-clrcmd"])
def test_the_built_in_models_are_made_without_torch(name: str) -> None:
    """tests/models/model_files/test_lora.py and tests/models/runtimes compare their vectors."""
    source = source_of(name)
    adapter = source.options.get("adapter")
    checkpoint = read_checkpoint(source.path, adapter=read_low_rank_adapter(Path(adapter)) if adapter else None)
    assert checkpoint.space == read_source(name).space or name == "minilm-words"  # which pools words
    assert has_graph(checkpoint)


def with_weights(change: Callable[[str, Tensor], tuple[str, Tensor]]) -> Callable[[Path], None]:
    """Rename or convert the weights of a folder."""

    def act(folder: Path) -> None:
        file = folder / "model.safetensors"
        save_file(dict(change(name, each.clone()) for name, each in load_file(file).items()), file, {"format": "pt"})

    return act


def old_name(name: str) -> str:
    return name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta")


KINDS: dict[str, Callable[[Path], None]] = {
    "under a head": with_weights(lambda name, each: (f"bert.{name}", each)),
    "with old names": with_weights(lambda name, each: (old_name(name), each)),
    "float16": with_weights(lambda name, each: (name, each.half())),
    "bfloat16": with_weights(lambda name, each: (name, each.bfloat16())),
    "with a head": lambda folder: add_head(folder, 5),
    "with a head without bias": lambda folder: add_head(folder, 5, bias=False),
    "lower-cased texts": lambda folder: edit(folder / "sentence_bert_config.json", do_lower_case=True),
    "weights of four bits": quantize,
    "without a limit": lambda folder: edit(folder / "sentence_bert_config.json", max_seq_length=None),
}


@pytest.mark.parametrize("change", KINDS.values(), ids=KINDS)
def test_every_kind_of_folder_gives_the_vectors_of_torch(folder: Path, change: Callable[[Path], None]) -> None:
    change(folder)
    checkpoint = read_checkpoint(folder)
    assert has_graph(checkpoint)
    require_same(checkpoint)


@pytest.mark.parametrize("layer", [None, 2])
@pytest.mark.parametrize("family", LIKE_BERT)
def test_networks_of_the_kind_have_the_vectors_of_torch(
    small: Path, tmp_path: Path, family: str, layer: int | None
) -> None:
    sizes = LIKE_BERT[family]
    folder = family_folder(family, small, tmp_path / "model", **sizes)
    adapter = save_adapter(random_network(family, **sizes), tmp_path / "adapter", target_modules="all-linear")
    for each in (None, read_low_rank_adapter(adapter)):
        checkpoint = read_checkpoint(folder, adapter=each, layer=layer)
        assert has_graph(checkpoint)
        require_same(checkpoint, (1, 7, 157, 12), VOCABULARY)


MODERN = {
    "as transformers saves it": {"local_attention": 16},
    "with names of older folders": {"layer_types": None, "rope_parameters": None, "global_attn_every_n_layers": 2},
    "with other angles": {
        "rope_parameters": {"full_attention": {"rope_theta": 500.0}, "sliding_attention": {"rope_theta": 80.0}}
    },
}


@pytest.mark.parametrize("changes", MODERN.values(), ids=MODERN)
def test_a_modernbert_has_the_vectors_of_torch(small: Path, tmp_path: Path, changes: dict[str, object]) -> None:
    folder = family_folder("modernbert", small, tmp_path / "model")
    edit(folder / "config.json", **changes)
    adapter = save_adapter(random_network("modernbert"), tmp_path / "adapter", target_modules="all-linear")
    for each in (None, read_low_rank_adapter(adapter)):
        checkpoint = read_checkpoint(folder, adapter=each)
        assert has_graph(checkpoint)
        require_same(checkpoint, (1, 7, 157, 12, 300), VOCABULARY)
    add_head(folder, 5)
    require_same(read_checkpoint(folder), (20,), VOCABULARY)


def test_a_modernbert_does_not_end_at_an_inner_layer(small: Path, tmp_path: Path) -> None:
    checkpoint = read_checkpoint(family_folder("modernbert", small, tmp_path / "model"), layer=2)
    with pytest.raises(BadCheckpoint, match="a modernbert changes the vectors behind its last layer"):
        bert_graph(checkpoint)


MODERN_OTHERS: dict[str, dict[str, object]] = {
    "biases": {"mlp_bias": True},
    "another activation": {"hidden_activation": "silu"},
    "stretched angles": {"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 2.0}}},
}


@pytest.mark.parametrize("changes", MODERN_OTHERS.values(), ids=MODERN_OTHERS)
def test_other_modernberts_are_left_to_torch(small: Path, tmp_path: Path, changes: dict[str, object]) -> None:
    folder = family_folder("modernbert", small, tmp_path / "model")
    assert has_graph(read_checkpoint(folder))
    edit(folder / "config.json", **changes)
    assert not has_graph(read_checkpoint(folder))


@pytest.mark.parametrize("family", ["gte", "nomic_bert"])
def test_stretched_angles_of_other_families_are_left_to_torch(small: Path, tmp_path: Path, family: str) -> None:
    folder = family_folder(family, small, tmp_path / "model")
    assert has_graph(read_checkpoint(folder))
    for stretched in ({"rope_type": "yarn"}, {"type": "linear"}):
        edit(folder / "config.json", rope_parameters={**stretched, "rope_theta": 1e4, "factor": 2.0})
        assert not has_graph(read_checkpoint(folder))
    edit(folder / "config.json", rope_parameters=None, head_dim=4)
    assert not has_graph(read_checkpoint(folder))


CHANGES: dict[str, Callable[[Path], None]] = {
    "defaults": lambda folder: drop(folder, "rope_parameters", "hidden_act", "max_position_embeddings"),
    "the base of old folders": lambda folder: edit(folder / "config.json", rope_parameters=None, rope_theta=5e5),
    "no types": lambda folder: edit(folder / "config.json", type_vocab_size=0),
    "a number among the weights": lambda folder: add_tensors(folder, scale=torch.tensor(2.0)),
}


def drop(folder: Path, *names: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({key: each for key, each in config.items() if key not in names}))


def add_tensors(folder: Path, **tensors: Tensor) -> None:
    file = folder / "model.safetensors"
    save_file({**load_file(file), **tensors}, file, {"format": "pt"})


@pytest.mark.parametrize(
    ("family", "change"),
    [("gte", change) for change in CHANGES] + [("nomic_bert", change) for change in CHANGES if change != "no types"],
)
def test_other_settings_of_gte_and_nomic_are_read(small: Path, tmp_path: Path, family: str, change: str) -> None:
    folder = family_folder(family, small, tmp_path / "model")
    CHANGES[change](folder)
    require_same(read_checkpoint(folder), (1, 7, 90), VOCABULARY)


@pytest.mark.parametrize(("family", "name"), [("gte", "qkv_proj.weight"), ("nomic_bert", "Wqkv.weight")])
def test_joined_weights_of_another_height_are_refused(small: Path, tmp_path: Path, family: str, name: str) -> None:
    folder = family_folder(family, small, tmp_path / "model")
    [first, *_] = [each for each in load_file(folder / "model.safetensors") if each.endswith(name)]
    add_tensors(folder, **{first: torch.ones(64, 32)})
    with pytest.raises(BadCheckpoint, match="do not fit its"):
        bert_graph(read_checkpoint(folder))


@pytest.mark.parametrize("family", ["gte", "nomic_bert"])
def test_weights_under_names_of_transformers_are_read(small: Path, tmp_path: Path, family: str) -> None:
    """A saved file joins matrices that transformers keeps apart."""
    folder = family_folder(family, small, tmp_path / "model")
    file = folder / "model.safetensors"
    apart = random_network(family).state_dict()
    assert not apart.keys() <= load_file(file).keys()
    save_file({name: each.contiguous() for name, each in apart.items()}, file, {"format": "pt"})
    require_same(read_checkpoint(folder), (1, 7, 90), VOCABULARY)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_attention_heads": 5}, "cannot be shared by 5 heads|transformers cannot load"),
        ({"num_attention_heads": 0}, "must be a number of at least 1|transformers cannot load"),
        ({"num_hidden_layers": 7}, "lacks weights|layer_types has 3 entries for 7 layers"),
    ],
)
@pytest.mark.parametrize("family", ["gte", "modernbert", "nomic_bert"])
def test_sizes_that_do_not_fit_are_refused(
    small: Path, tmp_path: Path, family: str, settings: dict[str, int], message: str
) -> None:
    folder = family_folder(family, small, tmp_path / "model", vocab_size=WORDS)
    edit(folder / "config.json", **settings)
    with pytest.raises(BadCheckpoint, match=message):
        load(folder)


@pytest.mark.parametrize("buckets", [8, 32, 64])
def test_distances_are_in_the_buckets_of_mpnet(buckets: int) -> None:
    distances = np.arange(-300, 301)
    expected = MPNetEncoder.relative_position_bucket(torch.from_numpy(distances), buckets)  # type: ignore[no-untyped-call]
    np.testing.assert_array_equal(buckets_of(distances, buckets), expected.numpy())


OTHERS: dict[str, tuple[str, dict[str, object]]] = {
    "another network": ("config.json", {"model_type": "deberta-v2"}),
    "another activation": ("config.json", {"hidden_act": "relu"}),
    "relative positions": ("config.json", {"position_embedding_type": "relative_key"}),
    "a decoder": ("config.json", {"is_decoder": True}),
    "other case": ("tokenizer_config.json", {"do_lower_case": False}),
    "another tokenizer": ("tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer"}),
    "an added token": ("tokenizer_config.json", {"added_tokens_decoder": {"7": {"content": "[NEW]"}}}),
    "another pre-tokenizer": ("tokenizer.json", {"pre_tokenizer": {"type": "Whitespace"}}),
}


@pytest.mark.parametrize(("file", "changes"), OTHERS.values(), ids=OTHERS)
def test_other_networks_and_tokenizers_are_left_to_torch(folder: Path, file: str, changes: dict[str, object]) -> None:
    assert has_graph(read_checkpoint(folder))
    edit(folder / file, **changes)
    assert not has_graph(read_checkpoint(folder))


def test_a_folder_without_tokenizer_json_is_left_to_torch(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    assert not has_graph(read_checkpoint(folder))


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
