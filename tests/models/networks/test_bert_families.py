"""Tokenizers that are read without transformers are those that transformers makes of the same folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from transformers import (
    AutoTokenizer,
    CamembertTokenizer,
    DistilBertTokenizer,
    MPNetTokenizer,
    RobertaTokenizer,
    XLMRobertaTokenizer,
)

from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.networks.bert_graph import bert_graph, has_graph
from tests.support.cross_encoders import byte_pairs, sentence_pieces, word_pieces
from tests.support.random_networks import random_network
from tests.support.small_model import edit

TEXTS = ["A dog sleeps on the  sofa.", "Der Hund schläft\tauf dem Sofa.\n", "東京 E-4711 👩‍👩‍👧 ﬁne naïve", " x", "x "]

KINDS: dict[str, tuple[str, Any, Callable[[], dict[str, Any]], dict[str, Any]]] = {
    "distilbert": ("distilbert", DistilBertTokenizer, word_pieces, {}),
    "mpnet": ("mpnet", MPNetTokenizer, word_pieces, {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}),
    "mpnet with case": ("mpnet", MPNetTokenizer, word_pieces, {"do_lower_case": False, "strip_accents": True}),
    "roberta": ("roberta", RobertaTokenizer, byte_pairs, {}),
    "roberta with a space": ("roberta", RobertaTokenizer, byte_pairs, {"add_prefix_space": True}),
    "xlm-roberta": ("xlm-roberta", XLMRobertaTokenizer, sentence_pieces, {}),
    "xlm-roberta without a space": ("xlm-roberta", XLMRobertaTokenizer, sentence_pieces, {"add_prefix_space": False}),
    "camembert": ("camembert", CamembertTokenizer, sentence_pieces, {}),
}


def make(folder: Path, kind: str) -> Path:
    family, tokenizer, vocabulary, settings = KINDS[kind]
    made = tokenizer(**vocabulary(), **settings)
    random_network(family, vocab_size=len(made)).save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_those_of_transformers(kind: str, tmp_path: Path) -> None:
    checkpoint = read_checkpoint(make(tmp_path / "model", kind))
    assert has_graph(checkpoint)
    own, theirs = (
        Tokenizer.from_str(bert_graph(checkpoint).facts.tokenizer),
        AutoTokenizer.from_pretrained(checkpoint.folder),
    )
    for text in TEXTS:
        expected = theirs(text, return_offsets_mapping=True)
        encoding = own.encode(text)
        assert encoding.ids == expected["input_ids"]
        assert encoding.offsets == [tuple(each) for each in expected["offset_mapping"]]


OTHERS: dict[str, tuple[str, str, dict[str, object]]] = {
    "a space before the text": ("roberta", "tokenizer_config.json", {"add_prefix_space": True}),
    "no space before the text": ("camembert", "tokenizer_config.json", {"add_prefix_space": False}),
    "no lower case": ("mpnet", "tokenizer_config.json", {"do_lower_case": False}),
    "tokens of another class": ("mpnet", "tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer"}),
    "a normalizer": ("roberta", "tokenizer.json", {"normalizer": {"type": "Lowercase"}}),
    "another pre-tokenizer": ("xlm-roberta", "tokenizer.json", {"pre_tokenizer": {"type": "Whitespace"}}),
    "positions behind another token": ("mpnet", "config.json", {"pad_token_id": 0}),
    "another activation": ("distilbert", "config.json", {"activation": "relu"}),
}


@pytest.mark.parametrize(("kind", "file", "changes"), OTHERS.values(), ids=OTHERS)
def test_other_settings_are_left_to_torch(kind: str, file: str, changes: dict[str, object], tmp_path: Path) -> None:
    folder = make(tmp_path / "model", kind)
    assert has_graph(read_checkpoint(folder))
    edit(folder / file, **changes)
    assert not has_graph(read_checkpoint(folder))
