"""Training in several processes by torchrun: the model of one process, and resumed after one of them dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semblance_lab.training.trainer import last_checkpoint
from tests.integration import train_cases
from tests.lab.training import train_tiny
from tests.lab.training.tiny_runs import vectors
from tests.support.waiting import until

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore::FutureWarning:transformers", "ignore::DeprecationWarning"),
]
SETTINGS = {"epochs": 2, "batch_size": 8, "check_every": 3, "learning_rate": 1e-3, "dropout": 0}
FURTHER = {
    "low_rank": {"rank": 4, "alpha": 16},
    "learning_rate": 1e-2,
    "keep": {"batch_size": 7},
    "align": {"sets": ["own"], "batch_size": 5},
}
KILLED = "ranking of positives, resumed within its second epoch of 6 steps, whose order differs from that of the first"
RUNS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    KILLED: ("twitter4sse", {"epochs": 3, "check_every": 5}),
    "RCMD and pooled vectors, with cached gradients": ("clrcmd", {"pooled_weight": 1, "mini_batch": 3}),
    "RCMD, with kept vectors and aligned words": ("clrcmd", FURTHER),
    "ranking of positives, with accumulated gradients": ("twitter4sse", {"accumulate": 2}),
    "classes, batched by length": ("sbert_nli", {}),
}


def arguments(case: str, small: Path, folder: Path) -> list[str]:
    """The arguments of a worker that trains a case to a folder of its name."""
    recipe, settings = RUNS[case]
    return [recipe, json.dumps({**SETTINGS, **settings}), str(small), str(folder / case)]


def start_two(*cases: list[str]) -> subprocess.Popen[str]:
    torchrun = str(Path(sys.executable).with_name("torchrun"))
    command = [torchrun, "--standalone", "--nproc-per-node", "2", "-m", train_cases.__name__, json.dumps(cases)]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, text=True)


def reached(out: Path) -> int:
    """The step of the last checkpoint."""
    checkpoint = last_checkpoint(out.with_name(f"{out.name}.training"))
    return 0 if checkpoint is None else int(checkpoint.name.removeprefix("checkpoint-"))


def second_worker(torchrun: int) -> int:
    """The process with rank 1."""
    children = Path(f"/proc/{torchrun}/task/{torchrun}/children").read_text().split()
    return next(int(each) for each in children if b"\0RANK=1\0" in Path(f"/proc/{each}/environ").read_bytes())


@pytest.fixture(scope="module")
def by_two(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models of all cases, trained by two processes, of which one was killed in the first case."""
    folder = tmp_path_factory.mktemp("two")
    with start_two([*arguments(KILLED, small, folder), "12"]) as torchrun:
        until(lambda: reached(folder / KILLED) == 10 or torchrun.poll() is not None, "the checkpoint of step 10")
        assert torchrun.poll() is None, torchrun.communicate()[1]
        os.kill(second_worker(torchrun.pid), signal.SIGKILL)
        torchrun.communicate()
    assert torchrun.returncode != 0
    assert not (folder / KILLED).exists()
    with start_two(*(arguments(case, small, folder) for case in RUNS)) as ended:
        stderr = ended.communicate()[1]
    assert ended.returncode == 0, stderr
    return folder


@pytest.mark.parametrize("case", RUNS)
def test_two_processes_train_the_model_of_one(case: str, small: Path, by_two: Path, tmp_path: Path) -> None:
    train_tiny.main(*arguments(case, small, tmp_path))
    one, two = vectors(tmp_path / case), vectors(by_two / case)
    print(f"{case}: {np.abs(two - one).max():.1e}")
    np.testing.assert_allclose(two, one, atol=1e-4)
    assert np.abs(one - vectors(small)).max() > 0.01
