"""OpenVINO without its telemetry."""

from __future__ import annotations

import sys
from typing import Any


def import_openvino() -> Any:
    """Import OpenVINO with telemetry disabled."""
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # its import fails, which OpenVINO expects
    import openvino  # noqa: PLC0415 - not installed everywhere

    return openvino
