"""A model's folder with its network as ONNX beside it, for servers that want that: run by the Python of a peer.

python export_onnx.py FROM TO
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoModel


def main() -> None:
    """Run from the command line."""
    source, made = map(Path, sys.argv[1:])
    partial = made.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(source, partial, ignore=shutil.ignore_patterns("*.safetensors"))
    network = AutoModel.from_pretrained(
        source, attn_implementation="eager", add_pooling_layer=False, local_files_only=True
    ).eval()
    network.config.return_dict = False
    names = ["input_ids", "attention_mask", "token_type_ids"]
    example = tuple(torch.ones(2, 8, dtype=torch.long) for _ in names)
    axes = {0: "texts", 1: "tokens"}
    torch.onnx.export(
        network,
        example,
        partial / "model.onnx",
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes=dict.fromkeys([*names, "last_hidden_state"], axes),
        opset_version=17,
        dynamo=False,
    )
    partial.replace(made)


if __name__ == "__main__":
    main()
