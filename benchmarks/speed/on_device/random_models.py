"""Networks with random weights, and random texts with the lengths of STS sentences."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

SHAPES: Mapping[str, BertConfig] = {
    "minilm": BertConfig(hidden_size=384, intermediate_size=1536, num_hidden_layers=6, num_attention_heads=12),
    "bert-base": BertConfig(),
    "tiny": BertConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2),
}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
# tokens of the built-in model, special ones included: medians of twenty equal parts of the 27,846 sentences of STS 2012
# to 2016 and of the test part of the STS benchmark
STS_LENGTHS = (7, 8, 9, 9, 9, 10, 10, 11, 11, 12, 13, 13, 14, 15, 16, 18, 19, 21, 25, 34)


def random_network(shape: str) -> BertModel:
    """A network in float32, with the same weights every time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = BertModel(copy.deepcopy(SHAPES[shape]))  # the network keeps its config, and a runtime may change it
    network.eval()  # type: ignore[no-untyped-call]
    return network


def random_texts(count: int) -> list[str]:
    """Texts of random words of the tokenizer below; each word is one token."""
    rng = random.Random(0)
    words = range(len(SPECIAL), BertConfig().vocab_size)
    return [" ".join(f"w{each}" for each in rng.choices(words, k=length - 2)) for length in sts_lengths(count)]


def sts_lengths(count: int) -> list[int]:
    """Random text lengths in tokens."""
    return [int(each) for each in np.random.default_rng(0).choice(STS_LENGTHS, count)]


def tokenizer() -> Tokenizer:
    """A WordPiece tokenizer with the processing steps of BERT's."""
    names = [*SPECIAL, *(f"w{i}" for i in range(len(SPECIAL), BertConfig().vocab_size))]
    wordpiece = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))  # noqa: S106 - no password
    wordpiece.normalizer = normalizers.BertNormalizer()
    wordpiece.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    wordpiece.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return wordpiece


def save_model(shape: str, folder: Path) -> None:
    """Save a model that transformers and sentence-transformers can load."""
    random_network(shape).save_pretrained(folder)
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer(),
        model_max_length=512,
        pad_token="[PAD]",  # noqa: S106 - no password
        unk_token="[UNK]",  # noqa: S106
        cls_token="[CLS]",  # noqa: S106
        sep_token="[SEP]",  # noqa: S106
    ).save_pretrained(folder)


def operations(shape: str, lengths: list[int]) -> float:
    """Multiplications and additions in the matrix products of all layers."""
    config = SHAPES[shape]
    d, hidden = config.hidden_size, config.intermediate_size
    linear = sum(lengths) * 2 * (4 * d * d + 2 * d * hidden)
    attention = sum(4 * n * n * d for n in lengths)
    return float(config.num_hidden_layers * (linear + attention))
