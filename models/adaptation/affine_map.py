"""Affine maps of vectors, the result of fitting a projection, and their files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from semblance.models.embeddings import Doubles, Floats
from semblance.models.errors import BadCheckpoint

_FORMAT = "semblance projection 1"


@dataclass(frozen=True, slots=True, eq=False)
class AffineMap:
    """x (d,) -> (x - mean) W (k,). It commutes with weighted means whose weights sum to 1.

    The zero vector has no direction, and stays zero.

    Attributes:
        mean: (d,) float64.
        matrix: W (d, k) float64.
        metadata: origin of the map, such as its `kind` and the `space` of the vectors it was fitted to.

    >>> halve = AffineMap(np.array([1.0, 0.0]), np.array([[0.5], [0.0]]))
    >>> halve(np.array([[3, 7], [0, 0]], np.float32)).tolist()
    [[1.0], [0.0]]
    """

    mean: Doubles
    matrix: Doubles
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, vectors: Floats) -> Floats:
        """(n, d) -> (n, k), computed in float64."""
        mapped: Floats = ((vectors.astype(np.float64) - self.mean) @ self.matrix).astype(np.float32)
        mapped[~vectors.any(axis=1)] = 0.0
        return mapped

    @property
    def digest(self) -> str:
        """SHA-256 of the shape and the numbers."""
        numbers = hashlib.sha256(repr(self.matrix.shape).encode())
        numbers.update(self.mean.tobytes())
        numbers.update(self.matrix.tobytes())
        return numbers.hexdigest()

    def save(self, file: Path) -> None:
        """Write a safetensors file with `metadata`.

        Raises:
            OSError: the file cannot be written.
        """
        tensors = {"mean": np.ascontiguousarray(self.mean), "matrix": np.ascontiguousarray(self.matrix)}
        file.write_bytes(save(tensors, {**self.metadata, "format": _FORMAT}))


def read_affine_map(file: Path) -> AffineMap:
    """Read a file written by `AffineMap.save`.

    Raises:
        BadCheckpoint: the file cannot be read, or is not a projection.
    """
    try:
        with safe_open(file, framework="numpy") as tensors:
            metadata = dict(tensors.metadata() or {})
            if metadata.pop("format", None) != _FORMAT:
                raise BadCheckpoint(f"{file} is no projection; create one with `semblance project`")
            mean, matrix = (tensors.get_tensor(name).astype(np.float64) for name in ("mean", "matrix"))
    except (OSError, SafetensorError) as error:
        raise BadCheckpoint(f"cannot read {file}: {error}") from error
    if (
        mean.shape != matrix.shape[:1]
        or matrix.ndim != 2
        or not (np.isfinite(mean).all() and np.isfinite(matrix).all())
    ):
        raise BadCheckpoint(f"{file}: a mean {mean.shape} and a matrix {matrix.shape} are no finite affine map")
    return AffineMap(mean, matrix, metadata)
