"""What can be said of a training run: the settings that every recipe has, and what a recipe adds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from semblance.models.files.tables import Row
from semblance.models.runtime import Pooling
from semblance.models.training.objective import Objective

# the settings that recipes have defaults of their own for
Pooled: TypeAlias = Annotated[Pooling | None, Field(description="mean, max or cls; as the model has it, unless given.")]
Normalize: TypeAlias = Annotated[
    bool | None,
    Field(description="Whether the pooled vector is brought to unit length; as the model has it, unless given."),
]
Label: TypeAlias = Annotated[
    str | None, Field(description="Name of the column with the grade or label, if the recipe wants one.")
]
Epochs: TypeAlias = Annotated[float, Field(gt=0, description="How often every row is seen.")]
BatchSize: TypeAlias = Annotated[int, Field(ge=2, description="Rows a step.")]
Order: TypeAlias = Annotated[
    Literal["shuffled", "by_length"],
    Field(description="How rows come together: at random, or with rows of about their own length."),
]
LearningRate: TypeAlias = Annotated[
    float, Field(gt=0, description="Peak of the learning rate, which then falls to 0 in a line.")
]
Warmup: TypeAlias = Annotated[
    float, Field(ge=0, lt=1, description="Share of the steps in which the learning rate rises to it.")
]
WeightDecay: TypeAlias = Annotated[float, Field(ge=0, description="Of AdamW, without biases and norms.")]
MaxTokens: TypeAlias = Annotated[
    int, Field(ge=4, description="Tokens a text is cut to in training, special ones included.")
]
Dev: TypeAlias = Annotated[
    tuple[str, ...],
    Field(description="Sets that the best checkpoint is chosen by, as `semblance evaluate --sets` names them."),
]
Measure: TypeAlias = Annotated[str, Field(description="Measure of the scores on those sets.")]
CheckEvery: TypeAlias = Annotated[
    int, Field(ge=1, description="Steps between checkpoints, each with a look at the dev sets.")
]


class LowRank(BaseModel):
    """Low-rank adapters beside the weights, which stay as they are: W + alpha / rank B A; B (out, rank), A (rank, in).

    Source: hu-etal-2022-lora, section 4.1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    rank: int = Field(16, ge=1, description="Rank of every adapter.")
    alpha: int = Field(16, ge=1, description="Scale of the adapters: alpha / rank times B A is added.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of an adapter's inputs that is dropped.")
    targets: tuple[str, ...] = Field(
        (), description="Ends of the names of the linear maps that get one; empty: all of the network's layers."
    )


class Recipe(BaseModel, ABC):
    """One training run. A file of `models/training/recipes/` holds one kind, with the defaults of its paper."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    columns: ClassVar[tuple[str, ...]]
    """What the columns of text are called in a file, in the order the objective takes them, unless `fields` says so."""

    fewest: ClassVar[int | None] = None
    """How many of them are needed at least; None for all."""

    model: str = Field("minilm", description="Model to start from, as `semblance serve` takes it: a transformer.")
    pooling: Pooled = None
    normalize: Normalize = None
    head: bool = Field(
        False,
        description="Whether an affine map of every token is put before the pooling, if the model has none yet. It "
        "starts as the identity, so that training starts from what the network knows.",
    )
    fields: tuple[str, ...] = Field((), description="Names of the columns in the file, where they have others.")
    label: Label = None
    epochs: Epochs = 1.0
    batch_size: BatchSize = 16
    accumulate: int = Field(1, ge=1, description="Batches whose gradients are added up to one step.")
    mini_batch: int | None = Field(
        None,
        ge=1,
        description="Texts that pass through the network at once, by gradient caching: a large batch then needs the "
        "memory of a small one, and one pass forward more.",
    )
    batches: Order = "shuffled"
    learning_rate: LearningRate = 2e-5
    warmup: Warmup = 0.1
    weight_decay: WeightDecay = 0.01
    clip: float = Field(1.0, gt=0, description="Largest norm of the gradient.")
    dropout: float | None = Field(None, ge=0, lt=1, description="Of the network in training; as its config says.")
    max_tokens: MaxTokens = 128
    precision: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Number type of the network's passes: auto is bfloat16 on CUDA and float32 on CPU."
    )
    low_rank: LowRank | None = Field(None, description="Train low-rank adapters, and leave the weights as they are.")
    dev: Dev = ()
    measure: Measure = "cosine"
    check_every: CheckEvery = 100
    seed: int = Field(0, ge=0, description="Of the order of rows, of dropout and of new weights.")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        allowed = range(self.fewest or len(self.columns), len(self.columns) + 1)
        if self.fields and (len(self.fields) not in allowed or len(set(self.fields)) < len(self.fields)):
            counts, replaced = " or ".join(map(str, allowed)), ", ".join(self.columns)
            raise ValueError(f"fields must name {counts} columns, each once, in the place of {replaced}")
        texts_only = type(self).number is Recipe.number
        if texts_only and self.label is not None:
            raise ValueError("label has no meaning here: this recipe reads texts only")
        if not texts_only and self.label is None:
            raise ValueError("label must name a column")
        return self

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
