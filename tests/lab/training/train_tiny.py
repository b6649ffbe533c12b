"""Train a recipe on the rows of `tiny_runs`, in a process of its own or several by torchrun.

python -m tests.lab.training.train_tiny RECIPE SETTINGS MODEL OUT [STEP]

The second process stays in that step until it is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from semblance.models import catalogue
from semblance.models.errors import SemblanceError
from semblance_lab.cli.train import RECIPES
from semblance_lab.training.recipe import Recipe
from semblance_lab.training.run import RunProgress
from semblance_lab.training.train import train
from tests.lab.training.tiny_runs import rows, run


def main(name: str, settings: str, model: str, out: str, stays_in: str = "") -> None:
    """Run from the command line."""

    def report(progress: RunProgress) -> None:
        if str(progress.step) == stays_in and os.environ["RANK"] == "1":
            signal.pause()

    kind: type[Recipe] = catalogue.find(RECIPES, name)
    recipe = kind.model_validate({"dev": (), **json.loads(settings)})
    data = rows(len(kind.columns), labels=None if recipe.label is None else lambda i: i % 3)
    try:
        train(run(recipe, Path(model), data, Path(out)), report)
    except SemblanceError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main(*sys.argv[1:])
