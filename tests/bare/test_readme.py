"""The commands and examples of the README run on an installation without extras."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.bare.installations import Installation
from tests.support.page_commands import Block, assert_shown, blocks, commands_of, json_lines, score_by_each, serving
from tests.support.project import PROJECT
from tests.support.small_model import edit, make_small
from tests.support.text_files import write

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # the first run installs

ADDRESS = "http://127.0.0.1:8000"
ELSEWHERE = (  # how blocks begin that need more, or show a picture
    "scripts/serve ",  # the fixture `url` runs it; scripts/test runs these tests
    "docker ",  # tests/deploy/test_image.py runs the steps of the Dockerfile
    " text ─",
    "$ semblance evaluate ",  # tests/integration/test_docs.py: it needs the lab
)
BLOCKS = [each for each in blocks(PROJECT / "README.md") if not each.code.startswith(ELSEWHERE)]


def run(command: list[str], installation: Installation, home: Path) -> str:
    """Run a command as a user of an installation, print both, and return what it prints."""
    environment = installation.variables(home)
    ran = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
    print(f"{installation.environment.name}$ {shlex.join(command)}\n{ran.stdout}{ran.stderr}")
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: " ".join(block.code.split()[:3]))
def test_a_block_of_the_readme_does_what_it_shows(
    block: Block, installation: Installation, url: str, home: Path
) -> None:
    code = block.code.replace(ADDRESS, url)
    if block.language == "python":
        # the client of OpenAI is installed apart from Semblance, as its users have it
        python = sys.executable if "from openai" in code else "python"
        assert run([python, "-c", code], installation, home) == block.shown
    elif block.language == "bash":
        printed = run(["bash", "-c", code], installation, home)
        assert_shown(json_lines(block.shown), json_lines(printed))
    else:
        index, serve = commands_of(code)
        write(home / "my-documents.csv", "text,year", "A cat sleeps.,2024", "The kitten naps.,2025")
        run([*index.split(), "--url", url], installation, home)
        assert httpx2.get(f"{url}/collections/mine", timeout=600).json()["count"] == 2
        small = make_small(home / "mine")
        words = serve.replace("/models/mine", str(small)).split()
        variables = {**installation.variables(home), "SEMBLANCE_HOME": str(home / "other")}
        with serving([*words, "--port", "0"], home, variables) as other:
            assert score_by_each(other) == ["minilm-graded", "mine"]
        print(f"{installation.environment.name}$ {shlex.join(words)}\nserves both models")


def test_the_sample_and_the_store_are_those_of_the_readme(url: str, home: Path) -> None:
    assert httpx2.get(f"{url}/ready", timeout=600).status_code == 200
    assert httpx2.get(f"{url}/collections/default", timeout=600).json()["count"] == 200
    for page in ("docs/README", "docs/decisions/README", "docs/images/explanation.png", "clients/python/README"):
        assert httpx2.get(f"{url}/help/{page}", timeout=600).status_code == 200
    assert (home / ".semblance" / "documents.sqlite").exists()


def test_no_package_of_an_extra_is_installed(installation: Installation, home: Path) -> None:
    listing = "import json, sys; from importlib.metadata import distributions\n"
    listing += "print(json.dumps(sorted({each.name.lower() for each in distributions()})))"
    installed = json.loads(run(["python", "-c", listing], installation, home))
    assert {"semblance-server", "semblance-client", "semblance-assets"} <= set(installed)
    assert not {"torch", "transformers", "scipy", "pot", "pyarrow", "sentence-transformers", "pytest"} & set(installed)


def test_the_modules_are_those_of_the_sources(installation: Installation, home: Path) -> None:
    printed = run(["python", "-c", "import semblance; print(semblance.__file__)"], installation, home)
    place = Path(printed.strip()).parent
    assert place.is_relative_to(installation.environment) == (installation.environment.name == "wheels")
    held, sources = (
        {
            file.relative_to(folder).as_posix()
            for name in ("models", "service")
            for file in (folder / name).rglob("*.py")
        }
        for folder in (place, PROJECT)
    )
    assert held == sources


def test_an_installation_runs_without_what_windows_lacks(installation: Installation, home: Path) -> None:
    as_windows = str(PROJECT / "tests" / "support" / "as_windows.py")
    assert "Serve the HTTP API" in run(["python", as_windows, "serve", "--help"], installation, home)
    metadata = run(
        ["python", "-c", "from importlib.metadata import requires; print(requires('semblance-server'))"],
        installation,
        home,
    )
    assert 'uvloop; sys_platform != "win32"' in metadata


NEEDS_TORCH = """
from semblance import Compute, SemblanceError, load
for source, compute in ((OTHER, None), ("minilm", Compute(device="cuda")), ("minilm", Compute(runtime="torch"))):
    try:
        load(source, compute)
    except SemblanceError as error:
        print(error)
"""


def test_what_needs_torch_names_the_extra(installation: Installation, home: Path) -> None:
    other = make_small(home / "other-network")
    edit(other / "config.json", hidden_act="relu")
    program = NEEDS_TORCH.replace("OTHER", repr(str(other)))
    refusals = run(["python", "-c", program], installation, home).splitlines()
    assert [refusal.partition(" needs torch")[0].split()[-1] for refusal in refusals] == ["kind,", "cuda", "torch"]
    assert all("by scripts/install models" in refusal for refusal in refusals)


HALF = """
from semblance import Compute, load, similarity
texts = "my parcel never came", "the package did not arrive"
print(*(round(similarity(*texts, model=load("minilm-graded", Compute(precision=precision))), 2)
        for precision in ("float32", "bfloat16")))
"""


def test_the_number_type_is_chosen_by_an_argument(installation: Installation, home: Path) -> None:
    exact, half = map(float, run(["python", "-c", HALF], installation, home).split())
    assert half == pytest.approx(exact, abs=0.02)
