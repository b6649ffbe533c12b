"""Collections of documents with judged queries."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import json_lines, numbered_lines
from semblance.models.files.tables import read_tsv, row_error
from semblance_lab.evaluation.datasets import DataSet
from semblance_lab.evaluation.tasks import Retrieval


def read(path: Path) -> Retrieval:
    """Read a folder with corpus.jsonl, queries.jsonl and relevance judgments.

    Documents have _id, text and an optional title, queries _id and text. The judgments are qrels.tsv or, as in BEIR,
    qrels/test.tsv, with the columns query_id, doc_id and relevance, or BEIR's query-id, corpus-id and score. A document
    is its title and text; documents without either cannot be found and are left out, and so are queries without a
    relevant document. A relevant document outside the corpus counts as missed.
    """
    relevance = _judgments(path)
    corpus = {key: text for key, text in _texts(path / "corpus.jsonl").items() if text}
    queries = {key: text for key, text in _texts(path / "queries.jsonl").items() if text and _has_any(relevance, key)}
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


def _has_any(relevance: dict[str, dict[str, float]], query: str) -> bool:
    return any(grade > 0 for grade in relevance.get(query, {}).values())


def _set(name: str, what: str, source: str) -> DataSet:
    return DataSet(name=name, what=f"search: {what}", source=source, files=(f"ir/{name}", name), read=read)


_CLASSIC = "the test collections of the SMART project [salton-1971-smart]"

SETS = (
    _set("adi", "82 papers on information science, 35 queries", _CLASSIC),
    _set("cranfield", "1,400 papers on aerodynamics, 225 queries", _CLASSIC),
    _set("cisi", "1,460 papers on information science, 76 judged queries", _CLASSIC),
    _set("medline", "1,033 medical papers, 30 queries", _CLASSIC),
    _set("nfcorpus_dev", "3,193 papers on nutrition, queries of laymen", "NFCorpus, dev [boteva-etal-2016-nfcorpus]"),
)
