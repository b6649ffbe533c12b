"""Settings of Origin: one YAML file with a section per step."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, model_validator

from semblance_lab.origin.scoring.scoring import validate_weights


class CorpusSettings(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Settings of the corpus."""

    chunk_sentences: int = Field(8, ge=1, description="Most sentences of a chunk; a set takes one context per chunk.")
    held_out: float = Field(0.02, gt=0, lt=1, description="Share of the documents held out to test the models.")
    share: float = Field(1.0, gt=0, le=1, description="Share of the other documents that is used.")
    seed: int = Field(0, ge=0, description="Of both draws.")


class VocabularySettings(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Settings of the networks' subwords."""

    size: int = Field(8_192, ge=64, description="Subwords.")
    max_tokens: int = Field(32, ge=4, description="Tokens that a sentence is truncated to.")


class CoherenceSettings(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Settings of the model of Eq. 1."""

    embedding: int = Field(128, ge=1, description="Dimension of a token's vector.")
    start: Literal["static", "random"] = Field(
        "static", description="Initial token vectors: word vectors learned from the corpus, or random ones."
    )
    hidden: int = Field(300, ge=1, description="Units of the LSTM per direction; 300 in the paper.")
    states: Literal["mean", "last"] = Field(
        "mean",
        description="Sentence vector: the mean of the LSTM's states, or the last states, as in the paper.",
    )
    interaction: Literal["bilinear", "none"] = Field(
        "bilinear", description="Term that joins a sentence with its neighbors; none, as in the paper, learns nothing."
    )
    rank: int = Field(128, ge=1, description="Rank of the bilinear forms with the sentence before and after.")
    epochs: float = Field(1.0, gt=0, description="Passes over the corpus.")
    batch_size: int = Field(256, ge=16, description="Contexts per step, in runs of 16 consecutive ones.")
    learning_rate: float = Field(1e-3, gt=0, description="Peak of the learning rate, which then decays linearly to 0.")
    seed: int = Field(0, ge=0, description="Of weights, order and negatives.")


class GenerationSettings(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Settings of the models of Eq. 2."""

    dim: int = Field(128, ge=8, description="Dimension of a token's vector.")
    layers: int = Field(1, ge=1, description="Of the encoder, and of the decoder.")
    heads: int = Field(2, ge=1, description="Attention heads; they must divide `dim`.")
    one_network: bool = Field(
        True, description="One network for all three parts, told apart by sentence positions; the paper has three."
    )
    model: str | None = Field(
        None, description="Encoder to start from, as `semblance serve` takes it; sets the sizes and the vocabulary."
    )
    epochs: float = Field(1.0, gt=0, description="How often every part of every context is written.")
    batch_size: int = Field(128, ge=1, description="Sentences written per step.")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="Number type of the training; auto is bfloat16 if the device is fast in it."
    )
    learning_rate: float = Field(1e-3, gt=0, description="Peak of the learning rate, which then decays linearly to 0.")
    seed: int = Field(0, ge=0, description="Of weights and order.")

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> GenerationSettings:
        if self.dim % self.heads:
            raise ValueError(f"heads must divide dim: {self.heads} does not divide {self.dim}")
        return self


def _validated(weights: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    validate_weights(weights)
    return weights


class ContextSettings(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Settings of the contexts that a sentence is scored in."""

    chunks: int = Field(20_000, ge=1, description="Chunks that are screened for a sentence.")
    size: int = Field(100, ge=1, description="Contexts of a set; 500 in the paper.")
    candidates: int = Field(4, ge=1, description="Contexts ranked by Eq. 1 that Eq. 3 is computed for, per context.")
    overlap: float = Field(
        0.5, gt=0, le=1, description="Jaccard index of words at which two previous sentences are too similar; 1: never."
    )
    weights: Annotated[tuple[float, float, float, float], AfterValidator(_validated)] = Field(
        (1.0, 1.0, 0.3, 0.3),
        description="Lambdas of Eq. 3: coherence, centre, left, right; the paper does not give any.",
    )
    references: int = Field(
        8, ge=1, description="Sentences of the corpus whose mean in a context the double-centred form subtracts."
    )


class OriginSettings(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """Settings of all steps."""

    corpus: CorpusSettings = CorpusSettings()
    vocabulary: VocabularySettings = VocabularySettings()
    coherence: CoherenceSettings = CoherenceSettings()
    generation: GenerationSettings = GenerationSettings()
    contexts: ContextSettings = ContextSettings()
