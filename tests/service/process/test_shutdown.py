"""How a process that cannot go on says so."""

from __future__ import annotations

import os
import signal

import pytest

from semblance.service.process.shutdown import Draining


def test_many_who_find_the_device_lost_send_one_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one would cut off what is under way."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *given: sent.append(given))
    draining = Draining()
    for _ in range(3):
        draining.fail()
    assert draining.failed
    assert sent == [(os.getpid(), signal.SIGTERM)]
