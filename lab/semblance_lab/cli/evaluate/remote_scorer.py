"""A running service as scorer of an evaluation."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import get_args

import numpy as np
from semblance_client import Client, Explanation, StoredBatch
from semblance_client import SemblanceError as ServiceError
from semblance_client.vocabulary.collections import TokenStorage
from semblance_client.vocabulary.search import Mode

from semblance.models.catalogue import explains, similarity
from semblance.models.embeddings import Doubles
from semblance.models.errors import UnknownName
from semblance.models.explanation import Link, LinkList
from semblance.models.protocols import Track
from semblance.models.text import Granularity, Unit
from semblance_lab.evaluation.scorer import ALL_LINKS
from semblance_lab.evaluation.tasks import Retrieval

MODES: tuple[Mode, ...] = get_args(Mode)  # of a search
PAIRS_PER_REQUEST = 128
QUERIES_PER_REQUEST = 16


def split_mode(name: str) -> tuple[Mode | None, str]:
    """Mode of search, if any, and measure of a name such as `hybrid:rcmd1`.

    Raises:
        UnknownName: there is no such mode or measure.
    """
    prefix, colon, measure = name.rpartition(":")
    mode: Mode | None = next((each for each in MODES if each == prefix), None)
    if colon and mode is None:
        raise UnknownName("modes", prefix, MODES)
    similarity(measure)
    return mode, measure


class RemoteScorer:
    """Scores, explanations and searches of a running service, by `model` or its default.

    For retrieval, the corpus is stored in a temporary collection, and a measure may have a mode, as in `hybrid:rcmd1`;
    without one, documents are found by vector.
    """

    def __init__(self, client: Client, model: str | None, track: Track) -> None:
        self._client = client
        self._model = model
        self.track = track

    def about(self) -> Mapping[str, str]:
        """Name and digests of the model. Raises ServiceError: the service has no model of that name."""
        served = self._client.models()
        matches = (each for each in served if (each.default if self._model is None else each.name == self._model))
        if (model := next(matches, None)) is None:
            raise ServiceError(
                f"no model {self._model!r} is served; choose from {', '.join(each.name for each in served)}"
            )
        return {"model": model.name, "space": model.space, "build": model.build or ""}

    def scores(self, measures: Sequence[str], left: Sequence[str], right: Sequence[str]) -> dict[str, Doubles]:
        """By POST /similarity."""
        return {name: np.array(list(self._scores(name, left, right)), np.float64) for name in measures}

    def links(
        self, measures: Sequence[str], left: Sequence[str], right: Sequence[str], granularity: Granularity
    ) -> Iterator[dict[str, LinkList]]:
        """By POST /explain."""
        explain = partial(self._client.explain, model=self._model, granularity=granularity, max_links=ALL_LINKS)
        explaining = [name for name in measures if explains(name) and self._explains(name)]
        for a, b in self.track(list(zip(left, right, strict=True)), "explaining"):
            yield {name: _link_list(explain(a, b, measure=name)) for name in explaining}

    def search(self, measures: Sequence[str], task: Retrieval, k: int) -> dict[str, dict[str, list[str]]]:
        """By POST /search, in a temporary collection."""
        name = f"evaluation-{secrets.token_hex(4)}"
        try:
            self._client.create_collection(name, model=self._model, tokens=_tokens(measures))
            lines = [json.dumps({"id": doc_id, "text": text}).encode() for doc_id, text in task.corpus.items()]
            documents = self.track(lines, "indexing")
            self._client.upload(documents, name, progress=_require_stored, rejected="report")
            found = {measure: dict(self._hits(name, measure, task.queries, k)) for measure in measures}
        except BaseException:  # a signal may come between the creation and its response
            with suppress(ServiceError):  # of two errors, the first is shown
                self._client.delete_collection(name)
            raise
        self._client.delete_collection(name)
        return found

    def _explains(self, measure: str) -> bool:
        """Whether the measure can explain its scores with the pooling of this model."""
        try:
            self._client.explain("a", "a", measure=measure, model=self._model)
        except ServiceError as error:
            return error.code != "not_explainable"
        return True

    def _scores(self, measure: str, left: Sequence[str], right: Sequence[str]) -> Iterator[float]:
        pairs = list(zip(left, right, strict=True))
        parts = [pairs[start : start + PAIRS_PER_REQUEST] for start in range(0, len(pairs), PAIRS_PER_REQUEST)]
        for part in self.track(parts, measure):
            yield from self._client.similarity(part, measure=measure, model=self._model).scores

    def _hits(self, collection: str, name: str, queries: Mapping[str, str], k: int) -> Iterator[tuple[str, list[str]]]:
        mode, measure = split_mode(name)
        ids = list(queries)
        parts = [ids[start : start + QUERIES_PER_REQUEST] for start in range(0, len(ids), QUERIES_PER_REQUEST)]
        search = partial(self._client.search, collection=collection, measure=measure, mode=mode or "vector", k=k)
        for part in self.track(parts, name):
            answer = search([queries[each] for each in part])
            for query_id, result in zip(part, answer.results, strict=True):
                yield query_id, [hit.id for hit in result.hits]


def _require_stored(batch: StoredBatch) -> None:
    """Reject a corpus with a rejected document, unless it is empty.

    Local evaluations skip empty documents too; any other missing one would lower the figures unnoticed.
    """
    if refused := [each for each in batch.refused if each.code != "empty_text"]:
        raise ServiceError(f"document {refused[0].line} of the corpus was refused: {refused[0].detail}")


def _tokens(measures: Sequence[str]) -> TokenStorage:
    """Token codes where a measure needs tokens, or each candidate would be encoded again."""
    names = (split_mode(each)[1] for each in measures)
    return "none" if all(similarity(name).needs == "pooled" for name in names) else "int8"


def _link_list(why: Explanation) -> LinkList:
    links = tuple(Link(link.a, link.b, link.similarity, link.contribution) for link in why.links)
    left, right = (
        tuple(Unit(token.text, token.start, token.end, i) for i, token in enumerate(side.tokens))
        for side in (why.a, why.b)
    )
    return LinkList(why.score, left, right, links, why.special, why.omitted)
