"""Warnings of a start that waits for its database."""

from __future__ import annotations

import logging

import pytest

from semblance.service.errors import StoreUnavailable
from semblance.service.replication.primary import WARN_S, StartWait
from tests.support.fake_clock import FakeClock


async def test_a_start_that_waits_warns_each_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    waiting = StartWait("waiting", 0.0, clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(4):
            await waiting.after(StoreUnavailable("away"))
            clock.now += WARN_S / 2
    assert caplog.messages == ["waiting: away"] * 2
    with pytest.raises(StoreUnavailable):
        await waiting.after(StoreUnavailable("away", "no such database"))
