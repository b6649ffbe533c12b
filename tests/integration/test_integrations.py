"""Applications of docs/integrations.md: what they send, according to their sources, and how they read the answer."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import numpy as np
import pytest

from semblance.models.embeddings import Floats
from tests.support.page_commands import commands, settings_before
from tests.support.project import PROJECT
from tests.support.running_service import running_service

PAGE = PROJECT / "docs" / "integrations.md"
TEXT = PAGE.read_text("utf-8")
KEY = "smb_application"
QUERY = "my parcel never came"
DOCUMENTS = [
    "Return shoes within 30 days of delivery.",
    "Track a shipment with its number if your package did not arrive.",
    "Gift cards cannot be exchanged for cash.",
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A service with a key and the aliases of the page."""
    [command] = [each for each in commands(PAGE) if "MODEL_ALIASES" in each]
    aliases = settings_before(command)["SEMBLANCE_MODEL_ALIASES"]
    keys = f"application:read:{hashlib.sha256(KEY.encode()).hexdigest()}"
    with running_service(api_keys=keys, model_aliases=aliases) as address:
        yield address


@pytest.fixture(scope="module")
def http(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url, headers={"authorization": f"Bearer {KEY}"}, timeout=120) as client:
        yield client


def settings_of(section: str, url: str) -> dict[str, str]:
    """What the page says to type into an application."""
    text = TEXT.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    lines = "\n".join(re.findall(r"```ini\n(.*?)```", text, re.DOTALL))
    settings = dict(re.findall(r"^(.+?) ?= ?(.+)$", lines, re.MULTILINE))
    return {name: value.replace("http://127.0.0.1:8000", url).replace("KEY", KEY) for name, value in settings.items()}


def post(address: str, key: str, body: object) -> Any:
    answer = httpx2.post(address, json=body, headers={"authorization": f"Bearer {key}"}, timeout=120)
    assert answer.status_code == 200, answer.text
    return answer.json()


def scores(http: httpx2.Client) -> list[float]:
    """The relevance of each document, asked for one by one."""
    bodies = [{"query": QUERY, "documents": [text]} for text in DOCUMENTS]
    return [http.post("/v2/rerank", json=body).json()["results"][0]["relevance_score"] for body in bodies]


def vectors(http: httpx2.Client, texts: list[str]) -> Floats:
    return np.array(http.post("/embed", json={"inputs": texts}).json(), np.float32)


RERANKERS = {  # application: the address, key and model that are typed, and other fields that it sends
    "Open WebUI": (
        "RAG_EXTERNAL_RERANKER_URL",
        "",
        "RAG_EXTERNAL_RERANKER_API_KEY",
        "RAG_RERANKING_MODEL",
        {"top_n": 3},
    ),
    "Dify": ("api endpoint url", "/rerank", "api key", "model name", {"top_n": 3}),
    "LibreChat": ("JINA_API_URL", "", "JINA_API_KEY", "", {"top_n": 5, "return_documents": True}),
}
EMBEDDERS = {
    "Open WebUI": ("RAG_OPENAI_API_BASE_URL", "RAG_OPENAI_API_KEY", "RAG_EMBEDDING_MODEL", {}),
    "Dify": ("api endpoint url", "api key", "model name", {"encoding_format": "float"}),
    "n8n": ("Base URL", "API Key", "", {}),
}


@pytest.mark.parametrize("application", RERANKERS)
def test_applications_rerank(url: str, http: httpx2.Client, application: str) -> None:
    address, path, key, model, more = RERANKERS[application]
    typed = settings_of(application, url)
    body = {"model": typed.get(model, "jina-reranker-v2-base-multilingual"), "query": QUERY, "documents": DOCUMENTS}
    answer = post(f"{typed[address]}{path}", typed[key], body | more)
    found = {each["index"]: each["relevance_score"] for each in answer["results"]}
    assert [found[i] for i in range(3)] == pytest.approx(scores(http), abs=1e-5)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert [each["document"]["text"] for each in answer["results"]] == [DOCUMENTS[index] for index in found]
    assert answer["usage"]["total_tokens"] > 20
    if application == "Dify":  # which filters by a threshold
        assert [index for index, score in found.items() if score >= 0.7] == [1], found
        assert len([index for index, score in found.items() if score >= 0.5]) > 1, found


@pytest.mark.parametrize("application", EMBEDDERS)
def test_applications_embed(url: str, http: httpx2.Client, application: str) -> None:
    address, key, model, more = EMBEDDERS[application]
    typed = settings_of(application, url)
    name = typed.get(model, "")
    if application == "n8n":  # which lists the models
        headers = {"authorization": f"Bearer {typed[key]}"}
        listed = httpx2.get(f"{typed[address]}/models", headers=headers, timeout=120).json()["data"]
        [name] = [each["id"] for each in listed if "embed" in each["id"]]
    embeddings = f"{typed[address]}/embeddings"
    assert "model" in post(embeddings, typed[key], {"input": "ping", "model": name}), "Dify checks its credentials"
    answer = post(embeddings, typed[key], {"input": DOCUMENTS, "model": name, **more})
    expected = vectors(http, DOCUMENTS)
    assert np.abs(np.array([each["embedding"] for each in answer["data"]]) - expected).max() < 1e-5
    assert answer["usage"]["total_tokens"] > 20
    coded = post(embeddings, typed[key], {"input": DOCUMENTS, "model": name, "encoding_format": "base64"})
    decoded = [np.frombuffer(base64.b64decode(each["embedding"]), "<f4") for each in coded["data"]]
    assert np.abs(np.array(decoded) - expected).max() < 1e-5


def test_n8n_reranks_by_an_http_request(url: str) -> None:
    [body] = re.findall(r'^(\{"model".*\})$', TEXT.partition("\n## n8n\n")[2], re.MULTILINE)
    item = {"query": f'{QUERY}, "tracked"', "documents": DOCUMENTS}  # quotes must not break the body
    sent = re.sub(r"\{\{ JSON\.stringify\(\$json\.(\w+)\) \}\}", lambda found: json.dumps(item[found[1]]), body)
    assert post(f"{url}/v1/rerank", KEY, json.loads(sent))["results"][0]["index"] == 1


def test_the_function_for_txtai_returns_vectors(url: str, http: httpx2.Client) -> None:
    [code] = re.findall(r"```python\n(.*?)```", TEXT.partition("\n## txtai\n")[2].partition("\n## ")[0], re.DOTALL)
    names: dict[str, Any] = {}
    exec(code.replace("http://127.0.0.1:8000", url).replace("KEY", KEY), names)
    found = names["semblance"](DOCUMENTS)
    assert found.dtype == np.float32
    assert np.abs(found - vectors(http, DOCUMENTS)).max() < 1e-5
