"""The running service as tools of a language model, by the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field
from semblance_client import AsyncClient, Hit, NotFound, SemblanceError

INSTRUCTIONS = """Compare the meaning of texts, search collections of documents by meaning, and show which words made a
score. Scores are higher for more similar texts. The default measures give 1 for the same text; distances give 0, and
less than 0 for all others. Explain a score before you rely on it."""

MAX_LINKS = 12
READ_ONLY = ToolAnnotations(readOnlyHint=True, openWorldHint=False)

RerankModelName = Annotated[
    str | None, Field(description="Served rerank model that orders the documents; null for none.")
]
MeasureName = Annotated[str | None, Field(description="Measure, such as cosine or rcmd_words; null for the default.")]


class ScoredText(BaseModel):
    """A text and its similarity."""

    text: str
    score: float
    probability: float | None = Field(
        description="That people call the texts the same; null if not calibrated, or if the texts are found different."
    )


class FoundDocument(BaseModel):
    """A document that a search found."""

    id: str
    score: float
    rerank_score: float | None = Field(description="By the rerank model, which orders; null without one.")
    probability: float | None = Field(description="That people call it the same as the query; null if not calibrated.")
    text: str
    metadata: dict[str, Any]
    why: str | None = Field(description="The words that made the score.")


def build_server(client: AsyncClient) -> MCPServer[Any]:
    """A server whose tools ask the service of `client`."""
    server: MCPServer[Any] = MCPServer(
        "semblance", instructions=INSTRUCTIONS, version=version("semblance-server"), log_level="WARNING"
    )

    @server.tool(annotations=READ_ONLY)
    async def similarity(text: str, others: list[str], measure: MeasureName = None) -> list[ScoredText]:
        """Score how similar other texts are to a text, in their order."""
        with _tool_errors():
            answer = await client.similarity([(text, other) for other in others], measure=measure)
        probabilities: Sequence[float | None] = answer.probabilities or [None] * len(others)
        return [
            ScoredText(text=other, score=score, probability=probability)
            for other, score, probability in zip(others, answer.scores, probabilities, strict=True)
        ]

    @server.tool(annotations=READ_ONLY)
    async def search(  # noqa: PLR0913, PLR0917 - one parameter a field of the tool
        query: str,
        collection: str = "default",
        k: Annotated[int, Field(ge=1, description="Number of documents.")] = 5,
        filter: Annotated[  # noqa: A002 - the name of the field in the API
            dict[str, Any] | None, Field(description='Conditions on metadata, such as {"category": "shipping"}.')
        ] = None,
        explain: Annotated[bool, Field(description="Whether to show the words that made each score.")] = False,
        measure: MeasureName = None,
        rerank_model: RerankModelName = None,
    ) -> list[FoundDocument]:
        """Find the documents of a collection that are most similar to a query, best first."""
        with _tool_errors():
            try:
                answer = await client.search(
                    query,
                    collection,
                    k=k,
                    filter=filter,
                    explain=explain,
                    measure=measure,
                    rerank_model=rerank_model,
                )
            except NotFound as error:
                if error.code != "unknown_collection":
                    raise
                raise await _unknown_collection(client, collection) from error
        return [_found(hit) for hit in answer.hits]

    @server.tool(annotations=READ_ONLY)
    async def explain(a: str, b: str, measure: MeasureName = None) -> str:
        """Show which words of two texts made their score, with the part of each pair of words."""
        with _tool_errors():
            return str(await client.explain(a, b, measure=measure, max_links=MAX_LINKS))

    return server


def _found(hit: Hit) -> FoundDocument:
    why = None if hit.explanation is None else str(hit.explanation)
    return FoundDocument(
        id=hit.id,
        score=hit.score,
        rerank_score=hit.rerank_score,
        probability=hit.probability,
        text=hit.text,
        metadata=dict(hit.metadata),
        why=why,
    )


async def _unknown_collection(client: AsyncClient, name: str) -> ToolError:
    """The error for a collection of another name than those that the service shows its caller."""
    names = ", ".join(each.name for each in await client.collections()) or "none"
    return ToolError(f"there is no collection {name!r}; the collections are: {names}")


@contextmanager
def _tool_errors() -> Iterator[None]:
    """Show the model why the service rejected a call, so that it can call again."""
    try:
        yield
    except SemblanceError as error:
        raise ToolError(str(error)) from error
