"""Apply each small defect in turn to a copy of the tree, and run the tests that should catch it."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from tests.defects.catalogue import DEFECTS
from tests.defects.defect import SOURCE_ROOTS, Defect, edit_of
from tests.support.project import PROJECT

AT_A_TIME = 2
NOT_CAUGHT = "NOT CAUGHT"
_NAME = 72  # characters
_OPTIONS = ("-q", "-x", "-rfE", "-p", "no:cacheprovider", "--timeout=1200")  # a slow machine catches nothing
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_PACKAGES = ("semblance", "semblance_client", "tests")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The test that caught a defect, None if none did, and how long that took."""

    defect: Defect
    caught_by: str | None
    seconds: float

    def __str__(self) -> str:
        return f"{self.defect.name:<{_NAME}} {self.seconds:4.0f} s  {self.caught_by or NOT_CAUGHT}"


def outcomes(defects: Sequence[Defect], project: Path) -> Iterator[Outcome]:
    """Run the tests of each defect, two at a time, in copies of a project; the project itself is not changed.

    Raises:
        RuntimeError: the tests could not be run, or one that caught a defect fails without it, too.
    """
    with TemporaryDirectory(prefix="semblance-defects-") as scratch, ThreadPoolExecutor(AT_A_TIME) as pool:
        copies = SimpleQueue[Path]()
        for number in range(min(AT_A_TIME, len(defects))):
            copies.put(_copied(project, Path(scratch, str(number))))

        def outcome(defect: Defect) -> Outcome:
            copy = copies.get()
            try:
                began = time.perf_counter()  # for the table
                with _applied(defect, copy):
                    caught_by = _first_failure(defect.tests, copy)
                return Outcome(defect, caught_by, time.perf_counter() - began)
            finally:
                copies.put(copy)

        caught: list[str] = []
        for each in pool.map(outcome, defects):
            caught += filter(None, [each.caught_by])
            yield each
        if caught and (failing := _first_failure(list(dict.fromkeys(caught)), copies.get())):
            raise RuntimeError(f"{failing} fails without a defect, too")


def _copied(project: Path, copy: Path) -> Path:
    """Copy what git tracks or would track, as it is now; links stay links."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = project / name, copy / name
        if os.path.lexists(source):  # else it was removed, and that is not committed yet
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    command = f"import {', '.join(_PACKAGES)}; print(*({', '.join(f'{each}.__file__' for each in _PACKAGES)}))"
    imported = _run([sys.executable, "-c", command], copy)
    if imported.stdout.count(f"{copy}/") != len(_PACKAGES):  # an editable installation must not come first
        raise RuntimeError(f"tests in {copy} would import others: {imported.stdout}{imported.stderr}")
    return copy


@contextmanager
def _applied(defect: Defect, project: Path) -> Iterator[None]:
    edit = edit_of(defect, project)
    cached = Path(cache_from_source(str(edit.file)))  # both texts may have the same size and second
    edit.file.write_text(edit.after, "utf-8")
    cached.unlink(missing_ok=True)
    try:
        yield
    finally:
        edit.file.write_text(edit.before, "utf-8")
        cached.unlink(missing_ok=True)


def _first_failure(tests: Sequence[str], project: Path) -> str | None:
    """The first test that fails, if any. Raises RuntimeError if they could not be run."""
    ran = _run([sys.executable, "-m", "pytest", *_OPTIONS, *tests], project)
    failed = _FAILED.findall(ran.stdout)
    if ran.returncode not in (0, 1, 5) or bool(failed) != (ran.returncode == 1):  # 5: there is no such test
        raise RuntimeError(f"pytest {' '.join(tests)} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return failed[-1] if failed else None  # what comes before may be a line of a log


def _run(command: Sequence[str], project: Path) -> subprocess.CompletedProcess[str]:
    roots = os.pathsep.join(str(project / root) for root in SOURCE_ROOTS)
    environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": roots}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def main() -> int:
    """Print a line for each defect; returns 1 if one was not caught."""
    parser = argparse.ArgumentParser(prog="scripts/defects", description=__doc__)
    parser.add_argument("names", nargs="*", help="only defects whose name or place contains one of these")
    parser.add_argument("--list", action="store_true", help="only print the defects, with their places")
    chosen = parser.parse_args()
    names = chosen.names or [""]
    defects = [each for each in DEFECTS if any(name in f"{each.name} {each.place}" for name in names)]
    if chosen.list:
        print("\n".join(f"{each.name:<{_NAME}} {each.place}" for each in defects))
        return 0
    caught = 0
    for outcome in outcomes(defects, PROJECT):
        print(outcome, flush=True)
        caught += outcome.caught_by is not None
    print(f"{caught} of {len(defects)} defects are caught")
    return 0 if defects and caught == len(defects) else 1


if __name__ == "__main__":
    sys.exit(main())
