"""Collections of documents with judged queries."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.evaluation.datasets import DataSet
from semblance.models.evaluation.tasks import Retrieval
from semblance.models.files.lines import json_lines, numbered_lines
from semblance.models.files.tables import fault, table


def read(path: Path) -> Retrieval:
    """A folder with corpus.jsonl (_id, text, maybe title), queries.jsonl (_id, text) and judgements.

    These are qrels.tsv or, as in BEIR, qrels/test.tsv, with the columns query_id, doc_id and relevance, or BEIR's
    query-id, corpus-id and score. A document is its title and text; documents without either cannot be found and are
    left out, and so are queries without a relevant document. What is relevant but not in the corpus counts as missed.
    """
    relevance = _judgements(path)
    corpus = {key: text for key, text in _texts(path / "corpus.jsonl").items() if text}
    queries = {key: text for key, text in _texts(path / "queries.jsonl").items() if text and _any(relevance, key)}
    if not corpus or not queries:
        raise BadDataSet(f"{path} holds no documents, or no query that has a relevant document")
    return Retrieval(corpus, queries, {key: relevance[key] for key in queries})


def _judgements(folder: Path) -> dict[str, dict[str, float]]:
    file = folder / "qrels.tsv"
    if not file.exists() and (folder / "qrels").is_dir():
        file = folder / "qrels" / "test.tsv"
    lines = numbered_lines(file)
    beirs = bool(lines) and lines[0][1].split("\t")[0].strip() == "query-id"
    query, document, grade = ("query-id", "corpus-id", "score") if beirs else ("query_id", "doc_id", "relevance")
    relevance: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in table(file, (query, document, grade)):
        relevance[row.text(query)][row.text(document)] = row.number(grade)
    return dict(relevance)


def _texts(file: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for line, row in json_lines(file):
        key, title, text = row.get("_id"), row.get("title", ""), row.get("text")
        if not isinstance(key, str) or not isinstance(text, str) or not isinstance(title, str):
            raise fault(file, line, "_id and text must be texts, and so must title if there is one")
        if key in texts:
            raise fault(file, line, f"_id {key!r} stands here for the second time")
        texts[key] = f"{title} {text}".strip()
    return texts


def _any(relevance: dict[str, dict[str, float]], query: str) -> bool:
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
