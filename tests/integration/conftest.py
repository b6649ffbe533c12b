"""A running service for the tests of this folder: a process with a real model, store and index."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from semblance.models.processor.usable_cores import usable_cores
from tests.support.project import PROJECT
from tests.support.running_service import Service, running_process
from tests.support.small_model import make_small

BODY_LIMIT = 1_000_000
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    settings = {"sample": "1", "max_body_bytes": str(BODY_LIMIT), "threads": str(usable_cores())}
    with running_process(PROJECT, None, **settings) as service:
        sample = documents_of_the_sample(service)
        yield service.url
        require_no_internal_errors(service)
        assert documents_of_the_sample(service) == sample, "a test wrote into the collection that all tests search"


def documents_of_the_sample(service: Service) -> dict[str, Any]:
    """The state of the default collection: its documents and their version."""
    state = httpx2.get(f"{service.url}/collections/default", timeout=120).raise_for_status().json()
    return {field: state[field] for field in ("count", "version")}


def require_no_internal_errors(service: Service, key: str = "") -> None:
    """No test may cause a 500, seen or unseen: asked once, before the service ends."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    metrics = httpx2.get(f"{service.url}/metrics", headers=headers, timeout=120).text
    assert 'semblance_errors_total{code="internal_error"} 0.0' in metrics, service.log.read_text()


class DocumentedRefusals:
    """Checks that no response is a 500, and that the OpenAPI document lists each refusal with its status and code."""

    def __init__(self, url: str) -> None:
        paths = httpx2.get(f"{url}/openapi.json", timeout=120).raise_for_status().json()["paths"]
        self._operations = [(re.compile(_pattern(path)), operations) for path, operations in paths.items()]

    def check(self, answer: httpx2.Response) -> None:
        """Fail the test that sent the request, if its refusal is not documented."""
        assert answer.status_code != 500, (answer.request.method, answer.request.url.path)
        if not answer.is_error or answer.request.method == "HEAD" or "json" not in answer.headers["content-type"]:
            return
        answer.read()
        content, path = answer.json(), answer.request.url.path
        code = content.get("code", "")
        operations: Any = next((each for pattern, each in self._operations if pattern.fullmatch(path)), {})
        documented = operations.get(answer.request.method.lower(), {}).get("responses")
        if documented is not None:
            codes = documented.get(str(answer.status_code), {}).get("description", "")
            assert f"`{code}`" in codes or not code, (answer.request.method, path, answer.status_code, code, codes)


def _pattern(path: str) -> str:
    return re.sub(r"\{(name|deployment)\}", "[^/]+", path).replace("{doc_id}", ".+")


@pytest.fixture(scope="session")
def http(url: str) -> Iterator[httpx2.Client]:
    hooks = {"response": [DocumentedRefusals(url).check]}
    with httpx2.Client(base_url=url, timeout=120, event_hooks=hooks) as client:
        yield client


def _parsed(answer: httpx2.Response) -> Any:
    """The JSON of an answer with status 200, which has no NaN and no infinity."""
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text, parse_constant=lambda name: pytest.fail(f"{name} in {answer.text}"))


class Api:
    """Shortcuts for frequent calls."""

    def __init__(self, http: httpx2.Client) -> None:
        self.http = http

    def post(self, path: str, body: object) -> httpx2.Response:
        """Post any Python value as JSON, NaN and lone surrogates included."""
        content = json.dumps(body).encode()
        return self.http.post(path, content=content, headers={"content-type": "application/json"})

    def ok(self, path: str, body: object) -> Any:
        return _parsed(self.post(path, body))

    def get(self, path: str, **params: object) -> Any:
        """The JSON of a GET that succeeds."""
        return _parsed(self.http.get(path, params={name: str(value) for name, value in params.items()}))

    def hits(self, query: object = None, **options: object) -> list[dict[str, Any]]:
        """Hits of a search for one query or, by `like`, document."""
        [result] = self.ok("/search", options if query is None else {"query": query, **options})["results"]
        found: list[dict[str, Any]] = result["hits"]
        return found

    def scores(self, *pairs: tuple[str, str], **options: object) -> list[float]:
        """Scores of pairs, by /similarity."""
        found: list[float] = self.ok("/similarity", {"pairs": [{"a": a, "b": b} for a, b in pairs], **options})[
            "scores"
        ]
        return found

    def lines(self, name: str, content: Any) -> list[Any]:
        """Store lines of NDJSON; the lines of the answer."""
        answer = self.http.post(f"/collections/{name}/documents", content=content, headers=NDJSON)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == NDJSON["content-type"]
        return [json.loads(line) for line in answer.text.splitlines()]

    def collection(self, name: str, **settings: object) -> None:
        self.http.delete(f"/collections/{name}")
        answer = self.http.put(f"/collections/{name}", json=settings)
        assert answer.status_code == 201, answer.text

    def store(self, name: str, *documents: dict[str, Any]) -> Any:
        return self.ok(f"/collections/{name}/documents", {"documents": list(documents)})


@pytest.fixture(scope="session")
def api(http: httpx2.Client) -> Api:
    return Api(http)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small network of random weights."""
    return make_small(tmp_path_factory.mktemp("base") / "small")


@contextmanager
def served(home: Path | None = None, **settings: str) -> Iterator[tuple[Service, Api]]:
    """A service of a test's own, until the block ends."""
    with (
        running_process(PROJECT, home, **settings) as service,
        httpx2.Client(base_url=service.url, timeout=120) as http,
    ):
        yield service, Api(http)


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    """Status and code of a refusal."""
    return answer.status_code, answer.json()["code"]


def total(explanation: dict[str, Any]) -> float:
    """The sum of the parts of an explanation, which is its score."""
    parts = [link["contribution"] for link in explanation["links"]]
    return math.fsum([*parts, explanation["special"], explanation["omitted"]])
