"""The float32 folder of a model has its vectors in sentence-transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.source import Source
from semblance.models.protocols import Encoder
from semblance.models.text import Role
from semblance.service.model_loading.float32_folder import write_float32_folder
from semblance.service.model_loading.registry import source_of
from tests.support.four_bit_folder import quantize
from tests.support.small_model import load

pytestmark = pytest.mark.xdist_group("multilingual")

TEXTS = [
    "A dog sleeps on the sofa.",
    "Der Hund schläft.",
    "我的包裹从来没有到过。",
    "لم تصل الطرود",
    "x",
    "मेरा पार्सल नहीं आया",
]


def require_same(encoder: Encoder, folder: Path, *roles: Role) -> None:
    """Pooled vectors of texts equal those of sentence-transformers."""
    peer = SentenceTransformer(str(folder), device="cpu")
    for role in roles:
        own = [each.pooled() for each in encoder.encode(encoder.tokenize(TEXTS, role, "NONE"), "pooled")]
        expected = peer.encode(TEXTS, prompt=peer.prompts.get(role, ""), normalize_embeddings=True)
        np.testing.assert_allclose(np.stack(own), expected, atol=2e-5)


def test_weights_of_four_bits_are_written_as_float32(folder: Path, tmp_path: Path) -> None:
    quantize(folder)
    write_float32_folder(Source(folder), tmp_path / "written")
    require_same(load(folder), tmp_path / "written", "document")


def test_an_adapter_is_merged_into_the_folder(tmp_path: Path) -> None:
    write_float32_folder(source_of("minilm-clrcmd"), tmp_path / "written")
    require_same(load("minilm-clrcmd"), tmp_path / "written", "document")


def test_the_multilingual_model_has_the_vectors_of_its_folder(multilingual: Encoder, tmp_path: Path) -> None:
    write_float32_folder(source_of("multilingual"), tmp_path / "written")
    require_same(multilingual, tmp_path / "written", "query", "document")


def test_options_and_other_networks_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadCheckpoint, match="cannot hold the option pooling"):
        write_float32_folder(Source(folder, {"pooling": "max"}), tmp_path / "written")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(BadCheckpoint, match=r"is not of BERT.s kind"):
        write_float32_folder(Source(folder), tmp_path / "written")
    assert not (tmp_path / "written").exists()
