"""Data as NumPy arrays: those that a run brings, those of the known sets, and who holds which rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import UsageError
from ._types import Data, Place, Value

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_NAMES = ("x", "y", "client")


def load_dataset(dataset: str | None = None, *, data: Data | None = None, **settings: Value) -> dict[str, Any]:
    """Reads a data set, downloaded or built in: a dict of read-only arrays that share its memory.

    dataset: its name, as in `fedstride data list`; data: your own instead, a file or arrays, as for `run`.
    settings: `data_dir`, and `label`, `client_column`, `targets`, `format` for a file.

    Keys: x, y, x_test, y_test; client and client_test (numbers into client_names) where the data name their clients; rows and
    rows_test (numbers of the rows in the file) where some were held out as the test part; classes, class_names, client_names,
    mean and deviation of each channel or column (a model's input is (x - mean) / deviation, of pictures (x / 255 - mean) /
    deviation), targets ("classes", "positions", "values", "flags"), vocabulary of tokens, hash (SHA-256 of the contents).
    x: pictures uint8 (rows, channels, height, width); numbers float32 (rows, columns) or (rows, height, width, channels); tokens
    uint16 (rows, positions). y: classes uint16 (rows,) or (rows, positions); values and flags float32 (rows, numbers).
    """
    path, arrays = split_data(data)
    return _core.load_dataset({"dataset": _named(dataset, arrays), "data": path, **settings}, arrays)


def partition(*, config: Place | None = None, data: Data | None = None, **settings: Value) -> list[NDArray[numpy.uint32]]:
    """Who holds which rows: a list with an array of row numbers (uint32, ascending) for each client.

    Keywords are those of `run`; those that do not matter here are checked all the same. Rows are numbers in the training part;
    where a sixth of a file's or the arrays' rows is held out as the test part, in the file or the arrays, as in partition.json.
    """
    path, arrays = split_data(data)
    settings = {"data": path, **settings}
    settings["dataset"] = _named(settings.get("dataset"), arrays)
    return _core.partition(settings, "" if config is None else os.fspath(config), arrays)


def _named(dataset, arrays):
    return "file" if dataset is None and arrays is not None else dataset


def split_data(data):
    """(path, None) for a file or a folder, (None, arrays by their keys) for arrays, (None, None) for None."""
    if data is None:
        return None, None
    if isinstance(data, (str, os.PathLike)):
        return data, None
    if isinstance(data, (tuple, list)):
        if not 2 <= len(data) <= 3:
            raise UsageError(f"data has {len(data)} parts; valid are (x, y), (x, y, client) and a dict of arrays")
        data = {name: array for name, array in zip(_NAMES, data) if array is not None}
    if not isinstance(data, dict):
        raise UsageError(f"data is of type {type(data).__name__}; valid are a path, (x, y), (x, y, client) and a dict of arrays")
    return None, {_key(key): _plain(key, array) for key, array in data.items() if array is not None}


def _key(key):
    if not isinstance(key, str):
        raise UsageError(f"data has a key of type {type(key).__name__}; valid are x, y, client, x_test, y_test, client_test")
    return key


def _plain(key, given):
    """The array as C++ reads it: itself where it is contiguous and native, a copy otherwise."""
    import numpy

    if isinstance(given, (list, tuple)) and not all(isinstance(one, (bool, int, float, str, numpy.generic)) for one in given):
        raise UsageError(f"data, key '{key}': a list of other things than numbers or texts; make an array of it")
    try:
        array = numpy.asarray(given)
    except Exception as error:
        raise UsageError(f"data, key '{key}': a {type(given).__name__}, which is no array: {error}") from None
    if array.dtype == object:
        raise UsageError(f"data, key '{key}': an array of objects; valid are numbers and texts")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return numpy.require(array, requirements=["C", "A"])
