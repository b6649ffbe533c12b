"""The examples of the package run: its docstrings, its README, and those of the project's pages."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
import semblance_client
from semblance_client import Client, names

from tests.support.project import PROJECT

PACKAGE = PROJECT / "clients" / "python"
MODULES = [each.name for each in walk_packages(semblance_client.__path__, "semblance_client.")]
README = PACKAGE / "README.md"
PAGES = [
    README,
    PROJECT / "docs" / "caches.md",
    PROJECT / "docs" / "clients.md",
    PROJECT / "docs" / "coming-from.md",
]  # tests/bare has those of the README of the project


@pytest.fixture
def fresh(client: Client) -> Client:
    """A client of the service, which has the sample and no other collection."""
    for each in client.collections():
        if each.name != "default":
            client.delete_collection(each.name)
    return client


@pytest.mark.parametrize("name", [each for each in MODULES if not each.endswith("client")])
def test_the_examples_of_docstrings_hold(name: str, fresh: Client) -> None:
    """The methods of the clients have the docstrings of the modules of `calls`."""
    public = {each: getattr(semblance_client, each) for each in names.__all__}
    module = import_module(name)
    results = doctest.testmod(module, extraglobs={**public, "client": fresh})
    assert results.failed == 0
    assert results.attempted >= 20 or name != "semblance_client.calls.texts"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
@pytest.mark.usefixtures("fresh")
def test_the_examples_of_a_page_print_what_it_shows(page: Path, url: str, tmp_path: Path) -> None:
    """They are one program: an example may use what an earlier one has made."""
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page.read_text("utf-8"), re.DOTALL)
    if page != README:
        blocks = [(code, shown) for code, shown in blocks if "semblance_client" in code]
    assert blocks
    (tmp_path / "documents.jsonl").write_text('{"id": "1", "text": "The lamp flickers."}\n{"id": "2", "text": ""}\n')
    program = "\n".join(code for code, _ in blocks).replace("http://127.0.0.1:8000", url)
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert (ran.stderr, ran.stdout) == ("", "".join(shown for _, shown in blocks))
