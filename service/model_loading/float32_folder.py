"""Write a model as an ordinary folder of sentence-transformers, with weights in float32."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from semblance.models.errors import BadCheckpoint
from semblance.models.files.atomic import write_json
from semblance.models.files.json_file import read_json
from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.model_files.source import Source
from semblance.models.networks.bert_graph import has_graph, read_network
from semblance.models.networks.graph_layers.bert import WORD_TABLE


def write_float32_folder(source: Source, folder: Path) -> None:
    """Copy the folder of a network of BERT's kind, in float32, with its adapter merged.

    Args:
        source: the model; of options, it may have `adapter`.
        folder: a folder that is empty, or does not exist.

    Raises:
        BadCheckpoint: the files cannot be read, are not of BERT's kind, or the source has another option.
        OSError: a file cannot be written.
    """
    if others := source.options.keys() - {"adapter"}:
        raise BadCheckpoint(f"a folder cannot hold the option {min(others)}: leave it out, and give it when you load")
    checkpoint = read_transformer(source)
    if not has_graph(checkpoint):
        raise BadCheckpoint(f"{checkpoint.folder} is not of BERT's kind, with one file of weights")
    weights, table = read_network(checkpoint)
    if table is not None:
        weights[WORD_TABLE] = table.numbers()
    shutil.copytree(source.path, folder, dirs_exist_ok=True)
    network = folder / checkpoint.folder.relative_to(source.path)
    own = {name: np.ascontiguousarray(tensor) for name, tensor in weights.items() if not name.startswith("head.")}
    save_file(own, network / "model.safetensors", {"format": "pt"})
    config = read_json(network / "config.json", dict)
    config.pop("quantization_config", None)
    write_json(network / "config.json", config)
