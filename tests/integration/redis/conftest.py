"""The Redis cache alone against real servers: no service runs."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_internal_errors() -> None:
    """Override the fixture of the parent folder, which would start a service."""
