"""How a process that cannot continue ends itself."""

from __future__ import annotations

import os
import signal

import pytest

from semblance.service.process.readiness import Draining


def test_repeated_failures_send_one_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second signal would cut off running requests."""
    signals: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *arguments: signals.append(arguments))
    draining = Draining()
    for _ in range(3):
        draining.fail()
    assert draining.failed
    assert signals == [(os.getpid(), signal.SIGTERM)]
