"""Scorers of an evaluation: the protocol, and a model in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from semblance.models.alignment.quantized_tokens import dequantize, quantize
from semblance.models.catalogue import explainable, explains, required_vectors, similarity
from semblance.models.embeddings import Doubles, Floats, TokenEmbeddings, Want, unit_rows
from semblance.models.errors import BadTexts, NotExplainable
from semblance.models.explanation import Explanation, LinkList
from semblance.models.judgments.pair_scorer import PairScorer
from semblance.models.protocols import Explainable, Track
from semblance.models.text import Granularity, TokenizedText
from semblance_lab.evaluation.tasks import Retrieval

ALL_LINKS = 10**9
CANDIDATES = 100  # nearest documents by cosine that another measure reranks, as by default in a search of the service


class Scorer(Protocol):
    """Compares texts by measures, given by name.

    Raises, from every method:
        BadTexts, UnknownName: invalid texts, or an unknown measure.
    """

    track: Track

    def about(self) -> Mapping[str, str]:
        """Description of the scorer for reports: model, space and so on."""

    def scores(self, measures: Sequence[str], left: Sequence[str], right: Sequence[str]) -> dict[str, Doubles]:
        """Measure -> (n,) scores of left text i with right text i."""

    def links(
        self, measures: Sequence[str], left: Sequence[str], right: Sequence[str], granularity: Granularity
    ) -> Iterator[dict[str, LinkList]]:
        """Explanations of each pair: by measure, between tokens or words, with all links.

        Measures that cannot explain their score, at all or with this model's pooling, are left out.
        """

    def search(self, measures: Sequence[str], task: Retrieval, k: int) -> dict[str, dict[str, list[str]]]:
        """Measure -> query -> the k best documents: the nearest by cosine, reranked by the measure."""


class LocalScorer(PairScorer):
    """Score with a model in this process, encoding each distinct text of a call once."""

    def about(self) -> Mapping[str, str]:
        """Name and digests of the model."""
        return {"model": self._encoder.name, "space": self._encoder.space, "build": self._encoder.build}

    def links(
        self, measures: Sequence[str], left: Sequence[str], right: Sequence[str], granularity: Granularity
    ) -> Iterator[dict[str, LinkList]]:
        """See `Scorer`."""
        explainers = {name: explainable(name) for name in measures if explains(name)}
        for pairs in self.embedded_pairs(left, right, "tokens"):
            for a, b in self.track(pairs, "explaining"):
                explanations = {name: _explanation(explainer, a, b) for name, explainer in explainers.items()}
                yield {
                    name: (explanation.by_word() if granularity == "word" else explanation).link_list(ALL_LINKS)
                    for name, explanation in explanations.items()
                    if explanation is not None
                }

    def search(self, measures: Sequence[str], task: Retrieval, k: int) -> dict[str, dict[str, list[str]]]:
        """See `Scorer`; documents without tokens are left out, as a service rejects them."""
        want = required_vectors(*map(similarity, measures))
        queries = self.embed(list(task.queries.values()), want)
        corpus = self._encode(self._tokenize_documents(list(task.corpus.values())), want)
        by_text = {text: _document(embeddings, want) for text, embeddings in corpus}
        ids = [doc_id for doc_id, text in task.corpus.items() if text in by_text]
        documents = [by_text[task.corpus[doc_id]] for doc_id in ids]
        vectors = np.stack([unit_rows(document.vector) for document in documents])
        rankings: dict[str, dict[str, list[str]]] = {name: {} for name in measures}
        for query_id in self.track(list(task.queries), "ranking"):
            query = queries[task.queries[query_id]]
            nearest = np.argsort(-(vectors @ unit_rows(query.pooled())), kind="stable")[: max(k, CANDIDATES)]
            candidates = [documents[i].embeddings() for i in nearest]
            for name in measures:
                scored = zip(similarity(name).score_many(query, candidates), (ids[i] for i in nearest), strict=True)
                # equal scores are ordered by id, as by default in a search of the service
                rankings[name][query_id] = [
                    doc_id for _, doc_id in sorted(scored, key=lambda each: (-each[0], each[1]))[:k]
                ]
        return rankings

    def _tokenize_documents(self, documents: Sequence[str]) -> list[TokenizedText]:
        """Tokenize each distinct document that has tokens. Raises BadTexts: no document has any."""
        distinct = list(dict.fromkeys(documents))
        try:
            return self._tokenize(distinct, "document")
        except BadTexts as error:
            empty = {problem.index for problem in error.problems}
            if len(empty) == len(distinct):
                raise
            return self._tokenize_documents([text for i, text in enumerate(distinct) if i not in empty])


def _explanation(explainer: Explainable, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation | None:
    try:
        return explainer.explain(a, b)
    except NotExplainable:  # not with this pooling
        return None


@dataclass(frozen=True, slots=True, eq=False)
class _Document:
    """A document as a collection stores it: its (d,) vector, and its tokens quantized to int8."""

    vector: Floats
    text: TokenizedText | None
    codes: bytes | None

    def embeddings(self) -> TokenEmbeddings:
        if self.codes is None:
            return TokenEmbeddings(
                np.zeros((0, len(self.vector)), np.float32), np.zeros(0, np.float32), self.text, self.vector
            )
        return replace(dequantize(self.codes), text=self.text, pooled_vector=self.vector)


def _document(embeddings: TokenEmbeddings, want: Want) -> _Document:
    codes = quantize(embeddings)[0] if want == "tokens" else None
    return _Document(embeddings.pooled(), embeddings.text, codes)
