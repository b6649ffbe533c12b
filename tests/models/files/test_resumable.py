"""A folder for what takes long: for one making, and one process at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet
from semblance.models.files.atomic import partial
from semblance.models.files.resumable import LOCK, claimed, only_process

MADE_OF = {"seed": 1, "sizes": {"dim": 3}, "semblance": "1"}


def test_the_same_making_goes_on_and_another_version_may(tmp_path: Path) -> None:
    about = tmp_path / "runs" / "work" / "about.json"
    for made_of in (MADE_OF, MADE_OF, {**MADE_OF, "semblance": "2"}):
        with claimed(about, made_of, BadDataSet):
            assert json.loads(about.read_text("utf-8")) == MADE_OF


@pytest.mark.parametrize("other", [{**MADE_OF, "sizes": {"dim": 4}}, {**MADE_OF, "sizes": {}}])
def test_another_making_is_refused_by_the_name_of_what_differs(tmp_path: Path, other: dict[str, object]) -> None:
    about = tmp_path / "about.json"
    with claimed(about, MADE_OF, BadDataSet):
        pass
    with pytest.raises(BadDataSet, match=r"another value of sizes\.dim: start"), claimed(about, other, BadDataSet):
        pass
    assert json.loads(about.read_text("utf-8")) == MADE_OF


def test_what_a_crash_left_of_the_file_is_no_stranger_but_anything_else_is(tmp_path: Path) -> None:
    about = tmp_path / "about.json"
    partial(about).write_text("{")
    with claimed(about, MADE_OF, BadDataSet):
        pass
    about.unlink()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadDataSet, match=r"holds notes\.txt"), claimed(about, MADE_OF, BadDataSet):
        pass
    assert not about.exists()


def test_a_path_that_cannot_be_a_folder_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadDataSet, match="cannot be written"), claimed(tmp_path / "file" / "a.json", {}, BadDataSet):
        pass


def test_an_error_of_the_block_is_not_taken_for_one_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="of the block"), claimed(tmp_path / "about.json", {}, BadDataSet):
        raise OSError("of the block")


def test_another_process_is_kept_out_until_this_one_dies(tmp_path: Path) -> None:
    holding = (
        "import sys, filelock; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); print(1, flush=True); input()"
    )
    command = [sys.executable, "-c", holding, str(tmp_path / LOCK)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(BadDataSet, match="busy"), only_process(tmp_path / LOCK, BadDataSet("busy")):
            pass
        other.kill()
    with only_process(tmp_path / LOCK, BadDataSet("busy")):
        pass
