"""Garbage collection while modules are imported."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Iterator[None]:
    """No garbage collection in the block, which imports modules: they leave hardly any.

    Objects that exist at its end live to the end of the process: later collections do not visit them, either.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()
