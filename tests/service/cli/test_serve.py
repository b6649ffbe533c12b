"""Start of the service: slow imports come later, and a refusal does not wait for the model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from semblance.service.app import create_app
from semblance.service.settings import Settings
from semblance.service.threads import SWITCH_S
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
TURNS = """
import os, sys
from semblance.service.composition import models
models.load_encoder = lambda *_: (print(sys.getswitchinterval(), flush=True), os._exit(0))
from semblance.service.cli.main import app
app(["serve"])
"""
UNUSED = """
from pydantic import BaseModel
from semblance_client.vocabulary.fields import RequestBody
from semblance.service.cli.toolbox.unused_models import unused_models
with unused_models():
    class Part(BaseModel):
        size: int
    class Body(RequestBody):
        part: Part
class Later(RequestBody):
    pass
made = [each.__pydantic_complete__ for each in (Part, Body, Later)]
print(made, Body.model_validate({"part": {"size": 3}}).model_dump_json(), Body.__pydantic_complete__)
"""
OPENAPI = """
import json, sys
from semblance.service.cli.toolbox.unused_models import unused_models
with unused_models():
    from semblance.service.app import create_app
    from semblance.service.settings import Settings
json.dump(create_app(Settings()).openapi(), sys.stdout)
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


def test_a_load_gets_its_turns_early(tmp_path: Path) -> None:
    settings = {"SEMBLANCE_HOME": str(tmp_path), "SEMBLANCE_PORT": "0"}
    command = [sys.executable, "-c", TURNS]
    ran = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True, timeout=300)
    assert float(ran.stdout) == SWITCH_S


def test_models_are_made_when_they_are_used() -> None:
    ran = subprocess.run([sys.executable, "-c", UNUSED], capture_output=True, text=True, check=True)
    assert ran.stdout == '[False, False, True] {"part":{"size":3}} True\n'


@pytest.mark.slow
def test_models_made_later_describe_the_same_routes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMBLANCE_HOME", str(tmp_path))
    ran = subprocess.run([sys.executable, "-c", OPENAPI], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert json.loads(ran.stdout) == json.loads(json.dumps(create_app(Settings()).openapi()))
