"""Folders of cross-encoders: random networks with a head of one label, and real tokenizers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, pre_tokenizers, trainers
from tokenizers.models import BPE, Unigram
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    BertTokenizer,
    CamembertTokenizer,
    DistilBertTokenizer,
    MPNetTokenizer,
    RobertaTokenizer,
    XLMRobertaTokenizer,
)

from tests.support.small_model import BUILT_IN_FOLDER

QUERY = "my parcel never came"
TEXTS = [
    "Track a shipment with its number.",
    "Return shoes within 30 days.",
    "Der Hund schläft\tauf dem Sofa.\n",
    "東京 E-4711 👩‍👩‍👧 ﬁne naïve [SEP] </s> x",
    "a parcel " * 90,
]
SPREAD = 4  # times the usual weights, so that scores differ
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
MPNET = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}


def word_pieces() -> dict[str, Any]:
    return {"vocab": json.loads((BUILT_IN_FOLDER / "tokenizer.json").read_text())["model"]["vocab"]}


def byte_pairs() -> dict[str, Any]:
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=[*SPECIAL, "<mask>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(TEXTS, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return {"vocab": model["vocab"], "merges": [tuple(pair) for pair in model["merges"]]}


def sentence_pieces() -> dict[str, Any]:
    tokenizer = Tokenizer(Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=SPECIAL, unk_token="<unk>")
    tokenizer.train_from_iterator([QUERY, *TEXTS], trainer)
    return {"vocab": [tuple(piece) for piece in json.loads(tokenizer.to_str())["model"]["vocab"]]}


KINDS: dict[str, Any] = {
    "bert": lambda: BertTokenizer(**word_pieces()),
    "camembert": lambda: CamembertTokenizer(**sentence_pieces()),
    "distilbert": lambda: DistilBertTokenizer(**word_pieces()),
    "electra": lambda: BertTokenizer(**word_pieces()),
    "mpnet": lambda: MPNetTokenizer(**word_pieces(), **MPNET),
    "roberta": lambda: RobertaTokenizer(**byte_pairs()),
    "xlm-roberta": lambda: XLMRobertaTokenizer(**sentence_pieces()),
}


def save_cross_encoder(folder: Path, kind: str = "bert", *, max_tokens: int = 64, labels: int = 1) -> Path:
    """Save a small cross-encoder; its weights are the same on every call."""
    tokenizer = KINDS[kind]()
    tokenizer.model_max_length = max_tokens
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    if kind == "distilbert":
        sizes = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
    config = AutoConfig.for_model(kind, vocab_size=len(tokenizer), num_labels=labels, pad_token_id=1, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
        with torch.no_grad():
            for weights in network.parameters():
                weights.add_(torch.randn_like(weights) * 0.05).mul_(SPREAD if weights.ndim == 2 else 1)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
