"""Routes that receive services and a JSON body, and their responses.

JSON routes go around FastAPI's argument resolution, which costs more than a small request itself:
docs/decisions/0022-shortcuts-around-the-framework.md has the figures.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, cast

from fastapi import Depends, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from semblance.service.api.error_shapes import FIELDS
from semblance.service.errors import InvalidRequest, Problem, pointer_to
from semblance.service.services import Services
from semblance.service.turns import Offload

_MISSING = {"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}

_IGNORED = "api-version"  # a query parameter

_offload = Offload()

Service = TypeVar("Service")


if TYPE_CHECKING:
    Use: TypeAlias = Annotated[Service, "injected"]
else:

    class Use:
        """Annotation of a route's parameter: `search: Use[Search]` receives the `Search` service."""

        def __class_getitem__(cls, kind: type[Any]) -> Any:
            """`kind`, resolved by FastAPI from the registry in `app.state.services`."""

            async def provide(request: Request) -> Any:
                return request.app.state.services[kind]

            provide.kind = kind  # for JsonRoute
            return Annotated[kind, Depends(provide)]


class StrictRoute(APIRoute):
    """Route that rejects unknown query parameters, as bodies reject unknown fields.

    `api-version`, which clients of Azure add to every address, is ignored.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        fields = get_flat_params(Dependant(query_params=self.dependant.query_params))
        self._parameters = sorted(str(field.alias) for field in fields)
        listed = (
            f"only the query parameters {', '.join(self._parameters)}" if self._parameters else "no query parameters"
        )
        self._takes = f"this route takes {listed}" + ("" if self.body_field is None else "; send fields in the body")

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            InvalidRequest: it has unknown query parameters.
        """
        if scope["query_string"] and scope["method"] in (self.methods or ()):
            self._check(QueryParams(scope["query_string"]))
        await super().handle(scope, receive, send)

    def _check(self, query: QueryParams) -> None:
        if unknown := [name for name in query if name not in (*self._parameters, _IGNORED)]:
            raise InvalidRequest([Problem(pointer_to(name), "unknown_field", self._takes) for name in unknown])


class JsonRoute(StrictRoute):
    """Route whose handler takes `body`, parts of the path and services (`Use[...]`).

    The handler returns a Response. The route documents, accepts and rejects the same as FastAPI's own route
    (tests/service/api/test_routing.py), except for query parameters, of which it has none.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._kinds = {
            str(dependency.name): cast("Any", dependency.call).kind for dependency in self.dependant.dependencies
        }

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            RequestValidationError, HTTPException, InvalidRequest: the body is invalid, or there is a query.
        """
        if scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        if scope["query_string"]:
            self._check(QueryParams(scope["query_string"]))
        body = self._validate(await _read(receive), scope)
        services: Services = scope["app"].state.services
        used = {name: services[kind] for name, kind in self._kinds.items()}
        answer = await self.endpoint(body=body, **scope["path_params"], **used)
        await answer(scope, receive, send)

    def _validate(self, content: bytes, scope: Scope) -> Any:
        if not content:
            raise RequestValidationError([_MISSING])
        assert self.body_field is not None
        parsed = _parse(content)
        if isinstance(parsed, dict):
            scope[FIELDS] = parsed.keys()  # decide the shape of a refusal
        body, errors = self.body_field.validate(parsed, loc=("body",))
        if errors:
            raise RequestValidationError(errors)
        return body


async def json_answer(kind: str, size: float, write: Callable[[], str | bytes]) -> Response:
    """A response with the JSON that `write` returns; large ones are written in a thread.

    Args:
        kind: what is written, for the estimate of the time that it takes.
        size: its size, in the unit that the time grows with.
        write: returns the JSON.
    """
    return Response(await _offload.run(kind, size, write), media_type="application/json")


def with_truncated(answer: Response, truncated: int, passages: int = 0) -> Response:
    """Add headers with the number of truncated texts, and of passages of long ones, if any."""
    for name, count in (("truncated", truncated), ("passages", passages)):
        if count:
            answer.headers[f"x-semblance-{name}"] = str(count)
    return answer


def _parse(content: bytes) -> Any:
    # json.loads rather than pydantic's one-pass parser: that rejects a lone surrogate without saying in which field
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        details = {"type": "json_invalid", "loc": ("body", error.pos), "msg": "JSON decode error", "input": {}}
        raise RequestValidationError([details]) from error
    except Exception as error:  # it is in no encoding of JSON, or nested too deep
        raise HTTPException(400, "There was an error parsing the body") from error


async def _read(receive: Receive) -> bytes:
    """The whole body. Raises ClientDisconnect: the client left before it had sent all."""
    pieces = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)
