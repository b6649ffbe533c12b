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


def test_open_webui_reranks(url: str, http: httpx2.Client) -> None:
    typed = settings_of("Open WebUI", url)
    body = {"model": typed["RAG_RERANKING_MODEL"], "query": QUERY, "documents": DOCUMENTS, "top_n": len(DOCUMENTS)}
    answer = post(typed["RAG_EXTERNAL_RERANKER_URL"], typed["RAG_EXTERNAL_RERANKER_API_KEY"], body)
    in_order = sorted(answer["results"], key=lambda each: each["index"])  # then zipped with its documents
    assert [each["relevance_score"] for each in in_order] == pytest.approx(scores(http), abs=1e-5)


def assert_embedded(answer: Any, http: httpx2.Client) -> None:
    found = np.array([each["embedding"] for each in answer["data"]])
    assert np.abs(found - vectors(http, DOCUMENTS)).max() < 1e-5


def test_open_webui_embeds(url: str, http: httpx2.Client) -> None:
    typed = settings_of("Open WebUI", url)
    body = {"input": DOCUMENTS, "model": typed["RAG_EMBEDDING_MODEL"]}
    assert_embedded(post(f"{typed['RAG_OPENAI_API_BASE_URL']}/embeddings", typed["RAG_OPENAI_API_KEY"], body), http)


def test_dify_reranks_and_filters_by_a_threshold(url: str, http: httpx2.Client) -> None:
    typed = settings_of("Dify", url)
    body = {"model": typed["model name"], "query": QUERY, "documents": DOCUMENTS, "top_n": 3}
    answer = post(f"{typed['api endpoint url']}/rerank", typed["api key"], body)
    found = {each["index"]: each["relevance_score"] for each in answer["results"]}
    assert [found[i] for i in range(3)] == pytest.approx(scores(http), abs=1e-5)
    assert [index for index, score in found.items() if score >= 0.7] == [1], found
    assert len([index for index, score in found.items() if score >= 0.5]) > 1, found
    earlier = post(f"{typed['api endpoint url']}/rerank", typed["api key"], {**body, "top_n": None})
    assert [each["document"]["text"] for each in earlier["results"]] == [DOCUMENTS[index] for index in found]


def test_dify_checks_its_credentials_and_embeds(url: str, http: httpx2.Client) -> None:
    typed = settings_of("Dify", url)
    check = {"input": "ping", "model": typed["model name"]}
    assert "model" in post(f"{typed['api endpoint url']}/embeddings", typed["api key"], check)
    body = {"input": DOCUMENTS, "model": typed["model name"], "encoding_format": "float"}
    answer = post(f"{typed['api endpoint url']}/embeddings", typed["api key"], body)
    assert_embedded(answer, http)
    assert answer["usage"]["total_tokens"] > 20


def test_librechat_reranks_by_its_own_model(url: str, http: httpx2.Client) -> None:
    typed = settings_of("LibreChat", url)
    options = {"model": "jina-reranker-v2-base-multilingual", "top_n": 5, "return_documents": True}
    body = {"query": QUERY, "documents": DOCUMENTS, **options}
    answer = post(typed["JINA_API_URL"], typed["JINA_API_KEY"], body)
    highlights = [(each["document"]["text"], each["relevance_score"]) for each in answer["results"]]
    expected = dict(zip(DOCUMENTS, scores(http), strict=True))
    assert [text for text, _ in highlights] == sorted(DOCUMENTS, key=expected.__getitem__, reverse=True)
    assert answer["usage"]["total_tokens"] > 20


def test_n8n_lists_a_model_and_embeds(url: str, http: httpx2.Client) -> None:
    typed = settings_of("n8n", url)
    headers = {"authorization": f"Bearer {typed['API Key']}"}
    listed = httpx2.get(f"{typed['Base URL']}/models", headers=headers, timeout=120).json()["data"]
    [model] = [each["id"] for each in listed if "embed" in each["id"]]
    address = f"{typed['Base URL']}/embeddings"
    body = {"model": model, "input": DOCUMENTS}
    assert_embedded(post(address, typed["API Key"], body), http)
    answer = post(address, typed["API Key"], {**body, "encoding_format": "base64"})
    decoded = [np.frombuffer(base64.b64decode(each["embedding"]), "<f4") for each in answer["data"]]
    assert np.abs(np.array(decoded) - vectors(http, DOCUMENTS)).max() < 1e-5


def test_n8n_reranks_by_an_http_request(url: str) -> None:
    [body] = re.findall(r'^(\{"model".*\})$', TEXT.partition("\n## n8n\n")[2], re.MULTILINE)
    item = {"query": f'{QUERY}, "tracked"', "documents": DOCUMENTS}  # quotes must not break the body
    sent = re.sub(r"\{\{ JSON\.stringify\(\$json\.(\w+)\) \}\}", lambda found: json.dumps(item[found[1]]), body)
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    answer = httpx2.post(f"{url}/v1/rerank", content=sent.encode(), headers=headers, timeout=120)
    assert answer.status_code == 200, answer.text
    assert answer.json()["results"][0]["index"] == 1


def test_the_function_for_txtai_returns_vectors(url: str, http: httpx2.Client) -> None:
    [code] = re.findall(r"```python\n(.*?)```", TEXT.partition("\n## txtai\n")[2].partition("\n## ")[0], re.DOTALL)
    names: dict[str, Any] = {}
    exec(code.replace("http://127.0.0.1:8000", url).replace("KEY", KEY), names)
    found = names["semblance"](DOCUMENTS)
    assert found.dtype == np.float32
    assert np.abs(found - vectors(http, DOCUMENTS)).max() < 1e-5
