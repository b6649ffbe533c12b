"""Whether texts say the same."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from semblance_client.calls import wire
from semblance_client.calls.parts import joined
from semblance_client.steps import ListCall
from semblance_client.vocabulary.same import Verdicts


def same(pairs: Iterable[tuple[str, str]], *, model: str | None = None) -> ListCall[Verdicts]:
    """Say of each pair of texts whether they say the same, and which words speak against it.

    Args:
        pairs: the texts.
        model: a served model.

    Example:
        >>> [verdict] = client.same([("Flights to Rome in May", "Flights to Oslo in May")]).verdicts
        >>> verdict.verdict, [(reason.kind, reason.a[0].text, reason.b[0].text) for reason in verdict.reasons]
        ('different', [('replaced', 'Rome', 'Oslo')])
    """
    body = wire.fields(model=model)
    entries = [{"a": a, "b": b} for a, b in pairs]
    return ListCall(
        "pairs", entries, lambda part: wire.post("/same", {**body, "pairs": part}, Verdicts), partial(joined, "pairs")
    )
