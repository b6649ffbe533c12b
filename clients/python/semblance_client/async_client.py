"""The client for code in an event loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from copy import copy
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

import httpx2

from semblance_client.calls import storage, texts
from semblance_client.calls.duplicates import duplicates
from semblance_client.calls.paraphrases import look_up, same, same_documents, store_answer
from semblance_client.calls.pruning import prune
from semblance_client.calls.upload import upload
from semblance_client.connection import LOCAL_URL, TIMEOUT_S, address_of, options_of, with_signature
from semblance_client.errors import unreachable
from semblance_client.steps import Job, Pages, Retries, Steps

P = ParamSpec("P")
T = TypeVar("T")


def _method(build: Callable[P, Job[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """A method that does what `build` describes, with its arguments and documentation."""

    @functools.wraps(build)
    async def method(client: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await client.send(build(*args, **kwargs))

    return with_signature(method, build)


def _iterator(build: Callable[P, Pages[T]]) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[T]]:
    """A method that iterates over the pages that `build` describes."""

    @functools.wraps(build)
    async def method(client: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        pages, cursor, begun = build(*args, **kwargs), None, False
        while cursor is not None or not begun:
            begun = True
            entries, cursor = await client.send(pages.call(cursor))
            for entry in entries:
                yield entry

    return with_signature(method, build)


class AsyncClient:
    """`Client` for an event loop, used in an `async with` block: its methods are awaited.

    Arguments and methods are those of `Client`. `upload` iterates over its documents in the event loop, which waits
    meanwhile: an iterator that reads a slow source belongs into a thread, with a `Client`.
    """

    def __init__(
        self,
        base_url: str = LOCAL_URL,
        api_key: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx2.AsyncClient(**options_of(base_url, api_key, timeout_s), transport=transport)
        self._address = address_of(self._http)
        self._retries = retries

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    def with_retries(self, retries: Retries) -> Self:
        """The same client, on the same connections, with other limits on retries."""
        other = copy(self)
        other._retries = retries  # noqa: SLF001 - its own
        return other

    async def send(self, job: Job[T]) -> T:
        """Do what a `Call` describes, such as for a route without a method here.

        Raises:
            SemblanceError: the service rejected it, or could not be reached.
        """
        return await self._run(job.steps(self._retries))

    async def _run(self, steps: Steps[T]) -> T:
        try:
            request = next(steps)
            while True:
                await asyncio.sleep(request.after_s)
                try:
                    response = await self._http.send(self._http.build_request(**request.arguments()))
                except httpx2.HTTPError as error:
                    request = steps.throw(unreachable(self._address, error))
                else:
                    request = steps.send(response)
        except StopIteration as end:
            return cast("T", end.value)

    similarity = _method(texts.similarity)
    similarity_matrix = _method(texts.similarity_matrix)
    search = _method(texts.search)
    suggest = _method(texts.suggest)
    prune = _method(prune)
    same = _method(same)
    same_documents = _method(same_documents)
    look_up = _method(look_up)
    store_answer = _method(store_answer)
    explain = _method(texts.explain)
    explain_difference = _method(texts.explain_difference)
    embed = _method(texts.embed)
    rerank = _method(texts.rerank)
    create_collection = _method(storage.create_collection)
    collections = _method(storage.collections)
    collection = _method(storage.collection)
    delete_collection = _method(storage.delete_collection)
    set_glossary = _method(storage.set_glossary)
    glossary = _method(storage.glossary)
    set_alias = _method(storage.set_alias)
    aliases = _method(storage.aliases)
    delete_alias = _method(storage.delete_alias)
    add_documents = _method(storage.add_documents)
    upload = _method(upload)
    documents = _method(storage.documents)
    all_documents = _iterator(storage.all_documents)
    document = _method(storage.document)
    delete_document = _method(storage.delete_document)
    delete_documents = _method(storage.delete_documents)
    change_metadata = _method(storage.change_metadata)
    count = _method(storage.count)
    duplicates = _method(duplicates)
    models = _method(texts.models)
    model_names = _method(texts.model_names)
    measures = _method(texts.measures)
