"""BM25 against its formula in plain loops, and against SQLite's."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.embeddings import Doubles
from semblance.models.tokenization.terms import query_terms
from semblance.service.indexes.columns.array_file import write_arrays
from semblance.service.indexes.terms import bm25
from semblance.service.indexes.terms.bm25 import Bm25, TextTerms
from tests.support.array_files import map_arrays
from tests.support.plain_bm25 import bm25_scores

WORDS = st.sampled_from(["the", "the", "the", "a", "lamp", "E-4711", "e 4711", "E4711", "荷物", "荷", "naïve", "zebra"])
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), min_size=1, max_size=25)
QUERIES = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
RARE = "zebra"


def filled(texts: Sequence[str], removed: Sequence[int] = ()) -> Bm25:
    index = Bm25()
    for text in texts:
        index.add(TextTerms.of(text))
    for row in removed:
        index.remove(row)
    return index


@pytest.mark.parametrize(("common", "few"), [(0.05, 0.01), (2.0, 0.0), (0.2, 1.0)])
@given(
    texts=TEXTS,
    query=st.lists(WORDS, min_size=1, max_size=8).map(" ".join),
    k=st.integers(1, 8),
    seed=st.integers(0, 9),
)
def test_the_best_rows_are_those_of_the_formula(
    common: float, few: float, texts: list[str], query: str, k: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    removed = {int(row) for row in np.flatnonzero(rng.random(len(texts)) < 0.2 * (seed % 3))}
    allowed = None if seed % 2 else np.flatnonzero(rng.random(len(texts)) < 0.6)
    expected = bm25_scores({i: text for i, text in enumerate(texts) if i not in removed}, query)
    permitted = [(row, score) for row, score in expected.items() if score and (allowed is None or row in allowed)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25, "COMMON_SHARE", common)
        patch.setattr(bm25, "FEW_SHARE", few)
        patch.setattr(bm25, "MANY_ROWS", 4 * (seed % 3))
        index = filled(texts, sorted(removed))
        alive = None if allowed is None else np.array([row for row in allowed if row not in removed], np.int64)
        found = index.best(query_terms(query), k, alive)
    best = sorted((each[1] for each in permitted), reverse=True)
    assert [score for _, score in found] == pytest.approx(best[: len(found)], abs=1e-9)
    assert len(found) >= min(k, len(best))
    assert {score for _, score in found[k - 1 :]} <= {score for _, score in found[k - 1 : k]}, "beyond k, only ties"
    for row, score in found:
        assert score == pytest.approx(expected[row], abs=1e-9)
    assert len({row for row, _ in found}) == len(found)
    parts = index.explain(query_terms(query), [row for row, _ in found])
    assert [sum(term.score for term in each) for each in parts] == pytest.approx(
        [score for _, score in found], abs=1e-9
    )


def test_common_terms_are_looked_up_in_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a rare term decides, and nowhere else."""
    texts = [f"the lamp of number {i} and the other" for i in range(400)]
    texts[7] += f" {RARE} {RARE}"
    index = filled(texts)
    looked_up: list[int] = []
    scores_of = index._scores

    def counted(query: Sequence[bm25._QueryTerm], rows: bm25.Rows) -> Doubles:
        looked_up.append(len(rows))
        return scores_of(query, rows)

    monkeypatch.setattr(index, "_scores", counted)
    assert index.best(query_terms(f"the lamp and the {RARE}"), 1, None)[0][0] == 7
    assert looked_up == [1]
    assert len(index.best(query_terms("the lamp"), 10, None)) >= 10
    assert looked_up == [1]


def test_of_too_many_terms_the_rarest_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bm25, "MAX_TERMS", 10)
    words = [f"word{i}" for i in range(30)]
    texts = {row: " ".join(words[: len(words) - row]) for row in range(len(words))}  # the first word is in all
    index = filled(list(texts.values()))
    query = query_terms(" ".join([f"unknown{i}" for i in range(10)] + words))
    rarest = words[20:]
    expected = sorted(bm25_scores(texts, " ".join(rarest)).values(), reverse=True)
    assert [score for _, score in index.best(query, 9, None)] == pytest.approx(expected[:9], abs=1e-9)
    assert {each.term.text for each in index.explain(query, [0])[0]} == set(rarest)
    assert index.information(query) == index.information(query_terms(" ".join(rarest)))


def test_scores_agree_with_sqlite_for_rare_terms() -> None:
    """Its idf is ln((N - n + 0.5) / (n + 0.5)), the same for no term of half of the rows."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(60)]
    texts = [" ".join(rng.choice(words, rng.integers(5, 30))) for _ in range(200)]
    table = sqlite3.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE texts USING fts5(text)")
    table.executemany("INSERT INTO texts VALUES (?)", [(text,) for text in texts])
    index = filled(texts)
    for word in words[:20]:
        found = index.best(query_terms(word), 300, None)
        rows = table.execute("SELECT rowid, bm25(texts) FROM texts WHERE texts MATCH ?", (word,)).fetchall()
        n = len(rows)
        factor = math.log(1 + (200 - n + 0.5) / (n + 0.5)) / math.log((200 - n + 0.5) / (n + 0.5))
        assert dict(found) == pytest.approx({row - 1: -score * factor for row, score in rows}, rel=1e-9)


@given(texts=TEXTS)
def test_a_loaded_index_is_the_saved_one(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    file = tmp_path_factory.mktemp("terms") / "terms"
    index = filled(texts)
    index.remove(0)
    index.add_removed()
    write_arrays(file, index.pieces())
    loaded = Bm25.of(map_arrays(file))
    for each in (index, loaded):
        each.add(TextTerms.of("the lamp"))
    assert len(loaded) == len(index) == len(texts) + 2
    assert [loaded.has(row, text) for row, text in enumerate(texts)] == [True] * len(texts)
    assert not loaded.has(len(texts) + 1, "another text")
    for query in ("the", "lamp E-4711", "荷物", "none of these"):
        assert loaded.best(query_terms(query), 9, None) == index.best(query_terms(query), 9, None)


@given(texts=st.lists(st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=9), min_size=1, max_size=20))
def test_alternatives_count_as_their_term(texts: list[list[str]]) -> None:
    """A row has "a", or both "b" and "c", or "d"; its frequency is the sum of these."""
    index = filled([" ".join(words) for words in texts])
    [term] = query_terms("a")
    found = index.best([term._replace(alternatives=(("b", "c"), ("d",)))], len(texts), None)
    counts = [words.count("a") + min(words.count("b"), words.count("c")) + words.count("d") for words in texts]
    n, mean = np.count_nonzero(counts), sum(map(len, texts)) / len(texts)
    idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
    expected = {
        row: idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len(words) / mean))
        for row, (tf, words) in enumerate(zip(counts, texts, strict=True))
        if tf
    }
    assert dict(found) == pytest.approx(expected, abs=1e-9)


INFLECTED = ["parcel", "parcels", "parceled", "run", "running", "runs", "part"]


@given(texts=st.lists(st.lists(st.sampled_from(INFLECTED), max_size=9), min_size=1, max_size=20))
def test_words_of_a_stem_count_as_one(texts: list[list[str]]) -> None:
    """Also those that were added after the words were sorted."""
    index, stemmed = Bm25(), {"parcels": "parcel", "parceled": "parcel", "running": "run", "runs": "run"}
    [term] = query_terms("parcels")
    for text in texts:
        index.add(TextTerms.of(" ".join(text)))
        index.best([term._replace(stems="en")], 3, None)
    replaced = filled([" ".join(stemmed.get(word, word) for word in text) for text in texts])
    expected = replaced.best(query_terms("parcel"), len(texts), None)
    assert index.best([term._replace(stems="en")], len(texts), None) == expected
