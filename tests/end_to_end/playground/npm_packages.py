"""The packages of npm that check the playground."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.conftest import missing
from tests.support.environments import digest_of, locked_environment, make_once

HERE = Path(__file__).parent
PACKAGES = HERE / "node_modules"


@cache
def npm_packages() -> Path:
    """The folder of the packages that package-lock.json names, which is made once."""
    npm = shutil.which("npm") or missing("npm")
    with locked_environment("npm"):
        digest = digest_of((), [HERE / "package-lock.json"])
        make_once(PACKAGES, "npm", digest, lambda: _install(npm))
    return PACKAGES


def _install(npm: str) -> None:
    command = [npm, "ci", "--silent", "--prefix", str(HERE)]
    if subprocess.run(command, check=False).returncode:
        missing("a registry that npm reaches")
