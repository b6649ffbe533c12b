"""Servers with OpenAI's embeddings API and the same model, ours among them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, Protocol, get_args

import httpx2

from benchmarks.baselines.environments import PINS, child_environment, environment, run_command
from benchmarks.baselines.llama_cpp import convert, llama_server
from semblance.models.embeddings import Precision
from semblance.models.runtimes.openvino import OpenVino
from semblance.service.model_loading.registry import read_source
from tests.support.running_service import Service, reserved_port
from tests.support.servers.server_process import ServerProcess
from tests.support.service_monitor import resident_mb

PATH = "/v1/embeddings"
MODEL = "minilm"
SERVED = "served"  # name of the model in requests, whichever it is
OURS = "semblance"
OUR_PRECISIONS: Mapping[str, Precision | Literal["auto"]] = {
    OURS: "auto",
    **{f"semblance-{precision}": precision for precision in get_args(Precision)},
}
START_S = 600.0  # ends only a hang: a warm-up takes long on a busy machine
INFINITY = ("infinity_emb[server,torch,optimum]",)
INFINITY_OPTIONS: Mapping[str, Sequence[str]] = {
    "infinity": ("--engine", "torch", "--no-bettertransformer"),
    "infinity-bettertransformer": ("--engine", "torch", "--bettertransformer"),
    "infinity-bfloat16": ("--engine", "torch", "--bettertransformer", "--dtype", "bfloat16"),
    "infinity-onnx": ("--engine", "optimum"),
}
INFINITY_ONNX = Path(__file__).with_name("infinity_onnx.py")
FASTEMBED = ("fastembed", "fastapi", "uvicorn[standard]", "orjson")
FASTEMBED_PROGRAM = Path(__file__).with_name("fastembed_program.py")
VLLM = ("--no-deps", "--requirement", str(PINS / "vllm.txt"))  # without packages that need or bring another torch
VLLM_TYPES: Mapping[str, str] = {"vllm": "float32", "vllm-bfloat16": "bfloat16"}
LLAMA_TYPES: Mapping[str, str] = {"llama.cpp": "f32", "llama.cpp-bfloat16": "bf16", "llama.cpp-int8": "q8_0"}
LLAMA_SLOTS, LLAMA_TOKENS = 32, 512  # concurrent texts, and tokens of each


class Process(Protocol):
    """The operations on a server process."""

    @property
    def pid(self) -> int | None:
        """Process id, or None while it is not running."""

    def start(self) -> object:
        """Start it, and wait until it is ready."""

    def stop(self) -> object:
        """Ask it to end, and wait for it."""

    def pause(self) -> None:
        """Suspend it."""

    def resume(self) -> None:
        """Resume it."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, suspended except within `awake`.

    Attributes:
        start_s: time from the start of the process to its first response.
    """

    name: str
    url: str
    process: Process
    start_s: float = 0.0

    @property
    def memory_mb(self) -> float:
        """Resident memory of the process."""
        assert self.process.pid is not None, "the server runs until the block of `suspended` ends"
        return resident_mb(self.process.pid)

    @contextmanager
    def awake(self) -> Iterator[str]:
        """Resume the server while the block runs."""
        self.process.resume()
        try:
            yield self.url
        finally:
            self.process.pause()


@contextmanager
def running_servers(names: Sequence[str], model: str) -> Iterator[list[Server]]:
    """Start these servers of a built-in model, and keep them suspended until the block ends."""
    with ExitStack() as stack:
        yield [stack.enter_context(suspended(name, partial(SERVERS[name], model))) for name in names]


@contextmanager
def suspended(name: str, create: Callable[[str, Path], Server]) -> Iterator[Server]:
    """Start a server in a temporary folder, and keep it suspended until the block ends."""
    os.environ.pop("OMP_NUM_THREADS", None)  # our service, too, uses its default number of threads
    with TemporaryDirectory() as folder, ExitStack() as stack:
        print(f"starting {name} ...", flush=True)
        server = create(name, Path(folder))
        stack.callback(server.process.stop)
        began = time.perf_counter()
        server.process.start()
        started = replace(server, start_s=time.perf_counter() - began)
        stack.callback(server.process.resume)  # runs before `stop`, which a suspended process would ignore
        server.process.pause()
        yield started


def our_precision(name: str) -> Precision:
    """Number type of one of our servers."""
    precision = OUR_PRECISIONS[name]
    return OpenVino.fastest_precision("cpu") if precision == "auto" else precision


def number_type(name: str) -> str:
    """Number type in which a server computes: float32, bfloat16 or int8."""
    if name in OUR_PRECISIONS:
        return our_precision(name)
    return next((each for each in ("bfloat16", "int8") if name.endswith(each)), "float32")


def model_folder(model: str = MODEL) -> Path:
    """Folder of a built-in model."""
    return read_source(model).location


def _semblance(model: str, name: str, folder: Path) -> Server:
    never = "86400"  # otherwise it takes the model thread for dead after it was suspended
    named, precision = f"{SERVED}={model}", our_precision(name)
    service = Service(folder, cache="none", models=named, precision=precision, ready_within_s=never)
    return Server(name, service.url, service)


def infinity_server(
    name: str, folder: Path, model: Path, options: Sequence[str], answers: Callable[[str], bool]
) -> Server:
    """infinity with a model, ready when `answers` is true of its URL; its API is below /v1."""
    python, port = environment("infinity", INFINITY), str(reserved_port())
    address = ("--host", "127.0.0.1", "--port", port, "--url-prefix", "/v1", "--device", "cpu")
    served = ("--model-id", str(model), "--served-model-name", SERVED, "--pooling-method", "mean")
    plain = ("--no-trust-remote-code", "--no-vector-disk-cache", "--no-compile")
    command = [str(python.with_name("infinity_emb")), "v2", *address, *served, *plain, *options]
    return _server(name, port, command, folder, answers, HF_HOME=str(folder))


def _infinity(model: str, name: str, folder: Path) -> Server:
    location = _onnx(model, folder) if name == "infinity-onnx" else model_folder(model)
    return infinity_server(name, folder, location, INFINITY_OPTIONS[name], _answers)


def _onnx(model: str, folder: Path) -> Path:
    """Folder of a model as ONNX, exported in infinity's environment."""
    run_command(
        [str(environment("infinity", INFINITY)), str(INFINITY_ONNX), str(model_folder(model)), str(folder / "onnx")]
    )
    return folder / "onnx"


def _fastembed(model: str, name: str, folder: Path) -> Server:
    python, port = environment("fastembed", FASTEMBED), str(reserved_port())
    return _server(name, port, [str(python), str(FASTEMBED_PROGRAM), str(_onnx(model, folder)), port], folder, _answers)


def _vllm(model: str, name: str, folder: Path) -> Server:
    python, port = environment("vllm", VLLM), str(reserved_port())
    served = ("--model", str(model_folder(model)), "--served-model-name", SERVED, "--runner", "pooling")
    address = ("--host", "127.0.0.1", "--port", port, "--disable-uvicorn-access-log", "--disable-log-stats")
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", *served, "--dtype", VLLM_TYPES[name], *address]
    openmp = str(python.parents[1] / "lib" / "libiomp5.so")  # which its documentation recommends
    return _server(
        name, port, command, folder, _answers, HOME=str(folder), LD_PRELOAD=openmp, VLLM_CPU_KVCACHE_SPACE="1"
    )


def _llama_cpp(model: str, name: str, folder: Path) -> Server:
    server, weights, port = llama_server(), folder / "model.gguf", str(reserved_port())
    convert(model_folder(model), LLAMA_TYPES[name], weights)
    served = ("--model", str(weights), "--alias", SERVED, "--embeddings", "--pooling", "mean")
    slots = ("--parallel", str(LLAMA_SLOTS), "--ctx-size", str(LLAMA_SLOTS * LLAMA_TOKENS))
    quiet = ("--no-ui", "--log-verbosity", "1", "--offline")
    command = [str(server), *served, "--host", "127.0.0.1", "--port", port, *slots, *quiet]
    return _server(name, port, command, folder, _answers, OMP_WAIT_POLICY="passive")


def _txtai(model: str, name: str, folder: Path) -> Server:
    python = environment("txtai", ("txtai[api]",))
    config = {"openai": True, "embeddings": {"path": str(model_folder(model)), "gpu": False}}
    (folder / "config.yml").write_text(json.dumps(config), "utf-8")  # JSON is YAML
    port = str(reserved_port())
    command = [str(python), "-m", "uvicorn", "--host", "127.0.0.1", "--port", port, "txtai.api:app"]
    return _server(name, port, command, folder, _answers, CONFIG=str(folder / "config.yml"))


def _server(
    name: str, port: str, command: Sequence[str], folder: Path, answers: Callable[[str], bool], **variables: str
) -> Server:
    url = f"http://127.0.0.1:{port}"
    assignments = (f"{key}={value}" for key, value in child_environment(**variables).items())
    isolated = ["env", "--ignore-environment", *assignments, *command]
    process = ServerProcess(isolated, lambda: answers(url), folder, start_s=START_S)
    return Server(name, url, process)


def _answers(url: str) -> bool:
    with suppress(httpx2.TransportError):
        return httpx2.post(f"{url}{PATH}", json={"model": SERVED, "input": ["A cat."]}, timeout=60).status_code == 200
    return False


SERVERS: Mapping[str, Callable[[str, str, Path], Server]] = {
    **dict.fromkeys(OUR_PRECISIONS, _semblance),
    **dict.fromkeys(INFINITY_OPTIONS, _infinity),
    "txtai": _txtai,
    "fastembed": _fastembed,
    **dict.fromkeys(VLLM_TYPES, _vllm),
    **dict.fromkeys(LLAMA_TYPES, _llama_cpp),
}
