"""Units of texts that no tokenizer has read."""

from __future__ import annotations

import re

import numpy as np

from semblance.models.text import Units


def units_of(text: str) -> Units:
    """The words between spaces.

    >>> list(units_of("late parcel"))
    [Unit(text='late', start=0, end=4, word=0), Unit(text='parcel', start=5, end=11, word=1)]
    """
    spans = [match.span() for match in re.finditer("[^ ]+", text)]
    return Units(text, np.array(spans, np.int32).reshape(-1, 2), np.arange(len(spans), dtype=np.int32))
