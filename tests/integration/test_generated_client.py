"""A client that openapi-python-client generates from the OpenAPI document calls every route."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest

from tests.conftest import missing

GENERATOR = "openapi_python_client"
PACKAGE = "generated_semblance_client"
TEXT = "My parcel never came."


class GeneratedClient:
    """The generated package, with the operations that were called."""

    def __init__(self, package: ModuleType, url: str, operations: dict[str, str]) -> None:
        self._models = importlib.import_module(f"{package.__name__}.models")
        self._client = importlib.import_module(f"{package.__name__}.client").Client(base_url=url, timeout=120)
        self._operations = operations  # tag of each
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        """A class of the package, such as `Pair`."""
        return getattr(self._models, name)

    def close(self) -> None:
        """Close the connections."""
        self._client.get_httpx_client().close()

    def answer(self, operation: str, *arguments: Any, **options: Any) -> tuple[int, Any]:
        """Call an operation; its status and parsed answer."""
        module = importlib.import_module(f"{PACKAGE}.api.{self._operations[operation]}.{operation}")
        answer = module.sync_detailed(*arguments, client=self._client, **options)
        self.called.add(operation)
        return int(answer.status_code), answer.parsed

    def call(self, operation: str, *arguments: Any, **options: Any) -> Any:
        """Call an operation that succeeds; its parsed answer."""
        status, parsed = self.answer(operation, *arguments, **options)
        assert 200 <= status < 300, (operation, status, parsed)
        return parsed


@pytest.fixture(scope="module")
def operations(http: httpx2.Client) -> dict[str, str]:
    """Ids of all operations, with their tags."""
    paths = http.get("/openapi.json").json()["paths"]
    return {each["operationId"]: each["tags"][0] for methods in paths.values() for each in methods.values()}


@pytest.fixture
def generated(url: str, operations: dict[str, str], tmp_path: Path) -> Iterator[GeneratedClient]:
    if importlib.util.find_spec(GENERATOR) is None:
        missing(GENERATOR)
    config = tmp_path / "config.yaml"
    config.write_text("post_hooks: []\n")  # by default it formats what it has generated
    options = ["--meta", "none", "--config", str(config), "--output-path", str(tmp_path / PACKAGE), "--fail-on-warning"]
    command = [sys.executable, "-m", GENERATOR, "generate", "--url", f"{url}/openapi.json", *options]
    generating = subprocess.run(command, capture_output=True, text=True, check=False)
    printed = generating.stdout + generating.stderr
    assert (generating.returncode, "warning" in printed.lower()) == (0, False), printed
    sys.path.insert(0, str(tmp_path))
    client = GeneratedClient(importlib.import_module(PACKAGE), url, operations)
    yield client
    client.close()
    sys.path.remove(str(tmp_path))


def compare_and_explain(client: GeneratedClient) -> None:
    pairs = [client.Pair(a=TEXT, b=TEXT), client.Pair(a=TEXT, b="привет, как дела сегодня вечером?")]
    measure = client.SimilarityOrTeiRequestMeasure.RCMD
    scored = client.call(
        "compare_texts", body=client.SimilarityOrTeiRequest(pairs=pairs, measure=measure, explain=True)
    )
    assert isinstance(scored, client.Similarities)
    assert scored.scores[0] == pytest.approx(1.0, abs=1e-5)
    assert scored.explanations[0].a.read_end == len(TEXT)
    assert [(each.pointer, str(each.code)) for each in scored.warnings] == [("/pairs/1/b", "unread_text")]
    matrix = client.call("compare_texts", body=client.SimilarityOrTeiRequest(left=[TEXT], right=[TEXT, "A dog."]))
    assert matrix.scores[0][0] > matrix.scores[0][1]
    pruning = client.PruneRequest(query=TEXT, documents=[TEXT, "It rains."], keep=client.Keep(share=0.5))
    kept, dropped = client.call("prune_documents", body=pruning).documents
    assert ([each.text for each in kept.kept], len(dropped.dropped)) == ([TEXT], 1)
    differing = client.SameRequest(pairs=[client.Pair(a="Go to Rome.", b="Go to Oslo.")])
    assert str(client.call("judge_texts", body=differing).verdicts[0].reasons[0].kind) == "replaced"
    asked = client.call("explain", a=TEXT, b=TEXT, measure=client.ExplainMeasure.WORD_MOVERS)
    assert (asked.score, asked.measure, asked.truncated) == (0.0, "word_movers", False)


def call_as_others(client: GeneratedClient) -> None:
    body = client.EmbeddingsRequest(input_=[TEXT], model=client.EmbeddingsRequestModelType0.MINILM, dimensions=8)
    assert len(client.call("embed_texts", body=body).data[0].embedding) == 8
    texts = ["A dog.", TEXT]
    body = client.RerankRequest(query=TEXT, documents=texts, top_n=1, relevant_spans=client.SpansIn(threshold=0.05))
    for operation in ("rerank_as_cohere", "rerank_as_jina"):
        [best] = client.call(operation, body=body).results
        assert (best.index, best.document.text) == (1, TEXT)
        assert TEXT[best.relevant_spans[0].start : best.relevant_spans[0].end]
    ranks = client.call("rerank_texts", body=client.RerankOrTeiRequest(query=TEXT, texts=texts))
    assert [each.index for each in ranks] == [1, 0]
    for operation in ("score_pairs", "score_under_version"):
        [pair] = client.call(operation, body=client.ScoreRequest(text_1=TEXT, text_2=[TEXT])).data
        assert pair.score == pytest.approx(1.0, abs=1e-5)
    tei = client.TeiEmbedRequest(inputs=[TEXT], dimensions=8)
    assert [len(each) for each in client.call("embed_as_tei", body=tei)] == [8]
    [vectors] = client.call("embed_tokens", body=client.TeiTexts(inputs=[TEXT]))
    [tokens] = client.call("tokenize_texts", body=client.TeiTokenizeRequest(inputs=[TEXT]))
    [pooled] = client.call("pool_texts", body=client.PoolingRequest(input_=TEXT)).data
    assert len(vectors) == len(tokens) == pooled.shape[0]
    assert client.call("decode_tokens", body=client.TeiDecodeRequest(ids=[each.id for each in tokens]))[0]
    model = client.OllamaEmbedRequestModel.MINILM
    assert len(client.call("embed_as_ollama", body=client.OllamaEmbedRequest(input_=TEXT, model=model)).embeddings) == 1
    prompt = client.OllamaEmbeddingsRequest(prompt=TEXT, model=client.OllamaEmbeddingsRequestModel.MINILM)
    assert len(client.call("embed_prompt", body=prompt).embedding) == 384
    shown = client.call("show_as_ollama", body=client.OllamaShowRequest(name="minilm"))
    assert shown.model_info["semblance.embedding_length"] == 384
    assert "minilm:latest" in [model.name for model in client.call("list_tags").models]
    assert client.call("get_version").version
    deployment = client.EmbedAsAzureDeployment.MINILM
    named = client.call("embed_as_azure", deployment, body=client.DeploymentEmbeddingsRequest(input_=TEXT))
    assert (named.model, len(named.data)) == ("minilm", 1)
    first = client.call("embed_under_version", body=client.CohereEmbedRequest(texts=[TEXT]))
    second = client.call("embed_as_cohere", body=client.CohereEmbedV2Request(texts=[TEXT]))
    assert first.embeddings == second.embeddings.float_
    split = client.call("tokenize_as_cohere", body=client.CohereTokenizeRequest(text=TEXT))
    assert split.tokens == [each.id for each in tokens if not each.special]
    empty = client.EmbeddingsRequest(input_="", model=client.EmbeddingsRequestModelType0.MINILM)
    status, refusal = client.answer("embed_texts", body=empty)
    assert (status, refusal.error.code) == (400, "empty_text")


def use_a_collection(client: GeneratedClient) -> None:
    client.answer("delete_collection", "typed")
    body = client.CollectionRequest(tokens=client.CollectionRequestTokens.INT8)
    created = client.call("create_collection", "typed", body=body)
    assert (created.name, created.count, str(created.tokens)) == ("typed", 0, "int8")
    metadata = client.ConditionalDocumentMetadata.from_dict({"kind": "complaint", "words": 4})
    documents = [
        client.ConditionalDocument(id="a/b", text=TEXT, metadata=metadata),
        client.ConditionalDocument(id="c", text="The weather is fine."),
    ]
    stored = client.call("store_documents", "typed", body=client.DocumentsRequest(documents=documents))
    assert (stored.upserted, stored.truncated, stored.warnings) == (2, [], [])
    assert client.call("get_collection", "typed").version == stored.version
    assert "typed" in [each.name for each in client.call("list_collections").collections]
    found = client.call("get_document", "typed", "a/b")
    assert (found.text, found.metadata["words"], found.version) == (TEXT, 4, stored.version)
    counted = client.call(
        "count_documents", "typed", body=client.CountRequest(facets=[client.FacetRequest(field="kind")])
    )
    assert (counted.count, counted.facets[0].values[0].value) == (2, "complaint")
    listed = client.call("list_documents", "typed", limit=2)
    assert ([each.id for each in listed.documents], listed.cursor) == (["a/b", "c"], None)
    change = client.MetadataChange(id="a/b", metadata=client.MetadataChangeMetadata.from_dict({"state": "open"}))
    assert client.call("change_metadata", "typed", body=client.MetadataRequest(documents=[change])).changed == 1
    order = client.SortRequest(field="words", descending=True)
    first, _ = client.call("list_matching", "typed", body=client.ListRequest(sort=order)).documents
    assert (first.id, first.metadata["state"]) == ("a/b", "open")
    page = client.call("find_duplicates", "typed", body=client.DuplicatesRequest(min_score=0.9))
    assert (page.groups, page.checked, page.cursor) == ([], 2, None)
    points = client.call("map_documents", "typed", body=client.MapRequest(field="kind")).points
    assert [(each.id, each.value) for each in points] == [("a/b", "complaint"), ("c", None)]
    assert client.call("delete_matching", "typed", body=client.DeleteRequest(ids=["none"])).deleted == 0
    file = client.SentFile(name="a.txt", content="T25lIGxpbmUu")
    [content] = client.call("read_files", body=client.FilesRequest(files=[file])).files
    assert [(each.id, each.text) for each in content.documents] == [("a.txt:1", "One line.")]
    body = client.AliasRequest(collection="typed")
    assert client.call("set_alias", "typed-now", body=body).collection == "typed"
    assert "typed-now" in [each.name for each in client.call("list_aliases").aliases]
    client.call("delete_alias", "typed-now")


def search_and_explain(client: GeneratedClient) -> None:
    for where, warned in (({"colour": {"in": ["red"]}}, ["/filter/colour"]), ({"words": {"gte": 4}}, [])):
        where_ = client.Filter.from_dict({"kind": "complaint", **where})
        body = client.SearchRequest(queries=[TEXT], collection="typed", filter_=where_, explain=True)
        found = client.call("search", body=body)
        assert [each.pointer for each in found.warnings] == warned
    [hit] = found.results[0].hits
    assert (hit.id, hit.truncated, hit.explanation.b.text) == ("a/b", False, TEXT)
    asked = client.SuggestRequest(query=TEXT[:6], collection="typed", filter_=where_)
    assert [each.field for each in client.call("suggest", body=asked).suggestions] == [None]
    groups = [client.GlossaryGroup(kind=client.GlossaryGroupKind.EQUAL, terms=["a/b", "c"])]
    glossed = client.call("set_glossary", "typed", body=client.GlossaryRequest(groups=groups))
    assert client.call("get_glossary", "typed").groups == glossed.groups
    assert glossed.groups[0].terms == groups[0].terms
    long = client.ExplainRequest(a="word " * 600, id="a/b", collection="typed", max_links=1)
    posted = client.call("explain_long_texts", body=long)
    assert (posted.a.truncated, len(posted.links)) == (True, 1)
    between = client.call("explain_difference", query=TEXT, a="a/b", b="c", collection="typed")
    assert between.difference == between.a.score - between.b.score > 0
    mode = client.DifferenceRequestMode.HYBRID
    long = client.DifferenceRequest(query="word " * 600, a="c", b="a/b", collection="typed", mode=mode)
    assert not client.call("explain_long_difference", body=long).query.truncated


def answer_from_a_cache(client: GeneratedClient) -> None:
    client.answer("delete_collection", "cached")
    client.call("create_collection", "cached", body=client.CollectionRequest())
    entry = client.CacheStoreRequest(text=TEXT, answer="We send another.", ttl_s=60)
    client.call("store_answer", "cached", body=entry)
    found = client.call("look_up_answer", "cached", body=client.LookupRequest(text=TEXT))
    assert (found.hit.text, found.hit.answer) == (TEXT, "We send another.")


def reembed_and_delete(client: GeneratedClient) -> None:
    body = client.ReembeddingRequest(model="minilm")
    assert client.call("begin_reembedding", "typed", body=body).reembedding.documents_left == 2
    client.call("cancel_reembedding", "typed")
    client.call("begin_reembedding", "typed", body=body)
    step = client.call("step_reembedding", "typed")
    assert (step.embedded, step.left) == (2, 0)
    assert client.call("switch_reembedding", "typed").version != step.version
    version = client.call("get_document", "typed", "a/b").version
    assert client.call("delete_document", "typed", "a/b", if_version=version).deleted == 1
    client.call("delete_collection", "typed")
    status, problem = client.answer("get_collection", "typed")
    assert (status, problem.code, type(problem)) == (404, "unknown_collection", client.ProblemDetails)


def operate(client: GeneratedClient) -> None:
    client.call("get_health")
    assert client.call("get_info").max_input_length == 256
    assert client.call("get_liveness").status == "live"
    assert client.call("get_readiness").checks["model_answers"] is True
    assert "semblance_requests_total" in client.call("get_metrics")
    models = client.call("list_models")
    assert {each.name: each.bounds for each in models.measures}["word_movers"] == [None, 0.0]
    assert "minilm" in [each.id for each in client.call("list_model_names").data]
    assert client.call("show_model_name", "minilm").object_ == "model"


def test_a_generated_client_calls_every_route(generated: GeneratedClient, operations: dict[str, str]) -> None:
    collection = (use_a_collection, search_and_explain, answer_from_a_cache, reembed_and_delete)
    for part in (compare_and_explain, call_as_others, *collection, operate):
        part(generated)
    assert generated.called == set(operations)
