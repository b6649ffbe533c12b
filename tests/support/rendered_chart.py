"""Lint and render the Helm chart by files of values, with Helm's own code.

Helm's library is a second runtime, Go's, which would stay in the process of the tests: this module is run as a program,
too. It prints a list of JSON: for each file the findings, and the manifests by template, or the error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from tests.support.project import PROJECT

CHART = PROJECT / "deploy" / "helm" / "semblance"


@dataclass(frozen=True)
class Rendering:
    """Output of Helm for the chart with a file of values.

    Args:
        findings: what the linter criticizes, from warnings on.
        manifests: by template.
        error: why nothing was rendered; empty if it was.
    """

    findings: list[str]
    manifests: dict[str, str]
    error: str = ""


def rendered(files: list[Path], release: str = "semblance") -> list[Rendering]:
    """Lint and render in another process."""
    command = [sys.executable, "-m", "tests.support.rendered_chart", release, *map(str, files)]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [Rendering(**each) for each in json.loads(ran.stdout)]


def _render(file: Path, release: str) -> Rendering:
    import helm_python as helm

    values = yaml.safe_load(file.read_text("utf-8"))
    report = helm.lint(CHART, values, strict=True)
    findings = [each["error"] for each in report["messages"] if each["severity"] > 1]  # 1 is information
    try:
        with helm.Chart.load(CHART) as chart:
            manifests = chart.render(values, name=release, namespace="search")
    except helm.HelmError as error:
        return Rendering(findings, {}, str(error))
    return Rendering(findings, {Path(name).name: text for name, text in manifests.items() if name.endswith(".yaml")})


if __name__ == "__main__":
    json.dump([asdict(_render(Path(file), sys.argv[1])) for file in sys.argv[2:]], sys.stdout)
