"""Read tensors of safetensors files as float32."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, deserialize

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint

_NUMPY = {"F64": np.float64, "F32": np.float32, "F16": np.float16}


def read_tensors(file: Path) -> dict[str, Floats]:
    """Tensors of floating-point numbers by name, in the order of their names, writable.

    Others, such as saved indices, are left out.

    NumPy has no bfloat16: its 16 bits are the upper half of a float32.

    Raises:
        BadCheckpoint: the file cannot be read, or is damaged.
    """
    try:
        tensors = deserialize(file.read_bytes())  # type: ignore[no-untyped-call]
    except (OSError, SafetensorError) as error:
        raise BadCheckpoint(f"cannot load {file} ({error}): copy it again") from error
    found: dict[str, Floats] = {}
    for name, tensor in sorted(tensors, key=itemgetter(0)):  # the library hands them out in random order
        data, shape = tensor["data"], tensor["shape"]
        if tensor["dtype"] == "BF16":
            found[name] = (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
        elif tensor["dtype"] in _NUMPY:
            numbers = np.frombuffer(data, _NUMPY[tensor["dtype"]]).reshape(shape)
            found[name] = numbers.astype(np.float32, copy=False)
    return found
