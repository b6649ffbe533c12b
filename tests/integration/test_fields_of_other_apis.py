"""Every field that other APIs publish is obeyed, harmless, or refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.integration.conftest import Api, served
from tests.support.small_model import edit, make_small

LONG = " ".join(f"w{i}" for i in range(30))  # more tokens than the model reads
IMAGE = "data:image/png;base64,AA=="
FRESH = {"id", "created", "created_at"}  # parts of a response that are always new


class Field(NamedTuple):
    """A field of an API with a plausible value, and the other fields of the two requests that differ by it."""

    path: str
    name: str
    value: Any
    beside: dict[str, Any] = {}  # noqa: RUF012 - never changed


EMBED = {"/v1/embeddings": {"model": "small", "input": ["a cat", "a dog"]}}
COHERE: dict[str, dict[str, Any]] = {
    "/v1/embed": {"model": "small", "texts": ["a cat", "a dog"]},
    "/v2/embed": {"model": "small", "texts": ["a cat", "a dog"]},
    "/v1/tokenize": {"model": "small", "text": "a cat"},
}
RERANK: dict[str, dict[str, Any]] = {
    path: {"query": "a cat", "documents": ["a dog", "the cat", LONG], "model": "small"}
    for path in ("/v1/rerank", "/v2/rerank")
}
OTHER: dict[str, dict[str, Any]] = {
    "/rerank": {"query": "a cat", "texts": ["a dog", "the cat", LONG]},
    "/embed": {"inputs": ["a cat", LONG]},
    "/embed_all": {"inputs": ["a cat", LONG]},
    "/tokenize": {"inputs": ["a cat"]},
    "/decode": {"ids": [[101, 102]]},
    "/similarity": {"inputs": {"source_sentence": "a cat", "sentences": [LONG]}},
    "/api/embed": {"model": "small", "input": ["a cat", LONG]},
    "/score": {"model": "small", "text_1": "a cat", "text_2": ["a dog"]},
    "/pooling": {"model": "small", "input": ["a cat"]},
}
BASE = EMBED | COHERE | RERANK | OTHER
OBEYED = [
    # OpenAI, Voyage, Jina, vLLM
    Field("/v1/embeddings", "input", ["a bird"]),
    Field("/v1/embeddings", "input", [{"text": "a bird"}]),
    Field("/v1/embeddings", "input", [1, 2, 3]),
    Field("/v1/embeddings", "truncate_prompt_tokens", 6, {"input": [LONG]}),
    Field("/v1/embeddings", "truncation_side", "right", {"input": [LONG], "truncate_prompt_tokens": 6}),
    Field("/score", "truncate_prompt_tokens", 6, {"text_2": [LONG]}),
    Field("/pooling", "truncate_prompt_tokens", 6, {"input": [LONG]}),
    Field("/pooling", "input", [4937]),
    Field("/v1/embeddings", "model", "minilm"),
    Field("/v1/embeddings", "dimensions", 8),
    Field("/v1/embeddings", "encoding_format", "base64"),
    Field("/v1/embeddings", "input_type", "document"),
    Field("/v1/embeddings", "truncation", True, {"input": [LONG]}),
    Field("/v1/embeddings", "output_dimension", 8),
    Field("/v1/embeddings", "output_dtype", "int8"),
    Field("/v1/embeddings", "embedding_type", ["float", "binary"]),
    Field("/v1/embeddings", "encoding_type", "base64"),
    Field("/v1/embeddings", "task", "retrieval.passage"),
    Field("/v1/embeddings", "prompt_name", "passage", {"task": "retrieval"}),
    Field("/v1/embeddings", "truncate", True, {"input": [LONG]}),
    Field("/v1/embeddings", "normalized", False, {"dimensions": 8}),
    Field("/v1/embeddings", "use_activation", False, {"dimensions": 8}),
    # Cohere
    Field("/v1/embed", "texts", ["a bird"]),
    Field("/v1/embed", "model", "minilm"),
    Field("/v1/embed", "input_type", "search_document"),
    Field("/v1/embed", "embedding_types", ["int8", "ubinary"]),
    Field("/v1/embed", "truncate", "START", {"texts": [LONG]}),
    Field("/v1/tokenize", "text", "a bird"),
    Field("/v2/embed", "texts", ["a bird"]),
    Field("/v2/embed", "inputs", [{"content": [{"type": "text", "text": "a bird"}]}], {"texts": None}),
    Field("/v2/embed", "model", "minilm"),
    Field("/v2/embed", "input_type", "search_document"),
    Field("/v2/embed", "max_tokens", 6, {"texts": [LONG]}),
    Field("/v2/embed", "output_dimension", 8),
    Field("/v2/embed", "embedding_types", ["int8", "ubinary"]),
    Field("/v2/embed", "truncate", "NONE", {"texts": [LONG]}),
    *(
        Field(path, name, value)
        for path in RERANK
        for name, value in {
            "query": "the dog",
            "documents": ["a bird"],
            "model": "minilm",
            "top_n": 1,
            "top_k": 1,
            "return_documents": False,
            "truncation": False,
            "max_doc_length": 6,
        }.items()
    ),
    Field("/v1/rerank", "rank_fields", ["title"], {"documents": [{"title": "a cat", "text": "a dog"}]}),
    Field("/v1/rerank", "max_chunks_per_doc", 1, {"documents": [LONG]}),
    Field("/v2/rerank", "max_tokens_per_doc", 6, {"documents": [LONG]}),
    Field("/v2/rerank", "relevant_spans", {"mode": "enabled", "threshold": -1, "max_spans": 1}),
    # TEI
    *(
        Field("/rerank", name, value)
        for name, value in {
            "query": "the dog",
            "texts": ["a bird"],
            "truncate": False,
            "truncation_direction": "left",
            "raw_scores": True,
            "return_text": True,
        }.items()
    ),
    *(
        Field(path, name, value)
        for path in ("/embed", "/embed_all")
        for name, value in {
            "inputs": "a bird",
            "truncate": False,
            "truncation_direction": "Left",
            "prompt_name": "passage",
        }.items()
    ),
    Field("/embed", "normalize", False, {"dimensions": 8}),
    Field("/embed", "dimensions", 8),
    Field("/tokenize", "inputs", "a bird"),
    Field("/tokenize", "add_special_tokens", False),
    Field("/tokenize", "prompt_name", "passage"),
    Field("/decode", "ids", [1037]),
    Field("/decode", "skip_special_tokens", False),
    Field("/similarity", "inputs", {"source_sentence": "a dog", "sentences": ["a cat"]}),
    Field("/similarity", "parameters", {"truncate": False}),
    # Ollama
    Field("/api/embed", "model", "minilm"),
    Field("/api/embed", "input", "a bird"),
    Field("/api/embed", "truncate", False),
    Field("/api/embed", "dimensions", 8),
    # vLLM
    Field("/score", "model", "minilm"),
    *(
        Field("/score", right, ["a bird"], {"text_1": None, "text_2": None, left: "a cat"})
        for left, right in (("queries", "documents"), ("queries", "items"), ("data_1", "data_2"))
    ),
    Field("/score", "text_2", ["a bird"]),
    Field("/pooling", "model", "minilm"),
    Field("/pooling", "input", "a bird"),
    Field("/pooling", "task", "embed"),
    Field("/pooling", "encoding_format", "base64"),
    Field("/pooling", "dimensions", 8, {"task": "embed"}),
    Field("/pooling", "use_activation", False, {"task": "embed", "dimensions": 8}),
    Field("/pooling", "use_activation", True),
]
VLLM_POST = ("/v1/embeddings", "/v1/rerank", "/score", "/pooling")
HARMLESS = [
    Field("/v1/embeddings", "user", "someone"),
    *(
        Field(path, name, value)
        for path in VLLM_POST
        for name, value in {
            "user": "someone",
            "request_id": "r-1",
            "priority": 1,
            "cache_salt": "salt",
            "padding": "do_not_pad",
        }.items()
    ),
    *(Field(path, "add_special_tokens", True) for path in ("/v1/embeddings", "/pooling")),
    *(Field(path, "embed_dtype", "float32") for path in ("/v1/embeddings", "/pooling")),
    *(Field(path, "endianness", "little") for path in ("/v1/embeddings", "/pooling")),
    # scores of these models have no activation
    *(Field(path, "use_activation", True) for path in ("/score", "/v1/rerank")),
    Field("/v1/embeddings", "late_chunking", False),
    Field("/v1/embeddings", "return_multivector", False),
    Field("/v2/embed", "priority", 1),
    Field("/v2/rerank", "priority", 1),
    Field("/v1/rerank", "return_embeddings", False),
    Field("/v1/rerank", "raw_scores", False),
    Field("/api/embed", "keep_alive", "5m"),
    Field("/api/embed", "options", {"num_thread": 2}),
]
REFUSED = [
    Field("/v1/embeddings", "input", [{"image": IMAGE}]),
    Field("/v1/embeddings", "late_chunking", True),
    Field("/v1/embeddings", "return_multivector", True),
    Field("/v1/embeddings", "return_multivector", 0),
    Field("/v1/embeddings", "truncate_prompt_tokens", 0),
    Field("/v1/rerank", "truncate_prompt_tokens", 8),
    Field("/v1/embeddings", "encoding_format", "bytes"),
    *(
        Field(path, name, value)
        for path in ("/v1/embeddings", "/pooling")
        for name, value in {
            "embed_dtype": "float16",
            "endianness": "big",
            "add_special_tokens": False,
            "messages": [{"role": "user", "content": "a cat"}],
        }.items()
    ),
    *(Field(path, "padding", "max_length") for path in VLLM_POST),
    *(Field(path, "mm_processor_kwargs", {"crop": True}) for path in VLLM_POST),
    Field("/v1/embed", "images", [IMAGE]),
    Field("/v1/embed", "input_type", "image"),
    Field("/v2/embed", "images", [IMAGE]),
    Field("/v2/embed", "input_type", "image"),
    Field("/v2/embed", "inputs", [{"content": [{"type": "image_url", "image_url": {"url": IMAGE}}]}], {"texts": None}),
    Field("/v1/rerank", "return_embeddings", True),
    Field("/v1/rerank", "raw_scores", True),
    Field("/v1/rerank", "documents", [{"image": IMAGE}]),
    Field("/v1/rerank", "documents", [{"content": [{"type": "image_url", "image_url": {"url": IMAGE}}]}]),
    Field("/pooling", "task", "classify"),
    Field("/pooling", "dimensions", 8),
    Field("/score", "text_2", [{"content": [{"type": "image_url", "image_url": {"url": IMAGE}}]}]),
]


@pytest.fixture(scope="module")
def small_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A service whose default model reads few tokens, and queries and documents with prompts."""
    folder: Path = make_small(tmp_path_factory.mktemp("prompted") / "small")
    edit(folder / "config_sentence_transformers.json", prompts={"query": "find: ", "document": "text: "})
    edit(folder / "sentence_bert_config.json", max_seq_length=16)
    with served(models=f"small={folder},minilm") as (_, api):
        yield api


def name_of(field: Field) -> str:
    return f"{field.path}-{field.name}"


def outcome(api: Api, field: Field, **changed: Any) -> tuple[int, Any]:
    """Status and answer of a request, without what is always new or measured."""
    answer = api.post(field.path, BASE[field.path] | field.beside | changed)
    content = answer.json()
    if isinstance(content, dict):
        fresh = {key for key in content if key in FRESH or key.endswith("_duration")}
        twice = {"data"} if "results" in content else set()  # the results for Voyage, if it may be Voyage's
        content = {key: part for key, part in content.items() if key not in fresh | twice}
    return answer.status_code, content


@pytest.mark.parametrize("field", OBEYED, ids=name_of)
def test_fields_that_change_the_answer_are_obeyed(small_api: Api, field: Field) -> None:
    changed = outcome(small_api, field, **{field.name: field.value})
    assert changed != outcome(small_api, field)
    assert changed[0] == 200 or changed[1]["code"] == "text_too_long", changed


@pytest.mark.parametrize("field", HARMLESS, ids=name_of)
def test_harmless_fields_change_nothing(small_api: Api, field: Field) -> None:
    status, answer = outcome(small_api, field, **{field.name: field.value})
    _, plain = outcome(small_api, field)
    assert status == 200, answer
    assert answer == plain


@pytest.mark.parametrize("field", REFUSED, ids=name_of)
def test_fields_that_are_not_served_are_refused_by_name(small_api: Api, field: Field) -> None:
    status, answer = outcome(small_api, field, **{field.name: field.value})
    assert status == 400
    assert field.name in answer["message"]


def test_null_is_the_default_of_every_optional_field(small_api: Api) -> None:
    fields = sorted({(field.path, field.name) for field in (*OBEYED, *REFUSED)})
    for path, names in groupby(fields, key=lambda pair: pair[0]):
        optional = dict.fromkeys(name for _, name in names if name not in BASE[path])
        status, answer = outcome(small_api, Field(path, "", None), **optional)
        assert status == 200, answer
