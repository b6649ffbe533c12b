"""Packages of npm that tests need, in the versions of a package-lock.json."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.conftest import missing
from tests.support.environments import digest_of, locked_environment, make_once


@cache
def npm_packages(home: Path) -> Path:
    """The folder of the packages that the package-lock.json in a folder names, which is made once."""
    npm = shutil.which("npm") or missing("npm")
    packages = home / "node_modules"
    with locked_environment("npm"):
        digest = digest_of((), [home / "package-lock.json"])
        make_once(packages, "npm", digest, lambda: _install(npm, home))
    return packages


def _install(npm: str, home: Path) -> None:
    command = [npm, "ci", "--silent", "--prefix", str(home)]
    if subprocess.run(command, check=False).returncode:
        missing("a registry that npm reaches")
