"""Generated pairs: the same for a seed, of all kinds, and changed in the way that their kind names."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import product

import pytest

from semblance_lab.paraphrases.generation.generated import KINDS, generate
from semblance_lab.paraphrases.generation.lists import paragraphs
from semblance_lab.paraphrases.generation.replacements import Sentence
from semblance_lab.paraphrases.pairs import CONTRAST, GENERATED, Pair, without_contrasts
from semblance_lab.paraphrases.wordnet import Relations
from tests.lab.paraphrases.tiny_wordnet import tiny_relations

NOUNS = product(("large", "small"), ("dog", "cat"), ("couch", "river"))
SENTENCES = [
    *(f"The {size} {animal} is on a {thing}." for size, animal, thing in NOUNS),
    *(f"A dog and a cat sit near {number} rivers with a photo." for number in ("two", "twelve", "17", "1,200")),
    *(f"He isn't old and we want to sit on a {thing}, now" for thing in ("sofa", "photo", "chair")),
    *(f"A dog is chasing a {animal} beside the river." for animal in ("cat", "horse")),
    "The horse of the river and the sofa stand before the large picture.",
]


@pytest.fixture(scope="module")
def relations(tmp_path_factory: pytest.TempPathFactory) -> Relations:
    return tiny_relations(tmp_path_factory.mktemp("wordnet"))


@pytest.fixture(scope="module")
def pairs(relations: Relations) -> list[Pair]:
    return generate(SENTENCES * 20, relations, seed=3)


@pytest.fixture(scope="module")
def by_kind(pairs: Sequence[Pair]) -> Mapping[str, Sequence[Pair]]:
    found = defaultdict(list)
    for pair in pairs:
        found[pair.kind].append(pair)
    return found


def test_a_seed_gives_the_same_pairs(relations: Relations, pairs: Sequence[Pair]) -> None:
    assert generate(SENTENCES * 20, relations, seed=3) == pairs
    assert generate(SENTENCES * 20, relations, seed=4) != pairs


def test_every_kind_has_pairs_that_say_what_it_says(pairs: Sequence[Pair]) -> None:
    assert {(pair.kind, pair.holds) for pair in pairs} == set(KINDS.items())
    assert {(pair.source, pair.entails) for pair in pairs} == {(GENERATED, False)}


def test_the_texts_of_a_pair_differ(pairs: Sequence[Pair]) -> None:
    assert [pair for pair in pairs if pair.a == pair.b or not pair.a.strip() or not pair.b.strip()] == []


def test_either_text_comes_first(by_kind: Mapping[str, Sequence[Pair]]) -> None:
    firsts = Counter(pair.a in SENTENCES for pair in by_kind["filler"])
    assert min(firsts[True], firsts[False]) > len(by_kind["filler"]) / 5


@pytest.mark.parametrize(
    ("kind", "count"),
    [("antonym", 1), ("sister", 1), ("rare sister", 1), ("synonym", 1), ("number", 1), ("digits", 1), ("spelled", 1),
     ("two synonyms", 2), ("synonym and antonym", 2), ("name", 1), ("instance", 1), ("names swapped", 2), ("swap", 2)],
)  # fmt: skip
def test_replacements_leave_other_words_in_place(by_kind: Mapping[str, Sequence[Pair]], kind: str, count: int) -> None:
    lengths = [(pair.a.split(), pair.b.split()) for pair in by_kind[kind]]
    one_word = [(a, b) for a, b in lengths if len(a) == len(b)]  # "out of" for "into" is longer
    assert len(one_word) > len(lengths) / 2
    assert {sum(x != y for x, y in zip(a, b, strict=True)) for a, b in one_word} == {count}


@pytest.mark.parametrize("kind", ["conjuncts", "swap", "names swapped"])
def test_exchanges_keep_the_words(by_kind: Mapping[str, Sequence[Pair]], kind: str) -> None:
    for pair in by_kind[kind]:
        assert Counter(Sentence.of(pair.a).plain) == Counter(Sentence.of(pair.b).plain)


@pytest.mark.parametrize("kind", ["dropped word", "dropped phrase", "filler", "negation"])
def test_shorter_texts_are_parts_of_longer_ones(by_kind: Mapping[str, Sequence[Pair]], kind: str) -> None:
    for pair in by_kind[kind]:
        shorter, longer = sorted((pair.a, pair.b), key=len)
        if "n't" not in longer:
            rest = iter(longer.rstrip(".").split())
            assert all(word in rest for word in shorter.rstrip(".").split())


def test_a_dropped_phrase_stood_at_the_end(by_kind: Mapping[str, Sequence[Pair]]) -> None:
    for pair in by_kind["dropped phrase"]:
        shorter, longer = sorted((pair.a, pair.b), key=len)
        assert longer.startswith(shorter.rstrip("."))


def test_numbers_are_spelled_by_their_value(by_kind: Mapping[str, Sequence[Pair]]) -> None:
    words = {("two", "2"), ("twelve", "12")}
    found = {tuple(sorted({*pair.a.split()} ^ {*pair.b.split()}, reverse=True)) for pair in by_kind["spelled"]}
    assert found == words


def test_digits_of_a_number_change(by_kind: Mapping[str, Sequence[Pair]]) -> None:
    changed = [pair for pair in by_kind["digits"] if "rivers" in pair.a]
    assert changed
    for pair in changed:
        [x], [y] = ([word for word in text.split() if word[0].isdigit()] for text in (pair.a, pair.b))
        assert x[0] != y[0] != "0"
        assert x[1:] == y[1:]


def test_no_replacement_is_frequent(by_kind: Mapping[str, Sequence[Pair]]) -> None:
    added = Counter(tuple(sorted({*pair.a.split()} ^ {*pair.b.split()})) for pair in by_kind["sister"])
    assert max(added.values()) <= 2 * 8 * 2  # both directions, 8 of each, with and without a dot


@pytest.mark.parametrize(("kind", "same"), [("how", True), ("what", True), ("other question", False)])
def test_questions_of_a_paragraph_ask_the_same(by_kind: Mapping[str, Sequence[Pair]], kind: str, same: bool) -> None:
    for pair in by_kind[kind]:
        a, b = paragraphs_of(pair.a), paragraphs_of(pair.b)
        assert a
        assert b
        assert a & b if same else len(a | b) > 1


def paragraphs_of(text: str) -> set[int]:
    """Paragraphs with a line that the text may be made from."""
    return {i for i, patterns in enumerate(_PATTERNS) if any(pattern.fullmatch(text) for pattern in patterns)}


_PATTERNS = [
    [re.compile(re.sub(r"\\{\w+\\}", "[a-z' ]+", re.escape(line))) for line in lines]
    for lines in paragraphs("questions")
]


def test_texts_of_templates_have_no_open_places(pairs: Sequence[Pair]) -> None:
    assert [pair for pair in pairs if {*"{}"} & {*pair.a, *pair.b}] == []


def test_no_pair_has_a_sentence_of_the_contrast_set(pairs: Sequence[Pair]) -> None:
    taken = pairs[0].a.upper()
    kept, counts = without_contrasts([*pairs, Pair(CONTRAST, "colors", taken, "Another text.", holds=False)])
    assert [pair for pair in kept if pair.source == GENERATED and taken in (pair.a.upper(), pair.b.upper())] == []
    assert counts.dropped.total() == len(pairs) + 1 - len(kept) > 0


@pytest.mark.parametrize("name", ["opposites", "phrases", "names", "statements", "tasks", "questions"])
def test_no_line_of_a_list_is_repeated(name: str) -> None:
    lines = [tuple(lines) if name in ("opposites", "phrases") else line for lines in paragraphs(name) for line in lines]
    counts = Counter(lines)
    expected = {2, 3, 4} if name in ("opposites", "phrases") else {1}
    assert {*counts.values()} <= expected


def test_words_keep_case_and_punctuation() -> None:
    sentence = Sentence.of('Two dogs, "running" fast.')
    assert sentence.replace({0: "three", 3: "slowly"}) == 'Three dogs, "running" slowly.'
