"""Order the documents of a request by their relevance to a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from semblance_client.vocabulary.explanation import Explanation
from semblance_client.vocabulary.prune import Keep, KeptTotals
from semblance_client.vocabulary.responses import RequestWarning
from semblance_client.vocabulary.search import HitSentences

from semblance.models.alignment.ragged import split_by_size
from semblance.models.alignment.relevant_spans import RelevantSpans, SpanOptions, relevant_spans
from semblance.models.alignment.unit_interval import to_unit_interval
from semblance.models.catalogue import explainable, required_vectors, similarity
from semblance.models.embeddings import Doubles, TokenEmbeddings, Want
from semblance.models.protocols import Encoder, Explainable, Reranker, Similarity
from semblance.models.text import Truncate
from semblance.models.tokenization.passages import Cut, Span, auto_cut, cut_passages, overhead
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.ports.calibration import Calibrations, FittedCalibration, find_calibration
from semblance.service.ports.embedding import ModelChoice, ModelChoices, ServedRerankers
from semblance.service.turns import Offload, in_thread
from semblance.service.usecases.compare import CHUNK_PRODUCTS, comparison_cost
from semblance.service.usecases.explain.word_links import read_texts, strongest_links
from semblance.service.usecases.pruning.hits import keep_of_texts
from semblance.service.usecases.stages import ScoredTexts, Stage, pair_score, pairs_with
from semblance.service.usecases.text_embedder import (
    AT_END,
    EMPTY,
    InputText,
    TextEmbedder,
    TextEmbeddings,
    Truncation,
)

DEFAULT_MEASURE = "rcmd1_words"  # its links are words, and additional words of a document do not lower its score
MAX_PASSAGES = 1000  # of the documents of a request; those that come after are truncated


@dataclass(frozen=True, slots=True)
class RerankParams:
    """A query, its documents, and options.

    Attributes:
        model: name of a served model or reranker, an alias, or `model@measure`; None for the default.
        rerank_model: name of a reranker, which orders the documents; None for that of `model`, or none.
        measure: None for that of the model's name, or the default.
        top: most results; None for all documents.
        spans: which relevant spans of the results to return; None for none.
        keep: which sentences of the results to keep; None for no choice.
        explain: whether to return the links of the results.
        min_probability: least probability of a result by the calibration of the measure.
        max_tokens: most tokens that are read of a document, from its beginning; None for no limit.
        max_passages: most passages of a long document; None for no limit.
    """

    query: InputText
    documents: Sequence[InputText]
    model: str | None
    rerank_model: str | None = None
    measure: str | None = None
    top: int | None = None
    truncate: Truncate = "END"
    spans: SpanOptions | None = None
    keep: Keep | None = None
    explain: bool = False
    min_probability: float | None = None
    max_tokens: int | None = None
    max_passages: int | None = None

    def truncation_of(self, encoder: Encoder) -> Truncation:
        """The truncation of documents, which are cut if they may have less than the encoder reads."""
        if self.max_tokens is None or self.max_tokens >= encoder.max_tokens:
            return Truncation(self.truncate)
        return Truncation("END", self.max_tokens)

    def passages_of(self, encoder: Encoder) -> int:
        """Maximum number of passages of a document, each of the encoder's maximum length."""
        by_tokens = MAX_PASSAGES if self.max_tokens is None else max(1, self.max_tokens // encoder.max_tokens)
        return min(by_tokens, self.max_passages or MAX_PASSAGES)


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document by its position in the request, its score, and what explains it.

    Attributes:
        relevance: the score of the reranker mapped to [0, 1]; without one, the probability by the calibration of the
            measure, or its score mapped to [0, 1] by its bounds; 0 of a document without text.
        score: by the measure; None of a document without text.
        probability: by the calibration of the measure; None without one.
        rerank_score: by the reranker, if there is one.
    """

    index: int
    relevance: float
    score: float | None
    probability: float | None = None
    rerank_score: float | None = None
    spans: RelevantSpans | None = None
    sentences: HitSentences | None = None
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True)
class Reranking:
    """Results, best first; equal scores keep the order of the request.

    Attributes:
        reranker: the model that orders them, if not the measure does.
        truncated: positions of documents that were truncated.
        kept: the totals of the sentences that are kept of all results; None without `keep`.
        limited: whether the request limits what is read of a document.
    """

    encoder: Encoder
    reranker: Reranker | None
    measure: Similarity
    results: Sequence[RankedDocument]
    kept: KeptTotals | None
    truncated: Sequence[int]
    limited: bool
    tokens: int
    warnings: Sequence[RequestWarning]
    calibration: FittedCalibration | None


class Rerank:
    """Scores documents against a query, as a search rescores its candidates."""

    def __init__(
        self, models: ModelChoices, rerankers: ServedRerankers, texts: TextEmbedder, calibrations: Calibrations
    ) -> None:
        self._models = models
        self._rerankers = rerankers
        self._texts = texts
        self._calibrations = calibrations
        self._offload = Offload()

    async def rank(self, params: RerankParams) -> Reranking:
        """Order the documents. Those without a visible character, which clients send, come last.

        Raises:
            UnknownModel, UnknownMeasure, NotExplainable, InvalidRequest: see the errors of models and service.
        """
        choice, reranker = await self._models_of(params)
        measure = similarity(params.measure or choice.measure or DEFAULT_MEASURE)
        explainer = explainable(measure.name) if params.explain or params.spans else None
        want: Want = "tokens" if explainer or params.keep else required_vectors(measure)
        encoder = await self._models.get(choice.model)
        calibration = find_calibration(self._calibrations, encoder, measure.name, params.min_probability)
        query = await self._texts.embed(encoder, [params.query], "query", want, Truncation(params.truncate))
        places, documents, warnings = await self._embed_documents(encoder, params, want)
        scored = await self._scored_texts(encoder, params, places, documents, want)
        of_texts = await self._score(measure, query.embeddings[0], scored.embeddings)
        first = Stage.of(
            len(params.documents), scored, of_texts, partial(_relevance, measure.bounds, calibration), documents.tokens
        )
        last = await self._second_stage(reranker, params, places) if reranker else first
        passing = first.relevance >= (params.min_probability or 0)
        order = np.argsort(-last.scores, kind="stable")
        with_text = set(places)
        results = [
            RankedDocument(
                index=i,
                relevance=float(last.relevance[i]),
                score=float(first.scores[i]) if i in with_text else None,
                probability=float(first.relevance[i]) if calibration and i in with_text else None,
                rerank_score=float(last.scores[i]) if reranker and i in with_text else None,
            )
            for i in order[passing[order]][: params.top].tolist()
        ]
        if explainer:
            best_texts = scored.best(of_texts)
            explain = partial(_explain, explainer, measure.name, query.embeddings[0], best_texts, results, params)
            results = await self._offload.run(f"{measure.name} reranked", len(results), explain)
        texts = [scored.whole(result.index) if params.keep else None for result in results]
        sentences, kept = await keep_of_texts(query.embeddings[0], texts, params.keep)
        results = [replace(result, sentences=own) for result, own in zip(results, sentences, strict=True)]
        return Reranking(
            encoder=encoder,
            reranker=reranker,
            measure=measure,
            results=results,
            kept=kept,
            truncated=last.truncated,
            limited=params.max_tokens is not None or params.max_passages is not None,
            tokens=query.tokens + first.tokens + (last.tokens if reranker else 0),
            warnings=[*query.warnings, *warnings, *documents.warnings],
            calibration=calibration,
        )

    async def _models_of(self, params: RerankParams) -> tuple[ModelChoice, Reranker | None]:
        """The encoder and the measure of the first stage, and the reranker if one is named."""
        choice, named = self._models.resolve(params.model), params.rerank_model
        if choice.model in self._rerankers.names and named is None:
            choice, named = ModelChoice(None, choice.measure), choice.model
        if named is None:
            return choice, None
        if params.truncate == "START":
            detail = "a rerank model reads texts from their beginning: truncate at the end"
            raise InvalidRequest([Problem("/truncation_direction", "invalid_value", detail)])
        return choice, await self._rerankers.get(named)

    async def _second_stage(self, reranker: Reranker, params: RerankParams, places: Sequence[int]) -> Stage:
        """Scores by a reranker, which reads long documents in passages of its own."""
        pairs = await pairs_with(params.query, reranker, self._texts)
        if params.max_tokens is not None:  # of the document alone
            query_tokens = overhead(partial(pairs.tokenize, role="document", truncate="END"))
            params = replace(params, max_tokens=params.max_tokens + query_tokens)
        texts = [params.documents[place] for place in places]
        documents = await self._texts.embed(pairs, texts, "document", "pooled", params.truncation_of(pairs))
        scored = await self._scored_texts(pairs, params, places, documents, "pooled")
        scores = np.array([pair_score(each) for each in scored.embeddings])
        return Stage.of(
            len(params.documents), scored, scores, partial(to_unit_interval, bounds=reranker.bounds), documents.tokens
        )

    async def _embed_documents(
        self, encoder: Encoder, params: RerankParams, want: Want
    ) -> tuple[list[int], TextEmbeddings, list[RequestWarning]]:
        """Positions and embeddings of the documents with text, and warnings of the others."""
        places = list(range(len(params.documents)))
        warnings: list[RequestWarning] = []
        while True:
            texts = [params.documents[place] for place in places]
            try:
                return (
                    places,
                    await self._texts.embed(encoder, texts, "document", want, params.truncation_of(encoder)),
                    warnings,
                )
            except InvalidRequest as error:
                if any(problem.code != EMPTY for problem in error.problems):
                    raise
                empty = {problem.pointer: problem.detail for problem in error.problems}
                warnings += [
                    RequestWarning(pointer=pointer, code=EMPTY, detail=f"{detail}, and is ranked last")
                    for pointer, detail in empty.items()
                ]
                places = [place for place in places if params.documents[place].pointer not in empty]

    async def _scored_texts(
        self, encoder: Encoder, params: RerankParams, places: Sequence[int], documents: TextEmbeddings, want: Want
    ) -> ScoredTexts:
        """Documents, or their passages if they were truncated at their end; `MAX_PASSAGES` at most."""
        all_truncated = [place for place, cut in zip(places, documents.truncated, strict=True) if cut]
        cut = auto_cut(encoder) if params.truncation_of(encoder) == AT_END else None
        if cut is None or not all_truncated:
            return ScoredTexts(places, documents.embeddings, all_truncated, 0)
        most = params.passages_of(encoder)
        spans = await self._spans(encoder, [params.documents[place] for place in all_truncated], cut, most)
        long = {place: own[:most] for place, own in zip(all_truncated, spans, strict=False)}
        read_whole = {place for place, own in zip(all_truncated, spans, strict=False) if len(own) <= most}
        parts = [(place, span) for place, own in long.items() for span in own]
        texts = [InputText(params.documents[at].text[slice(*span)], params.documents[at].pointer) for at, span in parts]
        read = await self._texts.tokenize(encoder, texts, "document", limited=False)
        known = [text._replace(tokens=own) for text, own in zip(texts, read, strict=True)]
        found = await self._texts.embed(encoder, known, "document", want)
        within = [
            replace(each, text=own.within(params.documents[place].text, start))
            for each, own, (place, (start, _)) in zip(found.embeddings, read, parts, strict=True)
        ]
        whole = [pair for pair in zip(places, documents.embeddings, strict=True) if pair[0] not in long]
        return ScoredTexts(
            places=[*(place for place, _ in whole), *(place for place, _ in parts)],
            embeddings=[*(each for _, each in whole), *within],
            truncated=[place for place in all_truncated if place not in read_whole],
            further_tokens=found.tokens,
        )

    async def _spans(self, encoder: Encoder, documents: Sequence[InputText], cut: Cut, most: int) -> list[list[Span]]:
        """Spans of the passages of the first documents, of which `most` are read of each."""
        tokenize = partial(encoder.tokenize, role="document", truncate="END")

        def spans() -> list[list[Span]]:
            found: list[list[Span]] = []
            for document in documents:
                own = cut_passages(document.text, cut, tokenize)
                if sum(min(len(each), most) for each in [*found, own]) > MAX_PASSAGES:
                    break
                found.append(own)
            return found

        return await in_thread(spans)

    async def _score(
        self, measure: Similarity, query: TokenEmbeddings, documents: Sequence[TokenEmbeddings]
    ) -> Doubles:
        costs = [comparison_cost(query) * comparison_cost(document) for document in documents]
        scored = [
            await self._offload.run(
                measure.name, sum(costs[chunk]), partial(measure.score_many, query, documents[chunk])
            )
            for chunk in split_by_size(costs, CHUNK_PRODUCTS)
        ]
        return np.concatenate([np.zeros(0), *scored])


def _relevance(bounds: tuple[float, float], calibration: FittedCalibration | None, scores: Doubles) -> Doubles:
    """Scores of a measure as probabilities, or mapped to [0, 1] by its bounds."""
    return calibration.probability(scores) if calibration else to_unit_interval(scores, bounds)


def _explain(
    explainer: Explainable,
    measure: str,
    query: TokenEmbeddings,
    documents: dict[int, TokenEmbeddings],
    results: Sequence[RankedDocument],
    params: RerankParams,
) -> list[RankedDocument]:
    explained = []
    for result in results:
        document = documents.get(result.index)
        if document is None:  # it has no text
            explained.append(result)
            continue
        explanation = explainer.explain(query, document).by_word()
        spans = relevant_spans(explanation, params.spans) if params.spans else None
        links = strongest_links(explanation, measure, read_texts(query, document)) if params.explain else None
        explained.append(replace(result, spans=spans, explanation=links))
    return explained
