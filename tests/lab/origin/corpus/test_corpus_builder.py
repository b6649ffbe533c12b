"""A corpus keeps runs of sentences, each once, without evaluated ones."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from semblance_lab.evaluation.contamination import normal_form
from semblance_lab.origin.corpus import corpus_builder
from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.corpus_builder import CorpusCounts
from semblance_lab.origin.errors import BadCorpus, BadOrigin
from semblance_lab.origin.origin_folder import CORPUS_PARTS
from tests.lab.origin.tiny_corpus import build, tiny_documents

Documents = list[tuple[str, list[str]]]

# few words, for many repetitions; with case and punctuation, to disguise them
sentences = st.lists(st.sampled_from(["A", "a!", "b", "c", "d", "..."]), min_size=1, max_size=3).map(" ".join)
drawn_documents = st.lists(st.lists(sentences, max_size=12), max_size=8).map(
    lambda many: [(f"d{at}", each) for at, each in enumerate(many)]
)


def runs_of(corpus: Corpus) -> list[tuple[str, list[str]]]:
    """Document name and sentences of every run."""
    members = [np.flatnonzero(corpus.run == number) for number in np.unique(corpus.run)]
    return [(corpus.names[int(corpus.document[at[0]])], corpus.texts(at)) for at in members]


def opened(folder: Path) -> list[Corpus]:
    return [Corpus.open(folder, part) for part in CORPUS_PARTS]


def expected_runs(documents: Documents, evaluated: set[str]) -> Iterator[tuple[str, list[str]]]:
    """Oracle of the remaining runs: slow and simple."""
    contents: list[list[str]] = []
    kept: list[str] = []
    for name, texts in documents:
        forms = [normal_form(each) for each in texts]
        if forms in contents:
            continue
        contents.append(forms)
        before, run = list(kept), range(0)
        for at, form in enumerate([*forms, ""]):
            if form in ("", *evaluated, *before, *(own for own in forms[:at] if own not in before)):
                if len(run) >= 3:
                    kept += forms[run.start : run.stop]
                    yield name, texts[run.start : run.stop]
                run = range(at + 1, at + 1)
            else:
                run = range(run.start, at + 1)


OTHER = ("other", ["One.", "Two.", "Three."])
ANY_SCRIPT = ["word " * 999 + "end", "Yes.", "你呢？", "मैं घर जा रहा हूँ।", "ماذا اشتريت؟", "🙂 ok"]
SHORT_RUN = ("short", ["c", "d"])  # dropped, so that its sentences do not count as repeated


@settings(max_examples=25)  # each writes files
@example(documents=[("own", ANY_SCRIPT), OTHER], evaluated=set(), size=5, batch=4)
@example(documents=[SHORT_RUN, ("long", ["a", "b", "c", "d", "e"]), OTHER], evaluated=set(), size=5, batch=4)
@given(
    documents=drawn_documents,
    evaluated=st.sets(sentences.map(normal_form), max_size=3),
    size=st.integers(1, 5),
    batch=st.sampled_from([1, 4, corpus_builder.BATCH]),
)
def test_repeated_and_evaluated_sentences_end_runs(
    documents: Documents, evaluated: set[str], size: int, batch: int
) -> None:
    expected = list(expected_runs(documents, evaluated))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_builder, "BATCH", batch)
        out = Path(folder, "corpus")
        if len({name for name, _ in expected}) < 2:
            with pytest.raises(BadCorpus):
                build(out, documents, evaluated, chunk_sentences=size, held_out=0.5)
            return
        counts = build(out, documents, evaluated, chunk_sentences=size, held_out=0.5)
        parts = opened(out)
        assert sorted(run for part in parts for run in runs_of(part)) == sorted(expected)
        for part in parts:
            assert_numbered(part, size)
            assert list(part) == part.texts(np.arange(len(part)))
            assert part.digest == hashlib.sha256((out / f"{part.part}.arrow").read_bytes()).hexdigest()
            assert counts.parts[part.part]["contexts"] == len(part.contexts())
        assert_sums_hold(counts)


def assert_numbered(corpus: Corpus, size: int) -> None:
    """Documents, runs and chunks are numbered without gaps, and nested."""
    for numbers in (corpus.document, corpus.run, corpus.chunk):
        assert numbers[0] == 0
        assert set(np.diff(numbers).tolist()) <= {0, 1}
    for inner, outer in ((corpus.chunk, corpus.run), (corpus.run, corpus.document)):
        assert len(set(zip(inner.tolist(), outer.tolist(), strict=True))) == inner[-1] + 1
    for run in range(int(corpus.run[-1]) + 1):
        _, lengths = np.unique(corpus.chunk[corpus.run == run], return_counts=True)
        assert len(lengths) == -(-int(lengths.sum()) // size)
        assert np.ptp(lengths) <= 1, "chunks of similar lengths"
    assert len(corpus.names) == corpus.document[-1] + 1
    inside = [i for i in range(1, len(corpus) - 1) if corpus.run[i - 1] == corpus.run[i] == corpus.run[i + 1]]
    assert corpus.contexts().tolist() == inside


def assert_sums_hold(counts: CorpusCounts) -> None:
    """Every document and sentence is kept, or left out for one reason."""
    for what in ("documents", "sentences"):
        read, *left_out = (number for reason, number in counts.read.items() if reason.startswith(what))
        assert read == sum(left_out) + sum(part[what] for part in counts.parts.values())


def test_left_out_sentences_are_counted_by_reason(tmp_path: Path) -> None:
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
    assert {name for part in opened(tmp_path / "corpus") for name, _ in runs_of(part)} == {"a", "b"}
    sizes = {"documents": 1, "runs": 1, "chunks": 1, "sentences": 3, "contexts": 1, "words": 3}
    of_a = {**sizes, "runs": 2, "chunks": 2, "sentences": 6, "contexts": 2, "words": 6}
    assert sorted(counts.parts.values(), key=lambda part: part["runs"]) == [sizes, of_a]


def test_the_split_depends_on_seed_and_content_only(tmp_path: Path) -> None:
    documents = list(tiny_documents())
    renamed = [(f"other {name}", texts) for name, texts in reversed(documents)]
    build(tmp_path / "one", documents, held_out=0.2, share=0.5)
    build(tmp_path / "two", renamed, held_out=0.2, share=0.5)
    build(tmp_path / "seed", documents, held_out=0.2, share=0.5, seed=1)
    for one, two, seed in zip(*(opened(tmp_path / name) for name in ("one", "two", "seed")), strict=True):
        assert set(one) == set(two) != set(seed)


def test_a_smaller_share_is_a_subset_of_a_larger_one(tmp_path: Path) -> None:
    before: set[str] = set()
    tested: set[str] = set()
    for share, size in ((0.1, 5), (0.5, 24), (1.0, 48)):
        counts = build(tmp_path / str(share), tiny_documents(), share=share, held_out=0.2)
        assert [counts.parts[part]["documents"] for part in ("train", "held_out")] == [size, 12]
        assert_sums_hold(counts)
        train, held_out = map(set, opened(tmp_path / str(share)))
        assert before < train
        assert held_out == (tested or held_out)
        assert not train & held_out
        before, tested = train, held_out


@pytest.mark.parametrize(
    ("documents", "complaint"),
    [
        ([], r"no document has three sentences in order \(nothing read\)"),
        ([("a", ["One.", "Two."]), ("b", ["Three."])], r"no document .* \(2 documents read, .*3 sentences read"),
        ([OTHER], "only one document, other, has three"),
        ([OTHER, ("b", ["one", "two", "three"])], "only one document, other, .*1 documents that"),
    ],
)
def test_text_without_order_or_in_one_document_is_refused(
    tmp_path: Path, documents: Sequence[tuple[str, Sequence[str]]], complaint: str
) -> None:
    with pytest.raises(BadCorpus, match=complaint):
        build(tmp_path / "corpus", documents)


def test_a_folder_without_a_complete_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOrigin, match="contains no corpus; run `semblance origin corpus`"):
        Corpus.open(tmp_path)
    build(tmp_path / "corpus", tiny_documents())
    file = tmp_path / "corpus" / "train.arrow"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(BadOrigin, match=r"train\.arrow cannot be read"):
        Corpus.open(tmp_path / "corpus")
