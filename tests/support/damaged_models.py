"""Damaged and odd model folders, and what is said of each where it is listed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from tests.support.model_folders import add_head, edit_modules
from tests.support.small_model import DIM, edit

Damage = Callable[[Path], object]
MODEL = "model.safetensors"
QUERY = "encoder.layer.1.attention.self.query.weight"


def settings(file: str, **changes: object) -> Damage:
    return lambda folder: edit(folder / file, **changes)


def content(file: str, text: str | bytes) -> Damage:
    return lambda folder: (folder / file).write_bytes(text.encode() if isinstance(text, str) else text)


def removed(file: str) -> Damage:
    return lambda folder: (folder / file).unlink()


def emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def weights(change: Callable[[dict[str, np.ndarray]], object], file: str = MODEL) -> Damage:
    def act(folder: Path) -> None:
        tensors = load_file(folder / file)
        change(tensors)
        save_file(tensors, folder / file, {"format": "pt"})

    return act


def number(value: float, dtype: Any = np.float32) -> Damage:
    """One number of one weight, in a type that may hold fewer bits."""

    def change(tensors: dict[str, np.ndarray]) -> None:
        tensors[QUERY] = tensors[QUERY].astype(dtype)
        tensors[QUERY][3, 5] = value

    return weights(change)


def module(at: int, **changes: str) -> Damage:
    return lambda folder: edit_modules(folder, lambda modules: modules[at].update(changes))


def appended(name: str, **config: object) -> Damage:
    """A further module, with its settings."""

    def act(folder: Path) -> None:
        (folder / f"9_{name}").mkdir()
        edit(folder / f"9_{name}" / "config.json", **config)
        entry = {"path": f"9_{name}", "type": f"sentence_transformers.models.{name}"}
        edit_modules(folder, lambda modules: modules.append(entry))

    return act


def both(*damages: Damage) -> Damage:
    return lambda folder: [damage(folder) for damage in damages]


def head(change: Damage) -> Damage:
    """Damage to the folder of a head."""

    def act(folder: Path) -> None:
        add_head(folder, 20)
        change(folder / "1_Head")

    return act


def shards(name: str) -> Damage:
    """Weights in a file that an index names."""

    def act(folder: Path) -> None:
        names = load_file(folder / MODEL)
        (folder / MODEL).rename(folder / "model-1-of-1.safetensors")
        index = {"metadata": {}, "weight_map": dict.fromkeys(names, name)}
        (folder / f"{MODEL}.index.json").write_text(json.dumps(index))

    return act


def cut(file: str, size: int) -> Damage:
    return lambda folder: (folder / file).write_bytes((folder / file).read_bytes()[:size])


def added_token(number_: int) -> Damage:
    def act(folder: Path) -> None:
        tokenizer = json.loads((folder / "tokenizer.json").read_text())
        tokenizer["added_tokens"].append(tokenizer["added_tokens"][0] | {"id": number_, "content": "[MORE]"})
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))

    return act


CONFIG, TOKENIZER, POOLING = "config.json", "tokenizer.json", "1_Pooling/config.json"
LENGTH, WHOLE = "sentence_bert_config.json", "config_sentence_transformers.json"
PLAIN = removed("modules.json")

DAMAGES: dict[str, tuple[Damage, str]] = {
    "no folder": (shutil.rmtree, "no such file or folder"),
    "empty folder": (emptied, r"no \*\.safetensors file"),
    "no config": (removed(CONFIG), "cannot read .*config.json"),
    "empty config": (content(CONFIG, ""), "cannot read .*config.json"),
    "config is a list": (content(CONFIG, "[]"), "config.json is not a JSON object"),
    "config in another encoding": (content(CONFIG, b'{"a": "\xff"}'), "cannot read .*config.json"),
    "config without sizes": (content(CONFIG, '{"model_type": "bert"}'), "hidden_size must be a number"),
    "config without a kind": (content(CONFIG, "{}"), "config.json without model_type"),
    "a size is a word": (
        settings(CONFIG, hidden_size="wide"),
        "hidden_size must be a number of at least 1, not 'wide'",
    ),
    "more layers than weights": (settings(CONFIG, num_hidden_layers=3), "lacks 16 weights of its network"),
    "a wider network than weights": (settings(CONFIG, hidden_size=64), "do not fit its config.json"),
    "other inner size": (settings(CONFIG, intermediate_size=65), "do not fit its config.json"),
    "heads that do not divide": (settings(CONFIG, num_attention_heads=5), "cannot be shared by 5 heads"),
    "more words than rows": (settings(CONFIG, vocab_size=30600), "word_embeddings.weight has the shape"),
    "more positions than rows": (settings(CONFIG, max_position_embeddings=600), "position_embeddings.weight has"),
    "code in the folder": (settings(CONFIG, auto_map={"AutoModel": "x.py"}), "code in the folder"),
    "foreign attention": (settings(CONFIG, attn_implementation="org/kernel"), "third-party code"),
    "quantized": (settings(CONFIG, quantization_config={"quant_method": "fp8"}), "quantized weights"),
    "a classifier": (
        both(PLAIN, settings(CONFIG, architectures=["BertForSequenceClassification"])),
        "scores pairs of texts or classifies",
    ),
    "writes text": (settings(CONFIG, model_type="t5", is_encoder_decoder=True), "reads and writes text"),
    "an adapter": (settings("adapter_config.json", peft_type="LORA"), "holds an adapter"),
    "no weights": (removed(MODEL), r"no \*\.safetensors file"),
    "weights of torch": (lambda folder: (folder / MODEL).rename(folder / "pytorch_model.bin"), "convert it by"),
    "empty weights": (content(MODEL, b""), "cannot load .*model.safetensors"),
    "weights are a page": (content(MODEL, "<html>404</html>"), "cannot load .*model.safetensors"),
    "weights are a pointer": (content(MODEL, "version https://git-lfs.github.com/spec/v1\n"), "cannot load"),
    "cut weights": (cut(MODEL, 100_000), "cannot load .*model.safetensors"),
    "cut in the header": (cut(MODEL, 100), "cannot load .*model.safetensors"),
    "a weight is missing": (
        weights(lambda tensors: tensors.pop(QUERY)),
        f"lacks 1 weights of its network, such as {QUERY}",
    ),
    "a weight is misshapen": (
        weights(lambda tensors: tensors.update({QUERY: tensors[QUERY][:-1].copy()})),
        rf"{QUERY} has the shape \(31, 32\), not \(32, 32\)",
    ),
    "weights of another model": (
        weights(lambda tensors: [tensors.update({f"a.{name}": tensors.pop(name)}) for name in list(tensors)]),
        "lacks",
    ),
    "not a number": (number(np.nan), f"not finite, in {QUERY}"),
    "an infinite number": (number(-np.inf), f"not finite, in {QUERY}"),
    "not a number in float16": (number(np.nan, np.float16), f"not finite, in {QUERY}"),
    "an infinite number in float64": (number(np.inf, np.float64), f"not finite, in {QUERY}"),
    "shards elsewhere": (shards("../model-1-of-1.safetensors"), "weights must lie in the same folder"),
    "a shard is missing": (shards("model-2-of-2.safetensors"), "names 'model-2-of-2.safetensors', which is missing"),
    "tokenizer is cut": (cut(TOKENIZER, 1000), "cannot read .*tokenizer.json"),
    "tokenizer is empty": (content(TOKENIZER, "{}"), "it has no vocabulary"),
    "a tokenizer of another model": (added_token(30522), "has ids up to 30522, .* only 30522 rows"),
    "tokenizer settings are cut": (cut("tokenizer_config.json", 10), "cannot read .*tokenizer_config.json"),
    "modules are an object": (content("modules.json", "{}"), "modules.json is not a JSON array"),
    "modules are words": (content("modules.json", '["Transformer"]'), "which is not a module"),
    "no pooling": (lambda folder: edit_modules(folder, lambda modules: modules.pop(1)), "one Pooling module"),
    "two poolings": (
        lambda folder: edit_modules(folder, lambda modules: modules.insert(1, modules[1])),
        "one Pooling module",
    ),
    "no transformer": (lambda folder: edit_modules(folder, lambda modules: modules.pop(0)), "list a Transformer first"),
    "a module of others": (module(1, type="custom.Pooling"), "not one of sentence_transformers"),
    "an LSTM": (appended("LSTM"), "a module LSTM after its Pooling"),
    "a bag of words": (appended("BoW"), "a module BoW after its Pooling"),
    "a module elsewhere": (module(1, path="../other"), "outside that folder"),
    "a module at a root": (module(1, path="/etc"), "outside that folder"),
    "a folder of a module is missing": (module(1, path="7_Pooling"), "cannot read .*7_Pooling"),
    "an unknown pooling": (settings(POOLING, pooling_mode="median"), "pools by 'median'"),
    "a dense layer of another width": (
        both(appended("Dense", in_features=31, out_features=8), lambda folder: _save_dense(folder, 31)),
        "9_Dense maps 31 dimensions, but it gets 32",
    ),
    "a dense layer without weights": (appended("Dense", in_features=DIM, out_features=8), "has no model.safetensors"),
    "an unknown activation": (
        appended("Dense", in_features=DIM, out_features=8, activation_function="x.Evil"),
        "activation_function 'x.Evil'",
    ),
    "a head of torch": (head(lambda own: (own / MODEL).rename(own / "pytorch_model.bin")), "no model.safetensors"),
    "a head that is not finite": (
        head(weights(lambda tensors: tensors["linear.bias"].fill(np.nan))),
        "not finite, in linear.bias",
    ),
    "a length that is a word": (settings(LENGTH, max_seq_length="long"), "max_seq_length 'long'"),
    "a length below 1": (settings(LENGTH, max_seq_length=-1), "max_seq_length -1"),
    "prompts are a list": (settings(WHOLE, prompts=["query: "]), "prompts"),
    "a prompt is a number": (settings(WHOLE, prompts={"query": 7}), "prompts"),
    "no such default prompt": (settings(WHOLE, default_prompt_name="absent"), "default_prompt_name 'absent'"),
    "an unknown comparison": (settings(WHOLE, similarity_fn_name="maxsim"), "similarity_fn_name 'maxsim'"),
    "more dimensions than there are": (settings(WHOLE, truncate_dim=64), "truncate_dim=64"),
    "dimensions that are a word": (settings(WHOLE, truncate_dim="half"), "truncate_dim=half"),
}


def _save_dense(folder: Path, width: int) -> None:
    zeros = {"linear.weight": np.zeros((8, width), np.float32), "linear.bias": np.zeros(8, np.float32)}
    save_file(zeros, folder / "9_Dense" / MODEL)
