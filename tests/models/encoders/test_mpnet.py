"""The built-in MPNet has the vectors of sentence-transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadCheckpoint
from semblance.models.formats.transformer_folder import read_transformer
from semblance.service.model_loading.registry import source_of
from tests.conftest import missing

TOLERANCE = 2e-5


@pytest.mark.nightly
def test_mpnet_has_the_vectors_of_sentence_transformers(data: Path) -> None:
    try:
        checkpoint = read_transformer(source_of("mpnet"))
    except BadCheckpoint:
        missing("the model mpnet (scripts/install mpnet)")
    rows = (data / "stsb" / "stsb.dev.tsv").read_text("utf-8").splitlines()[1:201]
    sentences = [row.split("\t")[5] for row in rows]
    texts = [*sentences, " ".join(sentences)[:1500]]
    encoder = Transformer("mpnet", checkpoint)
    ours = [each.pooled() for each in encoder.encode(encoder.tokenize(texts, "query", "END"), "pooled")]
    expected = SentenceTransformer(str(checkpoint.folder)).encode(texts)
    assert np.abs(np.stack(ours) - expected).max() < TOLERANCE
