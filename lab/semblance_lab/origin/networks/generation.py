"""Generative models of Origin: likelihoods of a sentence and of its neighbours (Eq. 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from transformers import EncoderDecoderModel

from semblance.models.embeddings import Doubles, Floats, Integers
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.networks.generation_network import (
    DECODER_MARKERS,
    ENCODER_MARKERS,
    GenerationInputs,
    Row,
    batches_by_length,
    build_inputs,
    encoder_and_decoder,
    max_sentence_tokens,
    open_network,
    special_ids,
)
from semblance_lab.origin.networks.loop import PrecisionSetting, autocast, resolve_precision
from semblance_lab.origin.scoring.scoring import CONTEXT_PARTS, ContextPart

ALL = "all"  # folder of a network that writes all parts
MAX_TOKENS = {"cpu": 4_096}  # padded tokens of a batch
MAX_TOKENS_ELSEWHERE = 131_072
BLOCK = {"cpu": 128}  # tokens whose logits are computed at once: with 8,192 subwords they fit the cache of a core
BLOCK_ELSEWHERE = 8_192


class Generation:
    """Transformers that write one of three consecutive sentences from the two others.

    With x the sentence that is written, x_1 to x_n its tokens and x_(n+1) the end marker, its likelihood is::

        (1 / (n + 1)) sum_t log p(x_t | x_<t, the two others)        t = 1 .. n + 1

    so that it does not depend on the length if all tokens are equally likely. The paper divides by |x| without saying
    whether that counts the end marker; as it is a token to be written, it counts here.

    Bounds: never above 0. The same for a sentence alone and in any batch: to 1e-5 in float32, to 0.02 in bfloat16.

    The networks are a BERT encoder and a BERT decoder of transformers. Inputs are embeddings of tokens, of token
    positions, which restart in each sentence, and of sentence positions, as in the paper. The paper trains one network
    per part. A single network, which receives the part as the sentence position of its output, has a third of the
    weights and sees three times the examples.

    Args:
        networks: the network of each part; three, or the same one three times.
        precision: number type of the computation.

    Source: sun-etal-2022-origin, section 3.1, Eq. 2.
    """

    def __init__(
        self, networks: Mapping[ContextPart, EncoderDecoderModel], precision: PrecisionSetting = "auto"
    ) -> None:
        self._networks = networks
        self._precision = precision

    @classmethod
    def open(cls, folder: Path, device: str = "cpu", precision: PrecisionSetting = "auto") -> Generation:
        """Load the networks in a folder such as `runs/origin/generation`.

        Raises:
            BadOrigin: they are missing or broken.
        """
        if (folder / ALL).is_dir():
            network = open_network(folder / ALL, device)
            return cls(dict.fromkeys(CONTEXT_PARTS, network), precision)
        if not folder.is_dir():
            raise BadOrigin(f"no such folder: {folder}; run `semblance origin train`")
        return cls({part: open_network(folder / part, device) for part in CONTEXT_PARTS}, precision)

    def about(self) -> Mapping[str, str]:
        """Kind of device and precision, on which the likelihoods depend slightly."""
        device = self._networks[CONTEXT_PARTS[0]].device.type
        return {"device": device, "precision": resolve_precision(device, self._precision)}

    def log_likelihoods(
        self, part: ContextPart, left: Sequence[Row], center: Sequence[Row], right: Sequence[Row]
    ) -> Floats:
        """Likelihood of one part of each triple of sentences.

        Args:
            part: the one that is written.
            left: token ids of n sentences, without markers; truncated to the network's maximum.
            center: the same of the sentences that follow these.
            right: the same of those that follow the centre.

        Returns:
            (n,).
        """
        sums, counts = self._sums(part, left, center, right)
        return (sums / counts).astype(np.float32)

    def perplexity(self, part: ContextPart, left: Sequence[Row], center: Sequence[Row], right: Sequence[Row]) -> float:
        """exp of minus the mean log-likelihood of all tokens of that part, end markers included."""
        sums, counts = self._sums(part, left, center, right)
        return float(np.exp(-sums.sum() / counts.sum()))

    def _sums(
        self, part: ContextPart, left: Sequence[Row], center: Sequence[Row], right: Sequence[Row]
    ) -> tuple[Doubles, Integers]:
        """(n,) log-likelihoods of whole parts, and (n,) their numbers of tokens."""
        network = self._networks[part]
        most = max_sentence_tokens(network)
        triples = [tuple(row[:most] for row in triple) for triple in zip(left, center, right, strict=True)]
        at = CONTEXT_PARTS.index(part)
        lengths = np.array([[len(row) for row in triple] for triple in triples], np.int64)
        lengths = lengths.reshape(-1, len(CONTEXT_PARTS))
        counts = lengths[:, at] + DECODER_MARKERS
        encoder_tokens = lengths.sum(axis=1) - lengths[:, at] + ENCODER_MARKERS
        sums = np.zeros(len(triples))
        limit = MAX_TOKENS.get(network.device.type, MAX_TOKENS_ELSEWHERE)
        with torch.inference_mode(), autocast(network.device.type, self._precision):
            for batch in batches_by_length(encoder_tokens, counts, limit):
                inputs = build_inputs([triples[i] for i in batch], [at] * len(batch), special_ids(network))
                losses = token_losses(network, inputs)
                owner = torch.arange(len(batch)).repeat_interleave(inputs.lengths).to(losses.device)
                total = torch.zeros(len(batch), device=losses.device).index_add_(0, owner, losses)
                sums[batch] = -total.double().cpu().numpy()
        return sums, counts


def token_losses(network: EncoderDecoderModel, inputs: GenerationInputs) -> Tensor:
    """(tokens,) -log p of every target of a batch, in float32.

    None is below 0, in any number type. The logits over the vocabulary are computed block by block, so that those of a
    whole batch are never in memory.
    """
    device = network.device
    read, written = (
        {name: each.to(device) for name, each in side.items()} for side in (inputs.encoder, inputs.decoder)
    )
    encoder, decoder = encoder_and_decoder(network)
    encoded = encoder(**read).last_hidden_state
    decoded = decoder.bert(
        **written, encoder_hidden_states=encoded, encoder_attention_mask=read["attention_mask"], use_cache=False
    ).last_hidden_state
    head: Any = decoder.cls.predictions
    hidden = head.transform(decoded[written["attention_mask"]])
    return torch.cat(list(_block_losses(hidden, inputs.targets.to(device), head.decoder)))


def _block_losses(hidden: Tensor, targets: Tensor, output: torch.nn.Linear) -> Iterator[Tensor]:
    size = BLOCK.get(hidden.device.type, BLOCK_ELSEWHERE)
    for vectors, ids in zip(torch.split(hidden, size), torch.split(targets, size), strict=True):
        # both terms from the same logits: with different rounding a loss could be negative
        logits = functional.linear(vectors, output.weight, output.bias).float()
        yield logits.logsumexp(dim=1) - logits.gather(1, ids[:, None])[:, 0]
