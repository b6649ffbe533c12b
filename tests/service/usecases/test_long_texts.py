"""Texts that are longer than the model reads, through the use cases of texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from semblance_client.vocabulary.explanation import ExplainRequest
from semblance_client.vocabulary.fields import Pair
from semblance_client.vocabulary.similarity import Similarities, SimilarityMatrix, SimilarityRequest

from semblance.models.encoders.transformer import Transformer
from semblance.models.nearest_passages import nearest_passages
from semblance.models.tokenization.passages import auto_cut, cut_passages
from semblance.service.caches.memory import MemoryCache
from semblance.service.errors import InvalidRequest, TooManyTokens
from semblance.service.observability.metrics import Metrics
from semblance.service.settings import Settings
from semblance.service.usecases.compare import Compare
from semblance.service.usecases.embed import Embed
from semblance.service.usecases.explain.explain import Explain
from semblance.service.usecases.request_fields import RequestLimits
from semblance.service.usecases.text_embedder import InputText, TextEmbedder, Truncation
from tests.service.usecases.one_service import StaticModels
from tests.service.usecases.test_embed import RecordingEmbedder

SHORT = "A cat sleeps on the sofa."
LONG = "".join(f"Sentence {n} tells of the harbor, its ships and {n} sailors. " for n in range(60))
TALE = "The parcel never came. " * 90


def texts(*given: str) -> list[InputText]:
    return [InputText(text, f"/input/{i}") for i, text in enumerate(given)]


def embedder(truncations: dict[str, str] | None = None) -> tuple[TextEmbedder, RecordingEmbedder]:
    recorded = RecordingEmbedder()
    made = TextEmbedder(recorded, MemoryCache(1 << 24), Metrics(), 100_000, truncations or {})  # type: ignore[arg-type]
    return made, recorded


async def vectors(
    minilm: Transformer, *given: str, truncate: str | None = None, max_tokens: int | None = None
) -> np.ndarray:
    use = Embed(StaticModels(minilm), embedder()[0])
    found = await use.vectors(texts(*given), truncation=Truncation(truncate, max_tokens))  # type: ignore[arg-type]
    return np.asarray(found.vectors)


async def test_a_long_text_is_the_mean_of_its_passages(minilm: Transformer) -> None:
    cut = auto_cut(minilm)
    assert cut is not None
    spans = cut_passages(LONG, cut, lambda parts: minilm.tokenize(parts, "query", "END"))
    parts = minilm.tokenize([LONG[start:end] for start, end in spans], "query", "END")
    counts = [len(part) - 2 for part in parts]
    pooled = [embedding.pooled() for embedding in minilm.encode(parts, "pooled")]
    mean = np.average(pooled, axis=0, weights=counts)
    [found] = await vectors(minilm, LONG)
    assert len(spans) > 3
    assert found == pytest.approx(mean / np.linalg.norm(mean), abs=2e-6)


async def test_texts_within_the_limit_do_not_change(minilm: Transformer) -> None:
    at_limit = "word " * (minilm.max_tokens - 2)
    assert len(minilm.tokenize([at_limit], "query", "NONE")[0]) == minilm.max_tokens
    read = await vectors(minilm, SHORT, at_limit, truncate="PASSAGES")
    assert np.array_equal(read, await vectors(minilm, SHORT, at_limit, truncate="END"))


async def test_one_token_more_is_read_in_passages(minilm: Transformer) -> None:
    use = Embed(StaticModels(minilm), embedder()[0])
    found = await use.vectors(texts("word " * (minilm.max_tokens - 1), SHORT))
    assert found.passages == 2
    assert found.truncated == [False, False]


async def test_cosine_of_long_texts_is_the_same_everywhere(minilm: Transformer) -> None:
    models, (embed, _) = StaticModels(minilm), embedder()
    compare = Compare(models, embed, {}, {}, RequestLimits.of(Settings()))
    pairs = await compare.similarity(SimilarityRequest(pairs=[Pair(a=LONG, b=TALE), Pair(a=SHORT, b=TALE)]))
    matrix = await compare.similarity(SimilarityRequest(left=[LONG, SHORT], right=[TALE]))
    assert isinstance(pairs, Similarities)
    assert isinstance(matrix, SimilarityMatrix)
    a, b, tale = await vectors(minilm, LONG, SHORT, TALE)
    assert pairs.scores == pytest.approx([float(a @ tale), float(b @ tale)], abs=1e-6)
    assert [row[0] for row in matrix.scores] == pytest.approx(pairs.scores, abs=1e-9)
    assert pairs.usage.passages == _passages(minilm, LONG) + 2 * _passages(minilm, TALE)
    assert matrix.usage.passages == _passages(minilm, LONG) + _passages(minilm, TALE)
    explain = Explain(models, None, embed, {}, {})  # type: ignore[arg-type]
    explained = await explain.explain(ExplainRequest(a=LONG, b=TALE, measure="cosine"))
    assert explained.explanation.score == pytest.approx(pairs.scores[0], abs=1e-6)
    assert explained.passages == _passages(minilm, LONG) + _passages(minilm, TALE)


def _passages(minilm: Transformer, text: str) -> int:
    cut = auto_cut(minilm)
    assert cut is not None
    return len(cut_passages(text, cut, lambda parts: minilm.tokenize(parts, "query", "END")))


async def test_links_lie_in_the_whole_text(minilm: Transformer) -> None:
    needle = "The old lighthouse keeper feeds three orange cats. "
    whole = LONG + needle + LONG
    explain = Explain(StaticModels(minilm), None, embedder()[0], {}, {})  # type: ignore[arg-type]
    query = "a keeper of a lighthouse and his cats"
    explained = (await explain.explain(ExplainRequest(a=query, b=whole, measure="rcmd_words"))).response(10)
    words = {explained.b.tokens[link.b].text for link in explained.links}
    assert {"lighthouse", "keeper", "cats"} <= words
    for token in explained.b.tokens:
        assert whole[token.start : token.end] == token.text
    assert explained.b.read_start <= len(LONG) < explained.b.read_end
    assert (explained.a.truncated, explained.b.truncated, explained.truncated) == (False, True, False)


async def test_passages_come_from_the_cache(minilm: Transformer) -> None:
    embed, recorded = embedder()
    for _ in range(2):
        await embed.embed(minilm, texts(LONG, SHORT, LONG), "query", "pooled", Truncation("PASSAGES"))
    assert len(recorded.encoded) == len(set(recorded.encoded)) == _passages(minilm, LONG) + 1


async def test_truncated_vectors_are_not_taken_for_passages(minilm: Transformer) -> None:
    embed, _ = embedder()
    cut = await embed.embed(minilm, texts(LONG), "query", "pooled", Truncation("END"))
    read = await embed.embed(minilm, texts(LONG), "query", "pooled", Truncation("PASSAGES"))
    again = await embed.embed(minilm, texts(LONG), "query", "pooled", Truncation("END"))
    assert (cut.passages, again.passages) == (0, 0)
    assert read.passages > 3
    assert np.array_equal(cut.embeddings[0].pooled(), again.embeddings[0].pooled())


@pytest.mark.parametrize(("default", "passages", "truncated"), [("PASSAGES", True, False), ("END", False, True)])
async def test_the_operator_chooses_by_model(
    minilm: Transformer, default: str, passages: bool, truncated: bool
) -> None:
    embed, _ = embedder({minilm.name: default})
    found = await embed.embed(minilm, texts(LONG), "query", "pooled", Truncation())
    assert (found.passages > 0, found.truncated) == (passages, [truncated])


async def test_token_vectors_are_those_of_all_passages(minilm: Transformer) -> None:
    found = await Embed(StaticModels(minilm), embedder()[0]).token_vectors(texts(TALE))
    assert found.vectors[0].shape == (found.tokens, minilm.dim)
    assert found.tokens > 1.7 * minilm.max_tokens


@pytest.mark.parametrize(("truncate", "expected"), [("END", slice(None, 6)), ("START", slice(-6, None))])
async def test_texts_are_truncated_to_fewer_tokens(minilm: Transformer, truncate: str, expected: slice) -> None:
    kept = " ".join(["the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog"][expected])
    [found] = await vectors(minilm, "the quick brown fox jumps over a lazy dog", truncate=truncate, max_tokens=8)
    assert np.array_equal(found, (await vectors(minilm, kept))[0])


async def test_a_token_of_each_text_is_kept(minilm: Transformer) -> None:
    [found] = await vectors(minilm, "quick brown foxes", truncate="END", max_tokens=1)
    assert np.array_equal(found, (await vectors(minilm, "quick"))[0])


async def test_more_tokens_than_a_request_allows_are_rejected(minilm: Transformer) -> None:
    with pytest.raises(InvalidRequest, match="6 tokens exceed the 4"):
        await vectors(minilm, "quick brown foxes run", truncate="NONE", max_tokens=4)


async def test_a_rejected_text_is_told_both_numbers(minilm: Transformer) -> None:
    with pytest.raises(InvalidRequest) as raised:
        await vectors(minilm, SHORT, LONG, truncate="NONE")
    [problem] = raised.value.problems
    assert problem.pointer == "/input/1"
    tokens = len(minilm.tokenize([LONG], "query", "PASSAGES")[0])
    assert f"{tokens:,} tokens exceed the {minilm.max_tokens:,} that are read" in problem.detail
    assert "truncate" in problem.detail


async def test_passages_count_against_the_tokens_of_a_request(minilm: Transformer) -> None:
    embed, recorded = embedder()
    recorded.max_request_tokens = 500
    with pytest.raises(TooManyTokens, match="500"):
        await embed.embed(minilm, texts(LONG), "query", "pooled", Truncation("PASSAGES"))
    assert recorded.encoded == []


def _lines(*given: Sequence[str]) -> str:
    return "\n".join(line for lines in given for line in lines)


@pytest.mark.parametrize("blank", [" " * 5000, "\n" * 5000, "\u200b" * 5000, "\t\r\n " * 2000])
async def test_white_space_between_passages_is_no_passage(minilm: Transformer, blank: str) -> None:
    words = ["One sentence of some words."] * 40
    [found] = await vectors(minilm, _lines(words) + blank + _lines(words))
    assert np.isfinite(found).all()
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)


async def test_nearest_passage_of_a_long_query_makes_its_score(minilm: Transformer) -> None:
    embed, _ = embedder()
    found = await embed.embed(minilm, texts(LONG, SHORT), "query", "tokens", Truncation("PASSAGES"))
    near, same = nearest_passages(*found.embeddings)
    assert same is found.embeddings[1]
    assert near in found.embeddings[0].passages
