"""Models that cannot be served leave the others running, and are named with the reason."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import httpx2
import pytest

from tests.support.damaged_models import DAMAGES
from tests.support.running_service import running_process, running_service


@pytest.fixture
def damaged(small: Path, tmp_path: Path) -> dict[str, Path]:
    """A folder for each kind of damage, by a name for it."""
    folders = {}
    for i, (damage, _) in enumerate(DAMAGES.values()):
        folders[f"bad-{i}"] = Path(shutil.copytree(small, tmp_path / f"bad-{i}"))
        damage(folders[f"bad-{i}"])
    return folders


def test_one_service_names_every_damaged_folder(damaged: dict[str, Path], tmp_path: Path) -> None:
    listed = ",".join(f"{name}={folder}" for name, folder in damaged.items())
    pair = {"pairs": [{"a": "A cat sleeps.", "b": "The kitten naps."}]}
    with (
        running_service(models=f"minilm,{listed}", truncate="PASSAGES,bad-0=END") as url,
        httpx2.Client(base_url=url, timeout=120) as http,
    ):
        ready = http.get("/ready")
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
        assert ready.json()["checks"]["models_served"] is False
        models = http.get("/models").json()
        assert [model["name"] for model in models["models"]] == ["minilm"]
        assert models["refused"] == ready.json()["refused"]
        reasons = {each["name"]: each["reason"] for each in models["refused"]}
        assert reasons.keys() == damaged.keys()
        for name, (_, message) in zip(damaged, DAMAGES.values(), strict=True):
            assert re.search(message, reasons[name]), reasons[name]
            assert str(tmp_path) not in reasons[name]
        assert http.post("/similarity", json=pair).is_success
        refused = http.post("/similarity", json={**pair, "model": "bad-1"})
        assert (refused.status_code, refused.json()["code"]) == (503, "model_unavailable")
        assert reasons["bad-1"] in refused.json()["detail"]


def test_a_setting_makes_a_refusal_fatal(folder: Path) -> None:
    (folder / "config.json").unlink()
    with (
        pytest.raises(RuntimeError, match="cannot read"),
        running_process(models=f"minilm,bad={folder}", require_models="1"),
    ):
        pass
