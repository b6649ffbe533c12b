"""The training loop: killed runs resume to the same weights, and diverged ones stop."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.networks.loop import StepProgress, TrainingPlan, fit
from semblance_lab.training.errors import TrainingDiverged


class Killed(Exception):
    """Simulates the end of the process."""


def network() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 1)


def data(step: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn(16, 3, generator=generator)
    return inputs, inputs @ torch.tensor([[1.0], [-2.0], [0.5]])


def run(model: nn.Linear, plan: TrainingPlan, killed_at: int = -1) -> list[StepProgress]:
    reports: list[StepProgress] = []

    def loss(step: int) -> Tensor:
        if step == killed_at:
            raise Killed
        inputs, targets = data(step)
        return nn.functional.mse_loss(model(inputs), targets)

    fit(model, loss, plan, reports.append)
    return reports


def plan(folder: Path, steps: int = 60) -> TrainingPlan:
    return TrainingPlan(steps, 0.1, "this", folder / "work" / "checkpoint.pt", check_every=7)


def test_a_killed_run_resumes_to_the_same_weights(tmp_path: Path) -> None:
    straight, cut = network(), network()
    reports = run(straight, plan(tmp_path / "straight"))
    assert [each.step for each in reports] == list(range(1, 61))
    assert reports[-1].loss < 0.01 < reports[0].loss
    with pytest.raises(Killed):
        run(cut, plan(tmp_path / "cut"), killed_at=33)
    again = network()
    assert [each.step for each in run(again, plan(tmp_path / "cut"))] == list(range(29, 61))
    assert torch.equal(again.weight, straight.weight)
    assert torch.equal(again.bias, straight.bias)


def test_a_checkpoint_of_another_training_is_ignored(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        run(network(), plan(tmp_path), killed_at=20)
    other = TrainingPlan(60, 0.1, "another", plan(tmp_path).checkpoint, check_every=7)
    assert len(run(network(), other)) == 60


@pytest.mark.parametrize("content", [b"", b"garbage", b"half of it"])
def test_a_broken_checkpoint_is_reported(tmp_path: Path, content: bytes) -> None:
    plan(tmp_path).checkpoint.parent.mkdir()
    plan(tmp_path).checkpoint.write_bytes(content)
    with pytest.raises(BadOrigin, match=r"checkpoint\.pt"):
        run(network(), plan(tmp_path))


class Evil:
    """Creates a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self._file,)


def test_a_checkpoint_that_would_run_code_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "evil"
    plan(tmp_path).checkpoint.parent.mkdir()
    torch.save({"made_of": Evil(file)}, plan(tmp_path).checkpoint)
    with pytest.raises(BadOrigin, match=r"checkpoint\.pt"):
        run(network(), plan(tmp_path))
    assert not file.exists()
    torch.load(plan(tmp_path).checkpoint, weights_only=False)
    assert file.exists(), "this test proves nothing"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_infinite_loss_ends_the_run_and_keeps_the_checkpoint(tmp_path: Path, value: float) -> None:
    model = network()

    def loss(step: int) -> Tensor:
        return torch.sum(model(data(step)[0])) * (value if step == 10 else 1.0)

    with pytest.raises(TrainingDiverged, match="step 11 of 60"):
        fit(model, loss, plan(tmp_path), lambda _: None)
    assert plan(tmp_path).checkpoint.exists()
    assert bool(model.weight.isfinite().all())


def test_the_learning_rate_warms_up_and_decays_to_zero(tmp_path: Path) -> None:
    rates = [plan(tmp_path, 100).rate(step) for step in range(100)]
    peak = rates.index(max(rates))
    assert max(rates) == pytest.approx(0.1)
    assert peak in (4, 5)
    assert rates[: peak + 1] == sorted(rates[: peak + 1])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    assert 0 < rates[-1] < 0.002
    assert plan(tmp_path, 1).rate(0) == pytest.approx(0.1)
