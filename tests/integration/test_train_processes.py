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

from semblance.models.training.trainer import last_checkpoint
from tests.models.training import train_tiny
from tests.models.training.tiny_runs import vectors
from tests.support.small_model import make_small
from tests.support.waiting import until

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning:transformers", "ignore::DeprecationWarning")
SETTINGS = {"epochs": 2, "batch_size": 8, "check_every": 3, "learning_rate": 1e-3, "dropout": 0}
FURTHER = {
    "low_rank": {"rank": 4, "alpha": 16},
    "learning_rate": 1e-2,
    "keep": {"batch_size": 7},
    "align": {"sets": ["own"], "batch_size": 5},
}
RUNS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "RCMD and pooled vectors, with cached gradients": ("clrcmd", {"pooled_weight": 1, "mini_batch": 3}),
    "RCMD, with kept vectors and aligned words": ("clrcmd", FURTHER),
    "ranking of positives, with accumulated gradients": ("twitter4sse", {"accumulate": 2}),
    "classes, batched by length": ("sbert_nli", {}),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_small(tmp_path_factory.mktemp("base") / "small")


Arguments = tuple[str, str, str, str]


def arguments(recipe: str, settings: Mapping[str, Any], small: Path, out: Path) -> Arguments:
    """The arguments of a worker that trains to `out`."""
    return recipe, json.dumps({**SETTINGS, **settings}), str(small), str(out)


def start_two(*worker: str) -> subprocess.Popen[str]:
    torchrun = str(Path(sys.executable).with_name("torchrun"))
    command = [torchrun, "--standalone", "--nproc-per-node", "2", "-m", train_tiny.__name__, *worker]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, text=True)


def train_by_two(*worker: str) -> None:
    with start_two(*worker) as ended:
        stderr = ended.communicate()[1]
    assert ended.returncode == 0, stderr


@pytest.mark.parametrize("case", RUNS)
def test_two_processes_train_the_model_of_one(case: str, small: Path, tmp_path: Path) -> None:
    recipe, settings = RUNS[case]
    one, two = tmp_path / "one", tmp_path / "two"
    train_tiny.main(*arguments(recipe, settings, small, one))
    train_by_two(*arguments(recipe, settings, small, two))
    np.testing.assert_allclose(vectors(two), vectors(one), atol=1e-4)
    print(f"{case}: {np.abs(vectors(two) - vectors(one)).max():.1e}")
    assert np.abs(vectors(one) - vectors(small)).max() > 0.01


def reached(out: Path) -> int:
    """The step of the last checkpoint."""
    checkpoint = last_checkpoint(out.with_name(f"{out.name}.training"))
    return 0 if checkpoint is None else int(checkpoint.name.removeprefix("checkpoint-"))


def second_worker(torchrun: int) -> int:
    """The process with rank 1."""
    children = Path(f"/proc/{torchrun}/task/{torchrun}/children").read_text().split()
    return next(int(each) for each in children if b"\0RANK=1\0" in Path(f"/proc/{each}/environ").read_bytes())


def test_a_run_resumes_after_one_process_was_killed(small: Path, tmp_path: Path) -> None:
    """Inside of the second epoch of 6 steps, whose order differs from that of the first."""
    settings = {"epochs": 3, "check_every": 5}
    one, two = tmp_path / "one", tmp_path / "two"
    both = arguments("twitter4sse", settings, small, two)
    with start_two(*both, "12") as torchrun:
        until(lambda: reached(two) == 10 or torchrun.poll() is not None, "the checkpoint of step 10")
        assert torchrun.poll() is None, torchrun.communicate()[1]
        os.kill(second_worker(torchrun.pid), signal.SIGKILL)
        torchrun.communicate()
    assert torchrun.returncode != 0
    assert not two.exists()
    train_by_two(*both)
    train_tiny.main(*arguments("twitter4sse", settings, small, one))
    np.testing.assert_allclose(vectors(two), vectors(one), atol=1e-4)
