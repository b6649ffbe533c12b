"""Export a model for infinity's engine of ONNX Runtime; runs in infinity's environment.

python infinity_onnx.py MODEL FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

INPUTS = ("input_ids", "attention_mask", "token_type_ids")  # in the order of the parameters of networks that have them
HIDDEN = "last_hidden_state"


def main() -> None:
    """Write `model.onnx`, the configuration and the tokenizer to a folder."""
    source, folder = sys.argv[1:]
    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True, trust_remote_code=False)
    model = AutoModel.from_pretrained(
        source, local_files_only=True, trust_remote_code=False, use_safetensors=True, add_pooling_layer=False
    ).eval()
    inputs = [name for name in INPUTS if name in tokenizer.model_input_names]
    tokenizer.save_pretrained(folder)
    model.config.save_pretrained(folder)
    texts = tokenizer(["A cat.", "A dog that sleeps."], padding=True, return_tensors="pt")
    torch.onnx.export(
        model,
        tuple(texts[name] for name in inputs),
        Path(folder, "model.onnx"),
        input_names=inputs,
        output_names=[HIDDEN],
        dynamic_axes={name: {0: "batch", 1: "tokens"} for name in (*inputs, HIDDEN)},
        dynamo=False,  # the other exporter needs a package that infinity does not install
    )


if __name__ == "__main__":
    main()
