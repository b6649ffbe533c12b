"""A corpus holds what follows each other, once, and nothing that is evaluated."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.evaluation.contamination import normal_form
from semblance.models.origin.corpus import corpus_builder as counted
from semblance.models.origin.corpus import corpus_writer
from semblance.models.origin.corpus.corpus import PARTS, Corpus
from semblance.models.origin.errors import BadCorpus, BadOrigin
from tests.models.origin.building import build
from tests.models.origin.tiny_corpus import tiny_documents

Documents = list[tuple[str, list[str]]]

# few words, so that much comes twice; case and marks, so that it does not look so
sentences = st.lists(st.sampled_from(["A", "a!", "b", "c", "d", "..."]), min_size=1, max_size=3).map(" ".join)
drawn_documents = st.lists(st.lists(sentences, max_size=12), max_size=8).map(
    lambda many: [(f"d{at}", each) for at, each in enumerate(many)]
)


def runs_of(corpus: Corpus) -> list[tuple[str, list[str]]]:
    """The name of the document and the sentences of every run."""
    numbers = range(len(corpus))
    return [
        (corpus.names[int(corpus.document[at[0]])], corpus.texts(at))
        for _, members in groupby(numbers, lambda i: int(corpus.run[i]))
        for at in [list(members)]
    ]


def expected_runs(documents: Documents, evaluated: set[str]) -> Iterator[tuple[str, list[str]]]:
    """What is kept, told slowly."""
    known: list[list[str]] = []
    kept: list[str] = []
    for name, its in documents:
        forms = [normal_form(each) for each in its]
        if forms in known:
            continue
        known.append(forms)
        before, run = list(kept), range(0)
        for at, form in enumerate([*forms, ""]):
            if form in ("", *evaluated, *before, *(own for own in forms[:at] if own not in before)):
                if len(run) >= 3:
                    kept += forms[run.start : run.stop]
                    yield name, its[run.start : run.stop]
                run = range(at + 1, at + 1)
            else:
                run = range(run.start, at + 1)


def test_a_sentence_whose_run_was_left_out_did_not_come_before(tmp_path: Path) -> None:
    long = ["One.", "Two.", "Three.", "Four.", "Five."]
    counts = build(tmp_path / "corpus", [("short", ["Three.", "Four."]), ("long", long), ("other", ["A.", "B.", "C."])])
    assert long in [its for part in PARTS for _, its in runs_of(Corpus.open(tmp_path / "corpus", part))]
    assert counts.read[counted.REPEATED] == 0


@given(documents=drawn_documents, evaluated=st.sets(sentences.map(normal_form), max_size=3), size=st.integers(1, 5))
def test_runs_are_what_is_left_when_repeated_and_evaluated_sentences_break_them(
    documents: Documents, evaluated: set[str], size: int
) -> None:
    expected = list(expected_runs(documents, evaluated))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "corpus")
        if len({name for name, _ in expected}) < 2:
            with pytest.raises(BadCorpus):
                build(out, documents, evaluated, chunk_sentences=size, held_out=0.5)
            return
        counts = build(out, documents, evaluated, chunk_sentences=size, held_out=0.5)
        parts = [Corpus.open(out, part) for part in PARTS]
        assert sorted(run for part in parts for run in runs_of(part)) == sorted(expected)
        for part in parts:
            assert_numbered(part, size)
            assert counts.parts[part.part]["contexts"] == len(part.contexts())
        assert_sums_hold(counts)


def assert_numbered(corpus: Corpus, size: int) -> None:
    """Documents, runs and chunks are numbered without gaps; a chunk lies in a run, a run in a document."""
    for numbers in (corpus.document, corpus.run, corpus.chunk):
        assert numbers[0] == 0
        assert set(np.diff(numbers).tolist()) <= {0, 1}
    for inner, outer in ((corpus.chunk, corpus.run), (corpus.run, corpus.document)):
        assert len(set(zip(inner.tolist(), outer.tolist(), strict=True))) == inner[-1] + 1
    assert np.bincount(corpus.chunk).max() <= size
    assert len(corpus.names) == corpus.document[-1] + 1
    middle = [
        i
        for i in range(1, len(corpus) - 1)
        if corpus.run[i - 1] == corpus.run[i] and corpus.run[i] == corpus.run[i + 1]
    ]
    assert corpus.contexts().tolist() == middle


def assert_sums_hold(counts: counted.Counts) -> None:
    """Every sentence that was read is counted once."""
    out = (counted.OF_DUPLICATES, counted.WORDLESS, counted.EVALUATED, counted.REPEATED, counted.ALONE)
    kept = sum(part["sentences"] for part in counts.parts.values()) + counts.read[counted.OF_NOT_DRAWN]
    assert counts.read[counted.SENTENCES_READ] == sum(counts.read[what] for what in out) + kept
    documents = sum(part["documents"] for part in counts.parts.values()) + counts.read[counted.NOT_DRAWN]
    left_out = counts.read[counted.DUPLICATES] + counts.read[counted.NO_ORDER]
    assert counts.read[counted.DOCUMENTS_READ] == documents + left_out


def test_what_is_left_out_is_counted_by_its_reason(tmp_path: Path) -> None:
    counts = build(
        tmp_path / "corpus",
        [
            ("a", ["One.", "Two.", "Three.", "* * *", "Four.", "Five.", "EVALUATED text", "Six.", "Seven.", "Eight."]),
            ("b", ["Nine.", "Ten.", "Eleven!", "one", "Twelve."]),
            ("c", ["NINE", "ten", "eleven", "One...", "twelve"]),
            ("d", ["Thirteen."]),
        ],
        {"evaluated text"},
    )
    assert counts.read == {
        "documents read": 4,
        "paragraphs read": 4,
        "sentences read": 21,
        "documents that came before": 1,
        "documents without three sentences in order": 1,
        "sentences of documents that came before": 5,
        "sentences without a letter or a digit": 1,
        "sentences that an evaluation asks for": 1,
        "sentences that came before": 1,
        "sentences with fewer than two others beside them": 4,
        "documents outside the share that is used": 0,
        "sentences outside the share that is used": 0,
    }
    by_part = {part: dict(runs_of(Corpus.open(tmp_path / "corpus", part))) for part in PARTS}
    assert sorted(name for runs in by_part.values() for name in runs) == ["a", "b"]
    sizes = {"documents": 1, "runs": 1, "chunks": 1, "sentences": 3, "contexts": 1, "words": 3}
    of_a = {**sizes, "runs": 2, "chunks": 2, "sentences": 6, "contexts": 2, "words": 6}
    assert sorted(counts.parts.values(), key=lambda part: part["runs"]) == [sizes, of_a]


def contents(folder: Path, part: str) -> set[str]:
    return {text for _, its in runs_of(Corpus.open(folder, part)) for text in its}  # type: ignore[arg-type]


def test_the_draw_depends_on_the_seed_and_on_what_is_said_not_on_names_or_order(tmp_path: Path) -> None:
    documents = list(tiny_documents())
    renamed = [(f"other {name}", its) for name, its in reversed(documents)]
    build(tmp_path / "one", documents, held_out=0.2, share=0.5)
    build(tmp_path / "two", renamed, held_out=0.2, share=0.5)
    build(tmp_path / "seed", documents, held_out=0.2, share=0.5, seed=1)
    for part in PARTS:
        assert contents(tmp_path / "one", part) == contents(tmp_path / "two", part)
        assert contents(tmp_path / "one", part) != contents(tmp_path / "seed", part)


def test_a_smaller_share_is_a_part_of_a_larger_one_and_the_same_is_held_out(tmp_path: Path) -> None:
    documents = list(tiny_documents())
    before: set[str] = set()
    for share, size in ((0.1, 5), (0.5, 24), (1.0, 48)):
        folder = tmp_path / str(share)
        counts = build(folder, documents, share=share, held_out=0.2)
        assert counts.parts["train"]["documents"] == size
        assert counts.parts["held_out"]["documents"] == 12
        assert_sums_hold(counts)
        assert before < contents(folder, "train")
        before = contents(folder, "train")
        assert contents(folder, "held_out") == contents(tmp_path / "0.1", "held_out")
        assert not before & contents(folder, "held_out")


def test_batches_of_any_size_give_the_same_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_two_runs = [(name, [*its[:4], "* * *", *its[4:]]) for name, its in tiny_documents()]
    build(tmp_path / "at once", in_two_runs)
    monkeypatch.setattr(corpus_writer, "AT_ONCE", 4)
    build(tmp_path / "by run", in_two_runs)
    one, two = (Corpus.open(tmp_path / name) for name in ("at once", "by run"))
    assert list(one) == list(two) == one.texts(np.arange(len(one)))
    for mine, other in ((one.document, two.document), (one.run, two.run), (one.chunk, two.chunk)):
        np.testing.assert_array_equal(mine, other)
    assert one.names == two.names
    assert one.digest == hashlib.sha256((tmp_path / "at once" / "train.arrow").read_bytes()).hexdigest()


def test_chunks_of_a_run_are_of_about_one_length(tmp_path: Path) -> None:
    long = [f"Sentence number {at} of many." for at in range(9)]
    build(tmp_path / "corpus", [("long", long), ("short", ["One.", "Two.", "Three."])], seed=0)
    parts = [Corpus.open(tmp_path / "corpus", part) for part in PARTS]
    assert sorted(np.bincount(part.chunk).tolist() for part in parts) == [[3], [5, 4]]


def test_sentences_of_a_thousand_words_and_of_one_in_any_script_come_back_as_they_were(tmp_path: Path) -> None:
    own = ["word " * 999 + "end", "Yes.", "你呢？", "मैं घर जा रहा हूँ।", "ماذا اشتريت؟", "🙂 ok"]
    build(tmp_path / "corpus", [("own", own), ("other", ["One.", "Two.", "Three."])])
    assert own in [its for part in PARTS for _, its in runs_of(Corpus.open(tmp_path / "corpus", part))]


@pytest.mark.parametrize(
    ("documents", "complaint"),
    [
        ([], r"no document has three sentences in order \(nothing read\): give running text"),
        ([("a", ["One.", "Two."]), ("b", ["Three."])], r"no document .* \(2 documents read, .*3 sentences read"),
        ([("a", ["One.", "Two.", "Three."])], "only one document, a, has three .* give at least two"),
        (
            [("a", ["One.", "Two.", "Three."]), ("b", ["one", "two", "three"])],
            "only one document, a, .*1 documents that",
        ),
    ],
)
def test_text_without_order_or_in_one_document_is_refused(
    tmp_path: Path, documents: Sequence[tuple[str, Sequence[str]]], complaint: str
) -> None:
    with pytest.raises(BadCorpus, match=complaint):
        build(tmp_path / "corpus", documents)


def test_a_folder_without_a_whole_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOrigin, match="holds no corpus: make it by `semblance origin corpus`"):
        Corpus.open(tmp_path)
    build(tmp_path / "corpus", tiny_documents())
    file = tmp_path / "corpus" / "train.arrow"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(BadOrigin, match=r"train\.arrow cannot be read"):
        Corpus.open(tmp_path / "corpus")
