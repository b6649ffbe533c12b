"""Folders of sentence-transformers and Hugging Face encoders."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar, cast, get_args

from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.checkpoint import Checkpoint, read_checkpoint
from semblance.models.model_files.lora import read_low_rank_adapter
from semblance.models.model_files.source import ModelFiles, Source, positive_option
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute, Pooling


class TransformerFolder:
    """A folder with a transformer network in safetensors, and its tokenizer.

    Options: `pooling` (mean, cls, max or words) overrides the setting of the folder; `adapter` is the folder of a
    low-rank adapter as PEFT saves it, which is merged into the network; `max_tokens` overrides the length of the
    folder, up to the positions of the network; `layer` is the layer whose vectors are those of the tokens, from 1.
    """

    options: ClassVar[tuple[str, ...]] = ("pooling", "adapter", "max_tokens", "layer")
    fallback: ClassVar[bool] = True

    def reads(self, path: Path) -> bool:
        """Any folder; `read` reports what is missing in it."""
        return path.is_dir()

    def read(self, source: Source) -> ModelFiles:
        """Read the settings of the folder.

        Raises:
            BadCheckpoint: a file is missing, altered or not supported, or the pooling is unknown.
        """
        checkpoint = read_transformer(source)
        return ModelFiles(
            location=checkpoint.folder,
            pooling=checkpoint.pooling,
            normalize=checkpoint.normalize,
            max_tokens=checkpoint.max_tokens,
            space=checkpoint.space,
            needs_device=True,
            load=partial(_load, checkpoint),
        )


def read_transformer(source: Source) -> Checkpoint:
    """Read the folder of a source, with its options.

    Raises:
        BadCheckpoint: a file is missing, altered or not supported, or the pooling is unknown.
    """
    pooling = source.options.get("pooling")
    if pooling is not None and pooling not in get_args(Pooling):
        raise BadCheckpoint(f"unknown pooling {pooling!r}: choose one of {', '.join(get_args(Pooling))}")
    folder = source.options.get("adapter")
    adapter = None if folder is None else read_low_rank_adapter(Path(folder).expanduser(), source.adapter_sha256)
    return read_checkpoint(
        source.path,
        source.weights_sha256,
        cast("Pooling | None", pooling),
        adapter,
        positive_option(source, "max_tokens"),
        positive_option(source, "layer"),
    )


def _load(checkpoint: Checkpoint, name: str, compute: Compute) -> Encoder:
    from semblance.models.encoders.transformer import Transformer  # noqa: PLC0415 - not needed for word vectors

    return Transformer(name, checkpoint, compute)
