"""What is installed: a small wheel that needs nothing of the service."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

from tests.support.project import PROJECT

PACKAGE = PROJECT / "clients" / "python"
SOURCE = sorted((PACKAGE / "semblance_client").rglob("*.py"))


def test_the_package_imports_only_what_it_depends_on() -> None:
    imported = set()
    for file in SOURCE:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                imported.add(str(node.module))
    others = {name.partition(".")[0] for name in imported} - set(sys.stdlib_module_names) - {"semblance_client"}
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text("utf-8"))["project"]
    required = {re.split("[<>=]", dependency)[0] for dependency in project["dependencies"]}
    assert others - {"pydantic_core"} == required == {"httpx2", "pydantic"}, "pydantic brings pydantic_core"


def test_client_and_service_have_one_version_and_license() -> None:
    service, client = (
        tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"] for folder in (PROJECT, PACKAGE)
    )
    for name in ("version", "license", "requires-python"):
        assert service[name] == client[name]
    assert (PROJECT / "LICENSE").read_bytes() == (PACKAGE / "LICENSE").read_bytes()


def test_the_wheel_holds_the_modules_and_their_types(tmp_path: Path) -> None:
    folder = shutil.copytree(PACKAGE, tmp_path / "package", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "."]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {name for name in names if name.startswith("semblance_client/")} == {
        "semblance_client/py.typed",
        *(file.relative_to(PACKAGE).as_posix() for file in SOURCE),
    }
    assert any(name.endswith("licenses/LICENSE") for name in names)
