"""Networks of random weights in the shapes of known ones, and texts of random words as long as those of STS."""

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
# tokens, the special ones included, of the built-in model: the middles of twenty equal parts of the 27,846 sentences of
# STS 2012 to 2016 and of the test part of the STS benchmark
STS_LENGTHS = (7, 8, 9, 9, 9, 10, 10, 11, 11, 12, 13, 13, 14, 15, 16, 18, 19, 21, 25, 34)


def random_network(shape: str) -> BertModel:
    """The same weights every time, in float32."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = BertModel(copy.deepcopy(SHAPES[shape]))  # which a network keeps, and its runtime may change
    network.eval()  # type: ignore[no-untyped-call]
    return network


def random_texts(count: int) -> list[str]:
    """Words of the tokenizer below; each is one token."""
    rng = random.Random(0)
    words = range(len(SPECIAL), BertConfig().vocab_size)
    return [" ".join(f"w{each}" for each in rng.choices(words, k=length - 2)) for length in sts_lengths(count)]


def sts_lengths(count: int) -> list[int]:
    """So many numbers of tokens, in random order."""
    return [int(each) for each in np.random.default_rng(0).choice(STS_LENGTHS, count)]


def tokenizer() -> Tokenizer:
    """One that takes the steps of BERT's."""
    names = [*SPECIAL, *(f"w{i}" for i in range(len(SPECIAL), BertConfig().vocab_size))]
    made = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))  # noqa: S106 - no password
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def save_model(shape: str, folder: Path) -> None:
    """A folder that transformers and sentence-transformers load."""
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
    """Multiplications and additions of the matrix products that the network's layers need for texts of that length."""
    config = SHAPES[shape]
    d, between = config.hidden_size, config.intermediate_size
    maps = sum(lengths) * 2 * (4 * d * d + 2 * d * between)
    attention = sum(4 * n * n * d for n in lengths)
    return float(config.num_hidden_layers * (maps + attention))
