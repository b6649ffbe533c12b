"""Random requests with known right answers, computed by the same service one request at a time.

Under load, scores may differ from these by rounding only, whatever other texts share the batch.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import httpx2

from tests.support.project import PROJECT

MAX_WORDS = 200
MEASURES = ("cosine", "rcmd")
PICTURES = ("svg", "png", "html")
READ_COLLECTION = "read"  # the collection that is searched
WRITE_COLLECTION = "written"  # the collection that is written to
REQUESTS_PER_TEXT = 6
K = 10

Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A request, and the numbers of its answer without load, by name; of a picture there are none."""

    kind: str
    path: str
    body: Json
    alone: Mapping[str, float]

    @classmethod
    def asked_alone(cls, http: httpx2.Client, kind: str, path: str, body: Json) -> Self:
        return cls(kind, path, body, numbers_of(kind, http.post(path, json=body).raise_for_status()))

    def error_of(self, answer: httpx2.Response) -> float:
        """Largest difference of a number to that of the answer without load, or infinity if the form differs."""
        found = numbers_of(self.kind, answer)
        if "search" in self.kind:  # equal scores, of any documents: rounding swaps near ties
            shared = [abs(found[doc_id] - self.alone[doc_id]) for doc_id in found.keys() & self.alone.keys()]
            best = _difference(sorted(found.values()), sorted(self.alone.values()))
            return max(best, *shared) if shared else best
        return _difference(*([each[name] for name in sorted(each)] for each in (found, self.alone)))


def numbers_of(kind: str, answer: httpx2.Response) -> dict[str, float]:
    """The numbers that rounding may change, by name. Those of explanations include the sum of their parts."""
    if kind == "picture":
        expected = answer.headers["content-type"].startswith(("image/", "text/html")) and len(answer.content) > 500
        return {} if expected else {"it is none": math.inf}
    body = answer.json()
    if "search" in kind:
        return combined_scores(body)
    if kind == "explain":
        parts = math.fsum([*(link["contribution"] for link in body["links"]), body["special"], body["omitted"]])
        return {"score": body["score"], "sum": parts}
    if kind == "embeddings":
        return {f"{i} {j}": x for i, entry in enumerate(body["data"]) for j, x in enumerate(entry["embedding"])}
    return {str(i): score for i, score in enumerate(body["scores"])}


def combined_scores(answer: Json) -> dict[str, float]:
    """By id, the score of each hit, with the bonus of its terms if there is one."""
    [result] = answer["results"]
    return {hit["id"]: hit["lexical"]["combined"] if hit.get("lexical") else hit["score"] for hit in result["hits"]}


def checked_requests(url: str, texts: Sequence[str], rng: random.Random) -> list[CheckedRequest]:
    """Fill the collections of a service, and ask it for random similarities, searches, explanations and embeddings."""
    with httpx2.Client(base_url=url, timeout=120) as http:
        for name in (READ_COLLECTION, WRITE_COLLECTION):
            http.put(f"/collections/{name}", json={"tokens": "int8"}).raise_for_status()
        for i, text in enumerate(texts):
            body = {"documents": [{"id": str(i), "text": text}]}
            http.post(f"/collections/{READ_COLLECTION}/documents", json=body).raise_for_status()
        drawn = (_random_request(texts, rng) for _ in range(REQUESTS_PER_TEXT * len(texts)))
        return [CheckedRequest.asked_alone(http, *each) for each in drawn]


def _random_request(texts: Sequence[str], rng: random.Random) -> tuple[str, str, Json]:
    chosen = rng.choices(texts, k=rng.randint(1, 8))
    pairs = [{"a": chosen[0], "b": text} for text in chosen]
    # measures of tokens rescore only the candidates nearest by vector: with all of them, the best hits are known
    search = {"query": chosen[0], "collection": READ_COLLECTION, "k": K, "candidates": len(texts)}
    hybrid = {"mode": "hybrid", "highlight": True, "facets": [{"field": "state"}]}
    requests: list[tuple[str, str, Json]] = [
        ("similarity", "/similarity", {"pairs": pairs, "measure": rng.choice(MEASURES)}),
        ("search", "/search", search | {"measure": rng.choice(MEASURES)}),
        ("hybrid search", "/search", search | hybrid),
        ("explain", "/explain", pairs[-1] | {"measure": "rcmd"}),
        ("picture", "/explain", pairs[-1] | {"measure": "rcmd", "format": rng.choice(PICTURES)}),
        ("embeddings", "/v1/embeddings", {"model": "minilm-graded", "input": chosen, "truncate": "END"}),
    ]
    return rng.choice(requests)


def excerpts(count: int, seed: int) -> list[str]:
    """Distinct texts of 3 to 200 words from the sample collection, log-uniform in length."""
    sample = (PROJECT / "service" / "sample" / "help_centre.jsonl").read_text("utf-8").splitlines()
    words = [word for line in sample for word in json.loads(line)["text"].split()]
    rng = random.Random(seed)
    texts = []
    for i in range(count):
        length = round(3 * (MAX_WORDS / 3) ** rng.random())
        start = rng.randrange(len(words) - length)
        texts.append(" ".join([str(i), *words[start : start + length - 1]]))
    return texts


def _difference(actual: Sequence[float], expected: Sequence[float]) -> float:
    if len(actual) != len(expected):
        return math.inf
    return max((abs(a - b) for a, b in zip(actual, expected, strict=True)), default=0.0)
