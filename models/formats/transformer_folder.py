"""Folders of sentence-transformers and Hugging Face encoders."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar, cast, get_args

from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.checkpoint import Checkpoint, read_checkpoint
from semblance.models.model_files.lora import read_low_rank_adapter
from semblance.models.model_files.source import ModelFiles, Source, positive_option
from semblance.models.model_files.weight_checks import require_sound_weights
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute, Pooling


class TransformerFolder:
    """A folder with a transformer network in safetensors, and its tokenizer.

    Options: `pooling` (mean, cls, max, words, lasttoken, weightedmean or mean_sqrt_len_tokens) overrides the setting of
    the folder; `adapter` is the folder of a low-rank adapter as PEFT saves it, which is merged into the network;
    `max_tokens` overrides the length of the folder, up to the positions of the network; `layer` is the layer whose
    vectors are those of the tokens, from 1; `truncate_dim` is how many of the first dimensions are kept.
    """

    options: ClassVar[tuple[str, ...]] = ("pooling", "adapter", "max_tokens", "layer", "truncate_dim")
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
            pooling=" + ".join(checkpoint.modules.poolings),
            is_mean=checkpoint.modules.is_mean,
            normalize=checkpoint.modules.normalize,
            max_tokens=checkpoint.max_tokens,
            space=checkpoint.space,
            needs_device=True,
            load=partial(_load, checkpoint),
            similarity=checkpoint.similarity,
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
    checkpoint = read_checkpoint(
        source.path,
        source.weights_sha256,
        pooling=cast("Pooling | None", pooling),
        adapter=adapter,
        max_tokens=positive_option(source, "max_tokens"),
        layer=positive_option(source, "layer"),
        truncate_dim=positive_option(source, "truncate_dim"),
    )
    if source.weights_sha256 is None:  # and otherwise they are those that were checked before
        require_sound_weights(checkpoint.folder)
    return checkpoint


def _load(checkpoint: Checkpoint, name: str, compute: Compute) -> Encoder:
    from semblance.models.encoders.transformer import Transformer  # noqa: PLC0415 - not needed for word vectors

    return Transformer(name, checkpoint, compute)
