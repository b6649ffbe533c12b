"""Encoder over a `SentenceTransformer` that a program has in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from semblance.models.embeddings import Precision, TokenEmbeddings, Want, unit_rows
from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import digest
from semblance.models.networks.agreement import PROBES
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.models.tokenization.subwords import fast_tokenizer, serialize_tokenizer

MEAN_COSINE = 1 - 1e-5  # of the model's vector with the mean of its token vectors, if that is its pooling


class SentenceTransformerEncoder:
    """The token vectors and the sentence vectors of a model of sentence-transformers.

    Texts take the path of `SentenceTransformer.encode`: its prompt for queries or documents, its maximum length, all
    its modules, its device and number type. Its sentence vector counts as a mean, which measures can explain, if it has
    the direction of the mean of the token vectors.

    Args:
        model: a `SentenceTransformer` of texts, with a fast tokenizer.

    Raises:
        BadCheckpoint: its tokenizer does not tell the characters of its tokens.
    """

    name = "sentence-transformer"

    def __init__(self, model: Any) -> None:
        tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
        if tokenizer is None:
            raise BadCheckpoint(
                "this SentenceTransformer has no fast tokenizer, which tells the characters of each token"
            )
        self._model = model
        self.max_tokens: int = model.max_seq_length or model.tokenizer.model_max_length
        self._tokenizer = fast_tokenizer(serialize_tokenizer(tokenizer, lower_case=False), self.max_tokens)
        self._mean_pooled = True
        probes = self.encode(self.tokenize(PROBES, "query", "END"), "tokens")
        self.dim = len(probes[0].pooled())
        self._mean_pooled = all(_is_mean(probe) for probe in probes)

    @cached_property
    def space(self) -> str:
        """Digest of the weights, the tokenizer, the modules and their settings, and the prompts."""
        weights = hashlib.sha256()
        for name, tensor in self._model.state_dict().items():
            weights.update(name.encode())
            weights.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return digest(
            weights=weights.hexdigest(),
            tokenizer=self._model.tokenizer.backend_tokenizer.to_str(),
            modules=[repr(module) for module in self._model],
            prompts=self._model.prompts,
            max_tokens=self.max_tokens,
        )

    @property
    def build(self) -> str:
        """Digest of the space, the device and the version of torch."""
        return digest(space=self.space, device=str(self._model.device), torch=torch.__version__)

    @property
    def precision(self) -> Precision:
        """The number type of its weights; float32 if it is none that can be configured here."""
        return "bfloat16" if self._model.dtype == torch.bfloat16 else "float32"

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        """Tokenize each text, with special and prompt tokens.

        Raises:
            BadTexts: lists every text that is `empty_text`, `ill_formed_text` or `text_too_long`.
        """
        default = self._model.prompts.get(self._model.default_prompt_name or "", "")
        return self._tokenizer.tokenize(texts, self._model.prompts.get(role) or default, truncate)

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        """Encode all texts as one batch."""
        if not tokenized:
            return []
        model = self._model.eval()
        padded = model.tokenizer.pad({"input_ids": [text.ids.tolist() for text in tokenized]}, return_tensors="pt")
        features = {"modality": "text", **{name: each.to(model.device) for name, each in padded.items()}}
        prompt = _prompt_tokens(tokenized[0])
        if prompt:
            features["prompt_length"] = prompt
        with torch.inference_mode():
            output = model(features)
        vectors = output["token_embeddings"].float().cpu().numpy()
        pooled = output["sentence_embedding"].float().cpu().numpy()
        read = padded["attention_mask"].bool().numpy()
        weights = np.ones(read.shape, np.float32)
        if prompt and not _includes_prompt(model):
            weights[:, :prompt] = 0
        return [
            TokenEmbeddings(
                vectors=vectors[row][read[row]] if want == "tokens" else vectors[row][:0].copy(),
                weights=weights[row][: len(text)],
                text=text,
                pooled_vector=pooled[row].copy(),
                mean_pooled=self._mean_pooled,
            )
            for row, text in enumerate(tokenized)
        ]


def _prompt_tokens(text: TokenizedText) -> int:
    """Tokens before the text's own first one, if they are a prompt and what precedes it."""
    return int(np.argmin(text.special)) if text.prompted else 0


def _includes_prompt(model: Any) -> bool:
    """Whether the pooling counts the tokens of a prompt."""
    return all(getattr(module, "include_prompt", True) for module in model)


def _is_mean(text: TokenEmbeddings) -> bool:
    pooled, mean = (unit_rows(each) for each in (text.pooled(), text.mean()))
    return pooled.shape == mean.shape and float(pooled @ mean) > MEAN_COSINE
