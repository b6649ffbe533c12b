"""The built-in MPNet has the vectors of sentence-transformers, and its adapter those of PEFT."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadCheckpoint
from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.model_files.source import Source
from semblance.service.model_loading.registry import source_of
from tests.conftest import missing
from tests.models.model_files.test_lora import assert_the_same, tokens_by_peft, tokens_of
from tests.support.project import PROJECT

TOLERANCE = 2e-5


@pytest.fixture
def folder() -> Path:
    try:
        return source_of("mpnet").path
    except BadCheckpoint:
        missing("the model mpnet (scripts/install mpnet)")


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # which peft reads
def test_the_adapter_gives_the_vectors_of_peft(folder: Path) -> None:
    adapter = PROJECT / "service" / "adapters" / "mpnet_clrcmd"
    assert_the_same(tokens_of("mpnet-clrcmd"), tokens_by_peft(folder, adapter))


@pytest.mark.nightly
def test_mpnet_has_the_vectors_of_sentence_transformers(folder: Path, data: Path) -> None:
    checkpoint = read_transformer(Source(folder))
    rows = (data / "stsb" / "stsb.dev.tsv").read_text("utf-8").splitlines()[1:201]
    sentences = [row.split("\t")[5] for row in rows]
    texts = [*sentences, " ".join(sentences)[:1500]]
    encoder = Transformer("mpnet", checkpoint)
    ours = [each.pooled() for each in encoder.encode(encoder.tokenize(texts, "query", "END"), "pooled")]
    expected = SentenceTransformer(str(checkpoint.folder)).encode(texts)
    assert np.abs(np.stack(ours) - expected).max() < TOLERANCE
