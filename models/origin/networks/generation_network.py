"""The network that writes a sentence from its two neighbours: made from scratch or from a given encoder, and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import torch
import transformers
from safetensors import SafetensorError
from safetensors.torch import load_model, save_model
from torch import nn
from transformers import (
    AutoModel,
    BertConfig,
    BertLMHeadModel,
    BertModel,
    EncoderDecoderConfig,
    EncoderDecoderModel,
)

from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.lora_merge import merge
from semblance.models.origin.errors import BadOrigin
from semblance.models.origin.networks.generation_inputs import Marks
from semblance.models.origin.origin_settings import GenerationSettings

WEIGHTS = "model.safetensors"
SENTENCES = 3
WIDER = 4  # how much wider the inner layer of a feed-forward block is
SPREAD = 0.02  # of new weights, as in BERT


def new_network(settings: GenerationSettings, pieces: int, max_tokens: int, marks: Marks) -> EncoderDecoderModel:
    """A network of random weights, drawn by the settings' seed."""
    config = BertConfig(
        vocab_size=pieces,
        hidden_size=settings.dim,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=WIDER * settings.dim,
        max_position_embeddings=max_tokens + 2,
        type_vocab_size=SENTENCES,
        pad_token_id=marks.pad,
    )
    torch.manual_seed(settings.seed)
    return _network(_both(config, marks))


def started_network(checkpoint: Checkpoint, seed: int, marks: Marks) -> EncoderDecoderModel:
    """A network whose encoder is that of a checkpoint, and whose decoder has its layers as well.

    New are what the encoder has not: attention from the decoder to the encoder, and the layer before the output. The
    three sentence positions begin as the one type that a single sentence has there.

    Raises:
        BadCheckpoint: it cannot be loaded, or is no BERT.
    """
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        found = AutoModel.from_pretrained(
            checkpoint.folder, use_safetensors=True, dtype=torch.float32, local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError, KeyError) as error:
        raise BadCheckpoint(f"transformers cannot load {checkpoint.folder}: {error}") from error
    if not isinstance(found, BertModel):
        kind = found.config.model_type
        raise BadCheckpoint(f"{checkpoint.folder} is no BERT but {kind}, which the generative models cannot start from")
    if checkpoint.adapter is not None:
        merge(checkpoint.adapter, found)
    weights = {name: each for name, each in found.state_dict().items() if not name.startswith("pooler.")}
    types = "embeddings.token_type_embeddings.weight"
    torch.manual_seed(seed)
    weights[types] = weights[types][:1] + SPREAD * torch.randn(SENTENCES, found.config.hidden_size)
    config = BertConfig.from_dict({**found.config.to_dict(), "type_vocab_size": SENTENCES})
    network = _network(_both(config, marks))
    reader, writer = sides(network)
    reader.load_state_dict(weights)
    writer.bert.load_state_dict(weights, strict=False)
    return network


def _both(config: BertConfig, marks: Marks) -> EncoderDecoderConfig:
    """Encoder and decoder of these sizes. Nothing is dropped out: few passes over the text overfit little."""
    sizes = {**config.to_dict(), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    reads = BertConfig.from_dict(sizes)
    writes = BertConfig.from_dict({**sizes, "is_decoder": True, "add_cross_attention": True, "use_cache": False})
    both = EncoderDecoderConfig.from_encoder_decoder_configs(
        reads, writes, pad_token_id=marks.pad, decoder_start_token_id=marks.start, eos_token_id=marks.end
    )
    return cast("EncoderDecoderConfig", both)


def _network(config: Any) -> EncoderDecoderModel:
    """A new network, in which both sides and the output share their embeddings: of tokens, and of both positions."""
    encoder: Any = BertModel(config.encoder, add_pooling_layer=False)
    decoder: Any = BertLMHeadModel(config.decoder)
    decoder.bert.embeddings = encoder.embeddings
    head = decoder.cls.predictions
    head.decoder.weight = encoder.embeddings.word_embeddings.weight
    head.decoder.bias = head.bias
    network: Any = EncoderDecoderModel(config, encoder, decoder)
    return cast("EncoderDecoderModel", network.eval())


def sides(network: EncoderDecoderModel) -> tuple[BertModel, BertLMHeadModel]:
    """Its encoder and its decoder."""
    return cast("BertModel", network.encoder), cast("BertLMHeadModel", network.decoder)


def longest(network: EncoderDecoderModel) -> int:
    """The most tokens of a sentence, markers aside."""
    return int(sides(network)[0].config.max_position_embeddings) - 2


def marks_of(network: EncoderDecoderModel) -> Marks:
    """What it was made with."""
    config: Any = network.config
    return Marks(config.pad_token_id, config.decoder_start_token_id, config.eos_token_id)


def parameters(network: nn.Module) -> int:
    """How many numbers are trained; those that two layers share count once."""
    return sum(each.numel() for each in network.parameters())


def save_network(network: EncoderDecoderModel, folder: Path) -> None:
    """Write its sizes and weights into a new folder."""
    folder.mkdir(parents=True)
    network.config.save_pretrained(str(folder))
    save_model(network, str(folder / WEIGHTS))


def open_network(folder: Path, device: str) -> EncoderDecoderModel:
    """What `save_network` wrote.

    Raises:
        BadOrigin: it is not there, or is broken.
    """
    if not (folder / WEIGHTS).exists():
        raise BadOrigin(f"{folder} holds no generative model: make it by `semblance origin train`")
    try:
        network = _network(EncoderDecoderConfig.from_pretrained(str(folder), local_files_only=True))
        load_model(network, str(folder / WEIGHTS))
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise BadOrigin(f"the generative model in {folder} cannot be read: {error}") from error
    network.to(torch.device(device))  # type: ignore[arg-type]  # to() is decorated in vain
    return network
