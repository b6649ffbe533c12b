"""`deploy/write-env.sh`: what it writes is what docker-compose.yml needs, is secret, and is never overwritten."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from semblance.service.api.edge.key_entries import KeyRing
from semblance.service.api.edge.keys import Guard
from semblance.service.settings import Settings
from tests.deploy.deployment import COMPOSE_FILE, DEPLOY, ENV_EXAMPLE, MILVUS_COMPOSE_FILE, compose, variables_of
from tests.support.project import PROJECT

STORES = ("DATABASE_ADMIN", "DATABASE", "REDIS", "GRAFANA", "MILVUS")
SECRETS = {"SEMBLANCE_API_KEYS", *(f"{store}_PASSWORD" for store in STORES)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the files that the script needs."""
    (tmp_path / "deploy").mkdir()
    shutil.copy(ENV_EXAMPLE, tmp_path)
    shutil.copy(DEPLOY / "write-env.sh", tmp_path / "deploy")
    return tmp_path


def write_env(project: Path, shell: str = "sh") -> subprocess.CompletedProcess[str]:
    """Run the script from another folder, with a umask that would let everyone read."""
    command = f"umask 000; {shell} {project}/deploy/write-env.sh"
    return subprocess.run(["sh", "-c", command], cwd="/", capture_output=True, text=True, check=False)


def test_the_example_has_every_variable_and_no_secret() -> None:
    used = set(re.findall(r"\$\{(\w+)", COMPOSE_FILE.read_text() + MILVUS_COMPOSE_FILE.read_text()))
    example = variables_of(ENV_EXAMPLE)
    assert example.keys() == used | {"COMPOSE_PROFILES"}
    assert {name for name, value in example.items() if not value} == SECRETS
    with pytest.raises(KeyError):
        compose(example)


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_it_fills_the_example_and_prints_the_key(project: Path, shell: str) -> None:
    ran = write_env(project, shell)
    assert (ran.returncode, ran.stderr) == (0, "")
    written, example = variables_of(project / ".env"), variables_of(ENV_EXAMPLE)
    assert {name: value for name, value in written.items() if name not in SECRETS} == {
        name: value for name, value in example.items() if value
    }
    passwords = [written[name] for name in SECRETS if name != "SEMBLANCE_API_KEYS"]
    assert all(re.fullmatch("[0-9a-f]{48}", password) for password in passwords)
    assert len(set(passwords)) == len(STORES)
    [key] = re.findall(r"^export SEMBLANCE_CLIENT_KEY=(smb_[0-9a-f]{64})$", ran.stdout, re.MULTILINE)
    guard = Guard(KeyRing(written["SEMBLANCE_API_KEYS"]))
    for method, path in (("POST", "/search"), ("POST", "/collections/c/documents"), ("PUT", "/collections/c")):
        admitted = guard.admit(method, path, [f"Bearer {key}"])
        assert admitted is not None
        assert admitted.name == "admin"
    assert key not in (project / ".env").read_text()
    assert (project / ".env").stat().st_mode & 0o777 == 0o600, "only its owner may read it"
    assert sorted(path.name for path in project.iterdir()) == [".env", ".env.example", "deploy"]


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_an_existing_file_is_never_changed(project: Path, kind: str) -> None:
    if kind == "dangling link":
        (project / ".env").symlink_to("elsewhere")
    else:
        (project / ".env").write_text("MINE=1\n")
    refused = write_env(project)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{project}/.env exists and is not changed")
    assert "smb_" not in refused.stdout
    assert not (project / "elsewhere").exists()
    assert kind == "dangling link" or (project / ".env").read_text() == "MINE=1\n"


def test_compose_with_it_gives_replicas_valid_settings(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_env(project)
    services = compose(variables_of(project / ".env"))["services"]
    for name in ("api-1", "api-2"):
        for variable, value in services[name]["environment"].items():
            monkeypatch.setenv(variable, value)
        settings = Settings(host="0.0.0.0")
        assert settings.has_keys
        assert settings.cache == "redis"
    assert services["nginx"]["ports"] == ["127.0.0.1:8000:8000"]


def test_the_file_is_in_no_repository_and_no_image() -> None:
    assert ".env" in (PROJECT / ".gitignore").read_text().splitlines()
    first, *kept = [line for line in (PROJECT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert first == "*"
    assert not [line for line in kept if "env" in line]
