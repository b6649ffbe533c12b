"""Which processor is this?"""

from __future__ import annotations

import os
import platform
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")
_IDENTIFYING = ("vendor_id", "model name", "CPU implementer", "CPU part", "flags", "Features")


def processor() -> list[str]:
    """Architecture, model and features of the processor, as far as they are known and in use."""
    try:
        lines = _CPU_INFO.read_text("utf-8").partition("\n\n")[0].splitlines()
    except OSError:
        lines = []
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA")
    return [
        platform.machine(),
        *([limit] if limit else []),
        *(line for line in lines if line.partition("\t")[0] in _IDENTIFYING),
    ]
