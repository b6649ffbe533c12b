"""Random requests with known right answers, computed by the same service one text at a time.

Under load, scores may differ from these by rounding only, whatever other texts share the batch.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import httpx2

from tests.support.project import PROJECT

MOST_WORDS = 200
PAIRS_MEASURES = ("cosine", "rcmd")
READ_COLLECTION = "read"  # the collection that is searched
WRITE_COLLECTION = "written"  # the collection that is written to
K = 10

JSON: TypeAlias = Any
ErrorOf: TypeAlias = Callable[[httpx2.Response], float]


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A request, and the error of a response to it: largest difference of a score, or infinity."""

    kind: str
    path: str
    body: JSON
    error_of: ErrorOf


@dataclass(frozen=True, slots=True)
class ReferenceAnswers:
    """Answers of the service to one request at a time, without other load.

    Attributes:
        texts: the pool, of mixed lengths.
        vectors: vector of each text.
        pairs: neighbors in the pool.
        scores: score of each pair, by measure.
        search_scores: by measure, the score of every document of `READ_COLLECTION` for each text as a query.
        hybrid_scores: the same by cosine and terms together.
    """

    texts: Sequence[str]
    vectors: Sequence[Sequence[float]]
    pairs: Sequence[Mapping[str, str]]
    scores: Mapping[str, Sequence[float]]
    search_scores: Mapping[str, Sequence[Mapping[str, float]]]
    hybrid_scores: Sequence[Mapping[str, float]]

    @classmethod
    def compute(cls, url: str, size: int, seed: int = 0) -> Self:
        """Fill the collections and compute all answers."""
        texts = excerpts(size, seed)
        pairs = [{"a": a, "b": b} for a, b in itertools.pairwise([*texts, texts[0]])]
        with httpx2.Client(base_url=url, timeout=120) as http:

            def send(path: str, **body: JSON) -> JSON:
                return http.post(path, json=body).raise_for_status().json()

            for name in (READ_COLLECTION, WRITE_COLLECTION):
                http.put(f"/collections/{name}", json={"tokens": "int8"}).raise_for_status()
            for i, text in enumerate(texts):
                send(f"/collections/{READ_COLLECTION}/documents", documents=[{"id": str(i), "text": text}])

            def search(text: str, **options: str) -> dict[str, float]:
                everything = {"k": size, "candidates": size, "collection": READ_COLLECTION}
                return combined_scores(send("/search", query=text, **everything, **options))

            return cls(
                texts=texts,
                vectors=[send("/v1/embeddings", **_embedding([text]))["data"][0]["embedding"] for text in texts],
                pairs=pairs,
                scores={
                    measure: [send("/similarity", pairs=[pair], measure=measure)["scores"][0] for pair in pairs]
                    for measure in PAIRS_MEASURES
                },
                search_scores={
                    measure: [search(text, measure=measure) for text in texts] for measure in PAIRS_MEASURES
                },
                hybrid_scores=[search(text, mode="hybrid") for text in texts],
            )

    def random_request(self, rng: random.Random) -> CheckedRequest:
        """A similarity, search, explanation or embeddings request."""
        kinds = (self._similarity, self._search, self._hybrid_search, self._explain, self._embeddings)
        return rng.choice(kinds)(rng)

    def _similarity(self, rng: random.Random) -> CheckedRequest:
        chosen, measure = rng.sample(range(len(self.pairs)), rng.randint(1, 8)), rng.choice(PAIRS_MEASURES)
        expected = [self.scores[measure][i] for i in chosen]
        body = {"pairs": [self.pairs[i] for i in chosen], "measure": measure}
        return CheckedRequest(
            "similarity", "/similarity", body, lambda answer: _max_difference(answer.json()["scores"], expected)
        )

    def _search(self, rng: random.Random) -> CheckedRequest:
        i, measure = rng.randrange(len(self.texts)), rng.choice(PAIRS_MEASURES)
        # rcmd rescores only the candidates nearest by vector: with all of them, the best hits are known
        candidates = {"candidates": len(self.texts)} if measure == "rcmd" else {}
        body = {"query": self.texts[i], "collection": READ_COLLECTION, "k": K, "measure": measure, **candidates}
        expected = self.search_scores[measure][i]
        return CheckedRequest("search", "/search", body, lambda answer: _hits_error(answer, expected))

    def _hybrid_search(self, rng: random.Random) -> CheckedRequest:
        i = rng.randrange(len(self.texts))
        found = {"query": self.texts[i], "collection": READ_COLLECTION, "k": K, "candidates": len(self.texts)}
        body = {**found, "mode": "hybrid", "highlight": True, "facets": [{"field": "state"}]}
        expected = self.hybrid_scores[i]
        return CheckedRequest("hybrid search", "/search", body, lambda answer: _hits_error(answer, expected))

    def _explain(self, rng: random.Random) -> CheckedRequest:
        i, format_ = rng.randrange(len(self.pairs)), rng.choice(("json", "json", "json", "svg", "png", "html"))
        expected = self.scores["rcmd"][i]

        def error_of(answer: httpx2.Response) -> float:
            if format_ != "json":
                return 0.0 if format_ in answer.headers["content-type"] and len(answer.content) > 500 else math.inf
            explanation = answer.json()
            links = math.fsum(link["contribution"] for link in explanation["links"])
            score, parts = float(explanation["score"]), float(links + explanation["special"] + explanation["omitted"])
            return max(abs(score - expected), abs(parts - expected))

        return CheckedRequest("explain", "/explain", {**self.pairs[i], "measure": "rcmd", "format": format_}, error_of)

    def _embeddings(self, rng: random.Random) -> CheckedRequest:
        chosen = rng.sample(range(len(self.texts)), rng.randint(1, 4))

        def error_of(answer: httpx2.Response) -> float:
            vectors = [entry["embedding"] for entry in answer.json()["data"]]
            return max(_max_difference(vector, self.vectors[i]) for vector, i in zip(vectors, chosen, strict=True))

        return CheckedRequest("embeddings", "/v1/embeddings", _embedding([self.texts[i] for i in chosen]), error_of)


def combined_scores(answer: JSON) -> dict[str, float]:
    """By id, the score of each hit, with the bonus of its terms if there is one."""
    [result] = answer["results"]
    return {hit["id"]: hit["lexical"]["combined"] if hit.get("lexical") else hit["score"] for hit in result["hits"]}


def _hits_error(answer: httpx2.Response, expected: Mapping[str, float]) -> float:
    """Largest difference of the hits' scores to those of the best documents, and to their own."""
    scores = combined_scores(answer.json())
    best = sorted(expected.values(), reverse=True)[:K]
    return max(
        _max_difference(sorted(scores.values(), reverse=True), best),
        _max_difference(list(scores.values()), [expected[doc_id] for doc_id in scores]),
    )


def excerpts(count: int, seed: int) -> list[str]:
    """Distinct texts of 3 to 200 words from the sample collection, log-uniform in length."""
    sample = (PROJECT / "service" / "sample" / "help_centre.jsonl").read_text("utf-8").splitlines()
    words = [word for line in sample for word in json.loads(line)["text"].split()]
    rng = random.Random(seed)
    texts = []
    for i in range(count):
        length = round(3 * (MOST_WORDS / 3) ** rng.random())
        start = rng.randrange(len(words) - length)
        texts.append(" ".join([str(i), *words[start : start + length - 1]]))
    return texts


def _embedding(texts: Sequence[str]) -> dict[str, JSON]:
    return {"model": "minilm-words", "input": texts, "truncate": "END"}


def _max_difference(actual: Sequence[float], expected: Sequence[float]) -> float:
    if len(actual) != len(expected):
        return math.inf
    return max((abs(a - b) for a, b in zip(actual, expected, strict=True)), default=0.0)
