"""Chunks are ranked by the bigrams that they share with a sentence, weighted by rarity."""

from __future__ import annotations

import math
import re
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semblance_lab.origin.corpus import screening
from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.screening import Screening, bigrams, write_screening
from semblance_lab.origin.errors import BadOrigin
from tests.lab.origin.tiny_corpus import build, tiny_documents

WORDS = ["the", "dog", "cat", "ran", "sat", "home"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def build_screening(
    folder: Path, documents: list[tuple[str, list[str]]], chunk_sentences: int = 2
) -> tuple[Corpus, Screening]:
    build(folder / "corpus", documents, chunk_sentences=chunk_sentences)
    corpus = Corpus.open(folder / "corpus")
    (folder / "screening").mkdir()
    write_screening(corpus, folder / "screening", lambda _more: None)
    return corpus, Screening.open(folder / "screening")


def dense(corpus: Corpus, sentence: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Oracle: the score of every chunk by the formula."""

    def counts(*sentences: str) -> Counter[tuple[str, str]]:
        return Counter(pair for text in sentences for pair in pairwise(re.findall(r"\w+", text.lower())))

    chunks = [
        counts(*(text for text, chunk in zip(corpus, corpus.chunk, strict=True) if chunk == at))
        for at in range(corpus.chunks)
    ]
    total = len(chunks)
    holding = Counter(pair for chunk in chunks for pair in chunk)
    idf = {pair: max(0.0, math.log((total - n + 0.5) / (n + 0.5))) for pair, n in holding.items()}
    query = counts(sentence)

    def score(chunk: Counter[tuple[str, str]]) -> float:
        shared = query.keys() & chunk.keys()
        return sum(math.log(1 + query[pair]) * math.log(1 + chunk[pair]) * idf[pair] ** 2 for pair in shared)

    return np.array([score(chunk) for chunk in chunks])


def assert_matches_oracle(corpus: Corpus, index: Screening, sentence: str) -> None:
    expected = dense(corpus, sentence)
    chunks, scores = index.chunks(sentence, corpus.chunks + 1)
    np.testing.assert_allclose(scores, expected[chunks], rtol=1e-9)
    assert set(chunks.tolist()) == set(np.flatnonzero(expected > 0).tolist())
    assert (scores > 0).all()
    order = sorted(zip((-scores).tolist(), chunks.tolist(), strict=True))
    assert [number for _, number in order] == chunks.tolist()
    for limit in (0, 1, 3):
        few, few_scores = index.chunks(sentence, limit)
        assert few.tolist() == chunks[:limit].tolist()
        assert few_scores.tolist() == scores[:limit].tolist()


@settings(max_examples=15)  # each writes files
@given(
    drawn=st.lists(st.lists(texts, min_size=3, max_size=7), min_size=2, max_size=9),
    queries=st.lists(texts, max_size=4),
    batch=st.sampled_from([1, 3, screening.BATCH]),
    postings=st.sampled_from([5, screening.POSTINGS_PER_BATCH]),
)
def test_scores_follow_the_formula_in_stable_order(
    drawn: list[list[str]], queries: list[str], batch: int, postings: int
) -> None:
    # numbers at the end make sentences unique, and keep all bigrams of words
    documents = [(f"d{at}", [f"{text} {at} {place}" for place, text in enumerate(own)]) for at, own in enumerate(drawn)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(screening, "BATCH", batch)
        patch.setattr(screening, "POSTINGS_PER_BATCH", postings)
        corpus, found = build_screening(Path(folder), documents)
        for sentence in [*queries, corpus.text(0), corpus.text(len(corpus) - 1)]:
            assert_matches_oracle(corpus, found, sentence)
        assert found.bigrams == len({pair for text in corpus for pair in bigrams(text)})
        assert len(list(Path(folder, "screening").iterdir())) == 5, "temporary files are left"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, Screening]:
    return build_screening(tmp_path_factory.mktemp("tiny"), list(tiny_documents()), 8)


def test_texts_without_shared_bigrams_match_nothing(tiny: tuple[Corpus, Screening]) -> None:
    for nothing in ("", "rain", "!!!", "purple giraffes juggle", "word " * 1_000, "今天天气很好"):
        chunks, scores = tiny[1].chunks(nothing, 10)
        assert (chunks.tolist(), scores.tolist()) == ([], [])
        assert [chunks.dtype, scores.dtype] == [np.dtype(np.int64), np.dtype(np.float64)]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("The DOG's bone!", ["the dog", "dog s", "s bone"]),
        ("Naïve Größe", ["naïve größe"]),
        ("今天 (很好)", ["今 天", "天 很", "很 好"]),
        ("मैं घर गया।", ["मैं घर", "घर गया"]),
        ("ماذا اشتريت؟", ["ماذا اشتريت"]),
        ("one", []),
    ],
)
def test_bigrams_are_of_words_in_any_script(text: str, pairs: list[str]) -> None:
    assert bigrams(text) == pairs


def test_an_incomplete_folder_is_refused(tmp_path: Path, tiny: tuple[Corpus, Screening]) -> None:
    with pytest.raises(BadOrigin, match=r"no such file: .*features\.npy; run `semblance origin corpus`"):
        Screening.open(tmp_path)
    write_screening(tiny[0], tmp_path, lambda _more: None)
    np.save(tmp_path / "counts.npy", np.zeros(3, np.uint8))
    with pytest.raises(BadOrigin, match="its files do not belong together"):
        Screening.open(tmp_path)
