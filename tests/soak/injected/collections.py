"""What an operator does to a collection, or to all, while replicas run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2

from tests.soak.injected.fault import Broken, Scene
from tests.soak.injected.replicas import killed
from tests.soak.traffic.ledger import State, read_version
from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE

PATIENCE_S = 60.0


def recreated(scene: Scene) -> None:
    """The collection is deleted, and made anew at once."""
    with scene.traffic.without_writers(), _http(scene) as http:
        model = _collection(scene, http)["model"]
        _ok(http.delete(f"/collections/{scene.collection}"))
        made = _ok(http.put(f"/collections/{scene.collection}", json={"model": model}))
        scene.ledger.begin(made["version"], {})
    scene.wait()


def restored(scene: Scene) -> None:
    """A backup, more writes, and the backup put back in the place of all."""
    with tempfile.TemporaryDirectory() as folder:
        backup = str(Path(folder) / "backup")
        with scene.traffic.without_writers():
            scene.settle()
            kept: dict[str, State] = scene.ledger.held()
            _semblance(scene, "backup", backup)
        scene.wait()
        with scene.traffic.without_writers(), _http(scene) as http:
            before = scene.ledger.epoch
            _semblance(scene, "restore", backup, "--yes")
            scene.ledger.begin(_version_of_another_life(scene, http, before), kept)


def moved_to_another_model(scene: Scene) -> None:
    """A roll-over: its command is killed on the way, then a replica, and then it is run again to its end."""
    with _http(scene) as http:
        before = _collection(scene, http)["model"]
        after = next(name for name in scene.deployment.models if name != before)
        command = ("index", "reembed", scene.collection, "--model", after, "--url", scene.deployment.url)
        first = _started(scene, *command)
        give_up = time.monotonic() + PATIENCE_S
        while first.poll() is None and not _collection(scene, http)["rollover"]:
            if time.monotonic() > give_up:
                raise Broken(f"the roll-over to {after} does not begin")
            time.sleep(0.01)
        first.kill()
        first.communicate()
        killed(scene)
        _semblance(scene, *command)
        while (found := _collection(scene, http)["model"]) != after:  # that replica may be a moment behind
            if time.monotonic() > give_up:
                raise Broken(f"after the roll-over to {after} the collection is of model {found}")
            time.sleep(0.05)


def _version_of_another_life(scene: Scene, http: httpx2.Client, epoch: str) -> str:
    """The version that the collection begins its new life with, once every replica is in it."""
    give_up = time.monotonic() + PATIENCE_S
    for replica in scene.deployment.replicas:
        while True:
            answer = http.get(f"{replica.url}/collections/{scene.collection}")
            if answer.is_success and read_version(version := str(answer.json()["version"])).epoch != epoch:
                break
            if time.monotonic() > give_up:
                raise Broken(f"{replica.url} still is not in a new life after the restore: {answer.text[:300]}")
            time.sleep(0.05)
    return version


def _collection(scene: Scene, http: httpx2.Client) -> Any:
    return _ok(http.get(f"/collections/{scene.collection}"))


def _http(scene: Scene) -> httpx2.Client:
    return httpx2.Client(base_url=scene.deployment.url, timeout=PATIENCE_S)


def _ok(answer: httpx2.Response) -> Any:
    if not answer.is_success:
        raise Broken(f"{answer.request.method} {answer.request.url} answered {answer.status_code}: {answer.text[:300]}")
    return answer.json() if answer.content else None


def _semblance(scene: Scene, *command: str) -> None:
    """Run a command to its end. Raises Broken if it failed."""
    running = _started(scene, *command)
    said, _ = running.communicate(timeout=PATIENCE_S)
    if running.returncode:
        raise Broken(f"semblance {' '.join(command)} failed: {said.decode(errors='replace')[-1000:]}")


def _started(scene: Scene, *command: str) -> subprocess.Popen[bytes]:
    environment = os.environ | scene.deployment.environment
    return subprocess.Popen(
        [sys.executable, "-m", SEMBLANCE, *command],
        cwd=PROJECT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
