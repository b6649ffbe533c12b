"""The standard tests of LangChain, and what they do not ask: scores, explanations, refusals and errors."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_semblance import (
    RefusedDocuments,
    SemblancePrune,
    SemblanceRerank,
    SemblanceRetriever,
    SemblanceVectorStore,
)
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests
from semblance_client import Client, Explanation, NotFound, Unauthorized

from tests.clients.programs.task import BEST, DOCUMENTS, KEY, QUERY, URL, check_ranking

CLIENT = Client(URL, KEY)
README = Path(__file__).parents[4] / "clients" / "langchain" / "README.md"


@pytest.fixture
def store() -> Iterator[SemblanceVectorStore]:
    CLIENT.create_collection("langchain")
    yield SemblanceVectorStore(CLIENT, "langchain")
    CLIENT.delete_collection("langchain")


@pytest.fixture
def filled(store: SemblanceVectorStore) -> SemblanceVectorStore:
    """The same with the documents of the task."""
    store.add_texts(DOCUMENTS, [{"place": i} for i in range(3)], ids=["0", "1", "2"])
    return store


class TestVectorStore(VectorStoreIntegrationTests):  # type: ignore[misc]  # mypy does not see its package
    """The standard tests of vector stores."""

    @pytest.fixture
    def vectorstore(self, store: SemblanceVectorStore) -> VectorStore:
        return store


class TestRetriever(RetrieversIntegrationTests):  # type: ignore[misc]  # likewise
    """The standard tests of retrievers."""

    @pytest.fixture(autouse=True)
    def documents(self, filled: SemblanceVectorStore) -> None:
        assert filled.collection == "langchain"

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        kind: type[BaseRetriever] = SemblanceRetriever
        return kind

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"client": CLIENT, "collection": "langchain"}

    @property
    def retriever_query_example(self) -> str:
        return QUERY


def explanation_of(document: Document) -> Explanation:
    why = Explanation.model_validate(document.metadata["explanation"])
    assert sum(link.contribution for link in why.links) + why.rest == pytest.approx(why.score, abs=1e-6)
    return why


def test_a_retriever_explains_the_scores_of_its_documents(filled: SemblanceVectorStore) -> None:
    options: dict[str, Any] = {"k": 2, "measure": "rcmd_words", "explain": True, "filter": {"place": {"gte": 1}}}
    found = SemblanceRetriever(client=CLIENT, collection="langchain", **options).invoke(QUERY)
    hits = CLIENT.search(QUERY, "langchain", **options).hits
    assert [(each.id, each.metadata["score"]) for each in found] == [(hit.id, hit.score) for hit in hits]
    assert [explanation_of(each) for each in found] == [hit.explanation for hit in hits]
    assert found[0].metadata["place"] == BEST
    assert [each.id for each in filled.as_retriever(search_kwargs={"k": 1}).invoke(QUERY)] == [str(BEST)]


def test_a_store_returns_scores_and_relevance(filled: SemblanceVectorStore) -> None:
    scores = {document.id: score for document, score in filled.similarity_search_with_score(QUERY, k=3)}
    relevance = {document.id: score for document, score in filled.similarity_search_with_relevance_scores(QUERY, k=3)}
    assert relevance == {name: pytest.approx((score + 1) / 2, abs=1e-6) for name, score in scores.items()}
    least = sorted(relevance.values())[1]
    assert len(filled.similarity_search_with_relevance_scores(QUERY, k=3, score_threshold=least)) == 2
    with pytest.raises(ValueError, match="word_movers have no bounds"):
        filled.similarity_search_with_relevance_scores(QUERY, measure="word_movers")
    explained = filled.similarity_search(QUERY, k=1, measure="rcmd", explain=True)
    assert explanation_of(explained[0]).measure == "rcmd"


def test_from_texts_creates_the_collection() -> None:
    store = SemblanceVectorStore.from_texts(DOCUMENTS, ids=["a", "b", "c"], client=CLIENT, collection="new")
    assert [each.page_content for each in store.get_by_ids(["c", "x", "a"])] == [DOCUMENTS[2], DOCUMENTS[0]]
    CLIENT.delete_collection("new")
    with pytest.raises(NotFound):
        store.similarity_search("a")


def test_documents_that_are_refused_are_named(store: SemblanceVectorStore) -> None:
    with pytest.raises(RefusedDocuments, match="refused: 1, stored: 1; document 2: text: ") as refused:
        store.add_texts(["A cat.", " "])
    assert [problem.code for problem in refused.value.result.refused] == ["empty_text"]
    with pytest.raises(ValueError, match="1 ids for 2 documents"):
        store.add_documents([Document("A."), Document("B.")], ids=["1"])
    with pytest.raises(ValueError, match="name the ids"):
        store.delete()


def test_a_reranker_ranks_and_explains() -> None:
    def rank(texts: list[str], top_n: int) -> list[int]:
        documents = [Document(text, metadata={"place": i}) for i, text in enumerate(texts)]
        ranked = SemblanceRerank(client=CLIENT, top_n=top_n).compress_documents(documents, QUERY)
        assert all(set(each.metadata) == {"place"} for each in documents)
        return [each.metadata["place"] for each in ranked]

    check_ranking(rank)
    given = [Document(text, id=str(i)) for i, text in enumerate(DOCUMENTS)]
    [best] = SemblanceRerank(client=CLIENT, top_n=1, explain=True).compress_documents(given, QUERY)
    assert best.id == str(BEST)
    assert 0 < best.metadata["relevance_score"] < 1
    assert "your package" in best.metadata["highlights"]
    assert explanation_of(best).b.text == DOCUMENTS[BEST]
    assert SemblanceRerank(client=CLIENT).compress_documents([], QUERY) == []


@pytest.mark.parametrize("options", [{}, {"share": 0.5}, {"share": 1.0}, {"tokens": 12}])
def test_documents_are_pruned_as_the_service_does(options: dict[str, Any]) -> None:
    texts = [
        *DOCUMENTS,
        "We are open. " + DOCUMENTS[BEST] + " Music is played.",
        " ",
        "🙂 My parcel never came. It rains.",
    ]
    documents = [Document(text, id=str(i), metadata={"place": i}) for i, text in enumerate(texts)]
    pruned = SemblancePrune(client=CLIENT, **options).compress_documents(documents, QUERY)
    found = CLIENT.prune(QUERY, [text for text in texts if text.strip()], **options).documents
    expected = [" ".join(each.text for each in document.kept) for document in found if document.kept]
    assert [each.page_content for each in pruned] == expected
    for each in pruned:
        whole = texts[each.metadata["place"]]
        assert each.id == str(each.metadata["place"])
        assert " ".join(whole[start:end] for start, end in each.metadata["kept"]) == each.page_content
    assert [(each.page_content, set(each.metadata)) for each in documents] == [(text, {"place"}) for text in texts]
    assert SemblancePrune(client=CLIENT).compress_documents([Document(" ")], QUERY) == []


def test_a_rerank_model_orders_documents(filled: SemblanceVectorStore) -> None:
    documents = filled.get_by_ids(["0", "1", "2"])
    ranked = SemblanceRerank(client=CLIENT, rerank_model="cross").compress_documents(documents, QUERY)
    found = SemblanceRetriever(client=CLIENT, collection="langchain", rerank_model="cross").invoke(QUERY)
    assert [each.id for each in found] == [each.id for each in ranked]
    scores = [each.metadata["rerank_score"] for each in found]
    assert scores == sorted(scores, reverse=True)
    assert [each.metadata["rerank_score"] for each in ranked] == pytest.approx(scores, abs=1e-5)
    assert "rerank_score" not in SemblanceRetriever(client=CLIENT, collection="langchain").invoke(QUERY)[0].metadata


async def test_awaited_methods_return_the_same(filled: SemblanceVectorStore) -> None:
    documents = filled.get_by_ids(["0", "1", "2"])
    reranker = SemblanceRerank(client=CLIENT)
    assert await reranker.acompress_documents(documents, QUERY) == reranker.compress_documents(documents, QUERY)
    prune = SemblancePrune(client=CLIENT, tokens=20)
    assert await prune.acompress_documents(documents, QUERY) == prune.compress_documents(documents, QUERY)
    assert await filled.asimilarity_search_with_score(QUERY) == filled.similarity_search_with_score(QUERY)


def test_a_wrong_key_is_an_error() -> None:
    with pytest.raises(Unauthorized):
        SemblanceRetriever(client=Client(URL, "wrong")).invoke(QUERY)


def test_the_examples_of_the_readme_print_their_output() -> None:
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    code = "\n".join(code for code, _ in blocks)
    placed = code.replace('Client("http://127.0.0.1:8000")', f'Client("{URL}", "{KEY}")')
    ran = subprocess.run([sys.executable, "-c", placed], capture_output=True, text=True, check=False, timeout=600)
    for name in ("help", "answers"):
        CLIENT.delete_collection(name)
    assert (ran.stderr, ran.stdout) == ("", "".join(shown for _, shown in blocks))
