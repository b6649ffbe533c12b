"""Which processor is this?"""

from __future__ import annotations

import platform
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")
_IDENTIFYING = ("vendor_id", "model name", "CPU implementer", "CPU part", "flags", "Features")


def processor() -> list[str]:
    """Architecture, model and features of the processor, as far as the system names them."""
    try:
        lines = _CPU_INFO.read_text("utf-8").partition("\n\n")[0].splitlines()
    except OSError:
        lines = []
    return [platform.machine(), *(line for line in lines if line.partition("\t")[0] in _IDENTIFYING)]
