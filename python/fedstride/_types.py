"""Type aliases for annotations."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    import numpy
    from numpy.typing import ArrayLike, NDArray

Place = Union[str, "os.PathLike[str]"]
# A file or a folder; (x, y) or (x, y, client); a dict of arrays; another library's data set, or its training and test parts.
Data = Union[Place, "Sequence[ArrayLike]", "Mapping[str, ArrayLike]", Any]
# A flag's value.
Value = Union[bool, int, float, str, "os.PathLike[str]", "numpy.generic", Sequence[Any], None]
# A model's tensors by name: NumPy's or PyTorch's.
Tensors = Mapping[str, Any]
# train(weights, task) returns trained weights or a Trained; evaluate(weights) returns an accuracy or a dict.
Train = Callable[[dict[str, Any], Any], Any]
Evaluate = Callable[[dict[str, Any]], Union[float, "dict[str, float]"]]
# A partition: a list of row numbers for each client.
Rows = Union["Sequence[ArrayLike]", "NDArray[Any]"]
# Called after each round; returning False stops the run.
OnRound = Callable[[dict[str, Any]], object]
