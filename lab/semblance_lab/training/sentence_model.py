"""Build the encoder to train from modules of sentence-transformers, and save it."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from peft import LoraConfig, get_peft_model_state_dict
from peft.tuners.lora import LoraLayer
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import Tensor, nn

from semblance.models.files.four_bit import Q4_0
from semblance.models.files.json_file import read_json
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.model_files.lora import WEIGHTS, read_low_rank_adapter
from semblance.models.model_files.source import Source
from semblance.models.networks.torch_network import apply_options
from semblance.service.model_loading.float32_folder import write_float32_folder
from semblance_lab.training.errors import BadRecipe
from semblance_lab.training.recipe import LowRank, Recipe

MODULE_INPUT = "token_embeddings"


def build_model(checkpoint: Checkpoint, recipe: Recipe) -> SentenceTransformer:
    """Load the encoder of a checkpoint and apply the recipe's changes to it.

    Args:
        checkpoint: files of the model to start from.
        recipe: sets pooling, normalization, dropout, head and adapters.

    Raises:
        BadRecipe: the targets of the adapters match no linear map, sentence-transformers lacks the pooling, or the
            folder has modules that would be lost.
    """
    _require_plain(checkpoint)
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # a pooler may be absent
    with _float32(checkpoint.folder) as folder:
        network = Transformer(
            str(folder),
            max_seq_length=checkpoint.max_tokens,
            do_lower_case=checkpoint.lower_case,
            model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            processor_kwargs={"local_files_only": True},
        )
    apply_options(network.model, checkpoint)
    dim = int(network.get_embedding_dimension())
    modules: list[nn.Module] = [network]
    if checkpoint.modules.heads or recipe.head:
        head = _build_head(checkpoint, dim)
        modules.append(head)
        dim = head.out_features
    modules.append(Pooling(dim, _pooling(checkpoint, recipe), include_prompt=checkpoint.modules.include_prompt))
    if checkpoint.modules.normalize if recipe.normalize is None else recipe.normalize:
        modules.append(Normalize())
    prompts: dict[str, str] = {role: prompt for role, prompt in checkpoint.prompts.items() if prompt}
    shared = len(set(prompts.values())) == 1 and len(prompts) == len(checkpoint.prompts)
    model = SentenceTransformer(
        modules=modules, prompts=prompts or None, default_prompt_name=next(iter(prompts)) if shared else None
    )
    if recipe.dropout is not None:
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = recipe.dropout
    if recipe.low_rank is not None:
        _add_adapters(model, recipe.low_rank)
    return model


@contextmanager
def _float32(folder: Path) -> Iterator[Path]:
    """The folder, or a temporary one in float32 if its weights have four bits."""
    if read_json(folder / "config.json", dict).get("quantization_config") != Q4_0:
        yield folder
        return
    with tempfile.TemporaryDirectory() as temporary:
        write_float32_folder(Source(folder), Path(temporary))
        yield Path(temporary)


def merge_adapters(model: SentenceTransformer, low_rank: LowRank | None) -> SentenceTransformer:
    """Copy the model, except for its tokenizer, and merge its adapters as they are saved."""
    merged = copy.deepcopy(model, {id(model.tokenizer): model.tokenizer}).eval()
    for name, module in list(merged.named_modules()):
        if isinstance(module, LoraLayer):
            for a, b in zip(module.lora_A.parameters(), module.lora_B.parameters(), strict=True):
                a.data, b.data = (each.float() for each in _as_saved(a.data, b.data, low_rank or LowRank()))
            module.merge()
            parent, _, child = name.rpartition(".")
            setattr(merged.get_submodule(parent), child, module.get_base_layer())
    network: Any = merged.transformers_model
    if getattr(network, "peft_config", None):
        del network.peft_config
        network._hf_peft_config_loaded = False  # noqa: SLF001 - else only the adapter would be saved
    return merged


def special_ids(model: SentenceTransformer) -> set[int]:
    """Ids of the tokens that the tokenizer adds to every text, such as [CLS] and [SEP]."""
    return set(model.tokenizer("")["input_ids"])


def prompt_tokens(model: SentenceTransformer, prompt: str) -> int:
    """Number of tokens before those of a text with this prompt; 0 without a prompt."""
    if not prompt:
        return 0
    offsets = model.tokenizer(f"{prompt}a", return_offsets_mapping=True)["offset_mapping"]
    return next(place for place, (_, end) in enumerate(offsets) if end > len(prompt))


def _as_saved(a: Tensor, b: Tensor, low_rank: LowRank) -> tuple[Tensor, Tensor]:
    """A (rank, in) and B (out, rank) of an adapter as they are saved, in half precision."""
    if (rank := low_rank.saved_rank) is not None:
        of_b, of_a = torch.linalg.qr(b.double()), torch.linalg.qr(a.T.double())
        u, values, v = torch.linalg.svd(of_b.R @ of_a.R.T)
        roots = values[:rank].sqrt()
        a, b = ((of_a.Q @ v[:rank].T) * roots).T, (of_b.Q @ u[:, :rank]) * roots
    return a.half(), (low_rank.share * b).half()


def save_adapter(model: SentenceTransformer, base: str, folder: Path, low_rank: LowRank) -> None:
    """Save the adapters in PEFT's format; `base` names a model."""
    network: Any = model.transformers_model
    [(name, config)] = network.peft_config.items()
    weights = get_peft_model_state_dict(network, adapter_name=name)
    named: dict[str, Tensor] = {}
    for of_a in (key for key in weights if "lora_A" in key):
        of_b = of_a.replace("lora_A", "lora_B")
        for key, each in zip((of_a, of_b), _as_saved(weights[of_a], weights[of_b], low_rank), strict=True):
            named[f"base_model.model.{key}"] = each
    saved = copy.deepcopy(config)
    saved.r = low_rank.saved_rank or config.r
    saved.lora_alpha = config.lora_alpha * saved.r // config.r
    _write_adapter(named, saved, base, folder)


def add_adapters(parts: Mapping[Path, float], rank: int, folder: Path) -> None:
    """Save the weighted sum of several adapters of one model as one.

    With s_k B_k A_k the update of adapter k and c_k its weight, the saved B A is the nearest matrix of that rank, in
    the least squares, to::

        sum_k c_k s_k B_k A_k

    Args:
        parts: folder of an adapter in PEFT's format, of the same matrices as the others -> its weight.
        rank: of the sum.
        folder: to create.

    Raises:
        BadCheckpoint: an adapter cannot be read.

    Source: ilharco-etal-2023-task-arithmetic, section 2.
    """
    weights = {part: load_file(part / WEIGHTS) for part in parts}
    factors = {part: weight * read_low_rank_adapter(part).scale for part, weight in parts.items()}
    named: dict[str, Tensor] = {}
    for of_a in (key for key in next(iter(weights.values())) if "lora_A" in key):
        of_b = of_a.replace("lora_A", "lora_B")
        a = torch.cat([each[of_a].float() for each in weights.values()])
        b = torch.cat([factors[part] * each[of_b].float() for part, each in weights.items()], dim=1)
        named[of_a], named[of_b] = _as_saved(a, b, LowRank(rank=len(a), alpha=len(a), saved_rank=rank))
    config = LoraConfig.from_pretrained(str(next(iter(parts))), local_files_only=True)
    config.r = config.lora_alpha = rank
    _write_adapter(named, config, str(config.base_model_name_or_path), folder)


def _write_adapter(weights: Mapping[str, Tensor], config: LoraConfig, base: str, folder: Path) -> None:
    folder.mkdir(parents=True)
    save_file({key: each.contiguous().cpu() for key, each in weights.items()}, folder / WEIGHTS)
    config.base_model_name_or_path = base
    config.inference_mode = True
    config.save_pretrained(str(folder))


def _require_plain(checkpoint: Checkpoint) -> None:
    """Reject modules that the trained folder would not have. Raises BadRecipe."""
    modules = checkpoint.modules
    plain_heads = len(modules.heads) <= 1 and all(head.affine and not head.residual for head in modules.heads)
    if not plain_heads or len(modules.poolings) > 1 or modules.layers or checkpoint.truncate_dim:
        raise BadRecipe(
            f"{checkpoint.folder} has several poolings or heads, a head with an activation, layers behind its pooling "
            "or a truncate_dim, which a trained folder would lose: start from another model"
        )


def _pooling(checkpoint: Checkpoint, recipe: Recipe) -> str:
    [pooling] = [recipe.pooling] if recipe.pooling else checkpoint.modules.poolings
    if pooling == "words":
        raise BadRecipe("sentence-transformers cannot pool by words: train without this option, and serve with it")
    return pooling


def _build_head(checkpoint: Checkpoint, dim: int) -> Dense:
    if not checkpoint.modules.heads:
        dense = Dense(dim, dim, activation_function=None, module_input_name=MODULE_INPUT)
        nn.init.eye_(dense.linear.weight)
        nn.init.zeros_(dense.linear.bias)
        return dense
    [head] = checkpoint.modules.heads
    dense = Dense(
        head.in_features,
        head.out_features,
        bias=head.bias,
        activation_function=None,
        module_input_name=MODULE_INPUT,
    )
    dense.load_state_dict(load_file(head.weights))
    return dense


def _add_adapters(model: SentenceTransformer, low_rank: LowRank) -> None:
    skipped = range(0 if low_rank.layers is None else max(0, _layers(model) - low_rank.layers))
    config = LoraConfig(
        r=low_rank.rank,
        lora_alpha=low_rank.alpha,
        lora_dropout=low_rank.dropout,
        target_modules=list(low_rank.targets) or "all-linear",
        # BERT's pooler, whose output we do not use, and the first layers
        exclude_modules=rf".*(pooler|\.({'|'.join(map(str, skipped))})\.).*" if skipped else ".*pooler.*",
    )
    try:
        model.add_adapter(config)
    except ValueError as error:
        raise BadRecipe(f"low_rank: {error}") from error


def _layers(model: SentenceTransformer) -> int:
    network: Any = model.transformers_model
    return int(network.config.num_hidden_layers)
