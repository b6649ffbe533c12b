"""Start of the service: slow imports come later, and a refusal does not wait for the model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import PROJECT

BEFORE_THE_MODEL = ("fastapi", "faiss", "httpx2", "openvino", "sqlalchemy", "uvicorn")
AT_ALL = ("alembic", "faiss", "httpx2", "psycopg", "redis", "sqlalchemy.dialects.postgresql")
SLOW_LOAD = """
import sys, time
from semblance.service.composition import models
models.load_encoder = lambda *_: time.sleep(600)  # longer than the test
from semblance.service.cli.main import app
app(["serve"])
"""


@pytest.mark.parametrize(
    ("module", "later"), [("semblance.service.cli.serve", BEFORE_THE_MODEL), ("semblance.service.app", AT_ALL)]
)
def test_a_start_leaves_slow_imports_for_later(module: str, later: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*({{*sys.argv[1:]}} & {{*sys.modules}}))"
    ran = subprocess.run([sys.executable, "-c", code, *later], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


def test_a_refusal_does_not_wait_for_the_model(tmp_path: Path) -> None:
    settings = {"SEMBLANCE_HOME": str(tmp_path), "SEMBLANCE_PORT": "0", "SEMBLANCE_API_KEYS": "nonsense"}
    ran = subprocess.run(
        [sys.executable, "-c", SLOW_LOAD],
        cwd=PROJECT,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith("cannot serve: ")
    assert "nonsense" not in ran.stderr
