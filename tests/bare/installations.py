"""Environments without extras, made as users make them, and kept in build/environments."""

from __future__ import annotations

import shutil
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from tests.support.environments import digest_of, install, make_once
from tests.support.project import PROJECT

ENVIRONMENTS = PROJECT / "build" / "environments"
CLIENT, ASSETS = PROJECT / "clients" / "python", PROJECT / "assets"
IN_WHEELS = [
    *(
        PROJECT / name
        for name in ("semblance/__init__.py", "models", "service", "pyproject.toml", "setup.py", "README.md")
    ),
    *(CLIENT / name for name in ("semblance_client", "pyproject.toml", "README.md")),
    *(ASSETS / name for name in ("semblance_assets", "pyproject.toml", "setup.py", "README.md")),
]


@dataclass(frozen=True)
class Installation:
    """An environment, and the command by which its users start a service with the sample."""

    environment: Path
    serve: tuple[str, ...]

    def variables(self, home: Path) -> dict[str, str]:
        """Environment variables of a user with this home: no setting of Semblance, its programs in the path."""
        return {"PATH": f"{self.environment / 'bin'}:/usr/bin:/bin", "HOME": str(home), "OMP_NUM_THREADS": "1"}


def from_clone() -> Installation:
    """The installation that `scripts/serve` makes."""
    with _environment("bare") as folder:
        install(["scripts/install"], SEMBLANCE_VENV=str(folder))
    return Installation(folder, ("env", f"SEMBLANCE_VENV={folder}", str(PROJECT / "scripts" / "serve")))


def from_wheels() -> Installation:
    """The wheels of `scripts/build`, installed again when a source changes."""
    builder = from_clone().environment
    with _environment("wheels") as folder:
        make_once(folder, "wheels", digest_of([], IN_WHEELS), lambda: _install_wheels(folder, builder))
    return Installation(folder / "wheels", ("semblance", "serve", "--sample"))


def _install_wheels(folder: Path, builder: Path) -> None:
    """Install the wheels alone; the packages that they need are those of the clone, which pip checks."""
    wheels = folder / "dist"
    install(["scripts/build", str(wheels)], SEMBLANCE_VENV=str(builder))
    install([str(builder / "bin" / "python"), "-m", "venv", "--clear", "--without-pip", str(folder / "wheels")])
    [needed] = (builder / "lib").glob("python*/site-packages")
    [own] = (folder / "wheels" / "lib").glob("python*/site-packages")
    (own / "needed.pth").write_text(f"{needed}\n")
    served = [str(wheel) for wheel in wheels.iterdir() if not wheel.name.startswith("semblance_lab")]
    install(["scripts/packages", str(folder / "wheels"), "--no-deps", *served], SEMBLANCE_VENV=str(builder))
    install([sys.executable, "-m", "pip", "--python", str(folder / "wheels" / "bin" / "python"), "check"])


@contextmanager
def _environment(name: str) -> Iterator[Path]:
    """The folder of an environment, for one process at a time; it is emptied when the requirements change."""
    folder = ENVIRONMENTS / name
    projects = [tomllib.loads((each / "pyproject.toml").read_text("utf-8")) for each in (PROJECT, CLIENT, ASSETS)]
    required = [str(each["project"].get("dependencies")) for each in projects]
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        folder.mkdir(exist_ok=True)
        wanted = digest_of(required, [PROJECT / "constraints.txt"])
        make_once(folder, "requirements", wanted, lambda: _empty(folder))
        yield folder


def _empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
