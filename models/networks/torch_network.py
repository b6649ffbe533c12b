"""The network of a model folder as a module of torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModel, AutoTokenizer

from semblance.models.embeddings import Floats, Integers, Precision
from semblance.models.errors import BadCheckpoint, NotExportable
from semblance.models.files.four_bit import Q4_0
from semblance.models.files.tensors import read_weights
from semblance.models.model_files.bert_families import ENDS_DIFFERENTLY
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.model_files.dense import Dense
from semblance.models.networks.device_errors import device_errors
from semblance.models.networks.lora_merge import merge
from semblance.models.runtime import Compute, NetworkFacts
from semblance.models.text import Ints
from semblance.models.tokenization.subwords import serialize_tokenizer

_PROBE_TOKENS = 4  # of any text, to see that a shorter network has the vectors of an inner layer
_ROUNDING = 1e-5
VERSIONS = {"torch": torch.__version__, "transformers": transformers.__version__}


class TorchNetwork(torch.nn.Module):
    """A network of transformers with merged adapter and appended head, in float32 on the CPU.

    Attributes:
        network: the network of transformers.
        head: the layers of every token vector; the identity if there are none.

    Raises:
        BadCheckpoint: transformers cannot load a network or a fast tokenizer from the folder.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__()
        tokenizer, self.network = _load(checkpoint)
        heads = checkpoint.modules.heads
        self.head = torch.nn.Sequential(*map(DenseLayer, heads))
        positions = _max_positions(self.network)
        self.facts = NetworkFacts(
            dim=heads[-1].out_features if heads else int(self.network.config.hidden_size),
            max_tokens=min(checkpoint.max_tokens or positions, positions),
            pad_id=tokenizer.pad_token_id or 0,
            first_position=first_position(self.network),
            tokenizer=serialize_tokenizer(tokenizer.backend_tokenizer, checkpoint.lower_case),
            type_rows=positions if _types_pairs(tokenizer, self.network) else 0,
        )
        self.eval()

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, types: torch.Tensor | None = None
    ) -> torch.Tensor:
        """(b, l) -> (b, l, d); `types` of the tokens of pairs, if the network tells them apart."""
        typed = {} if types is None else {"token_type_ids": types}
        hidden = self.network(input_ids=input_ids, attention_mask=attention_mask, **typed).last_hidden_state
        mapped: torch.Tensor = self.head(hidden)
        return mapped

    def encode_padded(
        self, ids: Integers, mask: Integers, precision: Precision = "float32", types: Integers | None = None
    ) -> Floats:
        """(b, l) token ids, mask and types of tokens -> (b, l, d) float32 token vectors.

        In bfloat16 by autocast, which keeps sums and norms in float32, so that a text keeps nearly the same vectors
        alone and in a batch.

        Raises:
            DeviceLost: the device failed permanently.
        """
        device = self.network.device
        autocast = torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")
        with device_errors(device), torch.inference_mode(), autocast:
            given = [torch.from_numpy(each).to(device) for each in (ids, mask, types) if each is not None]
            vectors: Floats = self(*given).float().cpu().numpy()
        return vectors

    def encode_one(self, ids: Ints) -> Floats:
        """(n, d) float32 token vectors of one text of n tokens, without padding. Raises DeviceLost."""
        batch = ids.astype(np.int64)[None]
        vectors: Floats = self.encode_padded(batch, np.ones_like(batch))[0]
        return vectors


class DenseLayer(torch.nn.Module):
    """A `Dense` of token vectors. Raises BadCheckpoint."""

    def __init__(self, dense: Dense) -> None:
        super().__init__()
        matrices = {name: torch.from_numpy(each) for name, each in dense.matrices().items()}
        self.linear = _linear(matrices["weight"], matrices.get("bias"))
        self.activation = getattr(torch.nn, dense.activation)()
        self.residual: torch.nn.Module | None = None
        if dense.residual:
            self.residual = _linear(matrices["residual"]) if "residual" in matrices else torch.nn.Identity()

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """(..., in) -> (..., out)."""
        mapped: torch.Tensor = self.activation(self.linear(rows))
        return mapped if self.residual is None else mapped + self.residual(rows)


def _linear(weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.nn.Linear:
    linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    linear.load_state_dict({"weight": weight} | ({} if bias is None else {"bias": bias}))
    return linear


def load_network(checkpoint: Checkpoint, compute: Compute) -> TorchNetwork:
    """Load the network onto its device, and set the limit of CPU threads for all of torch.

    Raises:
        NotExportable: it should compute in int8.
        BadCheckpoint: see `TorchNetwork`.
    """
    if compute.precision == "int8":
        raise NotExportable("networks run in int8 by OpenVINO alone, on CPUs: serve it in bfloat16 or float32")
    if compute.threads is not None:
        torch.set_num_threads(compute.threads)
    return TorchNetwork(checkpoint).to(compute.device)


def _load(checkpoint: Checkpoint) -> tuple[Any, Any]:
    """Load the tokenizer and the network, complete and without running code from the folder."""
    # a progress bar would break up the lines of a log
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        tokenizer = AutoTokenizer.from_pretrained(checkpoint.folder, local_files_only=True, trust_remote_code=False)
        network, absent = _load_network(checkpoint.folder)
    except SafetensorError as error:
        files = ", ".join(map(str, sorted(checkpoint.folder.glob("*.safetensors"))))
        raise BadCheckpoint(f"the weights in {files} are damaged ({error}): copy them again") from error
    except (OSError, ValueError, KeyError, RuntimeError, ArithmeticError) as error:  # the last two by sizes
        raise BadCheckpoint(f"transformers cannot load {checkpoint.folder}: {error}") from error
    if not tokenizer.is_fast:
        raise BadCheckpoint(f"{checkpoint.folder} has no fast tokenizer (tokenizer.json), which gives character spans")
    # the pooler is not used here; any other missing weight would be random
    missing = [name for name in absent if "pooler" not in name]
    if missing:
        raise BadCheckpoint(f"{checkpoint.folder} lacks {len(missing)} weights of its network, such as {missing[0]}")
    apply_options(network, checkpoint)
    return tokenizer, network


def _load_network(folder: Path) -> tuple[Any, list[str]]:
    """Load a network in float32, and the names of weights that are missing or misshapen."""
    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if getattr(config, "quantization_config", None) == Q4_0:
        return _load_four_bit(folder, config)
    network, report = AutoModel.from_pretrained(
        folder,
        use_safetensors=True,
        dtype=torch.float32,
        output_loading_info=True,
        local_files_only=True,
        trust_remote_code=False,
    )
    return network, [str(name) for name in (*report["missing_keys"], *report["mismatched_keys"])]


def _load_four_bit(folder: Path, config: Any) -> tuple[Any, list[str]]:
    """Load a network from weights of four bits, likewise. Raises ValueError: they do not fit."""
    del config.quantization_config
    network = AutoModel.from_config(config, dtype=torch.float32)  # type: ignore[no-untyped-call]
    weights = read_weights(folder / "model.safetensors").dequantized()
    try:
        report = network.load_state_dict({name: torch.from_numpy(each) for name, each in weights.items()}, strict=False)
    except RuntimeError as error:
        raise ValueError(f"its weights do not fit its config.json: {error}") from error
    return network, report.missing_keys


def apply_options(network: Any, checkpoint: Checkpoint) -> None:
    """Merge the adapter of a checkpoint into a network, and end it after its layer.

    The network is one of transformers, on the CPU.

    Raises:
        BadCheckpoint: the adapter does not fit, or the network cannot end earlier.
    """
    if checkpoint.adapter is not None:
        linear = {name: each for name, each in network.named_modules() if isinstance(each, torch.nn.Linear)}
        matrices = {name: each.weight.data.numpy() for name, each in linear.items()}  # the same memory
        merge(checkpoint.adapter, matrices, network.base_model_prefix)
    if checkpoint.layer is not None:
        _end_after(network, checkpoint.layer)


def _end_after(network: Any, layer: int) -> None:
    """Remove the layers above this one, counted from 1."""
    lists = [each for each in network.modules() if isinstance(each, torch.nn.ModuleList)]
    stacks = [each for each in lists if len(each) == network.config.num_hidden_layers]
    if len(stacks) != 1:
        raise BadCheckpoint(f"a {network.config.model_type} has no single list of layers: leave layer out")
    network.eval()
    probe = torch.arange(1, _PROBE_TOKENS + 1)[None]
    with torch.inference_mode():
        expected = network(input_ids=probe, output_hidden_states=True).hidden_states[layer]
        del stacks[0][layer:]
        network.config.num_hidden_layers = layer
        ended = network(input_ids=probe).last_hidden_state
    if not torch.allclose(ended, expected, atol=_ROUNDING):
        raise BadCheckpoint(f"a {network.config.model_type} {ENDS_DIFFERENTLY}")


def first_position(network: Any) -> int:
    """Position id of the first token of a text: the RoBERTa family counts from the padding id."""
    padding: int | None = getattr(_position_table(network), "padding_idx", None)
    return 0 if padding is None else padding + 1


def _types_pairs(tokenizer: Any, network: Any) -> bool:
    """Whether the tokens of the second text of a pair have a type of their own."""
    return "token_type_ids" in tokenizer.model_input_names and getattr(network.config, "type_vocab_size", 1) > 1


def _max_positions(network: Any) -> int:
    """Most tokens that the network has positions for."""
    table = _position_table(network)
    if isinstance(table, torch.nn.Embedding):
        return table.num_embeddings - first_position(network)
    return int(getattr(network.config, "max_position_embeddings", 512))


def _position_table(network: Any) -> Any:
    return getattr(getattr(network, "embeddings", None), "position_embeddings", None)
