"""Of long documents, as many passages are scored as a request may have; the others are truncated."""

from __future__ import annotations

import pytest

from semblance.models.encoders.transformer import Transformer
from semblance.service.caches.memory import MemoryCache
from semblance.service.model_loading.rerankers import NO_RERANKERS
from semblance.service.observability.metrics import Metrics
from semblance.service.usecases import rerank
from semblance.service.usecases.rerank import Rerank, RerankParams
from semblance.service.usecases.text_embedder import InputText, TextEmbedder
from tests.service.usecases.one_service import StaticModels
from tests.service.usecases.test_embed import RecordingEmbedder

DOCUMENTS = ["One more word. " * 200, "A short one.", "Yet another one. " * 400, "A last sentence. " * 200]


@pytest.mark.parametrize(("most", "truncated"), [(1000, []), (8, [2, 3]), (1, [0, 2, 3])])
async def test_documents_beyond_the_most_passages_are_truncated(
    minilm: Transformer, monkeypatch: pytest.MonkeyPatch, most: int, truncated: list[int]
) -> None:
    monkeypatch.setattr(rerank, "MAX_PASSAGES", most)
    texts = TextEmbedder(RecordingEmbedder(), MemoryCache(0), Metrics(), 100_000)
    documents = [InputText(text, f"/documents/{i}") for i, text in enumerate(DOCUMENTS)]
    params = RerankParams(InputText("a word", "/query"), documents, None)
    found = await Rerank(StaticModels(minilm), NO_RERANKERS, texts, {}).rank(params)
    assert found.truncated == truncated
    assert sorted(each.index for each in found.results) == [0, 1, 2, 3]
