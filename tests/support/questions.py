"""Requests of mixed kinds and lengths whose answers were computed one at a time, when nothing else was going on.

The scores of an answer under load may differ from those by rounding only, however many strangers' texts passed through
the model in the same batch.
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
READ = "read"  # the collection that is searched
WRITTEN = "written"  # the one that is written to
K = 10

JSON: TypeAlias = Any
Distance: TypeAlias = Callable[[httpx2.Response], float]


@dataclass(frozen=True, slots=True)
class Question:
    """A request, and how far an answer to it is from the right one; infinity if it is another answer altogether."""

    kind: str
    path: str
    body: JSON
    off_by: Distance


@dataclass(frozen=True, slots=True)
class AnsweredAlone:
    """What the service said when it was asked for one thing at a time.

    Attributes:
        texts: the pool, of mixed lengths.
        vectors: of each text.
        pairs: neighbours in the pool, in a random order.
        scores: of each pair, by measure.
        found: by measure, the score of every document of `READ` for each text as a query.
    """

    texts: Sequence[str]
    vectors: Sequence[Sequence[float]]
    pairs: Sequence[Mapping[str, str]]
    scores: Mapping[str, Sequence[float]]
    found: Mapping[str, Sequence[Mapping[str, float]]]

    @classmethod
    def ask(cls, url: str, size: int, seed: int = 0) -> Self:
        """Fill the collections, and ask."""
        texts = excerpts(size, seed)
        pairs = [{"a": a, "b": b} for a, b in itertools.pairwise([*texts, texts[0]])]
        with httpx2.Client(base_url=url, timeout=120) as http:

            def ask(path: str, **body: JSON) -> JSON:
                return http.post(path, json=body).raise_for_status().json()

            for name in (READ, WRITTEN):
                http.put(f"/collections/{name}", json={"tokens": "int8"}).raise_for_status()
            for i, text in enumerate(texts):
                ask(f"/collections/{READ}/documents", documents=[{"id": str(i), "text": text}])

            def find(text: str, measure: str) -> dict[str, float]:
                everything = {"k": size, "candidates": size, "measure": measure, "collection": READ}
                [result] = ask("/search", query=text, **everything)["results"]
                return {hit["id"]: hit["score"] for hit in result["hits"]}

            return cls(
                texts=texts,
                vectors=[ask("/v1/embeddings", **_embedding([text]))["data"][0]["embedding"] for text in texts],
                pairs=pairs,
                scores={
                    measure: [ask("/similarity", pairs=[pair], measure=measure)["scores"][0] for pair in pairs]
                    for measure in PAIRS_MEASURES
                },
                found={measure: [find(text, measure) for text in texts] for measure in PAIRS_MEASURES},
            )

    def draw(self, rng: random.Random) -> Question:
        """A question of any kind."""
        return rng.choice((self._similarity, self._search, self._explain, self._embeddings))(rng)

    def _similarity(self, rng: random.Random) -> Question:
        chosen, measure = rng.sample(range(len(self.pairs)), rng.randint(1, 8)), rng.choice(PAIRS_MEASURES)
        right = [self.scores[measure][i] for i in chosen]
        body = {"pairs": [self.pairs[i] for i in chosen], "measure": measure}
        return Question("similarity", "/similarity", body, lambda answer: _apart(answer.json()["scores"], right))

    def _search(self, rng: random.Random) -> Question:
        i, measure = rng.randrange(len(self.texts)), rng.choice(PAIRS_MEASURES)
        right = self.found[measure][i]

        def off_by(answer: httpx2.Response) -> float:
            [result] = answer.json()["results"]
            scores = {hit["id"]: hit["score"] for hit in result["hits"]}
            best = sorted(right.values(), reverse=True)[:K]
            return max(
                _apart(sorted(scores.values(), reverse=True), best),
                _apart(list(scores.values()), [right[doc_id] for doc_id in scores]),
            )

        # by rcmd only the candidates compete that lie nearest by vector: all of them, so that what is best is known
        candidates = {"candidates": len(self.texts)} if measure == "rcmd" else {}
        body = {"query": self.texts[i], "collection": READ, "k": K, "measure": measure, **candidates}
        return Question("search", "/search", body, off_by)

    def _explain(self, rng: random.Random) -> Question:
        i, format_ = rng.randrange(len(self.pairs)), rng.choice(("json", "json", "json", "svg", "png", "html"))
        right = self.scores["rcmd"][i]

        def off_by(answer: httpx2.Response) -> float:
            if format_ != "json":
                return 0.0 if format_ in answer.headers["content-type"] and len(answer.content) > 500 else math.inf
            why = answer.json()
            links = math.fsum(link["contribution"] for link in why["links"])
            score, parts = float(why["score"]), float(links + why["special"] + why["omitted"])
            return max(abs(score - right), abs(parts - right))

        return Question("explain", "/explain", {**self.pairs[i], "measure": "rcmd", "format": format_}, off_by)

    def _embeddings(self, rng: random.Random) -> Question:
        chosen = rng.sample(range(len(self.texts)), rng.randint(1, 4))

        def off_by(answer: httpx2.Response) -> float:
            vectors = [entry["embedding"] for entry in answer.json()["data"]]
            return max(_apart(vector, self.vectors[i]) for vector, i in zip(vectors, chosen, strict=True))

        return Question("embeddings", "/v1/embeddings", _embedding([self.texts[i] for i in chosen]), off_by)


def excerpts(count: int, seed: int) -> list[str]:
    """Distinct texts of 3 to 200 words of the sample collection, more short than long ones."""
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
    return {"model": "minilm-clrcmd", "input": texts, "truncate": "END"}


def _apart(found: Sequence[float], right: Sequence[float]) -> float:
    if len(found) != len(right):
        return math.inf
    return max((abs(a - b) for a, b in zip(found, right, strict=True)), default=0.0)
