"""Sets in other languages, and across languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.models.errors import BadDataSet
from semblance.models.judgments.pairs import GradedPairs
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.tasks import Retrieval
from tests.support.text_files import write_json, write_table

HEADER = ("sentence1", "sentence2", "score")


def test_pairs_across_languages_begin_in_english(tmp_path: Path) -> None:
    write_table(tmp_path / "en.dev.tsv", [HEADER, ("a dog", "a cat", "1.0"), ("a man", "he", "4.0")])
    german = write_table(
        tmp_path / "de.dev.tsv", [HEADER, ("ein Hund", "eine Katze", "1.0"), ("ein Mann", "er", "4.0")]
    )
    task = data_set("stsb_en_de_dev").read(german)
    assert isinstance(task, GradedPairs)
    assert (task.left, task.right, task.gold) == (("a dog", "a man"), ("eine Katze", "er"), (1.0, 4.0))
    write_table(german, [HEADER, ("ein Mann", "er", "4.0"), ("ein Hund", "eine Katze", "1.0")])
    with pytest.raises(BadDataSet, match="not parallel"):
        data_set("stsb_en_de_dev").read(german)


def test_questions_of_another_language_find_their_paragraphs(tmp_path: Path) -> None:
    texts = {"en": ("A dog.", "Who?"), "de": ("Ein  Hund.", "Wer?")}
    for language, (context, question) in texts.items():
        article = {"paragraphs": [{"context": context, "qas": [{"id": "7", "question": question}]}]}
        write_json(tmp_path / f"{language}.json", {"data": [article]})
    own, across = (data_set(name).read(tmp_path / "de.json") for name in ("xquad_de", "xquad_en_de"))
    assert isinstance(own, Retrieval)
    assert isinstance(across, Retrieval)
    assert (own.corpus, own.queries, own.relevance) == ({"p0": "Ein Hund."}, {"7": "Wer?"}, {"7": {"p0": 1.0}})
    assert (across.corpus, across.queries) == (own.corpus, {"7": "Who?"})
    write_json(tmp_path / "de.json", {"data": [{}]})
    with pytest.raises(BadDataSet, match="lacks 'paragraphs'"):
        data_set("xquad_de").read(tmp_path / "de.json")
