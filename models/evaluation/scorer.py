"""What gives scores to an evaluation: a model in this process, or whatever else can compare texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from semblance.models.catalogue import explainable, explains, similarity, wanted
from semblance.models.embeddings import Doubles, Floats, TokenEmbeddings, Want, unit_rows
from semblance.models.errors import BadTexts, NotExplainable
from semblance.models.evaluation.tasks import Retrieval
from semblance.models.explanation import Explanation, LinkList
from semblance.models.measures.quantized_tokens import decode_tokens, encode_tokens
from semblance.models.protocols import Encoder, Explainable
from semblance.models.text import Granularity, Role, TokenizedText

T = TypeVar("T")

BATCH_TOKENS = 2048  # padded tokens in one pass: more is no faster on a CPU
PAIRS_AT_ONCE = 2048  # whose tokens are held together: 250 MB for sentences of 384 numbers a token
ALL_LINKS = 10**9
CANDIDATES = 100  # documents nearest by cosine that another measure puts in order, as a search of the service does


class Track(Protocol):
    """Shows how far a loop is: gives back the items, one after the other."""

    def __call__(self, items: Sequence[T], what: str) -> Iterable[T]:
        """`items`, while something like a bar says how many of them are done of `what`."""


class Scorer(Protocol):
    """Compares texts by measures that go by name.

    Raises, from every method:
        BadTexts, UnknownName: the texts or the measure will not do.
    """

    track: Track

    def about(self) -> Mapping[str, str]:
        """What it is, for the record: model, space and so on."""

    def scores(self, measures: Sequence[str], left: Sequence[str], right: Sequence[str]) -> dict[str, Doubles]:
        """Measure -> (n,) scores of left text i with right text i."""

    def links(
        self, measures: Sequence[str], left: Sequence[str], right: Sequence[str], granularity: Granularity
    ) -> Iterator[dict[str, LinkList]]:
        """Why each pair scores as it does: for pair i, by measure, between tokens or words, with all links.

        Without measures that do not explain at all, or not with this model's pooling.
        """

    def search(self, measures: Sequence[str], task: Retrieval, k: int) -> dict[str, dict[str, list[str]]]:
        """Measure -> query -> the k best documents: the nearest by cosine, put in order by the measure."""


class LocalScorer:
    """A model in this process. Texts are encoded once a call, those of like length together."""

    def __init__(self, encoder: Encoder, track: Track) -> None:
        self._encoder = encoder
        self.track = track

    def about(self) -> Mapping[str, str]:
        """Name and digests of the model."""
        return {"model": self._encoder.name, "space": self._encoder.space, "build": self._encoder.build}

    def embed(self, texts: Sequence[str], want: Want) -> dict[str, TokenEmbeddings]:
        """Text -> embeddings in the role of a query, of each distinct text."""
        return dict(self._encoded(self._tokenized(texts, "query"), want))

    def scores(self, measures: Sequence[str], left: Sequence[str], right: Sequence[str]) -> dict[str, Doubles]:
        """As the protocol says; both sides in the role of a query, as POST /similarity has it."""
        want = wanted(*map(similarity, measures))
        found: dict[str, list[Doubles]] = {name: [np.zeros(0)] for name in measures}
        for pairs in self._embedded(left, right, want):
            for name in measures:
                found[name].append(self._score(name, pairs))
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def links(
        self, measures: Sequence[str], left: Sequence[str], right: Sequence[str], granularity: Granularity
    ) -> Iterator[dict[str, LinkList]]:
        """As the protocol says."""
        explainers = {name: explainable(name) for name in measures if explains(name)}
        for pairs in self._embedded(left, right, "tokens"):
            for a, b in self.track(pairs, "explaining"):
                whys = {name: _explained(explainer, a, b) for name, explainer in explainers.items()}
                yield {
                    name: (why.by_word() if granularity == "word" else why).link_list(ALL_LINKS)
                    for name, why in whys.items()
                    if why is not None
                }

    def search(self, measures: Sequence[str], task: Retrieval, k: int) -> dict[str, dict[str, list[str]]]:
        """As the protocol says; documents without any token are left out, as a service refuses them."""
        want = wanted(*map(similarity, measures))
        queries = self.embed(list(task.queries.values()), want)
        corpus = self._encoded(self._with_tokens(list(task.corpus.values())), want)
        kept = {text: _kept(embeddings, want) for text, embeddings in corpus}
        ids = [doc_id for doc_id, text in task.corpus.items() if text in kept]
        documents = [kept[task.corpus[doc_id]] for doc_id in ids]
        vectors = np.stack([unit_rows(document.vector) for document in documents])
        found: dict[str, dict[str, list[str]]] = {name: {} for name in measures}
        for query_id in self.track(list(task.queries), "ranking"):
            query = queries[task.queries[query_id]]
            near = np.argsort(-(vectors @ unit_rows(query.pooled())), kind="stable")[: max(k, CANDIDATES)]
            candidates = [documents[i].embeddings() for i in near]
            for name in measures:
                scored = zip(similarity(name).score_many(query, candidates), (ids[i] for i in near), strict=True)
                # equal scores in the order of ids, as a search of the service has them
                found[name][query_id] = [
                    doc_id for _, doc_id in sorted(scored, key=lambda each: (-each[0], each[1]))[:k]
                ]
        return found

    def _score(self, measure: str, pairs: Sequence[tuple[TokenEmbeddings, TokenEmbeddings]]) -> Doubles:
        scored = similarity(measure)
        return np.array([scored.score(a, b) for a, b in self.track(pairs, measure)], np.float64)

    def _embedded(
        self, left: Sequence[str], right: Sequence[str], want: Want
    ) -> Iterator[list[tuple[TokenEmbeddings, TokenEmbeddings]]]:
        """The pairs, as many at a time as their tokens may take memory; pooled vectors take little."""
        at_once = PAIRS_AT_ONCE if want == "tokens" else max(1, len(left))
        for start in range(0, len(left), at_once):
            some = slice(start, start + at_once)
            known = self.embed([*left[some], *right[some]], want)
            yield [(known[a], known[b]) for a, b in zip(left[some], right[some], strict=True)]

    def _tokenized(self, texts: Sequence[str], role: Role) -> list[TokenizedText]:
        """The tokens of each distinct text."""
        return self._encoder.tokenize(list(dict.fromkeys(texts)), role, "END")

    def _with_tokens(self, documents: Sequence[str]) -> list[TokenizedText]:
        """The tokens of each distinct document that has any. Raises BadTexts: none has."""
        distinct = list(dict.fromkeys(documents))
        try:
            return self._tokenized(distinct, "document")
        except BadTexts as error:
            refused = {problem.index for problem in error.problems}
            if len(refused) == len(distinct):
                raise
            return self._with_tokens([text for i, text in enumerate(distinct) if i not in refused])

    def _encoded(self, tokenized: Sequence[TokenizedText], want: Want) -> Iterator[tuple[str, TokenEmbeddings]]:
        """Each text with its embeddings."""
        for batch in self.track(_batches(tokenized), "encoding"):
            yield from zip([each.text for each in batch], self._encoder.encode(batch, want), strict=True)


def _explained(explainer: Explainable, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation | None:
    try:
        return explainer.explain(a, b)
    except NotExplainable:  # with this pooling
        return None


def _batches(tokenized: Sequence[TokenizedText]) -> list[list[TokenizedText]]:
    """All texts, those of like length together, the longest first: what does not fit fails at once."""
    batches: list[list[TokenizedText]] = []
    room = 0
    for text in sorted(tokenized, key=len, reverse=True):
        if room < len(text) or not batches:
            batches.append([])
            room = max(BATCH_TOKENS, len(text))
        batches[-1].append(text)
        room -= len(batches[-1][0])
    return batches


@dataclass(frozen=True, slots=True, eq=False)
class _Document:
    """A document as a collection keeps it: its (d,) vector, and tokens in eight bits a number."""

    vector: Floats
    text: TokenizedText | None
    codes: bytes | None

    def embeddings(self) -> TokenEmbeddings:
        if self.codes is None:
            return TokenEmbeddings(
                np.zeros((0, len(self.vector)), np.float32), np.zeros(0, np.float32), self.text, self.vector
            )
        return replace(decode_tokens(self.codes), text=self.text, given=self.vector)


def _kept(embeddings: TokenEmbeddings, want: Want) -> _Document:
    codes = encode_tokens(embeddings)[0] if want == "tokens" else None
    return _Document(embeddings.pooled(), embeddings.text, codes)
