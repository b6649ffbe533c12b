"""The Redis cache by itself, against real servers: no service runs for it."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def nothing_failed_unknown() -> None:
    """In the place of the folder above, which would start a service to ask."""
