"""Networks that write a sentence from its neighbours: inputs, creation, saving, loading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_model, save_model
from torch import Tensor, nn
from transformers import (
    AutoModel,
    BertConfig,
    BertLMHeadModel,
    BertModel,
    EncoderDecoderConfig,
    EncoderDecoderModel,
)

from semblance.models.embeddings import Integers
from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.torch_network import apply_options
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.origin_settings import GenerationSettings

Row: TypeAlias = NDArray[np.integer[Any]]

OTHER_PARTS = ((1, 2), (0, 2), (0, 1))  # sentence positions of the two others
ENCODER_MARKERS, DECODER_MARKERS = 3, 1  # in the encoder's input, and at the end of what is written
LENGTH_BAND = 4  # tokens: sentences whose lengths are in one band of this width are batched together


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids of padding, and of the markers at the start and the end of a sentence."""

    pad: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class GenerationInputs:
    """A batch of b sentences to write.

    Encoder and decoder get keyword arguments of a BERT of transformers, all (b, tokens): the ids of tokens, the
    position of each token's sentence (0 left, 1 centre, 2 right) as its type, the position of each token in its
    sentence, where the marker before it is at 0, and whether there is a token.

    Attributes:
        encoder: [CLS] first other sentence [SEP] second other sentence [SEP].
        decoder: [CLS] and the sentence that is written.
        targets: (tokens,) successor of each token of `decoder`: the sentences, each with [SEP], concatenated.
        lengths: (b,) number of targets of each sentence.
    """

    encoder: Mapping[str, Tensor]
    decoder: Mapping[str, Tensor]
    targets: Tensor
    lengths: Tensor


def build_inputs(triples: Sequence[Sequence[Row]], parts: Sequence[int], special: SpecialIds) -> GenerationInputs:
    """Build the batch in which part i of triple i (left, centre, right) is written."""
    start, end = (np.array([mark]) for mark in (special.start, special.end))
    part = np.asarray(parts, np.int64)
    first, second = np.array([OTHER_PARTS[each] for each in parts], np.int64).T
    others = [
        (triple[OTHER_PARTS[at][0]], triple[OTHER_PARTS[at][1]]) for triple, at in zip(triples, parts, strict=True)
    ]
    written = [triple[at] for triple, at in zip(triples, parts, strict=True)]
    # Encoder: the grid is filled from one concatenated array, as a loop over rows would be slow for small networks.
    ends = np.array([len(one) for one, _ in others]) + 1  # position of the [SEP] after the first other sentence
    lengths = np.array([len(one) + len(other) + ENCODER_MARKERS for one, other in others])
    ids, mask = _padded_grid(
        [row for one, other in others for row in (start, one, end, other, end)], lengths, special.pad
    )
    # Types and positions follow from `ends` alone. That [SEP] still belongs to the first sentence; the second sentence
    # has no marker before it, so its tokens count from 1, like those after [CLS]: both get the same positions.
    at = np.arange(ids.shape[1])
    in_first = at <= ends[:, None]
    types = np.where(in_first, first[:, None], second[:, None])
    positions = np.where(mask, np.where(in_first, at, at - ends[:, None]), 0)
    # Decoder: its input is the sentence shifted by the start marker. The targets have the same number of tokens, as
    # each row gains [CLS] here and [SEP] there, so one mask selects the states that predict them.
    lengths = np.array([len(row) for row in written]) + DECODER_MARKERS
    decoder_ids, decoder_mask = _padded_grid([each for row in written for each in (start, row)], lengths, special.pad)
    places = np.broadcast_to(np.arange(decoder_ids.shape[1]), decoder_ids.shape)
    decoder_types = np.broadcast_to(part[:, None], decoder_ids.shape)  # the only input that tells which part to write
    return GenerationInputs(
        _bert_input(ids, types, positions, mask),
        _bert_input(decoder_ids, decoder_types, places, decoder_mask),
        torch.from_numpy(np.concatenate([each for row in written for each in (row, end)]).astype(np.int64)),
        torch.from_numpy(lengths),
    )


def _padded_grid(pieces: Sequence[Row], lengths: Integers, pad: int) -> tuple[Integers, NDArray[np.bool_]]:
    """Fill rows of these lengths with the concatenated pieces, then padding; with the mask."""
    mask: NDArray[np.bool_] = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, pad, np.int64)
    ids[mask] = np.concatenate(pieces)
    return ids, mask


def _bert_input(*grids: NDArray[Any]) -> dict[str, Tensor]:
    names = ("input_ids", "token_type_ids", "position_ids", "attention_mask")
    # copies: torch warns of read-only arrays
    return {name: torch.from_numpy(np.array(grid)) for name, grid in zip(names, grids, strict=True)}


def batches_by_length(read: Integers, written: Integers, limit: int) -> Iterator[Integers]:
    """Yield the numbers of sentences in batches of similar length.

    Args:
        read: (n,) encoder tokens of each.
        written: (n,) decoder tokens of each.
        limit: padded tokens of a batch, read and written together; a longer sentence is a batch of one.
    """
    order = np.lexsort((read, written // LENGTH_BAND))
    first = longest_read = longest_written = 0
    for at, number in enumerate(order):
        wider = max(longest_read, int(read[number])), max(longest_written, int(written[number]))
        if at > first and (at + 1 - first) * sum(wider) > limit:
            yield order[first:at]
            first, wider = at, (int(read[number]), int(written[number]))
        longest_read, longest_written = wider
    if len(order):
        yield order[first:]


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
    apply_options(model, checkpoint)
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
    return sum(parameter.numel() for parameter in network.parameters())


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
