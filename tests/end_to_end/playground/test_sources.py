"""Scripts have one format, and those of the playground pass a type checker; the tools are those of package.json."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.npm_packages import npm_packages
from tests.support.project import PROJECT

HERE = Path(__file__).parent
SOURCES = PROJECT / "service" / "playground"
PROGRAMS = PROJECT / "tests" / "clients" / "programs" / "node"


@pytest.mark.parametrize(
    "command",
    [
        f"tsc --project {HERE}",
        f"prettier --config {HERE}/.prettierrc.json --check {SOURCES}/index.html {SOURCES}/assets {PROGRAMS}",
    ],
)
def test_scripts_are_typed_and_formatted(command: str) -> None:
    tool, *options = command.split()
    command_line = [str(npm_packages(HERE) / ".bin" / tool), *options]
    ran = subprocess.run(command_line, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
