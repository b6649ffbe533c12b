"""Write the folder of an encoder from its file of 4-bit weights, without any package.

The file (little endian) has the settings of a BERT, the pieces of a SentencePiece tokenizer with their scores, the
characters that it normalizes, and the tensors. Those of type 1 are in blocks of 32 numbers: a float16 scale d and 16
bytes, of which byte j has number j in its low and number j + 16 in its high four bits; a number is d (half - 8). The
folder keeps these blocks, as uint8 of the shape (rows, blocks of a row, 18).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

MAGIC, VERSION = b"E5S1", 1
BLOCK, BLOCK_BYTES = 32, 18  # numbers of a block of 4 bits, and its bytes
FLOATS, Q4 = 0, 1  # types of tensors
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
REMOVED = r"[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"  # control characters, as SentencePiece's nmt_nfkc has them
SPACES = r"[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"
LAYER_NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
NAMES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
SETTINGS = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
    "type_vocab_size",
)

FIXED = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "hidden_act": "gelu",
    "quantization_config": {"quant_method": "q4_0"},
}
MODULES = (("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize"))


class Tensor(NamedTuple):
    """A tensor as it lies in the file."""

    dtype: str
    shape: list[int]
    data: memoryview


class Reader:
    """Reads numbers one after another."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = memoryview(data), 0

    def numbers(self, types: str) -> tuple[Any, ...]:
        """Numbers by their types, as in the module struct."""
        found = struct.unpack_from(f"<{types}", self.data, self.at)
        self.at += struct.calcsize(f"<{types}")
        return found

    def number(self, type_: str) -> Any:
        """A single number."""
        return self.numbers(type_)[0]

    def bytes(self, count: int) -> memoryview:
        """The next bytes."""
        self.at += count
        return self.data[self.at - count : self.at]


def write_folder(data: bytes, folder: Path) -> None:
    """Write the files of the folder. Raises ValueError: the data have another form."""
    reader = Reader(data)
    if bytes(reader.bytes(4)) != MAGIC or reader.number("I") != VERSION:
        raise ValueError("it is not a file of 4-bit weights of this kind")
    config = dict(zip(SETTINGS, reader.numbers("7i"), strict=True))
    epsilon, block = reader.number("f"), reader.number("i")
    if block != BLOCK:
        raise ValueError(f"it has blocks of {block} numbers, not of {BLOCK}")
    pieces = _pieces(reader)
    _skip_normalization(reader)
    config |= FIXED | {"layer_norm_eps": float(f"{epsilon:.6g}"), "pad_token_id": SPECIAL.index("<pad>")}
    (folder / "2_Normalize").mkdir(parents=True, exist_ok=True)
    _write_json(folder / "tokenizer.json", tokenizer(pieces), indent=None)
    for name, content in _settings(config).items():
        _write_json(folder / name, content, indent=1)
    tensors = dict(_tensors(reader, config["hidden_size"], config["intermediate_size"]))
    write_tensors(tensors, folder / "model.safetensors")


def _settings(config: dict[str, Any]) -> dict[str, Any]:
    """Settings of network, tokenizer, pooling and prompts, by the names of their files."""
    positions = config["max_position_embeddings"]
    names = ("bos_token", "pad_token", "eos_token", "unk_token", "mask_token")
    return {
        "config.json": config,
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": positions,
            **dict(zip(names, SPECIAL, strict=True)),
            "cls_token": "<s>",
            "sep_token": "</s>",
        },
        "sentence_bert_config.json": {"max_seq_length": positions, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": {"query": "query: ", "document": "passage: "}},
        "1_Pooling/config.json": {
            "word_embedding_dimension": config["hidden_size"],
            "pooling_mode_mean_tokens": True,
            "include_prompt": True,
        },
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{name}"}
            for i, (name, path) in enumerate(MODULES)
        ],
    }


def _write_json(file: Path, content: Any, indent: int | None) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, ensure_ascii=False, indent=indent), "utf-8")


def _pieces(reader: Reader) -> list[tuple[str, float]]:
    """Pieces and their scores."""
    count, *_ = reader.numbers("5i")
    size = reader.number("Q")
    offsets, scores = reader.numbers(f"{count + 1}I"), reader.numbers(f"{count}f")
    text = reader.bytes(size)
    pieces = (str(text[start:end], "utf-8") for start, end in pairwise(offsets))
    return list(zip(pieces, scores, strict=True))


def _skip_normalization(reader: Reader) -> None:
    """Pass over the map of characters: NFKC, but for `REMOVED` and `SPACES`."""
    entries, _ = reader.numbers("2I")
    for _ in range(entries):
        _, replacements = reader.numbers("IB")
        reader.bytes(4 * replacements)


def tokenizer(pieces: list[tuple[str, float]]) -> dict[str, Any]:
    """The tokenizer as JSON of the library tokenizers."""
    ids = {piece: i for i, (piece, _) in enumerate(pieces) if piece in SPECIAL}
    replaced = ((REMOVED, ""), (SPACES, " "))
    space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(piece, ids[piece]) for piece in SPECIAL],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                *(_replace(regex, text) for regex, text in replaced),
                {"type": "NFKC"},
                _replace(" {2,}", " "),
            ],
        },
        "pre_tokenizer": space,
        "post_processor": _template(ids),
        "decoder": space,
        "model": {"type": "Unigram", "unk_id": ids["<unk>"], "vocab": pieces, "byte_fallback": False},
    }


def _added(piece: str, row: int) -> dict[str, Any]:
    """A special token."""
    flags = {"single_word": False, "lstrip": piece == "<mask>", "rstrip": False, "normalized": False, "special": True}
    return {"id": row, "content": piece, **flags}


def _replace(regex: str, text: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": regex}, "content": text}


def _template(ids: dict[str, int]) -> dict[str, Any]:
    """`<s> A </s>`, and `<s> A </s> </s> B </s>` for a pair."""
    first, last = ({"SpecialToken": {"id": piece, "type_id": 0}} for piece in ("<s>", "</s>"))
    text, other = ({"Sequence": {"id": part, "type_id": 0}} for part in "AB")
    return {
        "type": "TemplateProcessing",
        "single": [first, text, last],
        "pair": [first, text, last, last, other, last],
        "special_tokens": {piece: {"id": piece, "ids": [ids[piece]], "tokens": [piece]} for piece in ("<s>", "</s>")},
    }


def _tensors(reader: Reader, dim: int, inner: int) -> Iterator[tuple[str, Tensor]]:
    """Tensors by their names in a folder of Hugging Face."""
    for _ in range(reader.number("i")):
        name = bytes(reader.bytes(reader.number("H"))).decode()
        type_, elements, start, size = reader.numbers("BIQQ")
        data = reader.data[start : start + size]
        columns = inner if name.endswith(".fo.w") else dim
        rows = [] if elements == columns or name.endswith(".b") else [elements // columns]
        if type_ == Q4:
            yield _name(name), Tensor("U8", [*rows, columns // BLOCK, BLOCK_BYTES], data)
        else:
            yield _name(name), Tensor("F32", [*rows, elements // (rows or [1])[0]], data)


def _name(name: str) -> str:
    if name in NAMES:
        return NAMES[name]
    layer, part, kind = name.split(".")
    return f"encoder.layer.{layer[1:]}.{LAYER_NAMES[part]}.{'weight' if kind == 'w' else 'bias'}"


def write_tensors(tensors: dict[str, Tensor], file: Path) -> None:
    """Write a safetensors file."""
    header, at = dict[str, Any](), 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [at, at + len(tensor.data)]}
        at += len(tensor.data)
    described = json.dumps(header, separators=(",", ":")).encode()
    described += b" " * (-len(described) % 8)
    with file.open("wb") as stream:
        stream.write(struct.pack("<Q", len(described)) + described)
        for tensor in tensors.values():
            stream.write(tensor.data)
