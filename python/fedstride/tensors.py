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
    """The tensors of a .safetensors file of 32-bit floats: a dict of float32 arrays by their names, in PyTorch's layouts. Raises
    Error, in one line, if it is no such file, whole."""
    return _core.load_tensors(os.fspath(path))


def save_tensors(path: Place, tensors: Mapping[str, ArrayLike]) -> None:
    """Writes a dict of arrays, or of PyTorch's tensors, as 32-bit floats to a .safetensors file, which `init=` and PyTorch read.
    Raises UsageError for names or arrays that are not valid, Error if the file cannot be written; the file appears whole."""
    import numpy

    arrays = {}
    for name, given in dict(tensors).items():
        if not isinstance(name, str) or not name or name == "__metadata__":
            raise UsageError(f"tensor {name!r} has no name; valid are texts, but not '__metadata__'")
        array = array_of(given)
        if array.dtype.kind not in "fiub":
            raise UsageError(f"tensor '{name}' is of dtype {array.dtype}; valid are numbers")
        # ascontiguousarray would make one dimension of none.
        arrays[name] = numpy.require(array.astype(numpy.float32, copy=False), requirements=["C", "A"])
    _core.save_tensors(os.fspath(path), arrays, {"format": "pt"})
