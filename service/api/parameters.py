"""Parameters of paths, as the OpenAPI document shows them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request
from pydantic import Field
from semblance_client.vocabulary.fields import ID_PATTERN, NAME_PATTERN, documented

from semblance.service.api.edge.keys import scope_of
from semblance.service.services import Services
from semblance.service.usecases.collections import Collections

NewName = Annotated[
    str,
    Field(pattern=NAME_PATTERN, description="Lower-case letters, digits, '.', '_' and '-'."),
    Path(examples=["mine"]),
]

# names of existing things: a malformed name is as unknown as any other
NameInPath = Annotated[
    str, documented(pattern=NAME_PATTERN, examples=["default"]), Path(description="Name of a collection, or an alias.")
]


async def collection_of(name: NameInPath, request: Request) -> str:
    """The collection that a request asks for by its name or an alias; writes ask the primary."""
    services: Services = request.app.state.services
    writes = scope_of(request.method, request.scope["path"]) != "read"
    return await services[Collections].resolve(name, latest=writes)


CollectionInPath = Annotated[str, Depends(collection_of)]
ModelInPath = Annotated[
    str, documented(pattern="^.+$", examples=["minilm-graded"]), Path(description="A name that GET /v1/models lists.")
]
DeploymentInPath = Annotated[
    str,
    documented(known_enum="models", pattern="^[^/]+$", examples=["minilm-graded"]),
    Path(description="The model."),
]
DocumentInPath = Annotated[
    str,
    documented(minLength=1, maxLength=256, pattern=ID_PATTERN, examples=["shipping-001"]),
    Path(description="Its id."),
]
