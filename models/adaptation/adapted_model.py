"""Models with a weighting and a projection, as requested by the options of their source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Protocol, Self

from semblance.models import catalogue
from semblance.models.adaptation.affine_map import AffineMap, read_affine_map
from semblance.models.embeddings import Doubles, Floats, TokenEmbeddings, Want
from semblance.models.errors import BadCheckpoint, UnknownName
from semblance.models.files.digests import digest
from semblance.models.model_files.source import ModelFiles, Source, format_of, require_known
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.models.text import Role, TokenizedText, Truncate

WEIGHTINGS = "semblance.models.weightings"
PROJECTIONS = "semblance.models.projections"


class Weighting(Protocol):
    """Weights of tokens, with the source options that it reads: a file of `models/weightings/`."""

    options: ClassVar[tuple[str, ...]]

    @property
    def digest(self) -> str:
        """Digest of everything that determines the weights."""

    @classmethod
    def read(cls, options: Mapping[str, str]) -> Self:
        """Create it from the options of a source. Raises BadCheckpoint."""

    def weights(self, text: TokenizedText) -> Floats:
        """(n,) >= 0, the weight of each token in the mean; not all 0."""


class Projection(Protocol):
    """A map fitted to the vectors of many texts: a module of `models/projections/`."""

    def fit(self, vectors: Doubles, dims: int | None = None) -> AffineMap:
        """Fit a map to (n, d) vectors, to `dims` dimensions if it can reduce them. Raises NotFitted."""


class AdaptedEncoder:
    """An encoder whose token vectors are weighted or mapped before they are pooled.

    With x_i (d,) the changed token vectors and w_i their weights, the pooled vector is::

        mean: sum_i w_i x_i / sum_i w_i

    at unit length if the model normalizes. Explanations still sum to the score, since they use the changed token
    vectors. The wrapped encoder must pool by a mean, from its token vectors before normalization. Its own mean is not
    used. The zero vector of a text without known words stays zero.

    Args:
        encoder: the wrapped encoder.
        change: maps the embeddings of a text, including its token vectors.
        dim: d after the change.
        space: digest of the encoder's space and of the change.
        normalize: whether the pooled vector gets unit length.
    """

    def __init__(
        self,
        encoder: Encoder,
        change: Callable[[TokenEmbeddings], TokenEmbeddings],
        *,
        dim: int,
        space: str,
        normalize: bool,
    ) -> None:
        self.name = encoder.name
        self.dim = dim
        self.max_tokens = encoder.max_tokens
        self.space = space
        self.precision = encoder.precision
        self.build = digest(space=space, build=encoder.build)
        self._encoder = encoder
        self._change = change
        self._normalize = normalize

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        """Tokenize by the wrapped encoder. Raises BadTexts."""
        return self._encoder.tokenize(texts, role, truncate)

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        """Compute the vectors of each text; always from token vectors. Raises DeviceLost."""
        encoded = self._encoder.encode(tokenized, "tokens")
        return [replace(self._change(each), pooled_vector=None).finalized(want, self._normalize) for each in encoded]


def read_model(source: Source) -> ModelFiles:
    """Read the files of a model; apply the weighting, then the projection, of its options.

    Raises:
        BadCheckpoint: files are missing, altered or not supported, or an option or its value is unknown.
    """
    form = format_of(source.path)
    weighting = _weighting(source.options.get("weighting"))
    weighting_options = () if weighting is None else weighting.options
    require_known(source.options, (*form.options, "weighting", "projection", *weighting_options), source.path)
    format_options = {name: value for name, value in source.options.items() if name in form.options}
    files = form.read(replace(source, options=format_options))
    if weighting is not None:
        files = _weighted(_pooled_by_mean(files, "weighting"), weighting.read(source.options))
    if "projection" in source.options:
        file = Path(source.options["projection"]).expanduser()
        files = _projected(_pooled_by_mean(files, "projection"), _fitted_for(files, file))
    return files


def _weighted(files: ModelFiles, weighting: Weighting) -> ModelFiles:
    """The model with weighted tokens."""
    space = digest(space=files.space, weighting=weighting.digest)

    def weigh(embeddings: TokenEmbeddings) -> TokenEmbeddings:
        assert embeddings.text is not None, "encoders return the text with token vectors"
        return replace(embeddings, weights=embeddings.weights * weighting.weights(embeddings.text))

    def load(name: str, compute: Compute) -> Encoder:
        inner = files.load(name, compute)
        return AdaptedEncoder(inner, weigh, dim=inner.dim, space=space, normalize=files.normalize)

    return replace(files, space=space, load=load)


def _projected(files: ModelFiles, affine_map: AffineMap) -> ModelFiles:
    """The model with mapped token vectors; an affine map commutes with their weighted mean."""
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
    if not files.is_mean:
        raise BadCheckpoint(
            f"{files.location} pools by {files.pooling}, or changes vectors behind the pooling: {option} needs a model "
            "that pools by the mean of its tokens"
        )
    return files


def _fitted_for(files: ModelFiles, file: Path) -> AffineMap:
    affine_map = read_affine_map(file)
    fitted = affine_map.metadata.get("space", "")
    if fitted != files.space:
        raise BadCheckpoint(
            f"{file} was fitted to another model or other options (space {fitted[:12]}, not {files.space[:12]}); "
            "fit it again with `semblance project`"
        )
    return affine_map
