"""Documents are checked before any is encoded, whatever their length."""

from __future__ import annotations

import numpy as np
import pytest
from semblance_client.vocabulary.collections import TokenStorage

from semblance.models.embeddings import Floats
from semblance.models.tokenization.passages import Cut
from semblance.service.caches.memory import MemoryCache
from semblance.service.errors import InvalidRequest
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.documents import GivenEmbedding
from semblance.service.usecases.documents.embed import DocumentEmbedder
from semblance.service.usecases.text_embedder import InputText, TextEmbedder
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


UNIT = np.array([0.6, 0.8, 0, 0], "<f4")


async def test_given_embeddings_are_kept_and_nothing_is_encoded() -> None:
    embedder, recorded = document_embedder()
    texts = documents(a="a cat", b="a dog barks")
    made = await embedder.embed(ENCODER, texts, None, "int8", bulk=False)
    codes = {doc_id: (each.codes or [b""])[0] for doc_id, each in made.by_id.items()}
    given = {
        doc_id: (texts[doc_id], GivenEmbedding("space", each.vectors[0].astype("<f4").tobytes(), codes[doc_id], 0.01))
        for doc_id, each in made.by_id.items()
    }
    encoded = len(recorded.encoded)
    ways: list[tuple[TokenStorage, Cut | None]] = [("int8", None), ("int8", CUT), ("none", None)]
    for tokens, cut in ways:
        adopted = await embedder.adopt(ENCODER, given, cut, tokens)
        assert adopted.tokens == made.tokens
        for doc_id, each in adopted.by_id.items():
            assert (each.vectors == made.by_id[doc_id].vectors).all()
            assert each.codes == ([codes[doc_id]] if tokens == "int8" else None)
            assert each.code_error == (0.01 if tokens == "int8" else 0)
    assert len(recorded.encoded) == encoded


@pytest.mark.parametrize(
    ("vector", "text", "tokens", "message"),
    [
        (UNIT[:3], "a cat", "none", "12 bytes, not the 16 of 4 numbers"),
        (UNIT * 1.01, "a cat", "none", "of length 1.01, not 1"),
        (UNIT * np.float32(np.nan), "a cat", "none", "of length nan, not 1"),
        (UNIT, "a cat", "int8", "those sent are not of"),
        (UNIT, SENTENCE * 9, "none", "the text has several passages"),
        (UNIT, SENTENCE * 900, "none", "the text has several passages"),
    ],
)
async def test_a_given_embedding_that_does_not_fit_is_named(
    vector: Floats, text: str, tokens: TokenStorage, message: str
) -> None:
    embedder, _ = document_embedder()
    other = (await embedder.embed(ENCODER, documents(o="one two three four"), None, "int8", bulk=False)).by_id["o"]
    codes = (other.codes or [b""])[0]
    given = {
        "good": (InputText("a cat", "/documents/0/text"), GivenEmbedding("space", UNIT.tobytes(), None, 0)),
        "bad": (InputText(text, "/documents/1/text"), GivenEmbedding("space", vector.tobytes(), codes, 0)),
    }
    if tokens == "int8":
        del given["good"]
    with pytest.raises(InvalidRequest, match=message) as raised:
        await embedder.adopt(ENCODER, given, CUT, tokens)
    assert [(each.pointer, each.code) for each in raised.value.problems] == [
        ("/documents/1/embedding", "embedding_mismatch")
    ]
