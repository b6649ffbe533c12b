"""WikiQA: which sentence of an article answers a question?"""

from __future__ import annotations

from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.evaluation.datasets import DataSet
from semblance.models.evaluation.tasks import Rankings
from semblance.models.files.tables import table

_COLUMNS = ("question_id", "question", "answer_sentence", "label")
_RELEASED = ("QuestionID", "Question", "Sentence", "Label")


def read(path: Path) -> Rankings:
    """A table with a row a sentence, of ours or, as WikiQA-*.tsv, of the release. Unanswered questions are left out."""
    key, question, sentence, label = names = _RELEASED if path.name.startswith("WikiQA-") else _COLUMNS
    questions: dict[str, str] = {}
    sentences: dict[str, list[str]] = {}
    answers: dict[str, list[float]] = {}
    for row in table(path, names):
        one = row.text(key)
        questions.setdefault(one, row.text(question))
        sentences.setdefault(one, []).append(row.text(sentence))
        answers.setdefault(one, []).append(float(row.truth(label)))
    answered = [one for one, found in answers.items() if any(found)]
    if not answered:
        raise BadDataSet(f"{path} holds no question with an answer")
    return Rankings(
        [questions[one] for one in answered], [sentences[one] for one in answered], [answers[one] for one in answered]
    )


def _split(name: str, split: str) -> DataSet:
    return DataSet(
        name=name,
        what=f"sentences that answer a question, {split}",
        source="WikiQA [yang-etal-2015-wikiqa]",
        files=(f"ir/wikiqa/{split}.tsv", f"WikiQACorpus/WikiQA-{split}.tsv"),
        read=read,
    )


SETS = (_split("wikiqa", "test"), _split("wikiqa_dev", "dev"), _split("wikiqa_train", "train"))
