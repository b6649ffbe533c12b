"""A build is compared with float32 until it agrees, once for each processor."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from semblance.models.embeddings import Floats
from semblance.models.encoders import transformer
from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BuildDisagrees
from semblance.models.model_files.checkpoint import Checkpoint, read_checkpoint
from semblance.models.networks.agreement import MIN_COSINE
from semblance.models.networks.bert_graph import BertGraph
from semblance.models.processor import agreed_builds, identity
from semblance.models.processor.agreed_builds import has_agreed, record_agreement
from semblance.models.runtime import Compute
from semblance.models.runtimes import openvino
from tests.support.small_model import make_small


def test_an_agreement_is_recorded_for_its_build_and_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = tmp_path / "new" / "exports"
    assert not has_agreed(records, "build")
    record_agreement(records, "build")
    assert has_agreed(records, "build")
    assert not has_agreed(records, "another build")
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu\n", "utf-8")
    monkeypatch.setattr(identity, "_CPU_INFO", tmp_path / "cpuinfo")
    assert not has_agreed(records, "build"), "another processor may compute otherwise"


def test_an_agreement_without_a_folder_is_not_recorded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    record_agreement(None, "build")
    assert not has_agreed(None, "build")
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.INFO):
        record_agreement(tmp_path / "file", "build")
    assert "cannot be recorded" in caplog.text
    assert not has_agreed(tmp_path / "file", "build")


def test_a_build_is_compared_until_it_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = read_checkpoint(make_small(tmp_path / "model"))
    compute = Compute("cpu", "bfloat16", "openvino", tmp_path / "exports")
    compared, exact_vectors = [], openvino._exact_vectors

    def counted(checkpoint: Checkpoint, made: BertGraph) -> list[Floats]:
        compared.append(checkpoint)
        return exact_vectors(checkpoint, made)

    monkeypatch.setattr(openvino, "_exact_vectors", counted)
    with monkeypatch.context() as stricter:
        stricter.setattr(agreed_builds, "MIN_COSINE", {**MIN_COSINE, "bfloat16": 2.0})
        stricter.setattr(transformer, "MIN_COSINE", {**MIN_COSINE, "bfloat16": 2.0})
        for _ in range(2):
            with pytest.raises(BuildDisagrees):
                Transformer("m", checkpoint, compute)
    assert len(compared) == 2
    builds = {Transformer("m", checkpoint, compute).build for _ in range(3)}
    assert len(compared) == 3
    assert len(builds) == 1
    Transformer("m", checkpoint, Compute("cpu", "bfloat16", "openvino"))
    assert len(compared) == 4, "without a folder, each load compares"
