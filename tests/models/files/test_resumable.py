"""Resumable output folders: one job and one process at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet
from semblance.models.files.atomic import partial_path
from semblance.models.files.resumable import LOCK, process_lock, resumable_folder

JOB = {"seed": 1, "sizes": {"dim": 3}, "semblance": "1"}


def test_the_same_job_resumes_even_under_another_version(tmp_path: Path) -> None:
    about = tmp_path / "runs" / "work" / "about.json"
    for job in (JOB, JOB, {**JOB, "semblance": "2"}):
        with resumable_folder(about, job, BadDataSet):
            assert json.loads(about.read_text("utf-8")) == JOB


def resume(about: Path, job: Mapping[str, object] = JOB) -> None:
    with resumable_folder(about, job, BadDataSet):
        pass


@pytest.mark.parametrize("other", [{**JOB, "sizes": {"dim": 4}}, {**JOB, "sizes": {}}])
def test_a_different_job_is_rejected_with_the_differing_keys(tmp_path: Path, other: dict[str, object]) -> None:
    about = tmp_path / "about.json"
    resume(about)
    with pytest.raises(BadDataSet, match=r"another value of sizes\.dim; repeat"):
        resume(about, other)
    assert json.loads(about.read_text("utf-8")) == JOB


def test_remains_of_a_crash_are_accepted_foreign_files_refused(tmp_path: Path) -> None:
    about = tmp_path / "about.json"
    partial_path(about).write_text("{")
    resume(about)
    about.unlink()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadDataSet, match=r"already contains notes\.txt"):
        resume(about)
    assert not about.exists()


def test_a_path_that_is_no_folder_raises_the_requested_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadDataSet, match="cannot be written"):
        resume(tmp_path / "file" / "a.json")


def test_errors_of_the_block_propagate_unchanged(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="of the block"), resumable_folder(tmp_path / "about.json", {}, BadDataSet):
        raise OSError("of the block")


def test_the_lock_excludes_other_processes_until_its_owner_dies(tmp_path: Path) -> None:
    acquire = (
        "import sys, filelock; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); print(1, flush=True); input()"
    )
    command = [sys.executable, "-c", acquire, str(tmp_path / LOCK)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(BadDataSet, match="busy"), process_lock(tmp_path / LOCK, BadDataSet("busy")):
            pass
        other.kill()
    with process_lock(tmp_path / LOCK, BadDataSet("busy")):
        pass
