"""Numbers as readers see them."""

from __future__ import annotations

import math
from collections.abc import Sequence

SCORE_DECIMALS = 4
_MINUS = "\u2212"


def plain(value: float, decimals: int) -> str:
    """With a true minus sign, and none for zero.

    >>> plain(-0.25, 2), plain(-0.001, 2)
    ('−0.25', '0.00')
    """
    digits = f"{abs(value):.{decimals}f}"
    negative = value < 0 and any(digit in digits for digit in "123456789")
    return (_MINUS if negative else "") + digits


def signed(value: float, decimals: int) -> str:
    """With a plus or minus sign, except for zero.

    >>> signed(0.25, 2), signed(0.0, 2)
    ('+0.25', '0.00')
    """
    digits = plain(value, decimals)
    return "+" + digits if value > 0 and digits != plain(0.0, decimals) else digits


def decimals_for(limit: float) -> int:
    """Decimals that show numbers up to `limit` with two digits that count: three, more for small, fewer for large ones.

    >>> decimals_for(0.5), decimals_for(0.0042), decimals_for(0.0), decimals_for(38.1)
    (3, 4, 3, 2)
    """
    if limit <= 0:
        return 3
    magnitude = math.floor(math.log10(limit))
    return max(3 - magnitude, 0) if magnitude > 0 else min(max(3, 1 - magnitude), 9)


def rounded_parts(parts: Sequence[float], total: float, decimals: int) -> tuple[float, ...]:
    """The parts rounded so that they sum to the rounded total, as in a table of percentages.

    What rounding left over goes to the parts it wronged most, one last digit each. A difference too large to come from
    rounding is not hidden.

    >>> rounded_parts([0.25, 0.25, 0.0], 0.5, 1)
    (0.3, 0.2, 0.0)
    """
    unit: float = 10.0**decimals
    counts = [round(part * unit) for part in parts]
    missing = round(round(total, decimals) * unit) - sum(counts)  # rounded as it is printed
    if abs(missing) <= len(counts) // 2 + 1:
        sign = 1 if missing > 0 else -1
        wronged = sorted(range(len(parts)), key=lambda i: sign * (counts[i] - parts[i] * unit))
        for i in wronged[: abs(missing)]:
            counts[i] += sign
    return tuple(count / unit for count in counts)


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round numbers from `low` to `high` for an axis, two to six of them, each with how it is written.

    >>> ticks(0.0, 0.83)
    [(0.0, '0.0'), (0.2, '0.2'), (0.4, '0.4'), (0.6, '0.6'), (0.8, '0.8')]
    """
    rough = (high - low) / 4.5
    exponent = math.floor(math.log10(rough))
    factor = next(factor for factor in (1, 2, 5, 10) if factor * 10.0**exponent >= rough)
    decimals = max(0, -exponent - (factor == 10))
    step = factor * 10.0**exponent
    places = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [(round(i * step, decimals), plain(i * step, decimals)) for i in places]
