"""POST /prune: the sentences of documents that carry the score of a query."""

from __future__ import annotations

from fastapi import APIRouter, Response
from semblance_client.vocabulary.prune import Pruned, PruneRequest

from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.usecases.pruning.prune import Prune

router = APIRouter(tags=["compare"], route_class=JsonRoute)


@router.post("/prune", summary="Keep the sentences that matter", response_model=Pruned)
async def prune_documents(body: PruneRequest, prune: Use[Prune]) -> Response:
    """Keep the sentences of documents that carry the score of a query, and list what is dropped."""
    pruned = await prune.prune(body)
    size = sum(len(each.kept) + len(each.dropped) for each in pruned.documents)
    answer = await json_answer("pruned sentences", size, pruned.model_dump_json)
    return with_truncated(answer, int(pruned.truncated), pruned.usage.passages)
