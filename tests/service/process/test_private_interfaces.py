"""Two modules extend private parts of uvicorn and FastAPI: an upgrade of either needs a look at them."""

from __future__ import annotations

from importlib.metadata import version

import pytest


@pytest.mark.parametrize(
    ("package", "reviewed", "module"),
    [("uvicorn", "0.54", "service/process/connections.py"), ("fastapi", "0.163", "service/api/routing.py")],
)
def test_private_parts_are_those_of_the_reviewed_version(package: str, reviewed: str, module: str) -> None:
    installed = version(package)
    remedy = f"{module} extends private parts of {package} {reviewed}: review it against {installed}, then change this"
    assert installed.rpartition(".")[0] == reviewed, remedy
