"""What can be said of a training run: the settings that every recipe has, and what a recipe adds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from models.checkpoint import Pooling
from models.evaluation.row_files import Row
from models.training.objective import Objective

SetName = Annotated[str, StringConstraints(min_length=1)]


class LowRank(BaseModel):
    """Low-rank adapters in the place of all weights: W + alpha / rank * B A, with B (out, rank) and A (rank, in).

    Source: hu-etal-2022-lora, section 4.1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int = Field(16, ge=1, description="Rank of every adapter.")
    alpha: int = Field(16, ge=1, description="Scale of the adapters: alpha / rank times B A is added.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of an adapter's inputs that is dropped.")
    targets: tuple[str, ...] = Field(
        (), description="Ends of the names of the linear maps that get one; empty: all of the network's layers."
    )


class Recipe(BaseModel, ABC):
    """One training run. A file of `models/training/recipes/` holds one kind, with the defaults of its paper."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: ClassVar[tuple[str, ...]]
    """What the columns of text are called in a file, in the order the objective takes them, unless `fields` says so."""

    model: str = Field("minilm", description="Model to start from, as `semblance serve` takes it: a transformer.")
    pooling: Pooling | None = Field(None, description="mean, max or cls; as the model has it, unless given.")
    normalize: bool | None = Field(
        None, description="Whether the pooled vector is brought to unit length; as the model has it, unless given."
    )
    head: bool = Field(
        False,
        description="Whether an affine map of every token is put before the pooling, if the model has none yet. It "
        "starts as the identity, so that training starts from what the network knows.",
    )
    fields: tuple[str, ...] = Field((), description="Names of the columns in the file, where they have others.")
    label: str | None = Field(None, description="Name of the column with the grade or label, if the recipe wants one.")
    epochs: float = Field(1.0, gt=0, description="How often every row is seen.")
    batch_size: int = Field(16, ge=2, description="Rows a step.")
    accumulate: int = Field(1, ge=1, description="Batches whose gradients are added up to one step.")
    mini_batch: int | None = Field(
        None,
        ge=1,
        description="Texts that pass through the network at once, by gradient caching: a large batch then needs the "
        "memory of a small one, and about half as much time again.",
    )
    batches: Literal["shuffled", "by_length"] = Field(
        "shuffled", description="How rows come together: at random, or with rows of about their own length."
    )
    learning_rate: float = Field(2e-5, gt=0, description="Peak of the learning rate, which then falls to 0 in a line.")
    warmup: float = Field(0.1, ge=0, lt=1, description="Share of the steps in which the learning rate rises to it.")
    weight_decay: float = Field(0.01, ge=0, description="Of AdamW, without biases and norms.")
    clip: float = Field(1.0, gt=0, description="Largest norm of the gradient.")
    dropout: float | None = Field(None, ge=0, lt=1, description="Of the network in training; as its config says.")
    max_tokens: int = Field(128, ge=4, description="Tokens a text is cut to in training, special ones included.")
    precision: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Number type of the network's passes: auto is bfloat16 on CUDA and float32 on CPU."
    )
    low_rank: LowRank | None = Field(None, description="Train low-rank adapters, and leave the weights as they are.")
    dev: tuple[SetName, ...] = Field(
        (), description="Sets that the best checkpoint is chosen by, as `semblance evaluate --sets` names them."
    )
    measure: str = Field("cosine", description="Measure of the scores on those sets.")
    check_every: int = Field(100, ge=1, description="Steps between checkpoints, each with a look at the dev sets.")
    seed: int = Field(0, ge=0, description="Of the order of rows, of dropout and of new weights.")

    @abstractmethod
    def objective(self, dim: int) -> Objective:
        """The loss, of an encoder with vectors of `dim` numbers."""

    def number(self, row: Row) -> float | None:
        """The grade or the number of the label of a row, None where nobody could agree on one. Raises BadDataSet."""
        raise NotImplementedError(f"{type(self).__name__} reads texts only")

    def prepared(self, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """The columns of the objective, from those of the file."""
        return texts

    def text_columns(self) -> Sequence[str]:
        """The columns of text in the file."""
        return self.fields or self.columns
