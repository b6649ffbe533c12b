"""Operations on a collection, or on all, while replicas run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from tests.soak.fault_injection.fault import FaultContext, Violation
from tests.soak.fault_injection.replicas import kill_replica
from tests.soak.traffic.ledger import parse_version
from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE, Service
from tests.support.waiting import CEILING_S, until


def recreate_collection(context: FaultContext) -> None:
    with context.traffic.without_writers(), _http(context) as http:
        model = _collection(context, http)["model"]
        _json(http.delete(f"/collections/{context.target.collection}"))
        created = _json(http.put(f"/collections/{context.target.collection}", json={"model": model}))
        context.target.ledger.begin(created["version"], {})
        names = context.target.names
        names.begin(names.without(context.target.collection))
    context.wait()


def restore_backup(context: FaultContext) -> None:
    with tempfile.TemporaryDirectory() as folder:
        backup = str(Path(folder) / "backup")
        with context.traffic.without_writers():
            context.audit.settle()
            contents, names = context.target.ledger.contents(), dict(context.target.names.now)
            _run(context, "backup", backup)
        context.wait()
        with context.traffic.without_writers(), _http(context) as http:
            epoch = context.target.ledger.epoch
            _run(context, "restore", backup, "--yes")
            context.target.ledger.begin(_version_of_new_epoch(context, http, epoch), contents)
            context.target.names.begin(names)


def reembed(context: FaultContext) -> None:
    """Re-embed under another model: kill the command midway, then a replica, then run it again."""
    with _http(context) as http:
        before = _collection(context, http)["model"]
        after = next(name for name in context.deployment.models if name != before)
        command = ("index", "reembed", context.target.collection, "--model", after, "--url", context.deployment.url)
        first = _start(context, *command)
        until(lambda: first.poll() is not None or _collection(context, http)["reembedding"], "a re-embedding")
        first.kill()
        first.communicate()
        kill_replica(context)
        _run(context, *command)
        until(lambda: _collection(context, http)["model"] == after, f"the model {after}")  # the replica may lag


def _version_of_new_epoch(context: FaultContext, http: httpx2.Client, epoch: str) -> str:
    """First version of the epoch after `epoch`, once every replica has reached it."""

    def new_version(replica: Service) -> str:
        answer = http.get(f"{replica.url}/collections/{context.target.collection}")
        version = str(answer.json()["version"]) if answer.is_success else ""
        return version if version and parse_version(version).epoch != epoch else ""

    for replica in context.deployment.replicas:
        version = until(partial(new_version, replica), f"a new epoch of {replica.url} after the restore")
    return version


def _collection(context: FaultContext, http: httpx2.Client) -> Any:
    return _json(http.get(f"/collections/{context.target.collection}"))


def _http(context: FaultContext) -> httpx2.Client:
    return httpx2.Client(base_url=context.deployment.url, timeout=CEILING_S)


def _json(answer: httpx2.Response) -> Any:
    if not answer.is_success:
        request = f"{answer.request.method} {answer.request.url}"
        raise Violation(f"{request} answered {answer.status_code}: {answer.text[:300]}")
    return answer.json() if answer.content else None


def _run(context: FaultContext, *command: str) -> None:
    process = _start(context, *command)
    output, _ = process.communicate(timeout=CEILING_S)
    if process.returncode:
        raise Violation(f"semblance {' '.join(command)} failed: {output.decode(errors='replace')[-1000:]}")


def _start(context: FaultContext, *command: str) -> subprocess.Popen[bytes]:
    environment = os.environ | context.deployment.environment
    line = [sys.executable, "-m", SEMBLANCE, *command]
    return subprocess.Popen(line, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
