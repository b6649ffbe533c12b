"""Whether texts say the same, and answers by texts that do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from semblance_client.calls import wire
from semblance_client.calls.parts import joined
from semblance_client.steps import Call, ListCall
from semblance_client.vocabulary.caches import CacheStored, Lookup
from semblance_client.vocabulary.same import Verdicts


def same(
    pairs: str | Iterable[tuple[str, str]], b: str | None = None, *, model: str | None = None
) -> ListCall[Verdicts]:
    """Say of each pair of texts whether they say the same, and which words speak against it.

    Args:
        pairs: the texts, such as `zip(left, right)` of two columns; or a text, to compare with `b`.
        b: the other text, if `pairs` is one.
        model: a served model.

    Example:
        >>> [verdict] = client.same("Flights to Rome in May", "Flights to Oslo in May").verdicts
        >>> verdict.verdict, [(reason.kind, reason.a[0].text, reason.b[0].text) for reason in verdict.reasons]
        ('different', [('replaced', 'Rome', 'Oslo')])
    """
    body = wire.fields(model=model)
    return ListCall(
        "pairs",
        wire.pairs(pairs, b),
        lambda part: wire.post("/same", {**body, "pairs": part}, Verdicts),
        partial(joined, "pairs"),
    )


def same_documents(
    text: str,
    collection: str = "default",
    *,
    k: int = 5,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field
    min_version: str | None = None,
) -> Call[Verdicts]:
    """Say of the k documents nearest to a text whether they say the same, the likeliest first.

    Args:
        text: the text.
        collection: whose model has a paraphrase classifier.
        k: number of documents.
        filter: conditions on their metadata.
        min_version: least version of the collection.

    Example:
        >>> created = client.create_collection("questions")
        >>> stored = client.add_documents([Document(id="1", text="How do I turn on dark mode?")], "questions")
        >>> [verdict] = client.same_documents("How do I turn off dark mode?", "questions").verdicts
        >>> verdict.document.id, verdict.verdict
        ('1', 'different')
    """
    body = wire.fields(text=text, collection=collection, k=k, filter=filter, min_version=min_version)
    return wire.post("/same", body, Verdicts)


def look_up(
    cache: str,
    text: str,
    *,
    scope: Mapping[str, str] | None = None,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field
    candidates: int | None = None,
    min_version: str | None = None,
) -> Call[Lookup]:
    """Get the answer of a stored text that says the same, or why the nearest were refused.

    Args:
        cache: name of the collection that has the answers.
        text: the question.
        scope: exactly these values were stored with the answer.
        filter: conditions on the metadata of answers.
        candidates: number of stored texts to judge.
        min_version: least version of the collection.

    Example:
        >>> created = client.create_collection("answers")
        >>> stored = client.store_answer("answers", "Can I pay by card?", "Yes, by any card.", scope={"shop": "1"})
        >>> found = client.look_up("answers", "Is it possible to pay by card?", scope={"shop": "1"})
        >>> found.hit.answer
        'Yes, by any card.'
    """
    body = wire.fields(text=text, scope=scope, filter=filter, candidates=candidates, min_version=min_version)
    return wire.post(f"{wire.cache_path(cache)}/lookup", body, Lookup)


def store_answer(  # noqa: PLR0913 - one argument a field
    cache: str,
    text: str,
    answer: Any,
    *,
    scope: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    ttl_s: int | None = None,
    tokens: int | None = None,
) -> Call[CacheStored]:
    """Store the answer of a text, in place of that of the same text and scope.

    Args:
        cache: name of a collection.
        text: the question.
        answer: a text or other JSON.
        scope: what a lookup has to name, such as a tenant and the version of a prompt.
        metadata: by which lookups may filter.
        ttl_s: seconds for which it counts.
        tokens: that it cost, which a hit saves.

    Example:
        >>> created = client.create_collection("answers")
        >>> stored = client.store_answer("answers", "Do you ship to Crete?", "Yes.", scope={"shop": "1"}, ttl_s=60)
        >>> client.document(stored.id, "answers").text
        'Do you ship to Crete?'
    """
    body = wire.fields(scope=scope, metadata=metadata, ttl_s=ttl_s, tokens=tokens)
    return wire.post(f"{wire.cache_path(cache)}/store", {"text": text, "answer": answer, **body}, CacheStored)
