"""Queries with their own candidates to rank, such as the four sets of tweets of Twitter4SSE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import json_lines
from semblance.models.files.tables import collapse_spaces, row_error
from semblance_lab.evaluation.datasets import DataSet
from semblance_lab.evaluation.tasks import Rankings


def read(path: Path) -> Rankings:
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


def _tweets(name: str, what: str) -> DataSet:
    return DataSet(
        name=name,
        what=f"tweets: 5 {what} among 30 candidates",
        source="`semblance pairs tweets`, as Twitter4SSE, which shares no sets [digiovanni-brambilla-2021-twitter4sse]",
        files=(f"ranking/{name}.jsonl",),
        read=read,
    )


SETS = (
    _tweets("dq", "quotes of the query"),
    _tweets("cq", "tweets that quote the same as the query"),
    _tweets("dr", "replies to the query"),
    _tweets("cr", "tweets that reply to the same as the query"),
)
