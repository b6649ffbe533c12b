"""A text has the same float32 vectors, bit by bit, alone and in any batch."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.models.encoders.transformer import Transformer
from semblance.models.files.lines import json_lines
from semblance.models.runtime import Compute
from tests.conftest import built_in_checkpoint
from tests.support.equal_bits import equal_in_batches, texts_of_all_lengths
from tests.support.project import PROJECT

SAMPLE = PROJECT / "service" / "sample" / "help_centre.jsonl"


@pytest.mark.slow
def test_texts_have_equal_bits_alone_and_in_batches() -> None:
    encoder = Transformer("m", built_in_checkpoint(), Compute(runtime="openvino", threads=2))
    sentences = [row["text"] for _, row in json_lines(SAMPLE)]
    texts = texts_of_all_lengths(encoder, sentences, 48, seed=0)
    lengths = [len(text) for text in texts]
    assert min(lengths) <= 8
    assert max(lengths) > 200
    equal = equal_in_batches(encoder, texts, seed=1)
    assert not np.flatnonzero(~equal).tolist()
