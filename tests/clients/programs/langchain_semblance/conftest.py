"""Run the async tests of LangChain's standard suites, which have no marks."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Take coroutines as tests."""
    config.option.asyncio_mode = "auto"
