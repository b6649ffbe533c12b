"""The sizes of Origin, from a laptop's to the paper's: one file of YAML, a section a step."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from semblance.models.origin.scoring.scoring import checked_weights

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class CorpusSettings(BaseModel):
    """What becomes of the text."""

    model_config = _FROZEN

    chunk_sentences: int = Field(8, ge=1, description="Most sentences of a chunk, of which one context is taken.")
    held_out: float = Field(0.02, gt=0, lt=1, description="Share of the documents that models are tested on.")
    share: float = Field(1.0, gt=0, le=1, description="Share of the other documents that is used.")
    seed: int = Field(0, ge=0, description="Of both draws.")


class VocabularySettings(BaseModel):
    """The pieces of words that the networks know."""

    model_config = _FROZEN

    size: int = Field(8_192, ge=64, description="Pieces.")
    max_tokens: int = Field(32, ge=4, description="Tokens that a sentence is cut to.")


class CoherenceSettings(BaseModel):
    """The model of Eq. 1."""

    model_config = _FROZEN

    embedding: int = Field(128, ge=1, description="Numbers of a token's vector.")
    start: Literal["static", "random"] = Field(
        "static", description="What the vectors of tokens start from: ones learned from the corpus, or chance."
    )
    hidden: int = Field(300, ge=1, description="Units of the LSTM in either direction; 300 in the paper.")
    states: Literal["mean", "last"] = Field(
        "mean",
        description="What of the LSTM is a sentence's vector: the mean of its states, or the last, as in the paper.",
    )
    interaction: Literal["bilinear", "none"] = Field(
        "bilinear", description="What joins a sentence with its neighbours; none, as the paper has it, learns nothing."
    )
    rank: int = Field(128, ge=1, description="Of the bilinear forms with the sentence before and after.")
    epochs: float = Field(1.0, gt=0, description="How often the corpus is seen.")
    batch_size: int = Field(256, ge=16, description="Contexts a step, in stretches of 16 neighbours.")
    learning_rate: float = Field(1e-3, gt=0, description="Peak of the learning rate, which then falls to 0 in a line.")
    seed: int = Field(0, ge=0, description="Of weights, order and negatives.")


class GenerationSettings(BaseModel):
    """The models of Eq. 2."""

    model_config = _FROZEN

    dim: int = Field(128, ge=8, description="Numbers of a token's vector.")
    layers: int = Field(1, ge=1, description="Of the encoder, and of the decoder.")
    heads: int = Field(2, ge=1, description="Of every attention; they divide `dim`.")
    one_network: bool = Field(
        True, description="One network for all three parts, told by sentence positions; the paper has three."
    )
    model: str | None = Field(
        None, description="Encoder to start from, as `semblance serve` takes it; its sizes and vocabulary then hold."
    )
    epochs: float = Field(1.0, gt=0, description="How often every part of every context is written.")
    batch_size: int = Field(128, ge=1, description="Sentences that are written in a step.")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="What training computes in; auto takes bfloat16 where the device is fast in it."
    )
    learning_rate: float = Field(1e-3, gt=0, description="Peak of the learning rate, which then falls to 0 in a line.")
    seed: int = Field(0, ge=0, description="Of weights and order.")

    @model_validator(mode="after")
    def _heads_divide_dim(self) -> GenerationSettings:
        if self.dim % self.heads:
            raise ValueError(f"heads must divide dim: {self.heads} does not divide {self.dim}")
        return self


def _lambdas(weights: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    checked_weights(weights)
    return weights


class ContextSettings(BaseModel):
    """Which contexts a sentence is scored in."""

    model_config = _FROZEN

    chunks: int = Field(20_000, ge=1, description="Chunks that are screened for a sentence.")
    size: int = Field(100, ge=1, description="Contexts of a set; 500 in the paper.")
    candidates: int = Field(4, ge=1, description="Contexts by Eq. 1 that Eq. 3 is computed of, for each of the set.")
    overlap: float = Field(
        0.5, gt=0, le=1, description="Jaccard of words at which two previous sentences are too alike; 1: never."
    )
    weights: Annotated[tuple[float, float, float, float], AfterValidator(_lambdas)] = Field(
        (1.0, 1.0, 0.3, 0.3),
        description="Lambdas of Eq. 3: coherence, centre, left, right; the paper does not give any.",
    )


class OriginSettings(BaseModel):
    """All of them."""

    model_config = _FROZEN

    corpus: CorpusSettings = CorpusSettings()
    vocabulary: VocabularySettings = VocabularySettings()
    coherence: CoherenceSettings = CoherenceSettings()
    generation: GenerationSettings = GenerationSettings()
    contexts: ContextSettings = ContextSettings()
