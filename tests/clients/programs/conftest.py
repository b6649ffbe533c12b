"""Show the values of failed assertions in the shared checks."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.clients.programs.task")
