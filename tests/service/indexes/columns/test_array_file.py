"""Array files: read by safetensors, and mapped as they were written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file

from semblance.service.indexes.columns.array_file import Pieces, in_one, map_arrays, write_arrays

DTYPES = {"U8": np.uint8, "U32": np.uint32, "I64": np.int64, "U64": np.uint64}
ARRAYS = st.dictionaries(
    st.text("abc.", min_size=1, max_size=8),
    st.tuples(st.sampled_from([*DTYPES]), st.lists(st.lists(st.integers(0, 255), max_size=9), max_size=3)),
    min_size=1,
    max_size=6,
)


@given(arrays=ARRAYS)
def test_mapped_arrays_are_those_that_safetensors_reads(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, tuple[str, list[list[int]]]]
) -> None:
    file = tmp_path_factory.mktemp("arrays") / "file"
    pieces = {
        name: Pieces(dtype, sum(map(len, parts)), [np.array(part, DTYPES[dtype]) for part in parts])
        for name, (dtype, parts) in arrays.items()
    }
    write_arrays(file, pieces)
    read, mapped = load_file(file), map_arrays(file)
    assert mapped.keys() == read.keys() == arrays.keys()
    for name, (dtype, parts) in arrays.items():
        assert mapped[name].dtype == read[name].dtype == DTYPES[dtype]
        assert mapped[name].tolist() == read[name].tolist() == [number for part in parts for number in part]


def test_mapped_arrays_cannot_be_changed_and_outlive_their_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_arrays(file, {"a": in_one(np.arange(5))})
    mapped = map_arrays(file)["a"]
    file.unlink()
    assert mapped.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="read-only"):
        mapped[0] = 1


@pytest.mark.parametrize("content", [b"", b"not an array file", (1 << 40).to_bytes(8, "little") + b"{}"])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises((ValueError, OSError)):
        map_arrays(file)
