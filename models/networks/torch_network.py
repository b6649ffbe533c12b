"""The network of a model folder as a module of torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import transformers
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import AutoModel, AutoTokenizer

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.model_files.dense_head import TokenHead
from semblance.models.networks.lora_merge import merge
from semblance.models.runtime import NetworkFacts
from semblance.models.text import Ints
from semblance.models.tokenization.subwords import bare


class TorchNetwork(torch.nn.Module):
    """A network of transformers with its adapter merged into it and its head behind it, in float32 on the CPU.

    Attributes:
        network: the one of transformers.
        head: the affine map of every token vector; without one, nothing happens to them.

    Raises:
        BadCheckpoint: the folder has no network or no fast tokenizer that transformers can load.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__()
        tokenizer, self.network = _load(checkpoint)
        self.head = _head(checkpoint.head)
        positions = _positions(self.network)
        self.facts = NetworkFacts(
            dim=checkpoint.head.out_features if checkpoint.head else int(self.network.config.hidden_size),
            max_tokens=min(checkpoint.max_tokens or positions, positions),
            pad_id=tokenizer.pad_token_id or 0,
            first_position=first_position(self.network),
            tokenizer=bare(tokenizer.backend_tokenizer, checkpoint.lower_case),
        )
        self.eval()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """(b, l) -> (b, l, d)."""
        hidden = self.network(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mapped: torch.Tensor = self.head(hidden)
        return mapped

    def alone(self, ids: Ints) -> Floats:
        """(n, d) the token vectors of one text of n tokens, with nothing beside it."""
        given = torch.from_numpy(ids.astype(np.int64))[None].to(self.network.device)
        with torch.inference_mode():
            vectors: Floats = self(given, torch.ones_like(given))[0].cpu().numpy()
        return vectors


def _load(checkpoint: Checkpoint) -> tuple[Any, Any]:
    """The tokenizer and the network of a folder, complete and without any code of its own."""
    # its bar would stand between the lines of a log
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        tokenizer = AutoTokenizer.from_pretrained(checkpoint.folder, local_files_only=True, trust_remote_code=False)
        network, report = AutoModel.from_pretrained(
            checkpoint.folder,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
            local_files_only=True,
            trust_remote_code=False,
        )
    except (OSError, ValueError, KeyError) as error:
        raise BadCheckpoint(f"transformers cannot load {checkpoint.folder}: {error}") from error
    if not tokenizer.is_fast:
        raise BadCheckpoint(f"{checkpoint.folder} has no fast tokenizer (tokenizer.json), which gives character spans")
    # the pooler is not used here; any other weight that is missing would be random
    absent = [name for name in (*report["missing_keys"], *report["mismatched_keys"]) if "pooler" not in str(name)]
    if absent:
        raise BadCheckpoint(f"{checkpoint.folder} lacks {len(absent)} weights of its network, such as {absent[0]}")
    if checkpoint.adapter is not None:
        merge(checkpoint.adapter, network)
    return tokenizer, network


def _head(head: TokenHead | None) -> torch.nn.Module:
    """The affine map of every token vector, with its weights; without one, nothing happens to them."""
    if head is None:
        return torch.nn.Identity()
    linear = torch.nn.Linear(head.in_features, head.out_features, bias=head.bias)
    try:
        weights = load_file(head.weights)
        linear.load_state_dict({name.removeprefix("linear."): value.float() for name, value in weights.items()})
    except (OSError, SafetensorError, RuntimeError) as error:
        raise BadCheckpoint(f"cannot load {head.weights}: {error}") from error
    return linear


def first_position(network: Any) -> int:
    """The number of a text's first place: RoBERTa's kin number places from the padding id on."""
    padding: int | None = getattr(_position_table(network), "padding_idx", None)
    return 0 if padding is None else padding + 1


def _positions(network: Any) -> int:
    """Most tokens the network has positions for."""
    table = _position_table(network)
    if isinstance(table, torch.nn.Embedding):
        return table.num_embeddings - first_position(network)
    return int(getattr(network.config, "max_position_embeddings", 512))


def _position_table(network: Any) -> Any:
    return getattr(getattr(network, "embeddings", None), "position_embeddings", None)
