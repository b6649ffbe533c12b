"""The list of components of a release: valid CycloneDX, and nothing that is installed is left out."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema_rs
import pytest
from cyclonedx.schema import _res

from tests.conftest import missing
from tests.support.project import PROJECT

pytestmark = pytest.mark.slow

SCHEMAS = Path(_res.__file__).parent  # jsonschema_rs, as cyclonedx's own validator takes 27 s of CPU
ADDRESS = "http://cyclonedx.org/schema"


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> Any:
    if shutil.which("dpkg-query") is None:
        missing("dpkg-query")
    file = tmp_path_factory.mktemp("sbom") / "sbom.json"
    subprocess.run([sys.executable, PROJECT / "scripts" / "sbom", file, sys.executable], check=True)
    return json.loads(file.read_text("utf-8"))


def validator() -> Any:
    schema, *others = (
        (f"{ADDRESS}/{file}", json.loads((SCHEMAS / file).read_text("utf-8")))
        for file in (f"{name}.SNAPSHOT.schema.json" for name in ("bom-1.6", "jsf-0.82", "spdx"))
    )
    return jsonschema_rs.validator_for(schema[1], registry=jsonschema_rs.Registry(others))


def test_the_list_follows_the_schema_of_cyclonedx(bill: Any) -> None:
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    valid = validator()
    assert [str(error)[:500] for error in valid.iter_errors(bill)] == []
    assert not valid.is_valid({**bill, "components": [{"type": "nonsense", "name": "x"}]}), "the schema is in force"
    references = [each["bom-ref"] for each in bill["components"]]
    assert len(set(references)) == len(references)


def canonical(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def test_every_installed_package_is_listed(bill: Any) -> None:
    python = {(canonical(each.name), each.version) for each in distributions()}
    assert ("semblance-server", bill["metadata"]["component"]["version"]) in python
    command = ["dpkg-query", "--show", "--showformat=${db:Status-Abbrev} ${Package} ${Version} ${Architecture}\n"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    system = sorted(tuple(line.split()[1:]) for line in lines if line.startswith("ii"))
    assert len(system) > 100
    form = re.compile(r"pkg:deb/\w+/([^@]+)@([^?]+)\?arch=(\w+)&distro=[\w.-]+")
    urls = [form.fullmatch(each.get("purl", "")) for each in bill["components"]]
    assert sorted(tuple(map(unquote, url.groups())) for url in urls if url) == system
    others = [each for each, url in zip(bill["components"], urls, strict=True) if not url]
    assert {(canonical(each["name"]), each["version"]) for each in others} == python
