"""Usable cores follow affinity and the quota of the control group."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from semblance.models.processor import usable_cores as module
from semblance.models.processor.usable_cores import usable_cores

CORES = 8
V1, V2 = "7:memory:/m\n2:cpu,cpuacct:/docker/a\n0::/\n", "0::/system.slice/a.service\n"


@pytest.mark.parametrize(
    ("own", "files", "cores"),
    [
        (V2, {"system.slice/a.service/cpu.max": "max 100000\n"}, 8),
        (V2, {"system.slice/a.service/cpu.max": "50000 100000\n"}, 1),
        (V2, {"system.slice/a.service/cpu.max": "150000 100000\n"}, 2),
        (V2, {"system.slice/a.service/cpu.max": "9900000 100000\n"}, 8),
        (V2, {"system.slice/a.service/cpu.max": "?\n"}, 8),
        (V2, {"system.slice/cpu.max": "150000 100000\n", "system.slice/a.service/cpu.max": "max 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "100000 100000\n"}, 1),
        (V1, {"cpu,cpuacct/docker/a/cpu.cfs_quota_us": "-1", "cpu,cpuacct/docker/a/cpu.cfs_period_us": "100000"}, 8),
        (V1, {"cpu,cpuacct/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"}, 3),
        (V1, {"cpu,cpuacct/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/cpu.cfs_period_us": "0\n"}, 8),
        (V1, {}, 8),
    ],
)
def test_a_quota_is_rounded_up_to_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, files: Mapping[str, str], cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(CORES)))
    (tmp_path / "own").write_text(own)
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(module, "_ROOT", tmp_path)
    monkeypatch.setattr(module, "_OWN", tmp_path / "own")
    assert usable_cores() == cores


def test_without_control_groups_affinity_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 4})
    monkeypatch.setattr(module, "_OWN", tmp_path / "absent")
    assert usable_cores() == 2


def test_a_pinned_process_uses_the_cores_it_is_pinned_to() -> None:
    code = "from semblance.models.processor.usable_cores import usable_cores; print(usable_cores())"
    ran = subprocess.run(["taskset", "-c", "0", sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "1\n"
