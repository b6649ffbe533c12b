"""How likely is a sentence between its neighbours, and each neighbour beside it? The generative models (Eq. 2)."""

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
from semblance.models.origin.context_parts import PARTS, Part
from semblance.models.origin.errors import BadOrigin
from semblance.models.origin.networks.generation_inputs import MARKS_READ, MARKS_WRITTEN, Inputs, Row, by_length, inputs
from semblance.models.origin.networks.generation_network import longest, marks_of, open_network, sides
from semblance.models.origin.networks.reduced_precision import Asked, autocast, precision

ALL = "all"  # the folder of a network that writes all parts
MOST_TOKENS = {"cpu": 4_096}  # padded tokens of a batch
MOST_TOKENS_ELSEWHERE = 131_072
BLOCK = {"cpu": 128}  # tokens whose logits are computed at once: of 8,192 pieces they stay in the cache of a core
BLOCK_ELSEWHERE = 8_192


class Generation:
    """Sequence-to-sequence transformers that write one of three sentences in a row from the two others.

    With x the sentence that is written, x_1 to x_n its tokens and x_(n+1) the end marker, its likelihood is::

        (1 / (n + 1)) sum_t log p(x_t | x_<t, the two others)        t = 1 .. n + 1

    so that a sentence of twice the length, whose tokens are as likely, is as likely. The paper divides by |x| and does
    not say whether that counts the end marker; it is a token that is written, so here it does.

    Bounds: never above 0. The same for a sentence alone and in any batch: to 1e-5 in float32, to 0.02 in bfloat16.

    The networks are a BERT encoder and a BERT decoder of transformers. Words are told by embeddings of tokens, of token
    positions, which begin anew in each sentence, and of sentence positions, as in the paper. The paper trains a network
    for each part; one for all of them, which is told the part by the sentence position of what it writes, has a third
    of the weights and sees three times the examples.

    Args:
        networks: the network of each part; the same one three times, or three.
        asked: the precision to compute in.

    Source: sun-etal-2022-origin, section 3.1, Eq. 2.
    """

    def __init__(self, networks: Mapping[Part, EncoderDecoderModel], asked: Asked = "auto") -> None:
        self._networks = networks
        self._precision = asked

    @classmethod
    def open(cls, folder: Path, device: str = "cpu", asked: Asked = "auto") -> Generation:
        """The networks in a folder such as `runs/origin/generation`.

        Raises:
            BadOrigin: they are not there, or are broken.
        """
        if (folder / ALL).is_dir():
            network = open_network(folder / ALL, device)
            return cls(dict.fromkeys(PARTS, network), asked)
        if not folder.is_dir():
            raise BadOrigin(f"there is no {folder}: make it by `semblance origin train`")
        return cls({part: open_network(folder / part, device) for part in PARTS}, asked)

    def about(self) -> Mapping[str, str]:
        """The kind of device, and the precision, which what it says depends on a little."""
        device = self._networks[PARTS[0]].device.type
        return {"device": device, "precision": precision(device, self._precision)}

    def log_likelihoods(self, part: Part, left: Sequence[Row], centre: Sequence[Row], right: Sequence[Row]) -> Floats:
        """The likelihood of one part of each three sentences.

        Args:
            part: which one is written.
            left: ids of n sentences, without markers; beyond the most tokens that the network was made for, they are
                cut.
            centre: the same of the sentences that follow these.
            right: the same of those that follow the second ones.

        Returns:
            (n,).
        """
        sums, counts = self._sums(part, left, centre, right)
        return (sums / counts).astype(np.float32)

    def perplexity(self, part: Part, left: Sequence[Row], centre: Sequence[Row], right: Sequence[Row]) -> float:
        """exp of minus the mean log-likelihood of all tokens of that part, end markers included."""
        sums, counts = self._sums(part, left, centre, right)
        return float(np.exp(-sums.sum() / counts.sum()))

    def _sums(
        self, part: Part, left: Sequence[Row], centre: Sequence[Row], right: Sequence[Row]
    ) -> tuple[Doubles, Integers]:
        """(n,) log-likelihoods of the whole parts, and how many tokens those have."""
        network = self._networks[part]
        most = longest(network)
        triples = [tuple(row[:most] for row in three) for three in zip(left, centre, right, strict=True)]
        at = PARTS.index(part)
        lengths = np.array([[len(row) for row in three] for three in triples], np.int64).reshape(-1, len(PARTS))
        counts = lengths[:, at] + MARKS_WRITTEN
        read = lengths.sum(axis=1) - lengths[:, at] + MARKS_READ
        sums = np.zeros(len(triples))
        with torch.inference_mode(), autocast(network.device.type, self._precision):
            for batch in by_length(read, counts, MOST_TOKENS.get(network.device.type, MOST_TOKENS_ELSEWHERE)):
                given = inputs([triples[i] for i in batch], [at] * len(batch), marks_of(network))
                losses = token_losses(network, given)
                owner = torch.arange(len(batch)).repeat_interleave(given.lengths).to(losses.device)
                found = torch.zeros(len(batch), device=losses.device).index_add_(0, owner, losses)
                sums[batch] = -found.double().cpu().numpy()
        return sums, counts


def token_losses(network: EncoderDecoderModel, given: Inputs) -> Tensor:
    """(tokens,) -log p of every target of a batch, in float32.

    None is below 0, in whatever type the network computes. The logits over the vocabulary are computed block by block,
    so that those of a whole batch are never there at once.
    """
    device = network.device
    read, written = given.read.arguments(device), given.given.arguments(device)
    encoder, decoder = sides(network)
    encoded = encoder(**read).last_hidden_state
    decoded = decoder.bert(
        **written, encoder_hidden_states=encoded, encoder_attention_mask=read["attention_mask"], use_cache=False
    ).last_hidden_state
    head: Any = decoder.cls.predictions
    hidden = head.transform(decoded[written["attention_mask"]])
    return torch.cat(list(_blocks(hidden, given.targets.to(device), head.decoder)))


def _blocks(hidden: Tensor, targets: Tensor, output: torch.nn.Linear) -> Iterator[Tensor]:
    size = BLOCK.get(hidden.device.type, BLOCK_ELSEWHERE)
    for vectors, ids in zip(torch.split(hidden, size), torch.split(targets, size), strict=True):
        # both from the same logits: rounded otherwise, a target may come out above the sum that it is part of
        logits = functional.linear(vectors, output.weight, output.bias).float()
        yield logits.logsumexp(dim=1) - logits.gather(1, ids[:, None])[:, 0]
