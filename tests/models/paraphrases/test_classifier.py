"""Laws of classified pairs and their reasons, over random texts, vectors and weights."""

from __future__ import annotations

import re
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.paraphrases.classifier import ParaphraseClassifier
from semblance.models.paraphrases.partners import negation_weight, partners
from semblance.models.paraphrases.reasons import LEAST, reasons
from semblance.models.paraphrases.words import TextWords
from semblance.models.text import Units

DIM, WORD, PAIR, HIDDEN = 6, 3, 2, 5
WORDS = ("parcel", "parcels", "lost", "the", "not", "never", "two", "3", "E42", "Größe", "東京", ",", "isn't")
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join).filter(lambda text: text.strip(", "))


def words_of(text: str) -> TextWords:
    """A word has nearly the same vector everywhere, and the place in the text adds to it."""
    found = list(re.finditer(r"\w+|[^\w\s]", text))
    spans = np.array([each.span() for each in found], np.int32)
    vectors = [np.random.default_rng(crc32(each[0].encode())).normal(size=DIM) for each in found]
    moved = np.stack(vectors) + np.linspace(0, 0.3, len(found))[:, None]
    return TextWords.with_sums(Units(text, spans, np.arange(len(found), dtype=np.int32)), moved.astype(np.float32))


def classifier(seed: int, bias: float | None = None) -> ParaphraseClassifier:
    """Random weights; the bias of all words is given where words should weigh much, or little."""
    random = np.random.default_rng(seed)
    shapes = {
        "word.weight": (WORD, DIM), "word.bias": (WORD,), "pair.weight": (PAIR, DIM),
        "hidden.weight": (HIDDEN, WORD + 3 + 2 * PAIR), "hidden.bias": (HIDDEN,), "out.weight": (HIDDEN,),
        "out.bias": (), "crossed.weight": (WORD + 1,), "crossed.bias": (),
    }  # fmt: skip
    tensors = {name: np.asarray(random.normal(size=shape), np.float32) for name, shape in shapes.items()}
    fixed = {"base": 2.5, "text": 1.5, "margin": 0.05, "mix": 0.6}
    if bias is not None:
        fixed["out.bias"] = bias
    return ParaphraseClassifier(tensors | {name: np.asarray(value, np.float32) for name, value in fixed.items()})


@given(TEXTS, TEXTS, st.integers(0, 99))
def test_parts_and_reasons_sum_to_the_log_odds(a: str, b: str, seed: int) -> None:
    pair = classifier(seed).classify(words_of(a), words_of(b))
    assert pair.base + pair.left.total + pair.right.total + pair.negation + pair.text == pytest.approx(pair.log_odds)
    losses = [pair.left.wording, pair.left.order, pair.left.numbers, pair.right.wording, pair.right.order]
    assert all((loss <= 0).all() for loss in losses)
    assert pair.log_odds <= pair.base + 1e-6
    found = reasons(pair)
    rest = pair.log_odds - pair.base - sum(reason.log_odds for reason in found)
    assert rest <= 1e-6
    assert all(reason.log_odds <= -LEAST and (reason.a or reason.b) for reason in found)
    assert [reason.log_odds for reason in found] == sorted(reason.log_odds for reason in found)


@given(TEXTS, TEXTS, st.integers(0, 99))
def test_the_order_of_a_pair_does_not_matter(a: str, b: str, seed: int) -> None:
    there, back = (classifier(seed).classify(words_of(x), words_of(y)) for x, y in ((a, b), (b, a)))
    assert there.log_odds == pytest.approx(back.log_odds, abs=1e-5)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=6), st.integers(0, 99))
def test_pairs_together_have_the_parts_of_each_alone(pairs: list[tuple[str, str]], seed: int) -> None:
    made = classifier(seed)
    words = [(words_of(a), words_of(b)) for a, b in pairs]
    for both, together in zip(words, made.classify_all(words), strict=True):
        alone = made.classify(*both)
        assert together.log_odds == alone.log_odds
        assert reasons(together) == reasons(alone)
        for one, other in ((together.left, alone.left), (together.right, alone.right)):
            assert (one.words, one.missing, one.total) == (other.words, other.missing, other.total)


@given(TEXTS, st.integers(0, 99))
def test_equal_texts_have_the_base(text: str, seed: int) -> None:
    made = classifier(seed)
    margin = made.tensors["margin"]
    assert margin > 0
    pair = made.classify(words_of(text), words_of(text))
    assert pair.log_odds == pytest.approx(pair.base, abs=1e-5)
    assert reasons(pair) == []


@given(TEXTS, TEXTS)
def test_partners_of_one_stem_are_one_to_one(a: str, b: str) -> None:
    left, right = words_of(a), words_of(b)
    before, after = partners(left, right)
    for i in np.flatnonzero(before.same).tolist():
        assert after.rows[before.rows[i]] == i
        assert left.stems[i] == right.stems[before.rows[i]]
    assert before.same.sum() == after.same.sum()
    unpaired = {*np.flatnonzero(~after.same).tolist(), -1}
    assert set(before.rows[~before.same].tolist()) <= unpaired


@pytest.mark.parametrize(
    ("a", "b", "kind", "left", "right"),
    [
        ("error 76577", "error 76578", "number", ["76577"], ["76578"]),
        ("the parcel came", "the parcel never came", "negation", [], ["never"]),
        ("it isn't lost", "it is lost", "negation", ["t"], []),
        ("Two parcels came", "3 parcels came", "number", ["Two"], ["3"]),
    ],
)
def test_numbers_and_negations_are_named(a: str, b: str, kind: str, left: list[str], right: list[str]) -> None:
    heaviest = reasons(classifier(0, bias=-9).classify(words_of(a), words_of(b)))[0]
    assert heaviest.kind == kind
    assert [a[start:end] for start, end in heaviest.a] == left
    assert [b[start:end] for start, end in heaviest.b] == right


def test_languages_without_stems_have_their_words() -> None:
    words = words_of("Tôi có một con mèo và của những các một")
    assert (words.language, words.stems[:2]) == ("vi", ["tôi", "có"])


@pytest.mark.parametrize(("text", "language"), [("12", "en"), ("E42", "en"), ("привет", None), ("東京", None)])
def test_letters_that_are_not_latin_are_no_english(text: str, language: str | None) -> None:
    assert words_of(text).language == language


def test_irregular_forms_are_the_same_word() -> None:
    assert words_of("the parcel came").stems == words_of("the parcels come").stems
    assert words_of("Der came").stems[1] == words_of("came").stems[0] != words_of("Das ist nicht came").stems[3]


@pytest.mark.parametrize(
    ("a", "b", "weight"),
    [
        ("the parcel came", "the parcel never came", 1),
        ("parcel lost not", "parcel lost", 1),
        ("it isn't lost", "it is found", (1 / 3 + 1 / 3) / 2),  # of it, isn, lost and of it, is, found
        ("parcel lost", "parcel never came", 1 / 2),
        ("never lost", "never lost not", 1),
        ("not two parcels", "never the parcel", 0),
        ("not", "the", 0),
    ],
)
def test_a_negation_weighs_less_beside_other_words(a: str, b: str, weight: float) -> None:
    for left, right in ((words_of(a), words_of(b)), (words_of(b), words_of(a))):
        assert negation_weight(left, right, *partners(left, right)) == pytest.approx(weight)


def test_order_weighs_more_the_more_words_are_the_same() -> None:
    made = classifier(0, bias=-9)
    made.tensors["crossed.weight"][-1] = 9.0
    whole, part = (
        made.classify(words_of(a), words_of(b)).left.order.sum()
        for a, b in (("parcel lost", "lost parcel"), ("parcel lost 東京", "lost parcel Größe"))
    )
    assert whole == pytest.approx(part * 9 / 6, rel=0.2)


@pytest.mark.parametrize(("a", "b"), [("Two parcels", "2 parcels"), ("it isn't lost", "it is not lost")])
def test_other_forms_of_numbers_and_negations_are_the_same(a: str, b: str) -> None:
    kinds = {reason.kind for reason in reasons(classifier(0).classify(words_of(a), words_of(b)))}
    assert not kinds & {"number", "negation"}


@pytest.mark.parametrize(
    ("a", "b", "named"),
    [
        ("parcel lost Größe", "parcel lost 東京", {("replaced", "Größe", "東京")}),
        ("parcel lost Größe", "parcel lost", {("only", "Größe", "")}),
        ("parcel", "parcel lost Größe", {("only", "", "lostGröße")}),
    ],
)
def test_words_replace_others_or_stand_alone(a: str, b: str, named: set[tuple[str, str, str]]) -> None:
    found = reasons(classifier(0, bias=9).classify(words_of(a), words_of(b)))
    places = {(each.kind, "".join(a[i:j] for i, j in each.a), "".join(b[i:j] for i, j in each.b)) for each in found}
    assert {place for place in places if place[0] != "order"} == named


def test_a_file_without_its_tensors_is_refused(tmp_path: Path) -> None:
    weights: dict[str, Floats] = {**classifier(0).tensors}
    save_file(weights, tmp_path / "whole.safetensors", {"languages": "en de"})
    read = ParaphraseClassifier.read(tmp_path / "whole.safetensors")
    assert (read.tensors.keys(), read.languages) == (weights.keys(), ["en", "de"])
    del weights["mix"]
    save_file(weights, tmp_path / "part.safetensors")
    with pytest.raises(BadCheckpoint, match="mix"):
        ParaphraseClassifier.read(tmp_path / "part.safetensors")
