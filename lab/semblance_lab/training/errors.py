"""Errors of training."""

from __future__ import annotations

from semblance.models.errors import SemblanceError


class BadTrainingData(SemblanceError):
    """The rows do not fit the recipe: none are left, or fewer than a batch needs."""

    code = "bad_training_data"


class BadRecipe(SemblanceError):
    """A recipe's settings contradict each other, or the model they start from cannot be trained."""

    code = "bad_recipe"


class TrainingDiverged(SemblanceError):
    """The loss is no longer finite: training has stopped, and the last good checkpoint is kept."""

    code = "training_diverged"


class CheckpointNotSaved(SemblanceError):
    """A checkpoint or a model could not be written; earlier checkpoints are kept."""

    code = "checkpoint_not_saved"
