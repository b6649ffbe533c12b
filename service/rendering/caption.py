"""What a picture says about its explanation, beside the explanation itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caption:
    """Names for the title, and the two texts.

    Attributes:
        measure, model: the names they are served under.
        a, b: the two whole texts, as they were sent; units count their characters.
        granularity: what a unit is, in the singular: "token" or "word".
        truncated: whether the model took only part of a text.
    """

    measure: str
    model: str
    a: str
    b: str
    granularity: str
    truncated: bool = False

    def counted(self, count: int) -> str:
        """The count with its noun.

        >>> Caption("rcmd", "mini", "", "", "word").counted(1)
        '1 word'
        """
        return f"{count} {self.granularity}" + ("" if count == 1 else "s")
