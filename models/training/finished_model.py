"""The model folder that comes of a run: written aside, then put into its place."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import version

import torch
import yaml
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer

from semblance.models.training.curves import draw
from semblance.models.training.errors import CheckpointNotSaved
from semblance.models.training.run import Progress, Run
from semblance.models.training.sentence_model import save_adapter, servable

TRAINING = "training.json"
PICTURE = "training.png"


def finish(run: Run, model: SentenceTransformer, progress: Progress) -> None:
    """Write the folder, and remove the working one.

    Raises:
        CheckpointNotSaved: it could not be written; the working folder is kept.
    """
    finished = run.work / "finished"
    shutil.rmtree(finished, ignore_errors=True)
    try:
        servable(model).save_pretrained(str(finished), create_model_card=False)
        if _is_adapter(run):
            save_adapter(model, run.recipe.model, finished / "adapter")
        about = {
            **run.about(),
            "steps": progress.steps,
            "semblance": version("semblance-server"),
            "torch": torch.__version__,
        }
        content = {**about, **progress.curves.as_json()}
        (finished / TRAINING).write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        draw(progress.curves, f"{run.name} from {run.recipe.model}", run.recipe.measure, finished / PICTURE)
        (finished / "README.md").write_text(_card(run, progress), "utf-8")
        finished.rename(run.out)
    except (OSError, SafetensorError) as error:
        raise CheckpointNotSaved(
            f"{run.out} could not be written ({error}): the checkpoints in {run.work} are kept. Make room, and "
            "start it again"
        ) from error
    shutil.rmtree(run.work, ignore_errors=True)


def _is_adapter(run: Run) -> bool:
    """Whether what was trained is an adapter beside the model that it started from, and nothing else."""
    recipe, start = run.recipe, run.checkpoint
    as_it_was = recipe.pooling in (None, start.pooling) and recipe.normalize in (None, start.normalize)
    return recipe.low_rank is not None and not recipe.head and as_it_was and start.adapter is None


def _card(run: Run, progress: Progress) -> str:
    best = progress.curves.best
    kept, mean = (progress.steps, None) if best is None else best
    by = f"the best by {run.recipe.measure} on {', '.join(run.dev)}"
    chosen = "the last" if mean is None else f"{by}: {100 * mean:.2f}"
    settings = yaml.safe_dump(run.recipe.model_dump(mode="json"), sort_keys=False)
    return f"""# {run.out.name}

`{run.recipe.model}`, trained by `semblance train {run.name}` for {progress.steps:,} steps on {len(run.rows):,} rows.
{run.rows.removed:,} rows were left out because an evaluation asks for them. Step {kept:,} was kept, {chosen}.
The terms of the rows (SHA-256 `{run.rows.sha256}`) apply, as does the licence of the model that it started from.

![loss and dev figures by step]({PICTURE})

The settings, as a file for `--config`:

```yaml
{settings}```
"""
