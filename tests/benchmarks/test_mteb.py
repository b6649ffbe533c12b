"""The encoder for MTEB that docs/integrations.md shows is the one that the benchmark runs."""

from __future__ import annotations

from tests.support.project import PROJECT


def test_the_page_shows_the_encoder_of_the_benchmark() -> None:
    code = (PROJECT / "benchmarks" / "baselines" / "mteb_encoder.py").read_text("utf-8")
    page = (PROJECT / "docs" / "integrations.md").read_text("utf-8")
    shown = code.partition("from __future__ import annotations\n\n")[2]
    assert "class ServiceEncoder(AbsEncoder):" in shown
    assert f"```python\n{shown}```" in page
