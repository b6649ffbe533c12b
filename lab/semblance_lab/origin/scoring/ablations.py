"""Ablations of Origin: other contexts, removed terms, and forms of the similarity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from semblance.models.errors import UnknownName
from semblance_lab.origin.scoring.scoring import FORMS, TERMS, Form


@dataclass(frozen=True, slots=True)
class Ablation:
    """How contexts are chosen, and which terms of Eq. 3 are used; by default all of Origin.

    Attributes:
        random: contexts are drawn from the whole corpus instead of being chosen in two steps.
        diverse: contexts are of different chunks, with different previous sentences.
        size: most contexts of a set; None for the size in the settings, which is the maximum.
        without: terms whose weight is 0. Candidates are always ranked by Eq. 1.
    """

    random: bool = False
    diverse: bool = True
    size: int | None = None
    without: frozenset[str] = frozenset()

    def full_size(self) -> Ablation:
        """The same with sets of the largest size; its own sets are their beginnings."""
        return replace(self, size=None)

    def remaining_weights(self, weights: tuple[float, ...]) -> tuple[float, ...]:
        """Weights with those of the removed terms set to 0."""
        return tuple(0.0 if name in self.without else w for name, w in zip(TERMS, weights, strict=True))


FULL = Ablation()
ABLATIONS: Mapping[str, Ablation] = {
    "random": Ablation(random=True),
    "without_diversity": Ablation(diverse=False),
    "contexts_20": Ablation(size=20),
    "contexts_100": Ablation(size=100),
    "contexts_500": Ablation(size=500),
    **{f"without_{term}": Ablation(without=frozenset({term})) for term in TERMS},
    "without_sides": Ablation(without=frozenset({"left", "right"})),
}


def ablations_below(size: int) -> list[str]:
    """Names of the ablations with sets smaller than `size`, or of the size in the settings."""
    return [name for name, each in ABLATIONS.items() if each.size is None or each.size < size]


@dataclass(frozen=True, slots=True)
class Variant:
    """An ablation and a form of the similarity.

    Its name is that of the form, prefixed with that of the ablation unless this is the full Origin.

    >>> Variant("cosine").name, Variant("centred", Ablation(random=True)).name
    ('cosine', 'random_centred')
    """

    form: Form
    ablation: Ablation = FULL

    @property
    def name(self) -> str:
        """Name for `find_variant`."""
        prefix = [name for name, each in ABLATIONS.items() if each == self.ablation]
        return "_".join([*prefix, self.form])


def find_variant(name: str, form: Form | None = None) -> Variant:
    """Find a variant by name; an ablation's name means its variant of `form`, if given.

    Raises:
        UnknownName: there is no such variant.
    """
    variants = {each.name: each for each in (Variant(f, a) for a in (FULL, *ABLATIONS.values()) for f in FORMS)}
    variant = variants.get(name) or (variants.get(f"{name}_{form}") if form else None)
    if variant is None:
        raise UnknownName("variants of Origin", name, [*FORMS, *ABLATIONS])
    return variant
