"""Queries with judged texts: triplets, candidates to rank, and collections to search."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import json_lines, numbered_lines
from semblance.models.files.tables import collapse_spaces, read_csv, read_tsv, row_error
from semblance_lab.evaluation.datasets import benchmark, splits
from semblance_lab.evaluation.tasks import Rankings, Retrieval, Triplets


def read_triplets(path: Path) -> Triplets:
    """Read a table with the columns anchor, positive and negative, or the .csv of the release."""
    released = path.suffix == ".csv"
    names = ("Sentence1", "Sentence2", "Sentence3") if released else ("anchor", "positive", "negative")
    rows = [[row.text(name) for name in names] for row in (read_csv if released else read_tsv)(path, names)]
    if not rows:
        raise BadDataSet(f"{path} contains no triplets")
    return Triplets(*zip(*rows, strict=True))


def read_rankings(path: Path) -> Rankings:
    """Read a JSON object a line: query, candidates (texts), relevance (a number >= 0 for each)."""
    rows = [_ranking(path, line, row) for line, row in json_lines(path)]
    if not rows:
        raise BadDataSet(f"{path} contains no queries")
    return Rankings(*zip(*rows, strict=True))


def _ranking(path: Path, line: int, row: dict[str, Any]) -> tuple[str, list[str], list[float]]:
    candidates, relevance = row.get("candidates"), row.get("relevance")
    texts = [row.get("query"), *candidates] if isinstance(candidates, list) else []
    if len(texts) < 2 or not all(isinstance(text, str) and text.strip() for text in texts):
        raise row_error(path, line, "query must be a text and candidates a list of texts, none of them empty")
    if not isinstance(relevance, list) or len(relevance) != len(texts) - 1 or not all(map(_is_grade, relevance)):
        raise row_error(path, line, f"relevance must be a list of {len(texts) - 1} numbers of at least 0")
    if not any(relevance):
        raise row_error(path, line, "no candidate is relevant; at least one must be")
    query, *rest = map(collapse_spaces, texts)
    return query, rest, [float(grade) for grade in relevance]


def _is_grade(value: object) -> bool:
    # nan fails both comparisons
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e308


def read_retrieval(path: Path) -> Retrieval:
    """Read a folder with corpus.jsonl, queries.jsonl and relevance judgments.

    Documents have _id, text and an optional title, queries _id and text. The judgments are qrels.tsv or, as in BEIR,
    qrels/test.tsv, with the columns query_id, doc_id and relevance, or BEIR's query-id, corpus-id and score. A document
    is its title and text; documents without either cannot be found and are left out, and so are queries without a
    relevant document. A relevant document outside the corpus counts as missed.
    """
    relevance = _judgments(path)
    corpus = {key: text for key, text in _texts(path / "corpus.jsonl").items() if text}
    judged = {query for query, grades in relevance.items() if any(grade > 0 for grade in grades.values())}
    queries = {key: text for key, text in _texts(path / "queries.jsonl").items() if text and key in judged}
    if not corpus or not queries:
        raise BadDataSet(f"{path} contains no documents, or no query with a relevant document")
    return Retrieval(corpus, queries, {key: relevance[key] for key in queries})


def _judgments(folder: Path) -> dict[str, dict[str, float]]:
    file = folder / "qrels.tsv"
    if not file.exists() and (folder / "qrels").is_dir():
        file = folder / "qrels" / "test.tsv"
    lines = numbered_lines(file)
    is_beir = bool(lines) and lines[0][1].split("\t")[0].strip() == "query-id"
    query, document, grade = ("query-id", "corpus-id", "score") if is_beir else ("query_id", "doc_id", "relevance")
    relevance: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in read_tsv(file, (query, document, grade)):
        relevance[row.text(query)][row.text(document)] = row.number(grade)
    return dict(relevance)


def _texts(file: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for line, row in json_lines(file):
        key, title, text = row.get("_id"), row.get("title", ""), row.get("text")
        if not isinstance(key, str) or not isinstance(text, str) or not isinstance(title, str):
            raise row_error(file, line, "_id, text and the optional title must be strings")
        if key in texts:
            raise row_error(file, line, f"duplicate _id {key!r}")
        texts[key] = f"{title} {text}".strip()
    return texts


def read_wikiqa(path: Path) -> Rankings:
    """Read a table of sentences, or WikiQA-*.tsv of the release, without unanswered questions."""
    released = path.name.startswith("WikiQA-")
    names = (
        ("QuestionID", "Question", "Sentence", "Label")
        if released
        else ("question_id", "question", "answer_sentence", "label")
    )
    key, question, sentence, label = names
    questions: dict[str, tuple[str, list[str], list[float]]] = {}
    for row in read_tsv(path, names):
        _, sentences, answers = questions.setdefault(row.text(key), (row.text(question), [], []))
        sentences.append(row.text(sentence))
        answers.append(float(row.boolean(label)))
    answered = [each for each in questions.values() if any(each[2])]
    if not answered:
        raise BadDataSet(f"{path} contains no question with an answer")
    return Rankings(*map(list, zip(*answered, strict=True)))


def read_wikiqa_search(path: Path) -> Retrieval:
    """The same as a search: every sentence of all articles is a document."""
    rankings = read_wikiqa(path)
    ids: dict[str, str] = {}
    relevance: dict[str, dict[str, float]] = {}
    for number, (sentences, labels) in enumerate(zip(rankings.candidates, rankings.relevance, strict=True)):
        documents = [ids.setdefault(sentence, f"s{len(ids)}") for sentence in sentences]
        relevance[f"q{number}"] = {doc_id: label for doc_id, label in zip(documents, labels, strict=True) if label}
    queries = {f"q{number}": query for number, query in enumerate(rankings.queries)}
    return Retrieval({doc_id: sentence for sentence, doc_id in ids.items()}, queries, relevance)


_WIKIQA = "WikiQA [yang-etal-2015-wikiqa]"
_WIKIQA_FILES = ("ir/wikiqa/{}.tsv", "WikiQACorpus/WikiQA-{}.tsv")

SETS = (
    *benchmark(
        read_rankings,
        "`semblance pairs tweets`, as Twitter4SSE, which shares no sets [digiovanni-brambilla-2021-twitter4sse]",
        *(
            (name, f"tweets: 5 {what} among 30 candidates", f"ranking/{name}.jsonl")
            for name, what in (
                ("dq", "quotes of the query"),
                ("cq", "tweets that quote the same as the query"),
                ("dr", "replies to the query"),
                ("cr", "tweets that reply to the same as the query"),
            )
        ),
    ),
    *benchmark(
        read_retrieval,
        "the test collections of the SMART project [salton-1971-smart]",
        ("adi", "search: 82 papers on information science, 35 queries", "ir/adi", "adi"),
        ("cranfield", "search: 1,400 papers on aerodynamics, 225 queries", "ir/cranfield", "cranfield"),
        ("cisi", "search: 1,460 papers on information science, 76 judged queries", "ir/cisi", "cisi"),
        ("medline", "search: 1,033 medical papers, 30 queries", "ir/medline", "medline"),
    ),
    *benchmark(
        read_retrieval,
        "NFCorpus, dev [boteva-etal-2016-nfcorpus]",
        ("nfcorpus_dev", "search: 3,193 papers on nutrition, queries of laymen", "ir/nfcorpus_dev", "nfcorpus_dev"),
    ),
    *benchmark(
        read_triplets,
        "Wikipedia section triplets, test [dor-etal-2018-sections]",
        (
            "wiki_sections",
            "which of two sentences is from the same section of an article",
            "wikipedia-sections-triplets/test.csv",
        ),
    ),
    *benchmark(
        read_triplets,
        "triplets drawn from the articles of WikiText-2, after [dor-etal-2018-sections]",
        (
            "wiki_sections_derived",
            "the same task made of WikiText-2; figures do not compare with those of wiki_sections",
            "wiki_sections_derived/triplets.tsv",
        ),
    ),
    *splits(
        read_wikiqa,
        _WIKIQA,
        "sentences that answer a question, {}",
        _WIKIQA_FILES,
        wikiqa="test",
        wikiqa_dev="dev",
        wikiqa_train="train",
    ),
    *splits(
        read_wikiqa_search,
        _WIKIQA,
        "search: sentences of all articles that answer a question, {}",
        _WIKIQA_FILES,
        wikiqa_dev_search="dev",
    ),
)
