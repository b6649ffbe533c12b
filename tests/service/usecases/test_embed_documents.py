"""Documents are checked before any is encoded, whatever their length."""

from __future__ import annotations

import pytest

from semblance.models.tokenization.passages import Cut
from semblance.service.caches.memory import MemoryCache
from semblance.service.errors import InvalidRequest
from semblance.service.observability.metrics import Metrics
from semblance.service.usecases.documents.embed import DocumentEmbedder
from semblance.service.usecases.embed import InputText, TextEmbedder
from tests.service.usecases.test_embed import RecordingEmbedder
from tests.support.random_encoder import RandomEncoder

CUT = Cut(16, 0)
ENCODER = RandomEncoder("words", "space", 4, ignored_word="zzz")
SENTENCE = "The ship left the harbour at dawn. "


def documents(**texts: str) -> dict[str, InputText]:
    return {doc_id: InputText(text, f"/documents/{doc_id}") for doc_id, text in texts.items()}


def document_embedder(max_text_chars: int = 100_000) -> tuple[DocumentEmbedder, RecordingEmbedder]:
    recorded = RecordingEmbedder()
    return DocumentEmbedder(TextEmbedder(recorded, MemoryCache(0), Metrics(), max_text_chars)), recorded


async def test_all_unreadable_documents_are_named_before_any_is_encoded() -> None:
    embedder, recorded = document_embedder()
    texts = documents(a="a cat", b="zzz", c=SENTENCE * 200, d="zzz " * 500, e="", f=" " * 5000, g="zzz zzz\n" * 900)
    for call in (
        lambda: embedder.embed(ENCODER, texts, CUT, "int8", bulk=False),
        lambda: embedder.check(ENCODER, texts, CUT),
    ):
        with pytest.raises(InvalidRequest) as raised:
            await call()
        named = {(each.pointer, each.code) for each in raised.value.problems}
        assert named == {(f"/documents/{doc_id}", "empty_text") for doc_id in "bdefg"}
    assert recorded.encoded == []
    readable = {doc_id: texts[doc_id] for doc_id in "ac"}
    embedded = await embedder.embed(ENCODER, readable, CUT, "int8", bulk=False)
    assert list(embedded.by_id) == ["a", "c"]
    assert len(embedded.by_id["c"].vectors) == 100


async def test_only_books_are_background_work_of_a_request() -> None:
    embedder, recorded = document_embedder()
    numbered = [f"Ship {number} left the harbour of Venice at dawn. " for number in range(20)]
    texts = documents(one=SENTENCE, several="".join(numbered[:3]))
    await embedder.embed(ENCODER, texts, CUT, "none", bulk=False)
    assert (len(recorded.encoded), recorded.background) == (4, [])
    await embedder.embed(ENCODER, documents(book="".join(numbered)), CUT, "none", bulk=False)
    assert len(recorded.background) == 20
    await embedder.embed(ENCODER, texts, CUT, "none", bulk=True)
    assert len(recorded.background) == 24


async def test_of_a_stored_document_its_longest_permitted_start_is_read() -> None:
    embedder, _ = document_embedder(max_text_chars=70)
    texts = documents(long=SENTENCE * 3, short=SENTENCE)
    stored = await embedder.embed_stored(ENCODER, texts, None, "none")
    start = await embedder.embed(ENCODER, documents(long=SENTENCE * 2), None, "none", bulk=False)
    assert stored.by_id["long"].vectors == pytest.approx(start.by_id["long"].vectors)
    assert {doc_id: each.truncated for doc_id, each in stored.by_id.items()} == {"long": True, "short": False}
    with pytest.raises(InvalidRequest, match="70"):
        await embedder.embed(ENCODER, texts, None, "none", bulk=False)
