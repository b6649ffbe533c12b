"""OpenVINO: the fastest on CPUs."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from queue import LifoQueue
from typing import Any, ClassVar

import numpy as np
from safetensors.numpy import load_file, save_file

from semblance.models.embeddings import Floats, Precision, Want
from semblance.models.errors import NotExportable
from semblance.models.files.digests import digest
from semblance.models.files.json_file import read_json
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.agreement import PROBES, probe_ids
from semblance.models.networks.bert_graph import VERSION as BERT_GRAPH
from semblance.models.networks.bert_graph import BertGraph, bert_graph, plain_tokenizer
from semblance.models.networks.export_cache import cached_export
from semblance.models.networks.graph_layers.packed import import_openvino
from semblance.models.networks.number_types import INT8_VERSION, OPTIONS, quantize
from semblance.models.networks.shape_buckets import graph_inputs
from semblance.models.processor.agreed_builds import build_of, has_agreed
from semblance.models.processor.matrix_speed import fastest_type
from semblance.models.processor.usable_cores import usable_cores
from semblance.models.runtime import BatchOutput, Compute, NetworkFacts, pool_batch, require_torch
from semblance.models.text import Ints

FORMAT = 2  # of an export; raise it when the graph of a network, its inputs, or the files change
SMALL_TOKENS = 64  # of a batch that runs on all cores while no other runs
_INPUTS = ("ids", "positions", "tokens", "real", "places")  # in the cache key: frozen, however fields are named
_FACTS = ("dim", "max_tokens", "pad_id", "first_position", "tokenizer")  # likewise, and keys of the file below
_EXPORTER = "exporter"  # key of the versions that made the export, in the same file
_NETWORK_FILE, _FACTS_FILE, _EXACT_FILE = "network.xml", "facts.json", "probes.safetensors"


class OpenVino:
    """Run the network as a graph of OpenVINO.

    The graph of a network of BERT's kind is made from its files (networks/bert_graph.py). Any other network is exported
    from torch once and cached; a cache hit needs no torch. The texts of a batch are packed without padding, except for
    attention. OpenVINO compiles and caches kernels for each shape that it meets, so batches are padded to one of few
    shapes.

    Raises:
        NotExportable: the device is not a CPU; OpenVINO cannot convert, compile or run the network, or its attention
            depends on more than the tokens of a text; or the export cannot be written.
        MissingExtra: it must be exported, and torch is not installed.
        BadCheckpoint: see `TorchNetwork` and `bert_graph`.
    """

    rank: ClassVar[int] = 10

    def __init__(self, checkpoint: Checkpoint, compute: Compute) -> None:
        if compute.device != "cpu":
            raise NotExportable(f"OpenVINO is used on CPUs only, not on {compute.device}")
        self._largest = checkpoint.modules.largest
        self._precision = compute.precision
        self.versions: Mapping[str, str] = {"openvino": version("openvino")}
        if compute.precision == "int8":
            self.versions = {**self.versions, "int8": str(INT8_VERSION)}
        self.exact: Sequence[Floats] = ()
        tokenizer = plain_tokenizer(checkpoint)
        if tokenizer is not None:
            self._open_graph(checkpoint, compute, bert_graph(checkpoint, tokenizer))
        else:
            self._open_export(checkpoint, compute)

    def _open_graph(self, checkpoint: Checkpoint, compute: Compute, made: BertGraph) -> None:
        self.facts = made.facts
        self.versions = {**self.versions, "bert_graph": str(BERT_GRAPH)}
        build = build_of(checkpoint.space, "openvino", compute.precision, self.versions)
        compares = compute.precision != "float32" and not has_agreed(compute.exports, build)
        with ThreadPoolExecutor() as pool:
            exact = pool.submit(_exact_vectors, checkpoint, made) if compares else None
            self._requests = _Requests(made.graph, compute)
            self.exact = exact.result() if exact is not None else ()

    def _open_export(self, checkpoint: Checkpoint, compute: Compute) -> None:
        fingerprint = _fingerprint(checkpoint, {"openvino": self.versions["openvino"]})  # one for all number types
        with cached_export(compute.exports, fingerprint, lambda folder: _export(checkpoint, folder)) as folder:
            facts = read_json(folder / _FACTS_FILE, dict)
            self.facts = NetworkFacts(**{key: facts[key] for key in _FACTS})
            self.versions = {**self.versions, **facts[_EXPORTER]}
            exact = load_file(folder / _EXACT_FILE)
            self.exact = [exact[str(i)] for i in range(len(exact))]
            self._requests = _Requests(import_openvino().Core().read_model(folder / _NETWORK_FILE), compute)

    @classmethod
    def serves(cls, device: str) -> bool:
        """On CPUs, if OpenVINO is installed."""
        return device == "cpu" and find_spec("openvino") is not None

    @classmethod
    def fastest_precision(cls, device: str) -> Precision:
        """On CPUs the one that a measurement finds, which is made once."""
        return fastest_type() if device == "cpu" else "float32"

    def run(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> BatchOutput:
        """Encode one batch, padded to one of few shapes. Raises NotExportable."""
        with self._hidden(ids) as hidden:
            return pool_batch(hidden, [len(text) for text in ids], weights, want, largest=self._largest)

    def first_vectors(self, ids: Sequence[Ints], types: Sequence[Ints]) -> Floats:
        """(b, d) vectors of the first token of each pair. Raises NotExportable."""
        starts = np.cumsum([0, *(len(pair) for pair in ids[:-1])])
        with self._hidden(ids, types) as hidden:
            first: Floats = hidden[starts]
            return first

    @contextmanager
    def _hidden(self, ids: Sequence[Ints], types: Sequence[Ints] | None = None) -> Iterator[Floats]:
        """The token vectors of one batch, text after text; valid within the context."""
        inputs = dict(enumerate(graph_inputs(ids, self.facts, types)))
        small = len(ids) == 1 or sum(map(len, ids)) <= SMALL_TOKENS
        with self._requests.borrowed(small=small) as request:
            hidden = request.infer(inputs, share_inputs=True, share_outputs=True)[0]
            if len(hidden) != len(inputs[0]):  # what some processors give in int8, without an error
                raise NotExportable(f"OpenVINO gives no vectors in {self._precision} on this processor")
            yield hidden


class _Requests:
    """Inference requests of one graph.

    One has all cores, and for each core there is one that has it alone. Batches that run at the same time, each on its
    core, do not wait for each other; a batch on all cores waits for the slowest at every layer. A small batch that runs
    alone is sooner done with all of them.

    Raises:
        NotExportable: OpenVINO cannot compile the graph.
    """

    def __init__(self, network: Any, compute: Compute) -> None:
        cores = compute.threads or usable_cores()
        network = quantize(network) if compute.precision == "int8" else network
        with ThreadPoolExecutor() as pool:  # as each takes a tenth of a second
            whole = pool.submit(_compile, network, compute, streams=1, threads=cores)
            singles = _compile(network, compute, streams=cores, threads=cores) if cores > 1 else None
            self._whole = whole.result().create_infer_request()
        self._singles: LifoQueue[Any] = LifoQueue()  # the last used first: its memory is warm
        self._running = 0
        self._shared = False  # whether batches ever ran at the same time; a single caller wants all cores for each
        self._lock = threading.Lock()
        self._always_whole = singles is None
        if singles is not None:
            for _ in range(cores):
                self._singles.put(singles.create_infer_request())

    @contextmanager
    def borrowed(self, *, small: bool) -> Iterator[Any]:
        """A request for one batch; waits for one if all are in use."""
        if self._always_whole:
            with self._lock:
                yield self._whole
            return
        with self._lock:
            self._shared = self._shared or self._running > 0
            whole = not self._running and (small or not self._shared)
            self._running += 1
        request = self._whole if whole else self._singles.get()
        try:
            yield request
        finally:
            with self._lock:
                self._running -= 1
            if not whole:
                self._singles.put(request)


def _exact_vectors(checkpoint: Checkpoint, made: BertGraph) -> list[Floats]:
    """(n_i, d) token vectors of each probe, by the same graph in float32."""
    probes = probe_ids(checkpoint, made.facts)
    request = _compile(made.graph, Compute("cpu", "float32"), streams=1, threads=1).create_infer_request()
    return [request.infer(dict(enumerate(graph_inputs([ids], made.facts))))[0][: len(ids)] for ids in probes]


def _fingerprint(checkpoint: Checkpoint, versions: Mapping[str, str]) -> str:
    """Digest of everything that decides what an export holds and how it is read."""
    return digest(
        format=FORMAT, inputs=_INPUTS, facts=_FACTS, space=checkpoint.space, versions=dict(versions), probes=PROBES
    )


def _compile(network: Any, compute: Compute, streams: int, threads: int) -> Any:
    """A compiled graph, for some batches at a time and that many threads in all."""
    options = {**OPTIONS[compute.precision], "NUM_STREAMS": streams, "INFERENCE_NUM_THREADS": threads}
    try:
        return import_openvino().Core().compile_model(network, "CPU", options)
    except RuntimeError as error:
        raise NotExportable(f"OpenVINO cannot compile the network: {error}") from error


def _export(checkpoint: Checkpoint, folder: Path) -> None:
    """Write the graph of the network, its facts, and the exact vectors of the probes."""
    require_torch(f"{checkpoint.folder}, whose network or tokenizer is not of BERT's kind,")
    from semblance.models.networks.graph_export import export_graph  # noqa: PLC0415 - importing torch takes seconds
    from semblance.models.networks.torch_network import VERSIONS  # noqa: PLC0415 - likewise

    openvino = import_openvino()
    from openvino.tools.ovc import convert_model  # noqa: PLC0415 - slow, and rarely needed

    graph, facts, exact = export_graph(checkpoint)
    try:
        with warnings.catch_warnings(action="ignore"):  # deprecations within these libraries
            converted = convert_model(graph)
    except Exception as error:  # OpenVINO raises many types, depending on the network
        raise NotExportable(f"OpenVINO cannot convert the network of {checkpoint.folder}: {error}") from error
    openvino.save_model(converted, folder / _NETWORK_FILE, compress_to_fp16=False)
    save_file({str(i): each for i, each in enumerate(exact)}, folder / _EXACT_FILE)
    values = (facts.dim, facts.max_tokens, facts.pad_id, facts.first_position, facts.tokenizer)
    written = {**dict(zip(_FACTS, values, strict=True)), _EXPORTER: VERSIONS}
    (folder / _FACTS_FILE).write_text(json.dumps(written), "utf-8")
