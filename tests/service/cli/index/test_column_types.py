"""Types of columns against what a spreadsheet user expects of each."""

from __future__ import annotations

import pytest

from semblance.service.cli.index.column_types import column_types
from semblance.service.cli.index.readers.source import SourceRow


def typed(*values: str) -> list[object]:
    casts = column_types(SourceRow(number, {"x": value}) for number, value in enumerate(values, 2))
    return [casts["x"](value) for value in values if value.strip()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("1", "", "-20", " 0 "), [1, -20, 0]),
        (("999999999999999", "1"), [999999999999999, 1]),
        (("1", "2.5", "-.5", "1e-3", "3."), [1.0, 2.5, -0.5, 0.001, 3.0]),
        (("true", "False", "TRUE", ""), [True, False, True]),
    ],
)
def test_a_column_of_one_type_gets_this_type(values: tuple[str, ...], expected: list[object]) -> None:
    found = typed(*values)
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))


@pytest.mark.parametrize(
    "odd",
    [
        "01067",
        "+49",
        "1234567890123456",
        "12345678901234567890.0e999",
        "nan",
        "inf",
        "1_000",
        "1,5",
        "0x10",
        "yes",
        "٣",
        "true",
        ".",
    ],
)
def test_one_other_value_makes_a_column_of_strings(odd: str) -> None:
    assert typed("1", odd, "2") == ["1", odd, "2"]
    assert typed(odd, "3") == [odd, "3"]


def test_an_empty_column_has_no_type() -> None:
    assert column_types([SourceRow(2, {"x": "", "y": " "})]) == {}
