"""Texts that teachers read: pairs of each kind below each other, and nothing that an evaluation uses."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.quality import taught_texts
from tests.benchmarks.test_words_model import HEADER
from tests.support.text_files import write, write_json, write_table

GLOSS = "0208407{0} 05 n 01 dog{0} 0 000 | the {0}th member of the genus"


def test_related_texts_are_pairs_of_each_kind(tmp_path: Path) -> None:
    for name in ("data.noun", "data.verb", "data.adj"):
        write(tmp_path / name, *(GLOSS.format(i) for i in range(4)))
    captions = [
        (*"1", split, *"0", f"A dog runs in {split}.", "x", "A brown dog runs.") for split in ("restval", "test")
    ]
    write_table(tmp_path / "captions" / "coco_val2014_captions.tsv", [tuple("abcdef"), *captions])
    triplets = [
        ("A man is here.", "He is a man.", "A dog is here today.", "mnli"),
        ("A man is there.", "a", "b", "breaking_nli"),
    ]
    write_table(tmp_path / "nli" / "triplets.tsv", [HEADER, triplets[0]])
    write_table(tmp_path / "nli" / "triplets_extra.tsv", [HEADER, triplets[1]])
    for name in ("gutenberg", "state_union", "inaugural", "wikitext2_valid", "wikitext2_test"):
        text = f"The {name} @-@ is read. A <unk> is not read. It rains in Rome. The rain has ended now."
        write_json(tmp_path / "text" / f"{name}.jsonl", {"text": text})
    sentences = [f"The film was seen {i}." for i in range(5)]
    write(tmp_path / "text" / "movie_reviews.jsonl", json.dumps({"sentences": sentences}))
    kinds = taught_texts.pairs_by_kind(tmp_path, tmp_path)
    assert kinds["captions"] == [("A dog runs in restval.", "A brown dog runs.")]
    assert set(kinds["entailments"]) == {("A man is here.", one) for one in ("He is a man.", "A dog is here today.")}
    assert kinds["books"] == [("It rains in Rome.", "The rain has ended now.")]
    assert set(kinds["reviews"]) == {(sentences[0], sentences[1]), (sentences[2], sentences[3])}
    assert ("dog0: the 0th member of the genus", "dog1: the 1th member of the genus") in kinds["glosses"]
