"""A training run resumes after an interruption, keeps the best step, and is atomic."""

from __future__ import annotations

import itertools
import json
import resource
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch import Tensor

from semblance_lab.training import train as train_module
from semblance_lab.training.errors import BadRecipe, BadTrainingData, CheckpointNotSaved, TrainingDiverged
from semblance_lab.training.objective import EncodedColumn, Objective
from semblance_lab.training.recipe import Align, Keep, LowRank, Recipe
from semblance_lab.training.recipes.clrcmd import Clrcmd
from semblance_lab.training.recipes.sbert_nli import SbertNli
from semblance_lab.training.recipes.sbert_regression import SbertRegression
from semblance_lab.training.run import Curves, RunProgress
from semblance_lab.training.train import train
from semblance_lab.training.trainer import TRAINED, last_checkpoint
from tests.lab.training.tiny_runs import dev_set, ignore_progress, rows, run, vectors
from tests.support.small_model import load

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning:transformers", "ignore::DeprecationWarning")
FAST = {"model": "tiny", "batch_size": 8, "check_every": 4, "learning_rate": 1e-3, "measure": "cosine"}


@pytest.fixture
def folder(small: Path) -> Path:
    return small


class Cut(Exception):
    """Simulates the end of the process."""


def cut_at(step: int) -> Callable[[RunProgress], None]:
    def report(progress: RunProgress) -> None:
        if progress.step >= step:
            raise Cut

    return report


def parity(i: int) -> int:
    return i % 2


RESUMED = {
    "clrcmd with a head": (Clrcmd(**FAST, epochs=2, head=True, dev=("own",)), 3, None),
    "clrcmd with adapters and kept vectors": (
        Clrcmd(**FAST, epochs=2, low_rank=LowRank(rank=4, alpha=8), keep=Keep(), dev=()),
        3,
        None,
    ),
    "clrcmd with aligned words": (Clrcmd(**FAST, epochs=2, align=Align(sets=("own",)), dev=()), 3, None),
    "sbert_nli with its classifier": (SbertNli(**FAST, epochs=2), 2, lambda i: i % 3),
    "sbert_regression with cached gradients": (SbertRegression(**FAST, epochs=2, mini_batch=3, dev=()), 2, parity),
}


IN_EACH_RUN = "clrcmd with adapters and kept vectors"


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[] if each == IN_EACH_RUN else pytest.mark.nightly) for each in RESUMED]
)
def test_an_interrupted_run_ends_with_the_same_weights(name: str, folder: Path, tmp_path: Path) -> None:
    recipe, columns, labels = RESUMED[name]
    data, dev = rows(columns, labels=labels), dev_set() if recipe.dev else {}
    whole = train(run(recipe, folder, data, tmp_path / "whole", dev), ignore_progress)
    with pytest.raises(Cut):
        train(run(recipe, folder, data, tmp_path / "cut", dev), cut_at(10))
    assert last_checkpoint(tmp_path / "cut.training") == tmp_path / "cut.training" / "checkpoint-8"  # within an epoch
    assert not (tmp_path / "cut").exists()
    seen: list[int] = []
    resumed = train(run(recipe, folder, data, tmp_path / "cut", dev), lambda progress: seen.append(progress.step))
    assert min(seen) == 9, "it did not resume"
    assert resumed.curves == whole.curves
    assert whole.step == whole.steps == 12
    expected = load_file(tmp_path / "whole" / "model.safetensors")
    for key, weights in load_file(tmp_path / "cut" / "model.safetensors").items():
        np.testing.assert_array_equal(weights, expected[key], err_msg=key)
    assert not (tmp_path / "cut.training").exists()
    assert not np.allclose(vectors(tmp_path / "whole"), vectors(folder), atol=1e-3)


def test_ctrl_c_saves_the_step_in_which_it_comes(folder: Path, tmp_path: Path) -> None:
    recipe, data = Clrcmd(**FAST, epochs=2, dev=("own",)), rows(3)
    whole = train(run(recipe, folder, data, tmp_path / "whole", dev_set()), ignore_progress)

    interrupts = itertools.count()

    def interrupt(progress: RunProgress) -> None:
        if progress.step == 5 and next(interrupts) == 0:
            signal.raise_signal(signal.SIGINT)

    with interruptible(), pytest.raises(KeyboardInterrupt):
        train(run(recipe, folder, data, tmp_path / "cut", dev_set()), interrupt)
    assert last_checkpoint(tmp_path / "cut.training") == tmp_path / "cut.training" / "checkpoint-5"
    resumed = train(run(recipe, folder, data, tmp_path / "cut", dev_set()), ignore_progress)
    assert resumed.curves == whole.curves
    assert vectors(tmp_path / "cut").tobytes() == vectors(tmp_path / "whole").tobytes()


@contextmanager
def interruptible() -> Iterator[None]:
    """Handle Ctrl-C as Python does, which a shell disables for background processes."""
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        assert signal.signal(signal.SIGINT, earlier) is signal.default_int_handler, "a handler was left behind"


def test_a_best_step_below_the_start_is_called_no_better() -> None:
    curves = Curves([], [(0, {"dev": 0.827}), (18, {"dev": 0.8242}), (20, {"dev": 0.81})])
    assert curves.change == "from 82.70, no better than before training"
    assert replace(curves, dev=[*curves.dev, (22, {"dev": 0.83})]).change == "from 82.70 before training"


def test_the_best_step_by_the_dev_sets_is_kept(folder: Path, tmp_path: Path) -> None:
    recipe = SbertRegression(**FAST | {"check_every": 1, "learning_rate": 3e-3}, epochs=2, dev=("own",))

    def report(progress: RunProgress) -> None:
        """Copy the best checkpoint so far, before it is deleted."""
        best = progress.curves.best
        checkpoint = tmp_path / "out.training" / f"checkpoint-{best[0] if best else 0}"
        if checkpoint.exists() and not (tmp_path / checkpoint.name).exists():
            shutil.copytree(checkpoint, tmp_path / checkpoint.name)

    done = train(run(recipe, folder, rows(2, labels=parity), tmp_path / "out", dev_set()), report)
    best = max((point for point in done.curves.dev if point[0]), key=lambda point: point[1]["dev"])[0]
    assert best < done.steps, "the last step is the best: this test proves nothing"
    card = (tmp_path / "out" / "README.md").read_text()
    assert f"Step {best} was kept, the best by cosine on own" in card
    assert f"({done.curves.change})." in card
    np.testing.assert_allclose(vectors(tmp_path / "out"), vectors(tmp_path / f"checkpoint-{best}"), atol=1e-6)


@pytest.mark.parametrize(
    "recipe",
    [
        Clrcmd(**FAST, head=True, pooling="max", dev=()),
        Clrcmd(**FAST, pooling="cls", normalize=False, low_rank=LowRank(rank=2), dev=()),
    ],
    ids=["head and max", "adapters and cls"],
)
def test_the_folder_gives_the_vectors_of_sentence_transformers(recipe: Recipe, folder: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    train(run(recipe, folder, rows(3), tmp_path / "out"), ignore_progress)
    library = SentenceTransformer(str(tmp_path / "out"), device="cpu", local_files_only=True)
    texts = ["the dog runs near the river", "a storm"]
    encoder = load(tmp_path / "out")
    ours = [each.pooled() for each in encoder.encode(encoder.tokenize(texts, "query", "END"), "pooled")]
    np.testing.assert_allclose(ours, library.encode(texts), atol=1e-6)


@pytest.mark.nightly
def test_a_share_is_on_the_line_from_before_to_after(folder: Path, tmp_path: Path) -> None:
    """Merged weights and the separate adapter; the trained weights, from which a run resumes, are whole."""
    weights, targets = {}, ("query", "intermediate.dense")
    for share in (1.0, 0.25):
        recipe = Clrcmd(**FAST, low_rank=LowRank(rank=4, alpha=16, targets=targets, share=share), dev=())
        out = tmp_path / str(share)
        train(run(recipe, folder, rows(3), out), ignore_progress)
        weights[share] = load_file(out / "model.safetensors")
        beside = vectors(f"{folder}?adapter={out / 'adapter'}")
        np.testing.assert_allclose(beside, vectors(out), atol=1e-6)
    adapter = load_file(out / "adapter" / "adapter_model.safetensors")
    assert {str(each.dtype) for each in adapter.values()} == {"float16"}
    assert len(adapter) == 2 * 2 * 2  # A and B of two maps in each of two layers
    config = json.loads((out / "adapter" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "tiny"
    before = load_file(folder / "model.safetensors")
    moved = 0
    for key, trained in weights[1.0].items():
        np.testing.assert_allclose(weights[0.25][key] - before[key], 0.25 * (trained - before[key]), atol=1e-5)
        moved += not np.array_equal(trained, before[key])
    assert moved == 4


@pytest.mark.nightly
def test_a_saved_rank_is_the_best_approximation_of_the_update(folder: Path, tmp_path: Path) -> None:
    """By the singular values of the difference of the merged weights; the separate adapter gives the same."""
    targets, changed = ("query", "intermediate.dense"), {}
    before = load_file(folder / "model.safetensors")
    for rank in (None, 2):
        settings = LowRank(rank=4, alpha=16, targets=targets, saved_rank=rank)
        out = tmp_path / str(rank)
        train(run(Clrcmd(**FAST, low_rank=settings, dev=()), folder, rows(3), out), ignore_progress)
        changed[rank] = {key: each - before[key] for key, each in load_file(out / "model.safetensors").items()}
    for key, whole in changed[None].items():
        if whole.any():
            u, values, v = np.linalg.svd(whole.astype(np.float64), full_matrices=False)
            np.testing.assert_allclose(changed[2][key], u[:, :2] * values[:2] @ v[:2], atol=1e-4)
            assert values[2] > 1e-3, "the update has rank 2: this test proves nothing"
    np.testing.assert_allclose(vectors(f"{folder}?adapter={out / 'adapter'}"), vectors(out), atol=1e-6)
    config = json.loads((out / "adapter" / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"]) == (2, 8)


@pytest.mark.nightly
def test_running_text_keeps_vectors_near_those_before(folder: Path, tmp_path: Path) -> None:
    moved = {}
    settings = FAST | {"learning_rate": 2e-2, "dropout": 0.0}
    for weight in (0.01, 100.0):
        recipe = Clrcmd(**settings, epochs=3, low_rank=LowRank(rank=4, alpha=8), keep=Keep(weight=weight), dev=())
        train(run(recipe, folder, rows(3), tmp_path / str(weight)), ignore_progress)
        moved[weight] = np.abs(vectors(tmp_path / str(weight)) - vectors(folder)).mean()
    assert 0 < moved[100.0] < 0.5 * moved[0.01]


def test_accumulated_batches_equal_one_large_batch(folder: Path, tmp_path: Path) -> None:
    data = rows(2, labels=parity)
    for name, sizes in (("large", (16, 1)), ("accumulated", (8, 2))):
        settings = FAST | {"batch_size": sizes[0], "accumulate": sizes[1], "batches": "shuffled", "dropout": 0.0}
        train(run(SbertRegression(**settings, epochs=1, dev=()), folder, data, tmp_path / name), ignore_progress)
    np.testing.assert_allclose(vectors(tmp_path / "large"), vectors(tmp_path / "accumulated"), atol=1e-5)


class BreaksDown:
    """A loss that is finite for some batches, and then not, or not its gradient."""

    def __init__(self, batches: int, what: str) -> None:
        self._left = batches
        self._what = what

    def __call__(self, columns: Sequence[EncodedColumn], labels: Tensor | None) -> Tensor:
        del labels
        self._left -= 1
        if self._left < 0 and self._what == "gradient":
            return (columns[0].pooled * 0).abs().sqrt().mean()  # 0, with an undefined derivative
        return columns[0].pooled.mean() * (1.0 if self._left >= 0 else torch.nan)


class Breaking(Clrcmd):
    """A recipe with that loss."""

    breaks: str = "loss"
    batches_before: int = 7

    def objective(self, dim: int, texts: Mapping[str, Sequence[str]]) -> Objective:
        """Create the loss."""
        del dim, texts
        return BreaksDown(self.batches_before, self.breaks)


def test_a_loss_of_nan_leaves_a_servable_checkpoint(folder: Path, tmp_path: Path) -> None:
    message = r"step 8: the loss is nan; the last good checkpoint is .*/out.training/checkpoint-4. Try a lower learning"
    with pytest.raises(TrainingDiverged, match=message):
        train(run(Breaking(**FAST, epochs=2, dev=()), folder, rows(3), tmp_path / "out"), ignore_progress)
    assert not (tmp_path / "out").exists()
    assert np.isfinite(vectors(tmp_path / "out.training" / "checkpoint-4")).all()


def test_weights_that_are_not_finite_are_never_saved(folder: Path, tmp_path: Path) -> None:
    """The loss of the last step before a checkpoint is finite, but its gradient is not."""
    recipe = Breaking(**FAST | {"check_every": 2}, epochs=1, dev=(), breaks="gradient", batches_before=3)
    message = r"the weights .* are not finite; the last good checkpoint is .*/checkpoint-2"
    with pytest.raises(TrainingDiverged, match=message):
        train(run(recipe, folder, rows(3), tmp_path / "out"), ignore_progress)
    assert not (tmp_path / "out.training" / "checkpoint-4").exists()


@pytest.mark.nightly
def test_a_missing_best_checkpoint_is_an_error(folder: Path, tmp_path: Path) -> None:
    recipe = SbertRegression(**FAST | {"check_every": 1, "learning_rate": 3e-3}, epochs=2, dev=("own",))

    def report(progress: RunProgress) -> None:
        best = progress.curves.best
        if progress.step == progress.steps and best is not None and best[0] < progress.step:
            (tmp_path / "out.training" / f"checkpoint-{best[0]}" / TRAINED).unlink(missing_ok=True)

    with pytest.raises(CheckpointNotSaved, match=r"the weights of .*/checkpoint-\d+ cannot be read"):
        train(run(recipe, folder, rows(2, labels=parity), tmp_path / "out", dev_set()), report)
    assert not (tmp_path / "out").exists()


def test_a_foreign_folder_is_refused_and_unchanged(folder: Path, tmp_path: Path) -> None:
    note = tmp_path / "out.training" / "notes.txt"
    note.parent.mkdir()
    note.write_text("mine")
    with pytest.raises(BadRecipe, match=r"already contains notes\.txt"):
        train(run(Clrcmd(**FAST, dev=()), folder, rows(3), tmp_path / "out"), ignore_progress)
    assert note.read_text() == "mine"


def test_a_folder_is_locked_during_a_training(folder: Path, tmp_path: Path) -> None:
    training = run(Clrcmd(**FAST, dev=()), folder, rows(3), tmp_path / "out")

    def train_again(progress: RunProgress) -> None:
        del progress
        train(training, ignore_progress)

    with pytest.raises(BadRecipe, match="another process is using"):
        train(training, train_again)


def test_a_full_disk_at_the_end_loses_no_steps(folder: Path, tmp_path: Path) -> None:
    recipe, data = Clrcmd(**FAST, epochs=2, dev=()), rows(3)

    def report(progress: RunProgress) -> None:
        del progress
        if (tmp_path / "out.training" / "checkpoint-12" / "trainer_state.json").exists():
            fill_disk()

    with limit_restored(), pytest.raises(CheckpointNotSaved, match="could not be written"):
        train(run(recipe, folder, data, tmp_path / "out"), report)
    seen: list[int] = []
    train(run(recipe, folder, data, tmp_path / "out"), lambda progress: seen.append(progress.step))
    assert set(seen) <= {12}
    assert np.isfinite(vectors(tmp_path / "out")).all()


def fill_disk() -> None:
    """Let no file grow beyond 100 bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@contextmanager
def limit_restored() -> Iterator[None]:
    """Restore the limit of file sizes, which stands in for a full disk, after the block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_after_a_full_disk_the_earlier_checkpoint_is_resumed(folder: Path, tmp_path: Path) -> None:
    recipe, data = Clrcmd(**FAST, epochs=2, dev=()), rows(3)
    whole = train(run(recipe, folder, data, tmp_path / "whole"), ignore_progress)

    def report(progress: RunProgress) -> None:
        if progress.step == 5:
            fill_disk()

    message = r"checkpoint-8 could not be written .*checkpoint-4 is kept"
    with limit_restored(), pytest.raises(CheckpointNotSaved, match=message):
        train(run(recipe, folder, data, tmp_path / "out"), report)
    work = tmp_path / "out.training"
    assert [each.name for each in work.glob("checkpoint-*")] == ["checkpoint-4"]
    assert (work / "checkpoint-4" / TRAINED).exists()
    seen: list[int] = []
    resumed = train(run(recipe, folder, data, tmp_path / "out"), lambda progress: seen.append(progress.step))
    assert min(seen) == 5, "it did not resume"
    assert resumed.curves == whole.curves


def test_invalid_runs_are_refused_before_anything_is_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Clrcmd(**FAST, dev=())
    with pytest.raises(BadTrainingData, match="7 rows are fewer than a batch of 8"):
        train(run(recipe, folder, rows(3, n=7), tmp_path / "out"), ignore_progress)
    odd = Clrcmd(**FAST, low_rank=LowRank(targets=("nowhere",)), dev=())
    with pytest.raises(BadRecipe, match="low_rank"):
        train(run(odd, folder, rows(3), tmp_path / "out"), ignore_progress)
    with monkeypatch.context() as patch:
        patch.setattr(train_module, "join_processes", lambda _: SimpleNamespace(num_processes=3))
        with pytest.raises(BadRecipe, match="8 rows cannot be shared by 3 processes"):
            train(run(recipe, folder, rows(3), tmp_path / "out"), ignore_progress)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out").mkdir()
    with pytest.raises(BadRecipe, match="already exists: choose another folder, or remove it"):
        train(run(recipe, folder, rows(3), tmp_path / "out"), ignore_progress)


def test_another_run_in_the_folder_is_refused_with_the_difference(folder: Path, tmp_path: Path) -> None:
    data = rows(3)
    with pytest.raises(Cut):
        train(run(Clrcmd(**FAST, dev=()), folder, data, tmp_path / "out"), cut_at(5))
    with pytest.raises(BadRecipe, match=r"another value of settings\.seed; repeat the original call"):
        train(run(Clrcmd(**FAST, dev=(), seed=1), folder, data, tmp_path / "out"), ignore_progress)
    with pytest.raises(BadRecipe, match=r"another value of rows"):
        train(run(Clrcmd(**FAST, dev=()), folder, rows(3, n=40), tmp_path / "out"), ignore_progress)
