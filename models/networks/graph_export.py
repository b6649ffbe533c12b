"""A network as a graph over packed texts, exported by torch."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from semblance.models.embeddings import Floats
from semblance.models.errors import NotExportable
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.agreement import probe_ids, require_agreement
from semblance.models.networks.export_attention import GatheredNetwork
from semblance.models.networks.shape_buckets import laid_out
from semblance.models.networks.torch_network import TorchNetwork
from semblance.models.runtime import NetworkFacts
from semblance.models.text import Ints

SAME = 0.99999  # least cosine, in float32, of the vectors of packed texts to those of each alone


def gathered_export(checkpoint: Checkpoint) -> tuple[Any, NetworkFacts, list[Floats]]:
    """The graph of a `GatheredNetwork`, the facts of its network, and the vectors of the probes by torch in float32.

    Raises:
        BadCheckpoint: see `TorchNetwork`.
        NotExportable: its attention looks at more than the tokens of a text, or torch cannot export it.
    """
    whole = TorchNetwork(checkpoint)
    facts = whole.facts
    probes = probe_ids(checkpoint, facts)
    exact = [whole.alone(each) for each in probes]
    packed = GatheredNetwork(whole)
    laid = [torch.from_numpy(each) for each in laid_out(probes, facts)]
    tokens, texts = {0: torch.export.Dim("tokens", min=2)}, torch.export.Dim("texts", min=1)
    grid = {0: texts, 1: torch.export.Dim("width", min=2)}
    try:
        with warnings.catch_warnings(action="ignore"), torch.inference_mode():
            together = packed(*laid).numpy()
        packed_vectors = _parts(together, probes)
        require_agreement(exact, packed_vectors, SAME, f"{checkpoint.folder} over packed texts", "run it by torch")
        with warnings.catch_warnings(action="ignore"):  # of what torch will do without one day
            graph = torch.export.export(packed, tuple(laid), dynamic_shapes=(tokens, tokens, grid, grid, tokens))
    except Exception as error:  # it raises whatever the network came to
        raise NotExportable(f"{checkpoint.folder} cannot be exported: {error}") from error
    return graph, facts, exact


def _parts(hidden: Floats, texts: Sequence[Ints]) -> list[Floats]:
    """The vectors of each text."""
    ends = np.cumsum([len(text) for text in texts])
    return [hidden[end - len(text) : end] for end, text in zip(ends, texts, strict=True)]
