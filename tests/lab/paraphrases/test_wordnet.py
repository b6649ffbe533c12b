"""WordNet's files: synsets, senses, and the words that are related."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet
from semblance_lab.paraphrases.wordnet import Pointer, Senses, Synset, read_relations, read_wordnet
from tests.lab.paraphrases.tiny_wordnet import COUNTS, ENTRIES, Entry, tiny_relations, write_wordnet


def test_synsets_have_words_and_numbered_pointers(tmp_path: Path) -> None:
    wordnet = read_wordnet(write_wordnet(tmp_path))
    large, small = (("a", f"{100 + [each.name for each in ENTRIES].index(name):08d}") for name in ("large", "small"))
    assert wordnet.synsets[large] == Synset("00", ["large", "big"], [Pointer("!", small, 1, 1)])
    assert wordnet.senses["big"] == {"a": Senses([large], 1)}
    assert "lounge" in wordnet.senses


def test_lines_of_the_release_are_read(tmp_path: Path) -> None:
    """Two lines of WordNet 3.0, the first shortened to two of its pointers, the second about a satellite."""
    write_wordnet(tmp_path, [])
    hot = '01247240 00 a 01 hot 0 002 ! 01251128 a 0101 & 01249519 s 0000 | used of physical heat; "hot stove"  \n'
    boiling = "01249519 00 s 02 baking(p) 0 scorching 0 001 & 01247240 a 0000 | as hot as if in an oven  \n"
    (tmp_path / "data.adj").write_text(hot + boiling, "utf-8")
    assert read_wordnet(tmp_path).synsets == {
        ("a", "01247240"): Synset(
            "00", ["hot"], [Pointer("!", ("a", "01251128"), 1, 1), Pointer("&", ("a", "01249519"), 0, 0)]
        ),
        ("a", "01249519"): Synset("00", ["baking", "scorching"], [Pointer("&", ("a", "01247240"), 0, 0)]),
    }


def test_the_main_class_has_the_most_tagged_senses(tmp_path: Path) -> None:
    twice = Entry("dog3", "v", "38", ["dog"])
    assert read_wordnet(write_wordnet(tmp_path)).main_class("dog") == "n"
    assert read_wordnet(write_wordnet(tmp_path, [*ENTRIES, twice])).main_class("dog") == "v"
    assert read_wordnet(tmp_path).main_class("unknown") is None


def test_words_are_related_by_their_main_senses(tmp_path: Path) -> None:
    relations = tiny_relations(tmp_path)
    assert relations.antonyms == {"large": ["small"], "small": ["large"], "sit": ["stand"], "stand": ["sit"]}
    assert relations.synonyms["couch"] == ["lounge", "sofa"]
    assert relations.synonyms["large"] == ["big"]
    assert relations.sisters["dog"] == ["cat", "horse"]
    assert "sofa" not in relations.sisters["couch"]
    assert relations.sisters["couch"] == ["photo", "picture"]


def test_rare_words_stand_only_in_groups(tmp_path: Path) -> None:
    relations = tiny_relations(tmp_path)
    assert "okapi" not in relations.sisters
    assert ["cat", "dog", "horse", "okapi"] in relations.kin
    assert relations.instances == [["Danube", "Elbe", "Thames", "Volga"]]


def test_only_the_first_sense_of_a_word_relates_it(tmp_path: Path) -> None:
    later = Entry("couch2", "n", "05", ["couch"], [("@", "animal", 0, 0)])
    for place, expected in ((len(ENTRIES), False), (0, True)):
        entries = [*ENTRIES[:place], later, *ENTRIES[place:]]
        wordnet = read_wordnet(write_wordnet(tmp_path, entries))
        assert ("couch" in read_relations(wordnet, COUNTS).sisters["dog"]) is expected


@pytest.mark.parametrize("line", ["00000100 05 n 02 dog 0 000 | one word only\n", "00000100 05 n zz dog 0 000 | x\n"])
def test_a_malformed_line_is_named(tmp_path: Path, line: str) -> None:
    write_wordnet(tmp_path)
    (tmp_path / "data.noun").write_text("  license\n" + line, "utf-8")
    with pytest.raises(BadDataSet, match=r"data.noun, line 2: the line has not the format wndb"):
        read_wordnet(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write_wordnet(tmp_path)
    (tmp_path / "index.verb").unlink()
    with pytest.raises(BadDataSet, match=r"index.verb"):
        read_wordnet(tmp_path)
