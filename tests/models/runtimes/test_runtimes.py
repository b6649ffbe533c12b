"""Every runtime has the vectors of torch in float32, independent of the batch."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from semblance.models import catalogue
from semblance.models.embeddings import Floats, Precision, TokenEmbeddings, unit_rows
from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import DeviceLost, NotExportable
from semblance.models.measures.rcmd import Rcmd
from semblance.models.model_files.checkpoint import Checkpoint, read_checkpoint
from semblance.models.networks import device_errors, torch_network
from semblance.models.networks.shape_buckets import GraphInputs
from semblance.models.networks.torch_network import TorchNetwork
from semblance.models.runtime import RUNTIMES, Compute, NetworkFacts
from semblance.models.runtimes import openvino
from tests.conftest import EXPORTS, built_in_checkpoint
from tests.support.devices import computes_in_int8
from tests.support.small_model import BUILT_IN_FOLDER, edit, make_small

pytestmark = pytest.mark.slow  # every runtime loads the built-in model

WORDS = ("the", "price", "of", "used", "cars", "fell", "unbelievably", "new", "ones", "were", "driven")
LEAST = {"float32": 0.999999, "bfloat16": 0.9995, "int8": 0.998}  # cosines to the vectors of sentence-transformers
COMPUTES: list[tuple[str, Precision]] = [
    ("openvino", "float32"),
    ("openvino", "bfloat16"),
    ("openvino", "int8"),
    ("torch", "bfloat16"),
    ("torch_packed", "float32"),
    ("torch_packed", "bfloat16"),
]


COMPUTE = Compute("cpu", "float32", "openvino", EXPORTS)


@pytest.fixture(scope="module", params=COMPUTES, ids=" ".join)
def transformer(request: pytest.FixtureRequest) -> Transformer:
    runtime, precision = request.param
    if precision == "int8" and not computes_in_int8():
        pytest.skip("OpenVINO does not compute in int8 on this CPU")
    return Transformer("m", built_in_checkpoint(), Compute("cpu", precision, runtime, EXPORTS))


def texts(count: int, most_words: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, most_words))) for _ in range(count)]


ORACLE_TEXTS = texts(40, 30, 1)


def encoded(encoder: Transformer, sample: list[str]) -> list[TokenEmbeddings]:
    return encoder.encode(encoder.tokenize(sample, "query", "END"), "tokens")


def least_cosine(a: Floats, b: Floats) -> float:
    return float((unit_rows(a) * unit_rows(b)).sum(axis=-1).min())


@pytest.fixture(scope="module")
def oracle() -> Floats:
    """Vectors of ORACLE_TEXTS by sentence-transformers."""
    vectors: Floats = SentenceTransformer(str(BUILT_IN_FOLDER), device="cpu").encode(ORACLE_TEXTS)
    return vectors


def test_vectors_equal_those_of_sentence_transformers(transformer: Transformer, oracle: Floats) -> None:
    embeddings = np.stack([each.pooled() for each in encoded(transformer, ORACLE_TEXTS)])
    assert least_cosine(embeddings, oracle) > LEAST[transformer.precision]


@pytest.mark.parametrize(("count", "most_words"), [(2, 120), (3, 5), (9, 17), (33, 60), (65, 1)])
def test_a_text_is_the_same_alone_and_in_any_batch(transformer: Transformer, count: int, most_words: int) -> None:
    sample = texts(count, most_words, count)
    together = encoded(transformer, sample)
    alone = [encoded(transformer, [text])[0] for text in sample]
    for a, b, tokens in zip(together, alone, transformer.tokenize(sample, "query", "END"), strict=True):
        assert len(a) == len(tokens), "padding is not part of the output"
        assert least_cosine(a.vectors, b.vectors) >= 0.9998
        assert least_cosine(a.pooled(), b.pooled()) >= 0.9999
    scores = [[Rcmd().score(group[0], other) for other in group] for group in (together, alone)]
    assert scores[0] == pytest.approx(scores[1], abs=0.005)


def test_a_text_of_max_tokens_can_be_encoded(transformer: Transformer) -> None:
    [embeddings] = encoded(transformer, ["word " * 1000])
    assert len(embeddings) == transformer.max_tokens
    assert embeddings.text is not None
    assert embeddings.text.truncated


@pytest.mark.parametrize(
    "cores", [pytest.param(1, marks=pytest.mark.nightly), 2, pytest.param(3, marks=pytest.mark.nightly)]
)
def test_batches_at_the_same_time_keep_their_vectors(cores: int) -> None:
    encoder = Transformer("m", built_in_checkpoint(), Compute("cpu", "float32", "openvino", EXPORTS, cores))
    samples = [texts(random.Random(seed).choice((1, 2, 9, 40)), 30, seed) for seed in range(12)]
    expected = [[each.vectors for each in encoded(encoder, sample)] for sample in samples]
    with ThreadPoolExecutor(5) as pool:  # more than cores
        for _ in range(3):
            for alone, together in zip(expected, pool.map(partial(encoded, encoder), samples), strict=True):
                for a, b in zip(alone, together, strict=True):
                    assert least_cosine(a, b.vectors) >= 0.999999


def test_only_a_small_batch_alone_gets_all_cores() -> None:
    runtime = openvino.OpenVino(built_in_checkpoint(), Compute("cpu", "float32", "openvino", EXPORTS, 2))
    requests = runtime._requests
    with requests.borrowed(small=False) as large:
        assert large is requests._whole, "a single caller wants all cores"
    with requests.borrowed(small=True) as alone:
        with requests.borrowed(small=True) as second, requests.borrowed(small=False) as third:
            assert len({id(alone), id(second), id(third)}) == 3
            assert requests._singles.empty(), "one for each core"
        assert alone is requests._whole
    with requests.borrowed(small=False) as large:
        assert large is not requests._whole
    with requests.borrowed(small=True) as again:
        assert again is requests._whole


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A network that is exported from torch, since its activation is not BERT's."""
    folder = make_small(tmp_path_factory.mktemp("exported") / "model")
    edit(folder / "config.json", hidden_act="relu")
    checkpoint = read_checkpoint(folder)
    openvino.OpenVino(checkpoint, COMPUTE)
    return checkpoint


@pytest.mark.parametrize("kind", ["built in", "exported"])
def test_a_load_needs_neither_torch_nor_telemetry(kind: str, exported: Checkpoint, tmp_path: Path) -> None:
    folder = BUILT_IN_FOLDER if kind == "built in" else exported.folder
    code = f"""
import socket, sys
def fail_on_connect(*arguments, **named): raise AssertionError("a connection was opened")
socket.socket.connect = socket.getaddrinfo = fail_on_connect
from pathlib import Path
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.encoders.transformer import Transformer
from semblance.models import catalogue
from semblance.models.runtime import RUNTIMES, Compute
ranks = [catalogue.find(RUNTIMES, name).rank for name in catalogue.names(RUNTIMES)]
assert len({{*ranks}}) == len(ranks)
compute = Compute("cpu", "float32", "openvino", Path({str(EXPORTS)!r}))
Transformer("m", read_checkpoint(Path({str(folder)!r})), compute)
print(sorted({{"torch", "transformers", "openvino.tools.ovc", "openvino_telemetry.main"}} & {{*sys.modules}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert done.stdout == "[]\n"
    assert not (tmp_path / "intel").exists()


def test_the_key_of_an_export_is_stable() -> None:
    """Renamed classes and fields keep exports on disk valid. Raise FORMAT with a change of inputs or facts."""
    checkpoint = replace(built_in_checkpoint(), space="0" * 64)
    key = openvino._fingerprint(checkpoint, {"openvino": "1"})
    assert key == "ba3175857e9aa4ea5c3534447339d9f0c2596c015ba4fa8220c08c192bf607dd"
    assert openvino.FORMAT == 2
    assert GraphInputs._fields == openvino._INPUTS
    assert tuple(NetworkFacts.__slots__) == (*openvino._FACTS, "type_rows")  # an export reads no pairs


def test_the_files_of_an_export_keep_their_names_and_keys(exported: Checkpoint) -> None:
    versions = openvino.OpenVino(exported, COMPUTE).versions
    folder = EXPORTS / openvino._fingerprint(exported, {"openvino": versions["openvino"]})
    names = ["facts.json", "manifest.json", "network.bin", "network.xml", "probes.safetensors"]
    assert sorted(file.name for file in folder.iterdir()) == names
    facts = json.loads((folder / "facts.json").read_text())
    assert list(facts) == ["dim", "max_tokens", "pad_id", "first_position", "tokenizer", "exporter"]


def test_an_export_states_the_versions_that_made_it(exported: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """So replicas with and without torch, or with another torch, have the same build of one export."""
    versions = openvino.OpenVino(exported, COMPUTE).versions
    assert versions == {name: version(name) for name in ("openvino", "torch", "transformers")}
    monkeypatch.setattr(torch_network, "VERSIONS", {"torch": "9", "transformers": "9"})
    assert openvino.OpenVino(exported, COMPUTE).versions == versions


def test_an_export_of_another_format_is_not_used(exported: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_on_export(*_: object) -> None:
        raise NotExportable("cache miss")

    monkeypatch.setattr(openvino, "_export", fail_on_export)
    openvino.OpenVino(exported, COMPUTE)
    monkeypatch.setattr(openvino, "FORMAT", 0)
    with pytest.raises(NotExportable, match="cache miss"):
        openvino.OpenVino(exported, COMPUTE)


def test_openvino_rejects_gpus() -> None:
    with pytest.raises(NotExportable, match="cuda"):
        Transformer("m", built_in_checkpoint(), Compute("cuda", "float32", "openvino"))


@pytest.mark.parametrize("runtime", ["torch", "torch_packed"])
def test_the_limit_of_threads_is_passed_to_torch(runtime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", limits.append)
    for threads in (None, 3):
        catalogue.find(RUNTIMES, runtime)(built_in_checkpoint(), Compute("cpu", "float32", runtime, EXPORTS, threads))
    assert limits == [3]


def test_a_device_lost_during_loading_is_reported_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise torch.AcceleratorError("an illegal memory access was encountered")

    monkeypatch.setattr(TorchNetwork, "forward", fail)
    monkeypatch.setattr(device_errors, "_responds", lambda _: False)
    with pytest.raises(DeviceLost, match="illegal memory access"):
        Transformer("m", built_in_checkpoint(), Compute(runtime="torch"))
