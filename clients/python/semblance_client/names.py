"""The names of the package."""

from semblance_client.async_client import AsyncClient
from semblance_client.calls.texts import Spans
from semblance_client.calls.upload import LineProblem, RejectedDocuments, StoredBatch, Uploaded
from semblance_client.client import Client
from semblance_client.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    NotFound,
    Overloaded,
    Problem,
    SemblanceError,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    Unreachable,
)
from semblance_client.semantic_cache import SemanticCache
from semblance_client.steps import Call, ListCall, Request, Retries
from semblance_client.vocabulary.aliases import Alias
from semblance_client.vocabulary.caches import CacheEntry, CacheStored, Lookup, Refusal
from semblance_client.vocabulary.collections import Collection
from semblance_client.vocabulary.difference import ComparedDocument, DifferencePart, Partner, ScoreDifference, Share
from semblance_client.vocabulary.documents import (
    Changed,
    Deleted,
    Document,
    DocumentPage,
    ReadDocument,
    Stored,
    StoredDocument,
)
from semblance_client.vocabulary.duplicates import Duplicate, DuplicateGroup, FoundDuplicates
from semblance_client.vocabulary.explanation import Explanation, Link, PairExplanation, Side, Token
from semblance_client.vocabulary.models import CalibratedMeasure, Measure, Model
from semblance_client.vocabulary.other_apis import Embedding, Embeddings, RankedDocument, Ranking, Span
from semblance_client.vocabulary.prune import DroppedSentence, KeptSentence, Pruned, PrunedDocument
from semblance_client.vocabulary.responses import Calibration
from semblance_client.vocabulary.same import FalseHitBound, Place, Reason, Verdict, Verdicts
from semblance_client.vocabulary.search import Hit, Hits, SearchResults
from semblance_client.vocabulary.similarity import Similarities, SimilarityMatrix

__all__ = [
    "Alias",
    "AsyncClient",
    "BadRequest",
    "CacheEntry",
    "CacheStored",
    "CalibratedMeasure",
    "Calibration",
    "Call",
    "Changed",
    "Client",
    "Collection",
    "ComparedDocument",
    "Conflict",
    "Deleted",
    "DifferencePart",
    "Document",
    "DocumentPage",
    "DroppedSentence",
    "Duplicate",
    "DuplicateGroup",
    "Embedding",
    "Embeddings",
    "Explanation",
    "FalseHitBound",
    "Forbidden",
    "FoundDuplicates",
    "Hit",
    "Hits",
    "KeptSentence",
    "LineProblem",
    "Link",
    "ListCall",
    "Lookup",
    "Measure",
    "Model",
    "NotFound",
    "Overloaded",
    "PairExplanation",
    "Partner",
    "Place",
    "Problem",
    "Pruned",
    "PrunedDocument",
    "RankedDocument",
    "Ranking",
    "ReadDocument",
    "Reason",
    "Refusal",
    "RejectedDocuments",
    "Request",
    "Retries",
    "ScoreDifference",
    "SearchResults",
    "SemanticCache",
    "SemblanceError",
    "Share",
    "Side",
    "Similarities",
    "SimilarityMatrix",
    "Span",
    "Spans",
    "Stored",
    "StoredBatch",
    "StoredDocument",
    "Token",
    "Unauthorized",
    "Unavailable",
    "UnexpectedAnswer",
    "Unreachable",
    "Uploaded",
    "Verdict",
    "Verdicts",
]
