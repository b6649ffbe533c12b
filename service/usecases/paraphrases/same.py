"""Verdicts on texts: the same, different or unsure, with reasons."""

from __future__ import annotations

from semblance_client.vocabulary.responses import Usage
from semblance_client.vocabulary.same import SameRequest, Verdict, Verdicts

from semblance.service.ports.embedding import ServedModels
from semblance.service.ports.paraphrases import Classifiers
from semblance.service.replication.access import CollectionAccess
from semblance.service.threads import until_left
from semblance.service.turns import in_thread
from semblance.service.usecases.documents.index import document_response
from semblance.service.usecases.paraphrases.nearest import JudgeNearest, classifier_of
from semblance.service.usecases.paraphrases.verdicts import READ, verdicts
from semblance.service.usecases.request_fields import (
    RequestLimits,
    requested_filter,
    requested_version,
    require_at_most,
)
from semblance.service.usecases.text_embedder import InputText, TextEmbedder

BLOCK = 64  # pairs that are classified at once


class Same:
    """Says of pairs, or of a text and the documents of a collection, whether they say the same."""

    def __init__(
        self,
        models: ServedModels,
        texts: TextEmbedder,
        classifiers: Classifiers,
        access: CollectionAccess,
        nearest: JudgeNearest,
        limits: RequestLimits,
    ) -> None:
        self._models = models
        self._texts = texts
        self._classifiers = classifiers
        self._access = access
        self._nearest = nearest
        self._limits = limits

    async def same(self, request: SameRequest) -> Verdicts:
        """Judge what a request has.

        Raises:
            UnknownModel, UnknownCollection, SpaceMismatch, VersionMismatch, VersionNotReached, InvalidRequest,
            TooManyTokens: see the errors of models and service.
        """
        return await (self._pairs(request) if request.text is None else self._documents(request.text, request))

    async def _pairs(self, request: SameRequest) -> Verdicts:
        pairs = request.pairs or []
        require_at_most("/pairs", len(pairs), self._limits.max_texts, "pairs")
        encoder = await self._models.get(request.model)
        served = classifier_of(self._classifiers, encoder, "/model")
        inputs = [InputText(pair.a, f"/pairs/{i}/a") for i, pair in enumerate(pairs)]
        inputs += [InputText(pair.b, f"/pairs/{i}/b") for i, pair in enumerate(pairs)]
        texts = await self._texts.embed(encoder, inputs, "query", "tokens", READ)
        sides = list(zip(texts.embeddings[: len(pairs)], texts.embeddings[len(pairs) :], strict=True))

        def judge() -> list[Verdict]:
            blocks = until_left(sides[start : start + BLOCK] for start in range(0, len(sides), BLOCK))
            return [each for block in blocks for each in verdicts(served, block)]

        return Verdicts(
            verdicts=await in_thread(judge),
            bound=served.bound,
            model=encoder.name,
            space=encoder.space,
            warnings=list(texts.warnings),
            usage=Usage(tokens=texts.tokens, passages=texts.passages),
        )

    async def _documents(self, text: str, request: SameRequest) -> Verdicts:
        name = await self._access.resolve(request.collection)
        version, asked = requested_version(request.min_version), requested_filter(request.filter)
        found = await self._nearest.judge(name, text, request.k, version, asked)
        return Verdicts(
            verdicts=[
                each.verdict.model_copy(update={"document": document_response(each.document)})
                for each in found.documents
            ],
            bound=found.served.bound,
            model=found.encoder.name,
            space=found.encoder.space,
            warnings=list(found.warnings),
            usage=found.usage,
        )
