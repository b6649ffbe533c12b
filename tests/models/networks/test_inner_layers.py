"""A model whose option `layer` ends its network has the vectors that transformers has after that layer."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel

from semblance.models.embeddings import Floats
from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.networks.torch_network import TorchNetwork
from semblance.models.runtime import Compute
from semblance.models.text import Ints
from semblance.service.model_loading.registry import read_source
from tests.support.model_folders import family_folder
from tests.support.small_model import WORDS

TEXTS = ["A dog sleeps on the sofa.", "two"]


def hidden_states(folder: Path, ids: Ints) -> list[Floats]:
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.inference_mode():
        out = network(input_ids=torch.from_numpy(ids).long()[None], output_hidden_states=True)
    return [each[0].numpy() for each in out.hidden_states]


@pytest.mark.parametrize("runtime", ["openvino", "torch", "torch_packed"])
@pytest.mark.parametrize("layer", [1, 2])
def test_vectors_are_those_of_the_layer(small: Path, tmp_path: Path, runtime: str, layer: int) -> None:
    folder = family_folder("bert", small, tmp_path / "model", vocab_size=WORDS)
    model = Transformer("m", read_checkpoint(folder, layer=layer), Compute(runtime=runtime, precision="float32"))
    tokenized = model.tokenize(TEXTS, "document", "END")
    for text, embeddings in zip(tokenized, model.encode(tokenized, "tokens"), strict=True):
        expected = hidden_states(folder, text.ids)[layer]
        np.testing.assert_allclose(embeddings.vectors, expected, atol=1e-5)
        mean = expected.mean(axis=0)
        np.testing.assert_allclose(embeddings.pooled(), mean / np.linalg.norm(mean), atol=1e-5)


@pytest.mark.parametrize("family", ["roberta", "distilbert", "mpnet"])
def test_networks_of_torch_end_after_the_layer(small: Path, tmp_path: Path, family: str) -> None:
    folder = family_folder(family, small, tmp_path / "model")
    network, ids = TorchNetwork(read_checkpoint(folder, layer=2)), np.arange(5, 25, dtype=np.int32)
    np.testing.assert_allclose(network.encode_one(ids), hidden_states(folder, ids)[2], atol=1e-5)
    assert not any(".2." in name for name, _ in network.named_parameters())


@pytest.mark.parametrize(
    ("family", "sizes", "message"),
    [
        ("albert", {"embedding_size": 16}, "a albert has no single list of layers"),
        ("modernbert", {}, "a modernbert changes the vectors behind its last layer"),
    ],
)
def test_networks_that_cannot_end_earlier_are_rejected(
    small: Path, tmp_path: Path, family: str, sizes: dict[str, object], message: str
) -> None:
    folder = family_folder(family, small, tmp_path / "model", **sizes)
    TorchNetwork(read_checkpoint(folder))
    with pytest.raises(BadCheckpoint, match=message):
        TorchNetwork(read_checkpoint(folder, layer=2))


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ("3", "layer=3 of .* the network has the layers 1 to 2"),
        ("0", "layer=0 of .* is not a positive number"),
        ("-1", "layer=-1 of .* is not a positive number"),
        ("1.5", "layer=1.5 of .* is not a positive number"),
        ("last", "layer=last of .* is not a positive number"),
    ],
)
def test_unknown_layers_are_rejected(small: Path, layer: str, message: str) -> None:
    with pytest.raises(BadCheckpoint, match=message):
        read_source(f"{small}?layer={layer}")


def test_networks_of_unknown_depth_have_no_layer(folder: Path) -> None:
    config = folder / "config.json"
    config.write_text(re.sub(r'"num_hidden_layers": *\d+,', "", config.read_text()))
    with pytest.raises(BadCheckpoint, match="does not say how many layers there are"):
        read_checkpoint(folder, layer=1)


def test_layers_have_spaces_of_their_own(small: Path) -> None:
    whole, last, first = (read_source(f"{small}{option}").space for option in ("", "?layer=2", "?layer=1"))
    assert whole == last
    assert first != whole
