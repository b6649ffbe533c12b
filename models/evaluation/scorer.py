"""What gives scores to an evaluation: a model in this process, or whatever else can compare texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from models.catalogue import similarity
from models.embeddings import Doubles, Floats, TokenEmbeddings, Want, unit_rows
from models.errors import NotExplainable
from models.evaluation.tasks import Retrieval
from models.explanation import LinkList
from models.protocols import Encoder, Explainable
from models.text import Granularity, Role, TokenizedText
from models.token_codes import decode_tokens, encode_tokens

T = TypeVar("T")

BATCH_TOKENS = 2048  # padded tokens in one pass: more is no faster on a CPU
ALL_LINKS = 10**9
CANDIDATES = 100  # documents nearest by cosine that another measure puts in order, as a search of the service does


class Track(Protocol):
    """Shows how far a loop is: gives back the items, one after the other."""

    def __call__(self, items: Sequence[T], what: str) -> Iterable[T]:
        """`items`, while something like a bar says how many of them are done of `what`."""


class Scorer(Protocol):
    """Compares texts by measures that go by name.

    Raises, from every method:
        BadTexts, NotExplainable, UnknownName: the texts or the measure will not do.
    """

    track: Track

    def about(self) -> Mapping[str, str]:
        """What it is, for the record: model, space and so on."""

    def scores(self, measures: Sequence[str], left: Sequence[str], right: Sequence[str]) -> dict[str, Doubles]:
        """Measure -> (n,) scores of left text i with right text i."""

    def links(
        self, measures: Sequence[str], left: Sequence[str], right: Sequence[str], granularity: Granularity
    ) -> Iterator[dict[str, LinkList]]:
        """Why each pair scores as it does: for pair i, by measure, between tokens or words, with all links."""

    def rankings(self, measures: Sequence[str], task: Retrieval, k: int) -> dict[str, dict[str, list[str]]]:
        """Measure -> query -> the k best documents: the nearest by cosine, put in order by the measure."""


class LocalScorer:
    """A model in this process. Texts are encoded once a call, those of like length together."""

    def __init__(self, encoder: Encoder, track: Track) -> None:
        self._encoder = encoder
        self.track = track

    def about(self) -> Mapping[str, str]:
        """Name and digests of the model."""
        return {"model": self._encoder.name, "space": self._encoder.space, "build": self._encoder.build}

    def embed(self, texts: Sequence[str], want: Want, role: Role = "query") -> dict[str, TokenEmbeddings]:
        """Text -> embeddings, of each distinct text."""
        distinct = list(dict.fromkeys(texts))
        made: dict[str, TokenEmbeddings] = {}
        for batch in self._batches(distinct, role):
            made |= dict(zip(batch, self._encode(batch, want, role), strict=True))
        return made

    def scores(self, measures: Sequence[str], left: Sequence[str], right: Sequence[str]) -> dict[str, Doubles]:
        """As the protocol says; both sides in the role of a query, as POST /similarity has it."""
        known = self.embed([*left, *right], _want(measures))
        pairs = [(known[a], known[b]) for a, b in zip(left, right, strict=True)]
        return {name: self._score(name, pairs) for name in measures}

    def links(
        self, measures: Sequence[str], left: Sequence[str], right: Sequence[str], granularity: Granularity
    ) -> Iterator[dict[str, LinkList]]:
        """As the protocol says."""
        explainers = {name: _explainer(name) for name in measures}
        known = self.embed([*left, *right], "tokens")
        for a, b in self.track(list(zip(left, right, strict=True)), "explaining"):
            whys = {name: explainer.explain(known[a], known[b]) for name, explainer in explainers.items()}
            yield {
                name: (why.by_word() if granularity == "word" else why).link_list(ALL_LINKS)
                for name, why in whys.items()
            }

    def rankings(self, measures: Sequence[str], task: Retrieval, k: int) -> dict[str, dict[str, list[str]]]:
        """As the protocol says; documents without any token are left out."""
        ids = [doc_id for doc_id, text in task.corpus.items() if text.strip()]
        want = _want(measures)
        queries = self.embed(list(task.queries.values()), want, "query")
        documents = self._corpus([task.corpus[doc_id] for doc_id in ids], want)
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

    def _corpus(self, texts: Sequence[str], want: Want) -> list[_Document]:
        """What is kept of each document."""
        made: dict[str, _Document] = {}
        for batch in self._batches(list(dict.fromkeys(texts)), "document"):
            made |= {
                text: _kept(each, want) for text, each in zip(batch, self._encode(batch, want, "document"), strict=True)
            }
        return [made[text] for text in texts]

    def _encode(self, texts: Sequence[str], want: Want, role: Role) -> list[TokenEmbeddings]:
        return self._encoder.encode(self._encoder.tokenize(texts, role, "END"), want)

    def _batches(self, texts: Sequence[str], role: Role) -> Iterable[list[str]]:
        """All texts, those of like length together, the longest first: what does not fit fails at once."""
        lengths = {text.text: len(text) for text in self._encoder.tokenize(texts, role, "END")} if texts else {}
        batches: list[list[str]] = []
        room = 0
        for text in sorted(texts, key=lambda each: -lengths[each]):
            if room < lengths[text] or not batches:
                batches.append([])
                room = max(BATCH_TOKENS, lengths[text])
            batches[-1].append(text)
            room -= lengths[batches[-1][0]]
        return self.track(batches, "encoding")


def _explainer(name: str) -> Explainable:
    found = similarity(name)
    if not isinstance(found, Explainable):
        raise NotExplainable(f"{name} does not decompose into token links")
    return found


def _want(measures: Sequence[str]) -> Want:
    return "pooled" if all(similarity(name).needs == "pooled" for name in measures) else "tokens"


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
