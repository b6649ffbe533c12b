"""Who calls."""

from __future__ import annotations

import uuid


def caller() -> dict[str, str]:
    """Headers by which the load balancer takes a client for one of its own, with a rate of its own.

    The replicas have no keys, and look at none.
    """
    return {"authorization": f"Bearer {uuid.uuid4().hex}"}
