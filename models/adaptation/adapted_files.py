"""A model with everything that was asked of it: its own options, a weighting of its tokens, a projection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Protocol, Self

from semblance.models import catalogue
from semblance.models.adaptation.adapted_encoder import AdaptedEncoder
from semblance.models.adaptation.affine_map import AffineMap, read_affine_map
from semblance.models.embeddings import Doubles, Floats, TokenEmbeddings
from semblance.models.errors import BadCheckpoint, UnknownName
from semblance.models.files.digests import digest
from semblance.models.model_files.source import ModelFiles, Source, format_of, require_known
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.models.text import TokenizedText

WEIGHTINGS = "semblance.models.weightings"
PROJECTIONS = "semblance.models.projections"


class Weighting(Protocol):
    """How much each token counts. A file of `models/weightings/` holds one; `options` names what it has to be told."""

    options: ClassVar[tuple[str, ...]]

    @property
    def digest(self) -> str:
        """Digest of everything that decides the weights."""

    @classmethod
    def read(cls, options: Mapping[str, str]) -> Self:
        """With its options. Raises BadCheckpoint."""

    def weights(self, text: TokenizedText) -> Floats:
        """(n,) >= 0, the share of each token in a weighted mean; not all 0."""


class Projection(Protocol):
    """A map that is fitted to the vectors of many texts. A file of `models/projections/` holds one."""

    def fit(self, vectors: Doubles, dims: int | None = None) -> AffineMap:
        """The map for vectors like these (n, d), into `dims` dimensions if it can leave some out. Raises NotFitted."""


def read_model(source: Source) -> ModelFiles:
    """What the files of a model say, with all its options.

    The weighting comes first, then the projection: each multiplies or maps the token vectors of what stands before it.

    Raises:
        BadCheckpoint: files are missing, altered or not supported, or there is no such option, or no such value.
    """
    form = format_of(source.path)
    weighting = _weighting(source.options.get("weighting"))
    own_of_weighting = () if weighting is None else ("weighting", *weighting.options)
    require_known(source.options, (*form.options, "weighting", "projection", *own_of_weighting), source.path)
    own = {name: value for name, value in source.options.items() if name in form.options}
    files = form.read(replace(source, options=own))
    if weighting is not None:
        files = _weighted(_pooled_by_mean(files, "weighting"), weighting.read(source.options))
    if "projection" in source.options:
        file = Path(source.options["projection"]).expanduser()
        files = _projected(_pooled_by_mean(files, "projection"), _fitted_for(files, file))
    return files


def _weighted(files: ModelFiles, weighting: Weighting) -> ModelFiles:
    """The same model with its tokens weighed."""
    space = digest(space=files.space, weighting=weighting.digest)

    def weigh(embeddings: TokenEmbeddings) -> TokenEmbeddings:
        assert embeddings.text is not None, "an encoder gives the text with its tokens"
        return replace(embeddings, weights=embeddings.weights * weighting.weights(embeddings.text))

    def load(name: str, compute: Compute) -> Encoder:
        inner = files.load(name, compute)
        return AdaptedEncoder(inner, weigh, dim=inner.dim, space=space, normalize=files.normalize)

    return replace(files, space=space, load=load)


def _projected(files: ModelFiles, affine_map: AffineMap) -> ModelFiles:
    """The same model with its token vectors mapped. The map is affine, so that it commutes with their weighted mean."""
    space = digest(space=files.space, projection=affine_map.digest)
    d, k = affine_map.matrix.shape

    def mapped(embeddings: TokenEmbeddings) -> TokenEmbeddings:
        return replace(embeddings, vectors=affine_map(embeddings.vectors))

    def load(name: str, compute: Compute) -> Encoder:
        inner = files.load(name, compute)
        if d != inner.dim:
            raise BadCheckpoint(f"the projection of {name} maps {d} dimensions, but the model has {inner.dim}")
        return AdaptedEncoder(inner, mapped, dim=k, space=space, normalize=files.normalize)

    return replace(files, space=space, load=load)


def _weighting(name: str | None) -> type[Weighting] | None:
    if name is None:
        return None
    try:
        return catalogue.find(WEIGHTINGS, name)
    except UnknownName as error:
        raise BadCheckpoint(str(error)) from error


def _pooled_by_mean(files: ModelFiles, option: str) -> ModelFiles:
    if files.pooling != "mean":
        raise BadCheckpoint(
            f"{files.location} pools by {files.pooling}: {option} needs a model whose vector is the mean of its tokens"
        )
    return files


def _fitted_for(files: ModelFiles, file: Path) -> AffineMap:
    found = read_affine_map(file)
    fitted = found.about.get("space", "")
    if fitted != files.space:
        raise BadCheckpoint(
            f"{file} was fitted to vectors of another model or other options (space {fitted[:12]}, not "
            f"{files.space[:12]}): fit it again by `semblance project`"
        )
    return found
