"""WikiQA: the sentences of an article that answer a question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.files.tables import read_tsv
from semblance_lab.evaluation.datasets import DataSet
from semblance_lab.evaluation.tasks import Rankings, Retrieval

_COLUMNS = ("question_id", "question", "answer_sentence", "label")
_RELEASED = ("QuestionID", "Question", "Sentence", "Label")


def read(path: Path) -> Rankings:
    """Read a table of sentences, or WikiQA-*.tsv of the release, without unanswered questions."""
    key, question, sentence, label = names = _RELEASED if path.name.startswith("WikiQA-") else _COLUMNS
    questions: dict[str, str] = {}
    sentences: dict[str, list[str]] = {}
    answers: dict[str, list[float]] = {}
    for row in read_tsv(path, names):
        question_id = row.text(key)
        questions.setdefault(question_id, row.text(question))
        sentences.setdefault(question_id, []).append(row.text(sentence))
        answers.setdefault(question_id, []).append(float(row.boolean(label)))
    answered = [question_id for question_id, labels in answers.items() if any(labels)]
    if not answered:
        raise BadDataSet(f"{path} contains no question with an answer")
    return Rankings(
        [questions[each] for each in answered],
        [sentences[each] for each in answered],
        [answers[each] for each in answered],
    )


def read_search(path: Path) -> Retrieval:
    """The same as a search: every sentence of all articles is a document."""
    rankings = read(path)
    ids: dict[str, str] = {}
    relevance: dict[str, dict[str, float]] = {}
    for number, (sentences, labels) in enumerate(zip(rankings.candidates, rankings.relevance, strict=True)):
        documents = [ids.setdefault(sentence, f"s{len(ids)}") for sentence in sentences]
        relevance[f"q{number}"] = {doc_id: label for doc_id, label in zip(documents, labels, strict=True) if label}
    queries = {f"q{number}": query for number, query in enumerate(rankings.queries)}
    return Retrieval({doc_id: sentence for sentence, doc_id in ids.items()}, queries, relevance)


def _split(name: str, split: str) -> DataSet:
    return DataSet(
        name=name,
        what=f"sentences that answer a question, {split}",
        source="WikiQA [yang-etal-2015-wikiqa]",
        files=(f"ir/wikiqa/{split}.tsv", f"WikiQACorpus/WikiQA-{split}.tsv"),
        read=read,
    )


_DEV = _split("wikiqa_dev", "dev")
_DEV_SEARCH = replace(
    _DEV,
    name="wikiqa_dev_search",
    what="search: sentences of all articles that answer a question, dev",
    read=read_search,
)

SETS = (_split("wikiqa", "test"), _DEV, _DEV_SEARCH, _split("wikiqa_train", "train"))
