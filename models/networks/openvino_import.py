"""OpenVINO, which without its telemetry tells nobody that it was imported."""

from __future__ import annotations

import sys

sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # an import of it fails, which OpenVINO expects

import openvino  # noqa: E402

__all__ = ["openvino"]
