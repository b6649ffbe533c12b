"""How large is an installation, and how soon does it answer?

    python -m benchmarks.speed.installation

builds the wheels of the project, downloads what they require, installs all of it into an empty environment without pip,
and starts the service there several times. It prints the size of the downloads and of what is installed, with and
without the byte code that pip makes of it, the largest packages, and the time from the start of the process to the
first answer, with a home that is empty and with one that is not.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import httpx2
from rich.table import Table

from tests.support.project import PROJECT
from tests.support.results import save_results
from tests.support.running_service import Service
from tests.support.wide_console import wide_console

SOURCES = ("assets", "clients/python", ".")
LARGEST = 8
MB = 1e6
PAIR = {"pairs": [{"a": "my parcel never came", "b": "the package is lost"}]}


def install(folder: Path) -> tuple[Path, float]:
    """Make an environment with the project in it; returns its Python and the bytes that were downloaded or built."""
    wheels, environment = folder / "wheels", folder / "environment"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "assets/fetch.py"], cwd=PROJECT, check=True)
    wheel = [*pip, "wheel", "--constraint", "constraints.txt", "--wheel-dir", str(wheels)]
    subprocess.run([*wheel, *(f"./{each}" for each in SOURCES)], cwd=PROJECT, check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    files = [str(file) for file in wheels.glob("*.whl")]
    subprocess.run([*pip, "--python", str(python), "install", "--no-deps", *files], check=True)
    return python, sum(file.stat().st_size for file in wheels.glob("*.whl"))


def sizes(environment: Path) -> tuple[Counter[str], float]:
    """Bytes of each package of an environment, without byte code, and those of the byte code."""
    packages, code = Counter[str](), 0.0
    for file in environment.rglob("*"):
        if not file.is_file() or file.is_symlink():
            continue
        if file.suffix == ".pyc":
            code += file.stat().st_size
        else:
            parts = file.parts[len(environment.parts) :]
            name = parts[parts.index("site-packages") + 1] if "site-packages" in parts else "environment"
            packages[name.removesuffix(".libs")] += file.stat().st_size
    return packages, code


def first_answer_s(python: Path, home: Path) -> float:
    """Seconds from the start of the service to its first answer."""
    service = Service(home, project=home, python=str(python))
    began = time.perf_counter()
    try:
        url = service.start()
        httpx2.post(f"{url}/similarity", json=PAIR).raise_for_status()
        return time.perf_counter() - began
    finally:
        service.stop()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=5)
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as name:
        folder = Path(name)
        python, downloaded = install(folder)
        packages, code = sizes(folder / "environment")
        home = folder / "home"
        home.mkdir()
        cold = first_answer_s(python, home)
        warm = median(first_answer_s(python, home) for _ in range(options.starts))
    installed = packages.total()
    rows = [
        ("wheels, MB", downloaded / MB),
        ("installed without byte code, MB", installed / MB),
        ("installed, MB", (installed + code) / MB),
        ("first answer with an empty home, s", cold),
        (f"first answer, median of {options.starts}, s", warm),
    ]
    table = Table("installation of all built-in models", "")
    for label, value in rows + [(f"  {package}, MB", size / MB) for package, size in packages.most_common(LARGEST)]:
        table.add_row(label, f"{value:,.2f}" if label.endswith(", s") else f"{value:,.0f}")
    wide_console().print(table)
    save_results("installation", dict(rows))


if __name__ == "__main__":
    main()
