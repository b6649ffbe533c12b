"""Where the figures of a benchmark are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def keep(name: str, figures: Any) -> None:
    """Write what benchmark `name` came to as JSON into benchmarks/results/."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


def kept(name: str) -> Any:
    """What the last run of benchmark `name` came to."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
