"""Ways to choose contexts and to compare scores: what is taken out of Origin to see what it is good for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from semblance.models.errors import UnknownName
from semblance.models.origin.scoring.scoring import FORMS, TERMS, Form


@dataclass(frozen=True, slots=True)
class Choice:
    """How contexts are chosen, and by which terms of Eq. 3 they are chosen and sentences scored.

    Attributes:
        random: contexts are drawn from the whole corpus instead of being chosen in the two steps.
        diverse: contexts are of different chunks, and their previous sentences differ.
        size: most contexts of a set, up to the size in the settings, which None stands for.
        without: terms whose weight is 0. Candidates are ranked by Eq. 1 all the same.
    """

    random: bool = False
    diverse: bool = True
    size: int | None = None
    without: frozenset[str] = frozenset()

    def uncut(self) -> Choice:
        """The same with sets of the largest size, of which its own are the beginnings."""
        return replace(self, size=None)

    def kept(self, weights: tuple[float, ...]) -> tuple[float, ...]:
        """The weights of the terms that are left."""
        return tuple(0.0 if name in self.without else w for name, w in zip(TERMS, weights, strict=True))


FULL = Choice()
CHOICES: Mapping[str, Choice] = {
    "random": Choice(random=True),
    "without_diversity": Choice(diverse=False),
    "contexts_20": Choice(size=20),
    "contexts_100": Choice(size=100),
    "contexts_500": Choice(size=500),
    **{f"without_{term}": Choice(without=frozenset({term})) for term in TERMS},
    "without_sides": Choice(without=frozenset({"left", "right"})),
}


def fitting(size: int) -> list[str]:
    """The names of choices that sets of a size allow, but for that of the size itself."""
    return [name for name, choice in CHOICES.items() if choice.size is None or choice.size < size]


@dataclass(frozen=True, slots=True)
class Variant:
    """A choice of contexts and a form of the similarity.

    Its name is that of the form, after that of the choice if it is not the full one.

    >>> Variant("cosine").name, Variant("centred", Choice(random=True)).name
    ('cosine', 'random_centred')
    """

    form: Form
    choice: Choice = FULL

    @property
    def name(self) -> str:
        """As `variant` takes it."""
        chosen = [name for name, choice in CHOICES.items() if choice == self.choice]
        return "_".join([*chosen, self.form])


def variant(name: str, form: Form | None = None) -> Variant:
    """The variant of a name; one that names a choice only is of the `form`, if there is one.

    Raises:
        UnknownName: there is no such variant.
    """
    known = {each.name: each for each in (Variant(f, choice) for choice in (FULL, *CHOICES.values()) for f in FORMS)}
    found = known.get(name) or (known.get(f"{name}_{form}") if form else None)
    if found is None:
        raise UnknownName("variants of Origin", name, [*FORMS, *CHOICES])
    return found
