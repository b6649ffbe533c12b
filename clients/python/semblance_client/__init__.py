"""Client of Semblance: similarity and search that show which words made the score.

`Client` and `AsyncClient` have the same methods; every refusal is a `SemblanceError`.
"""

from semblance_client.answer import Calibration
from semblance_client.answers import (
    CalibratedMeasure,
    Collection,
    Deleted,
    Document,
    DocumentPage,
    Embedding,
    Embeddings,
    Hit,
    Hits,
    Measure,
    Model,
    RankedDocument,
    Ranking,
    ReadDocument,
    SearchResults,
    Similarities,
    SimilarityMatrix,
    Span,
    Stored,
    StoredDocument,
)
from semblance_client.async_client import AsyncClient
from semblance_client.calls import Spans
from semblance_client.client import Client
from semblance_client.duplicates import Duplicate, DuplicateGroup, FoundDuplicates
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
from semblance_client.explanation import Explanation, Link, PairExplanation, Side, Token
from semblance_client.steps import Call, Request, Retries
from semblance_client.upload import LineProblem, StoredBatch, Uploaded

__all__ = [
    "AsyncClient",
    "BadRequest",
    "CalibratedMeasure",
    "Calibration",
    "Call",
    "Changed",
    "Client",
    "Collection",
    "Conflict",
    "Deleted",
    "Document",
    "DocumentPage",
    "Duplicate",
    "DuplicateGroup",
    "Embedding",
    "Embeddings",
    "Explanation",
    "Forbidden",
    "FoundDuplicates",
    "Hit",
    "Hits",
    "LineProblem",
    "Link",
    "Measure",
    "Model",
    "NotFound",
    "Overloaded",
    "PairExplanation",
    "Problem",
    "RankedDocument",
    "Ranking",
    "ReadDocument",
    "Request",
    "Retries",
    "SearchResults",
    "SemblanceError",
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
]
