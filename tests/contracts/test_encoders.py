"""Laws of every encoder."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from semblance.models.embeddings import TokenEmbeddings, unit_rows
from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadTexts
from semblance.models.measures.cosine import Cosine
from semblance.models.projections.common_component_removal import CommonComponentRemoval
from semblance.models.projections.whitening import Whitening
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from tests.support.small_model import DIM, WORD_DIM, load, make_small, save_map, write_glove

TEXTS = (
    "A man is playing a guitar on stage.",
    "Unbelievable antidisestablishmentarianism!",
    "No.",
    "naïve café — 東京タワー, 3.5 %",
    "word " * 400,
    "The quick brown fox jumps over the lazy dog. " * 5,
)


WORDS = (
    *("a", "man", "is", "playing", "guitar", "on", "stage", ".", "no", "3.5", "%", "the", "quick", "brown", "fox"),
    *("jumps", "over", "lazy", "dog", "word", "first", "middle", "last"),
)
MEAN_POOLED = (
    "minilm",
    "{small}?weighting=uniform",
    "{small}?weighting=sif&frequencies={counts}",
    "{small}?projection={ccr}",
    "{words}",
    "{words}?weighting=sif&frequencies={counts}",
    "{words}?weighting=sif&frequencies={counts}&projection={white}",
    "minilm-graded",  # the other adapters are read alike: tests/models/model_files/test_lora.py compares their vectors
    "{small}?pooling=words",
)
OTHERS = ("{small}?pooling=max", "{small}?pooling=cls")


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Files for the names in braces of the sources above."""
    folder = tmp_path_factory.mktemp("encoders")
    paths = {name: folder / name for name in ("small", "words", "counts", "ccr", "white")}
    make_small(paths["small"])
    write_glove(paths["words"], WORDS)
    paths["counts"].write_text("the\t50\na\t30\nfox\t2\nguitar\t1\n")
    rng = np.random.default_rng(0)
    save_map(CommonComponentRemoval().fit(rng.normal(1, 1, (9, DIM))), paths["ccr"], str(paths["small"]))
    weighted = MEAN_POOLED[5].format(**paths)
    save_map(Whitening().fit(rng.normal(1, 1, (40, WORD_DIM)), 5), paths["white"], weighted)
    return paths


loaded = cache(load)


@pytest.fixture(params=[*MEAN_POOLED, *OTHERS])
def encoder(request: pytest.FixtureRequest, files: Mapping[str, Path]) -> Encoder:
    return loaded(request.param.format(**files))


@pytest.fixture(params=MEAN_POOLED)
def mean_pooled(request: pytest.FixtureRequest, files: Mapping[str, Path]) -> Encoder:
    return loaded(request.param.format(**files))


ENCODED: dict[tuple[str, tuple[str, ...]], list[TokenEmbeddings]] = {}


def encoded(encoder: Encoder, texts: tuple[str, ...]) -> list[TokenEmbeddings]:
    """The same for all tests, by the build of the encoder."""
    if (key := (encoder.build, texts)) not in ENCODED:
        ENCODED[key] = encode(encoder, texts)
    return ENCODED[key]


def encode(encoder: Encoder, texts: tuple[str, ...]) -> list[TokenEmbeddings]:
    return encoder.encode(encoder.tokenize(texts, "document", "END"), "tokens")


def test_a_text_has_equal_vectors_alone_and_in_any_batch(encoder: Encoder) -> None:
    alone = [encoded(encoder, (text,))[0] for text in TEXTS]
    for order in (range(len(TEXTS)), (3, 0, 5, 1, 4, 2)):
        for i, in_batch in zip(order, encoded(encoder, tuple(TEXTS[i] for i in order)), strict=True):
            assert alone[i].vectors == pytest.approx(in_batch.vectors, abs=1e-5)
            assert alone[i].pooled() == pytest.approx(in_batch.pooled(), abs=1e-5)


def test_repeated_calls_give_identical_bits(encoder: Encoder) -> None:
    for first, second in zip(encoded(encoder, TEXTS), encode(encoder, TEXTS), strict=True):
        np.testing.assert_array_equal(first.vectors, second.vectors)


def test_pooled_vectors_do_not_depend_on_the_requested_output(encoder: Encoder) -> None:
    tokenized = encoder.tokenize(TEXTS, "document", "END")
    for tokens, pooled in zip(encoder.encode(tokenized, "tokens"), encoder.encode(tokenized, "pooled"), strict=True):
        assert pooled.pooled() == pytest.approx(tokens.pooled(), abs=1e-6)
        assert pooled.vectors.shape == (0, encoder.dim)


def test_the_weighted_token_mean_points_along_the_pooled_vector(mean_pooled: Encoder) -> None:
    for embeddings in encoded(mean_pooled, TEXTS):
        assert embeddings.mean_pooled
        mean = embeddings.weights @ embeddings.vectors
        known = float(np.any(mean))  # the vector of a text without known words is 0, and so is its cosine
        assert float(unit_rows(mean) @ unit_rows(embeddings.pooled())) == pytest.approx(known, abs=1e-6)
        assert np.isfinite(embeddings.pooled()).all()


def test_parts_of_a_cosine_sum_to_it_under_any_adaptation(mean_pooled: Encoder) -> None:
    left, right = encoded(mean_pooled, TEXTS), encoded(mean_pooled, TEXTS[::-1])
    for a, b in itertools.product(left, right):
        explanation = Cosine().explain(a, b)
        assert explanation.contribution.sum() + explanation.special == pytest.approx(Cosine().score(a, b), abs=1e-6)


def test_pooling_by_words_leaves_special_tokens_out(files: Mapping[str, Path]) -> None:
    texts = encoded(loaded("{small}?pooling=words".format(**files)), TEXTS)
    for embeddings in texts:
        assert embeddings.text is not None
        own = embeddings.vectors[~embeddings.text.special]
        assert len(own) == len(embeddings) - 2, "[CLS] and [SEP]"
        assert embeddings.pooled() == pytest.approx(unit_rows(own.mean(axis=0)), abs=1e-6)
    for a, b in itertools.product(texts, texts):
        assert Cosine().explain(a, b).special == 0


@pytest.mark.parametrize("source", OTHERS)
def test_max_and_cls_pooling_agree_with_their_definitions(files: Mapping[str, Path], source: str) -> None:
    for embeddings in encoded(loaded(source.format(**files)), TEXTS):
        assert not embeddings.mean_pooled
        pooled = embeddings.vectors.max(axis=0) if source.endswith("max") else embeddings.vectors[0]
        assert embeddings.pooled() == pytest.approx(unit_rows(pooled), abs=1e-6)


def test_shapes_types_and_digests(encoder: Encoder) -> None:
    for text, embeddings in zip(encoder.tokenize(TEXTS, "query", "END"), encoded(encoder, TEXTS), strict=True):
        for array, shape in ((embeddings.vectors, (len(text), encoder.dim)), (embeddings.pooled(), (encoder.dim,))):
            assert array.shape == shape
            assert array.dtype == np.float32
    assert len(encoder.space) == len(encoder.build) == 64
    assert encoder.space != encoder.build


def test_spans_are_character_offsets(encoder: Encoder) -> None:
    for text in encoder.tokenize(TEXTS, "document", "END"):
        units = text.units()
        assert len(units) == int((~text.special).sum())
        for unit in units:
            assert unit.text == text.text[unit.start : unit.end]
            assert unit.text.strip()
        starts = [unit.start for unit in units]
        assert starts == sorted(starts)


@pytest.mark.parametrize(("truncate", "remaining"), [("END", "first"), ("START", "last")])
def test_truncation_removes_the_chosen_end_and_is_reported(encoder: Encoder, truncate: str, remaining: str) -> None:
    text = "first " + "middle " * 600 + "last"
    cut = encoder.tokenize([text], "document", truncate)[0]  # type: ignore[arg-type]
    assert cut.truncated
    assert len(cut) == encoder.max_tokens
    assert not cut.special.any() or (cut.special[0] and cut.special[-1])
    words = [unit.text for unit in cut.units()]
    assert words[0 if truncate == "END" else -1] == remaining
    assert not encoder.tokenize(["short"], "document", truncate)[0].truncated  # type: ignore[arg-type]


def test_long_texts_are_rejected_without_truncation(encoder: Encoder) -> None:
    with pytest.raises(BadTexts) as refusal:
        encoder.tokenize(["fine", "word " * 600], "document", "NONE")
    assert [(problem.index, problem.code) for problem in refusal.value.problems] == [(1, "text_too_long")]


def test_texts_that_cannot_be_encoded_are_rejected_by_place(encoder: Encoder) -> None:
    empty = ["", " \n\t", "\u200b\u200d\ufeff", "\x00\x00", "\u00ad", "\u2028"]
    with pytest.raises(BadTexts) as refusal:
        encoder.tokenize(["fine", *empty, "fine", "ab\ud800", ""], "query", "END")
    expected = [*((i, "empty_text") for i in range(1, 7)), (8, "ill_formed_text"), (9, "empty_text")]
    assert [(problem.index, problem.code) for problem in refusal.value.problems] == expected


@pytest.mark.parametrize("source", ["minilm", "{words}"])  # the others have the tokenizer of either
def test_threads_can_tokenize_concurrently(files: Mapping[str, Path], source: str) -> None:
    """A fast tokenizer shared by threads raises "Already borrowed", so each thread has a copy."""
    encoder = loaded(source.format(**files))

    def ids() -> list[list[int]]:
        return [text.ids.tolist() for text in encoder.tokenize(TEXTS, "query", "END")]

    expected = ids()
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(ids) for _ in range(160)]
    assert all(each.result() == expected for each in futures)


def test_bfloat16_has_the_same_space_and_another_build(minilm: Transformer) -> None:
    half = Transformer("minilm", minilm._checkpoint, Compute(precision="bfloat16"))
    assert half.space == minilm.space
    assert half.build != minilm.build
    for exact, close in zip(encoded(minilm, TEXTS), encoded(half, TEXTS), strict=True):
        cosine = (unit_rows(exact.vectors) * unit_rows(close.vectors)).sum(axis=1)
        assert cosine.mean() > 0.999
    together = encoded(half, TEXTS)
    for text, in_batch in zip(TEXTS, together, strict=True):
        alone = encoded(half, (text,))[0]
        assert (unit_rows(alone.vectors) * unit_rows(in_batch.vectors)).sum(axis=1).min() >= 0.9998
        assert float(unit_rows(alone.pooled()) @ unit_rows(in_batch.pooled())) >= 0.9999
