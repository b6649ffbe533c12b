"""The client for code without an event loop."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from copy import copy
from typing import Concatenate, ParamSpec, Self, TypeVar, cast

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


def _method(build: Callable[P, Job[T]]) -> Callable[Concatenate[Client, P], T]:
    """A method that does what `build` describes, with its arguments and documentation."""

    @functools.wraps(build)
    def method(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return client.send(build(*args, **kwargs))

    return with_signature(method, build)


def _iterator(build: Callable[P, Pages[T]]) -> Callable[Concatenate[Client, P], Iterator[T]]:
    """A method that iterates over the pages that `build` describes."""

    @functools.wraps(build)
    def method(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        pages, cursor, begun = build(*args, **kwargs), None, False
        while cursor is not None or not begun:
            begun = True
            entries, cursor = client.send(pages.call(cursor))
            yield from entries

    return with_signature(method, build)


class Client:
    """Client of a running service, used in a `with` block. It may be shared among threads.

    Args:
        base_url: address of the service.
        api_key: key sent with every request; by default that of the environment variable SEMBLANCE_CLIENT_KEY.
        timeout_s: seconds to wait for a response, and for a connection 10 at most.
        retries: how often a call is repeated while the service is overloaded or away. Calls that change something are
            only repeated if it is certain that nothing has happened.
        transport: of httpx2, such as one that calls an application in this process; by default the network.

    Raises:
        ValueError: the address does not begin with http:// or https://, or it or the key is malformed.
    """

    def __init__(
        self,
        base_url: str = LOCAL_URL,
        api_key: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._http = httpx2.Client(**options_of(base_url, api_key, timeout_s), transport=transport)
        self._address = address_of(self._http)
        self._retries = retries

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def with_retries(self, retries: Retries) -> Self:
        """The same client, on the same connections, with other limits on retries."""
        other = copy(self)
        other._retries = retries  # noqa: SLF001 - its own
        return other

    def send(self, job: Job[T]) -> T:
        """Do what a `Call` describes, such as for a route without a method here.

        Raises:
            SemblanceError: the service rejected it, or could not be reached.
        """
        return self._run(job.steps(self._retries))

    def _run(self, steps: Steps[T]) -> T:
        try:
            request = next(steps)
            while True:
                time.sleep(request.after_s)
                try:
                    response = self._http.send(self._http.build_request(**request.arguments()))
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
