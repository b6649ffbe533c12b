"""Servers with OpenAI's embeddings API and the same model, ours among them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import httpx2

from benchmarks.baselines.environments import child_environment, environment, run_command
from semblance.service.model_loading.registry import read_source
from tests.support.running_service import Service, reserved_port
from tests.support.servers.server_process import ServerProcess

PATH = "/v1/embeddings"
MODEL = "minilm"
OURS = "semblance"
START_S = 300.0  # a warm-up takes long on a busy machine
INFINITY = ("infinity_emb[server,torch,optimum]",)
INFINITY_OPTIONS: Mapping[str, Sequence[str]] = {
    "infinity": ("--engine", "torch", "--no-bettertransformer"),
    "infinity-bettertransformer": ("--engine", "torch", "--bettertransformer"),
    "infinity-bfloat16": ("--engine", "torch", "--bettertransformer", "--dtype", "bfloat16"),
    "infinity-onnx": ("--engine", "optimum"),
}
INFINITY_ONNX = Path(__file__).with_name("infinity_onnx.py")


class Process(Protocol):
    """The operations on a server process."""

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
    """A running server, suspended except within `awake`."""

    name: str
    url: str
    process: Process

    @contextmanager
    def awake(self) -> Iterator[str]:
        """Resume the server while the block runs."""
        self.process.resume()
        try:
            yield self.url
        finally:
            self.process.pause()


@contextmanager
def running_servers(names: Sequence[str]) -> Iterator[list[Server]]:
    """Start these servers, and keep them suspended until the block ends."""
    with ExitStack() as stack:
        yield [stack.enter_context(suspended(name, SERVERS[name])) for name in names]


@contextmanager
def suspended(name: str, create: Callable[[str, Path], Server]) -> Iterator[Server]:
    """Start a server in a temporary folder, and keep it suspended until the block ends."""
    os.environ.pop("OMP_NUM_THREADS", None)  # our service, too, uses its default number of threads
    with TemporaryDirectory() as folder, ExitStack() as stack:
        print(f"starting {name} ...", flush=True)
        server = create(name, Path(folder))
        stack.callback(server.process.stop)
        server.process.start()
        stack.callback(server.process.resume)  # runs before `stop`, which a suspended process would ignore
        server.process.pause()
        yield server


def model_folder() -> Path:
    """Folder of the model that all servers use."""
    return read_source(MODEL).location


def _semblance(name: str, folder: Path) -> Server:
    never = "86400"  # otherwise it takes the model thread for dead after it was suspended
    service = Service(folder, cache="none", models=MODEL, ready_within_s=never)
    return Server(name, service.url, service)


def infinity_server(
    name: str, folder: Path, model: Path, options: Sequence[str], answers: Callable[[str], bool]
) -> Server:
    """infinity with a model, ready when `answers` is true of its URL; its API is below /v1."""
    python, port = environment("infinity", INFINITY), str(reserved_port())
    address = ("--host", "127.0.0.1", "--port", port, "--url-prefix", "/v1", "--device", "cpu")
    served = ("--model-id", str(model), "--served-model-name", MODEL, "--pooling-method", "mean")
    plain = ("--no-trust-remote-code", "--no-vector-disk-cache", "--no-compile")
    command = [str(python.with_name("infinity_emb")), "v2", *address, *served, *plain, *options]
    return _server(name, port, command, folder, answers, HF_HOME=str(folder))


def _infinity(name: str, folder: Path) -> Server:
    model = model_folder()
    if name == "infinity-onnx":
        model = folder / "onnx"
        run_command([str(environment("infinity", INFINITY)), str(INFINITY_ONNX), str(model_folder()), str(model)])
    return infinity_server(name, folder, model, INFINITY_OPTIONS[name], _answers)


def _txtai(name: str, folder: Path) -> Server:
    python = environment("txtai", ("txtai[api]",))
    config = {"openai": True, "embeddings": {"path": str(model_folder()), "gpu": False}}
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
        return httpx2.post(f"{url}{PATH}", json={"model": MODEL, "input": ["A cat."]}, timeout=60).status_code == 200
    return False


SERVERS: Mapping[str, Callable[[str, Path], Server]] = {
    OURS: _semblance,
    **dict.fromkeys(INFINITY_OPTIONS, _infinity),
    "txtai": _txtai,
}
