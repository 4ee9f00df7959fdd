"""Files of tensors (.safetensors) as dicts of arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from . import _core
from ._arrays import array_of
from ._core import UsageError
from ._types import Place

if TYPE_CHECKING:
    import numpy
    from numpy.typing import ArrayLike, NDArray


def load_tensors(path: Place) -> dict[str, NDArray[numpy.float32]]:
    """Reads a .safetensors file of 32-bit floats: a dict of float32 arrays by name, in PyTorch's layouts. Raises Error for any other or
    damaged file."""
    return _core.load_tensors(os.fspath(path))


def save_tensors(path: Place, tensors: Mapping[str, ArrayLike], **strings: str) -> None:
    """Writes a dict of arrays or PyTorch tensors as 32-bit floats to a .safetensors file, for `init=` or PyTorch. Raises UsageError for
    invalid names or arrays, Error if the file cannot be written. The file is replaced atomically.

    strings: further entries of the file's metadata.
    """
    import numpy

    arrays = {}
    for name, given in dict(tensors).items():
        if not isinstance(name, str) or not name or name == "__metadata__":
            raise UsageError(f"tensor name {name!r} is not valid; it must be a nonempty string other than '__metadata__'")
        array = array_of(given)
        if array.dtype.kind not in "fiub":
            raise UsageError(f"tensor '{name}' has dtype {array.dtype}; valid: numbers and booleans")
        # numpy.ascontiguousarray would turn 0 dimensions into 1.
        arrays[name] = numpy.require(array.astype(numpy.float32, copy=False), requirements=["C", "A"])
    _core.save_tensors(os.fspath(path), arrays, {"format": "pt", **strings})
