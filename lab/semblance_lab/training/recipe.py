"""Base class of training recipes: the settings that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import BaseModel, Field, field_validator, model_validator

from semblance.models.files.tables import Row

if TYPE_CHECKING:
    from semblance_lab.training.objective import Objective

# types of the settings whose default a recipe may override
Pooled: TypeAlias = Annotated[
    Literal["mean", "max", "cls"] | None, Field(description="mean, max or cls; the model's own by default.")
]
Normalize: TypeAlias = Annotated[
    bool | None,
    Field(description="Whether the pooled vector is scaled to unit length; the model's own setting by default."),
]
Label: TypeAlias = Annotated[
    str | None, Field(description="Name of the column with the grade or label, if the recipe has one.")
]
Epochs: TypeAlias = Annotated[float, Field(gt=0, description="Passes over the rows.")]
SpecialTokens: TypeAlias = Annotated[
    bool,
    Field(
        description="Whether tokens such as [CLS] count. If not, the objective sees words only, and their mean as the "
        "pooled vector: for `rcmd_words`, and a model served with `pooling=words`.",
    ),
]
BatchSize: TypeAlias = Annotated[int, Field(ge=2, description="Rows per step.")]
Order: TypeAlias = Annotated[
    Literal["shuffled", "by_length", "in_twos"],
    Field(description="How rows are batched: at random, by similar length, or by length with neighbors together."),
]
LearningRate: TypeAlias = Annotated[
    float, Field(gt=0, description="Peak of the learning rate, which then decays linearly to 0.")
]
Warmup: TypeAlias = Annotated[
    float, Field(ge=0, lt=1, description="Share of the steps that warm up the learning rate.")
]
WeightDecay: TypeAlias = Annotated[float, Field(ge=0, description="Of AdamW, without biases and norms.")]
MaxTokens: TypeAlias = Annotated[
    int,
    Field(ge=4, description="Most tokens of a text in training, special ones included; longer texts are truncated."),
]
Dev: TypeAlias = Annotated[
    tuple[str, ...],
    Field(description="Sets that select the best checkpoint, named as in `semblance evaluate --sets`."),
]
Measure: TypeAlias = Annotated[str, Field(description="Measure of the scores on those sets.")]
CheckEvery: TypeAlias = Annotated[
    int, Field(ge=1, description="Steps between checkpoints, each with an evaluation on the dev sets.")
]


class LowRank(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Low-rank adapters of frozen weights: W + alpha / rank B A; B (out, rank), A (rank, in).

    Source: hu-etal-2022-lora, section 4.1; wortsman-etal-2022-wiseft, section 3, for `share`.
    """

    rank: int = Field(16, ge=1, description="Rank of every adapter.")
    alpha: int = Field(16, ge=1, description="Scale of the adapters: alpha / rank times B A is added.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Dropout probability of the adapters' inputs.")
    share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Part of the trained update that is saved: a model between that before training, 0, and the "
        "trained one, 1. A part often keeps most of what was gained, and loses less of the rest.",
    )
    saved_rank: int | None = Field(
        None,
        ge=1,
        description="Rank of the adapters that are saved, if lower: the best approximation of the trained update, by "
        "its singular values. A quarter of the rank is a quarter of the file, and often as good.",
    )
    targets: tuple[str, ...] = Field(
        (), description="Name suffixes of the linear maps with an adapter; empty: all of the network's layers."
    )
    layers: int | None = Field(
        None,
        ge=1,
        description="How many of the network's last layers have adapters; all by default. A step with few is faster.",
    )

    @model_validator(mode="after")
    def _keeps_scale(self) -> Self:
        if self.saved_rank is not None and (self.saved_rank > self.rank or self.alpha * self.saved_rank % self.rank):
            raise ValueError("saved_rank must be at most rank, and alpha / rank times saved_rank a whole number")
        return self


class Keep(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """A loss: one minus the cosine of token vectors of running text with those before training.

    It limits how much the vectors of other kinds of text lose.
    """

    weight: float = Field(1.0, gt=0, description="Weight of the loss of kept vectors.")
    batch_size: int = Field(32, ge=1, description="Running texts per batch, drawn at random.")
    max_tokens: int = Field(
        128, ge=4, description="Most tokens of a running text; with few, the vectors of long texts are not kept."
    )


class Align(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """A loss: words that are surely linked must find each other by their cosines."""

    sets: tuple[str, ...] = Field(
        min_length=1, description="Sets of aligned words, named as in `semblance evaluate --sets`."
    )
    weight: float = Field(1.0, gt=0, description="Weight of the loss of aligned words.")
    batch_size: int = Field(16, ge=1, description="Pairs per batch, drawn at random.")
    temperature: float = Field(0.05, gt=0, description="Divisor of the cosines before the softmax.")


class Recipe(BaseModel, ABC, frozen=True, extra="forbid", allow_inf_nan=False):
    """Settings of a training run; each file of `recipes` holds one recipe."""

    columns: ClassVar[tuple[str, ...]]
    """Default names of the text columns in a file, in the order of the objective; `fields` overrides them."""

    min_columns: ClassVar[int | None] = None
    """How many of them are required; None for all."""

    numbered: ClassVar[bool] = False
    """Whether the label of a row is its number."""

    model: str = Field("minilm", description="Model to start from, as `semblance serve` takes it: a transformer.")
    pooling: Pooled = None
    normalize: Normalize = None
    special_tokens: SpecialTokens = True
    head: bool = Field(
        False,
        description="Whether to add an affine map of every token before the pooling, if the model has none. It is "
        "initialized to the identity, so that training starts from the model's own vectors.",
    )
    fields: tuple[str, ...] = Field(
        (),
        description="Names of the text columns in the file, if they differ: all in order, `[left, right]`, or by those "
        "of the recipe, `{sentence1: left}`.",
    )
    label: Label = None
    epochs: Epochs = 1.0
    batch_size: BatchSize = 16
    accumulate: int = Field(1, ge=1, description="Batches whose gradients are accumulated in one step.")
    mini_batch: int | None = Field(
        None,
        ge=1,
        description="Texts encoded at once, with gradient caching: a large batch then needs the memory of a small one, "
        "and one more forward pass.",
    )
    batches: Order = "shuffled"
    learning_rate: LearningRate = 2e-5
    warmup: Warmup = 0.1
    weight_decay: WeightDecay = 0.01
    clip: float = Field(1.0, gt=0, description="Largest norm of the gradient.")
    dropout: float | None = Field(None, ge=0, lt=1, description="Of the network in training; its config's by default.")
    max_tokens: MaxTokens = 128
    precision: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Number type of the network: auto is bfloat16 on CUDA and float32 on CPU."
    )
    low_rank: LowRank | None = Field(None, description="Train low-rank adapters and freeze the weights.")
    keep: Keep | None = Field(None, description="Keep the token vectors of running text (`--keep`); needs low_rank.")
    align: Align | None = Field(None, description="Train on sets of aligned words as well.")
    dev: Dev = ()
    measure: Measure = "cosine"
    check_every: CheckEvery = 100
    seed: int = Field(0, ge=0, description="Of the order of rows, of dropout and of new weights.")

    @field_validator("fields", mode="before")
    @classmethod
    def _in_order(cls, fields: object) -> object:
        if not isinstance(fields, Mapping):
            return fields
        if unknown := fields.keys() - set(cls.columns):
            label = "" if cls.label_value is Recipe.label_value else "; the setting label names the column of the label"
            raise ValueError(f"{min(unknown)} is none of the text columns {', '.join(cls.columns)}{label}")
        return [fields.get(column, column) for column in cls.columns]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        allowed = range(self.min_columns or len(self.columns), len(self.columns) + 1)
        if self.fields and (len(self.fields) not in allowed or len(set(self.fields)) < len(self.fields)):
            counts, defaults = " or ".join(map(str, allowed)), ", ".join(self.columns)
            raise ValueError(f"fields must name {counts} different columns, to replace {defaults}")
        texts_only = type(self).label_value is Recipe.label_value
        if texts_only and self.label is not None:
            raise ValueError("label has no effect: this recipe reads texts only; remove it")
        if not texts_only and self.label is None:
            raise ValueError("label must name a column")
        if not self.special_tokens and self.pooling not in (None, "mean"):
            raise ValueError(f"special_tokens: false pools by the mean of words, not by {self.pooling}")
        if self.batches == "in_twos" and self.batch_size % 2:
            raise ValueError("batches in_twos need an even batch_size")
        if self.keep is not None and self.low_rank is None:
            raise ValueError("keep compares with the model without its adapters: set low_rank, too")
        return self

    @abstractmethod
    def objective(self, dim: int, texts: Mapping[str, Sequence[str]]) -> Objective:
        """Create the loss for an encoder of `dim`-dimensional vectors, and the rows by column."""

    def label_value(self, row: Row) -> float | None:  # noqa: ARG002 - for recipes with labels
        """Grade or class number of a row, None if its annotators disagreed. Raises BadDataSet."""
        raise TypeError(f"{type(self).__name__} reads texts only")

    def objective_columns(self, texts: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
        """Build the columns of the objective from those of the file."""
        return texts

    def text_columns(self) -> Sequence[str]:
        """Names of the text columns in the file."""
        return self.fields or self.columns

    def own_names(self) -> Mapping[str, str]:
        """Names of columns in the file of rows, by those of the recipe."""
        default = type(self).model_fields["label"].default
        label = {} if default is None or self.label is None else {default: self.label}
        return {**dict(zip(self.columns, self.text_columns(), strict=False)), **label}


class GradedRecipe(Recipe):
    """A recipe that maps a grade to a cosine and regresses on it."""

    columns: ClassVar = ("sentence1", "sentence2")

    label: Label = "score"
    lowest: float = Field(0.0, description="Grade of unrelated sentences.")
    highest: float = Field(1.0, description="Grade of equivalent sentences.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.lowest >= self.highest:
            raise ValueError("lowest must be below highest")
        return self

    def cosine(self, grade: float) -> float:
        """Target cosine of a grade: 0 at the lowest, 1 at the highest."""
        return (grade - self.lowest) / (self.highest - self.lowest)

    def objective(self, dim: int, texts: Mapping[str, Sequence[str]]) -> Objective:  # noqa: ARG002 - of Recipe
        """Mean squared error of the cosine."""
        from semblance_lab.training.objectives.cosine_regression import CosineRegression  # noqa: PLC0415 - imports torch

        return CosineRegression()
