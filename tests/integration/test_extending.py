"""Adding a measure takes one new file: docs/extending.md, followed in a copy of the project."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.support.project import PROJECT
from tests.support.running_service import running_service


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with the file of the walk-through added."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("models", "service", "tests", "benchmarks"):
        shutil.copytree(PROJECT / name, folder / name)  # with the compiled modules, which stay valid
    shutil.copytree(PROJECT / "semblance", folder / "semblance", symlinks=True)  # links to models and service
    for name in ("pyproject.toml", "references.bib"):
        shutil.copy(PROJECT / name, folder / name)
    walk_through = (PROJECT / "docs" / "extending.md").read_text("utf-8")
    path = re.search(r"Save this as\s+`([^`]+)`", walk_through)
    code = re.search(r"```python\n(.*?)```", walk_through, re.DOTALL)
    assert path is not None
    assert code is not None
    (folder / path[1]).write_text(code[1], "utf-8")
    return folder


def run_tests(copy: Path, selected: str, *paths: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-k", selected, *paths]
    return subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)


def test_the_new_measure_passes_the_contracts_and_its_doctest(copy: Path) -> None:
    ran = run_tests(copy, "best_link", "tests/contracts/test_measures.py", "semblance/models/measures")
    assert ran.returncode == 0, ran.stdout[-3000:]
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed is not None
    assert int(passed[1]) >= 9


@pytest.mark.nightly
def test_a_wrong_measure_fails_the_contracts(copy: Path) -> None:
    """The contracts detect a measure whose links do not sum to its score."""
    file = copy / "models" / "measures" / "best_link.py"
    right = file.read_text("utf-8")
    try:
        file.write_text(right.replace("parts[best] = cosines[best]", "parts[best] = cosines[best] + 0.01"), "utf-8")
        ran = run_tests(copy, "best_link and sum_to_the_score", "tests/contracts/test_measures.py")
        assert ran.returncode == 1
        assert "test_links_special_and_omitted_sum_to_the_score[best_link]" in ran.stdout
    finally:
        file.write_text(right, "utf-8")


def test_every_route_offers_the_new_measure(copy: Path) -> None:
    with running_service(copy) as url, httpx2.Client(base_url=url, timeout=120) as http:
        http.put("/collections/lamps").raise_for_status()
        lamps = [{"id": text, "text": text} for text in ("The lamp flickers.", "A red lamp", "A cat sleeps.")]
        http.post("/collections/lamps/documents", json={"documents": lamps}).raise_for_status()
        assert "best_link" in {measure["name"] for measure in http.get("/models").json()["measures"]}
        pair = {"a": "A cat sleeps.", "b": "The cat naps."}
        scored = http.post("/similarity", json={"pairs": [pair], "measure": "best_link", "explain": True}).json()
        assert scored["scores"][0] > 0.5
        explained = http.get("/explain", params={**pair, "measure": "best_link"}).json()
        assert explained["score"] == pytest.approx(scored["scores"][0], abs=1e-6)
        assert len(explained["links"]) <= 1
        found = http.post("/search", json={"query": "lamp", "collection": "lamps", "measure": "best_link", "k": 2})
        assert len(found.json()["results"][0]["hits"]) == 2
