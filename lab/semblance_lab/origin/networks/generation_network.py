"""Networks that write a sentence from its neighbours: create, initialize, save and load."""

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
from semblance.models.networks.torch_network import merge_into
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.networks.generation_inputs import SpecialIds
from semblance_lab.origin.origin_settings import GenerationSettings

WEIGHTS = "model.safetensors"
SENTENCES = 3
FEED_FORWARD_FACTOR = 4  # width of a feed-forward block's inner layer over that of the network
INIT_STD = 0.02  # of new weights, as in BERT


def new_network(settings: GenerationSettings, pieces: int, max_tokens: int, special: SpecialIds) -> EncoderDecoderModel:
    """Create a network of random weights, drawn by the settings' seed."""
    config = BertConfig(
        vocab_size=pieces,
        hidden_size=settings.dim,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=FEED_FORWARD_FACTOR * settings.dim,
        max_position_embeddings=max_tokens + 2,
        type_vocab_size=SENTENCES,
        pad_token_id=special.pad,
    )
    torch.manual_seed(settings.seed)
    return _network(_configs(config, special))


def network_from_encoder(checkpoint: Checkpoint, seed: int, special: SpecialIds) -> EncoderDecoderModel:
    """Create a network whose encoder and decoder layers are those of a checkpoint.

    Cross-attention and the layer before the output are new. The three sentence positions start from the type embedding
    of a single sentence, plus noise.

    Raises:
        BadCheckpoint: it cannot be loaded, or is not a BERT.
    """
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        model = AutoModel.from_pretrained(
            checkpoint.folder, use_safetensors=True, dtype=torch.float32, local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError, KeyError) as error:
        raise BadCheckpoint(f"transformers cannot load {checkpoint.folder}: {error}") from error
    if not isinstance(model, BertModel):
        kind = model.config.model_type
        raise BadCheckpoint(f"{checkpoint.folder} is a {kind}, but the generative models can start from a BERT only")
    if checkpoint.adapter is not None:
        merge_into(model, checkpoint.adapter)
    weights = {name: each for name, each in model.state_dict().items() if not name.startswith("pooler.")}
    types = "embeddings.token_type_embeddings.weight"
    torch.manual_seed(seed)
    weights[types] = weights[types][:1] + INIT_STD * torch.randn(SENTENCES, model.config.hidden_size)
    config = BertConfig.from_dict({**model.config.to_dict(), "type_vocab_size": SENTENCES})
    network = _network(_configs(config, special))
    encoder, decoder = encoder_and_decoder(network)
    encoder.load_state_dict(weights)
    decoder.bert.load_state_dict(weights, strict=False)
    return network


def _configs(config: BertConfig, special: SpecialIds) -> EncoderDecoderConfig:
    """Configs of encoder and decoder, without dropout: few epochs overfit little."""
    sizes = {**config.to_dict(), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    encoder = BertConfig.from_dict(sizes)
    decoder = BertConfig.from_dict({**sizes, "is_decoder": True, "add_cross_attention": True, "use_cache": False})
    both = EncoderDecoderConfig.from_encoder_decoder_configs(
        encoder, decoder, pad_token_id=special.pad, decoder_start_token_id=special.start, eos_token_id=special.end
    )
    return cast("EncoderDecoderConfig", both)


def _network(config: Any) -> EncoderDecoderModel:
    """Create a network whose encoder, decoder and output share their embeddings."""
    encoder: Any = BertModel(config.encoder, add_pooling_layer=False)
    decoder: Any = BertLMHeadModel(config.decoder)
    decoder.bert.embeddings = encoder.embeddings
    head = decoder.cls.predictions
    head.decoder.weight = encoder.embeddings.word_embeddings.weight
    head.decoder.bias = head.bias
    network: Any = EncoderDecoderModel(config, encoder, decoder)
    return cast("EncoderDecoderModel", network.eval())


def encoder_and_decoder(network: EncoderDecoderModel) -> tuple[BertModel, BertLMHeadModel]:
    """Both halves of a network, with their types."""
    return cast("BertModel", network.encoder), cast("BertLMHeadModel", network.decoder)


def max_sentence_tokens(network: EncoderDecoderModel) -> int:
    """Most tokens of a sentence, without markers."""
    return int(encoder_and_decoder(network)[0].config.max_position_embeddings) - 2


def special_ids(network: EncoderDecoderModel) -> SpecialIds:
    """Ids of the special tokens that the network was created with."""
    config: Any = network.config
    return SpecialIds(config.pad_token_id, config.decoder_start_token_id, config.eos_token_id)


def parameter_count(network: nn.Module) -> int:
    """Number of trained parameters; shared ones count once."""
    return sum(each.numel() for each in network.parameters())


def save_network(network: EncoderDecoderModel, folder: Path) -> None:
    """Write config and weights into a new folder."""
    folder.mkdir(parents=True)
    network.config.save_pretrained(str(folder))
    save_model(network, str(folder / WEIGHTS))


def open_network(folder: Path, device: str) -> EncoderDecoderModel:
    """Load what `save_network` wrote.

    Raises:
        BadOrigin: it is missing or broken.
    """
    if not (folder / WEIGHTS).exists():
        raise BadOrigin(f"{folder} contains no generative model; run `semblance origin train`")
    try:
        network = _network(EncoderDecoderConfig.from_pretrained(str(folder), local_files_only=True))
        load_model(network, str(folder / WEIGHTS))
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise BadOrigin(f"the generative model in {folder} cannot be read: {error}") from error
    network.to(torch.device(device))  # type: ignore[arg-type]  # the decorator of to() hides its signature
    return network
