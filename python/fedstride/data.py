"""Data sets and partitions as NumPy arrays."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _core
from ._arrays import array_of, column_values
from ._core import UsageError
from ._kept import Arrays
from ._objects import arrays_of_object
from ._rows import partition_file
from ._settings import of_reading, of_run, takes
from ._types import Data, Place, Rows, Value
from .parts import Part, spread

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

_NAMES = ("x", "y", "client")


@takes(of_reading, describe=True)
def load_dataset(dataset: str | None = None, *, data: Data | None = None, **settings: Value) -> dict[str, Any]:
    """Reads a data set into a dict of read-only arrays, whose inputs share the data set's memory.

    dataset: a name from `fedstride data list`; or data: your own file or arrays, as for `run`.
    settings: where the data sets are, and how to read a file.

    Keys: x, y, x_test, y_test; client and client_test (indices into client_names) if the data identify clients; rows and
    rows_test (row numbers in the file) if some were held out as the test part; classes, class_names, client_names; mean and
    deviation of each channel or column (a model's input is (x - mean) / deviation, for images (x / 255 - mean) / deviation);
    targets ("classes", "positions", "values", "flags"); vocabulary, the number of tokens; hash (SHA-256 of the contents);
    notes, the decisions made where the settings left a choice, with the flags that change them.
    x: images uint8 (rows, channels, height, width); numbers float32 (rows, columns) or (rows, height, width, channels); tokens
    int64 (rows, positions). y: classes int64 (rows,) or (rows, positions); values and flags float32 (rows, numbers).
    """
    path, arrays = split_data(data, settings)
    loaded = _core.load_dataset({"dataset": _named(dataset, arrays), "data": path, **settings}, arrays)
    for key, array in loaded.items():
        if str(getattr(array, "dtype", "")) in ("uint16", "uint32"):  # of which PyTorch makes no tensors
            loaded[key] = array.astype("int64")
            loaded[key].setflags(write=False)
    return loaded


@takes(of_run)
def partition(*, config: Place | None = None, data: Data | None = None, **settings: Value | Part | Rows) -> list[NDArray[numpy.uint32]]:
    """Assigns rows to clients. Returns a list with one array of row numbers (uint32, ascending) per client, which `run` accepts
    as partition=.

    Takes the keywords of `run`; irrelevant ones are still checked. Row numbers index the training part; if a sixth of the rows of
    a file or of arrays is held out for testing, they index the rows of the whole file or arrays, as in partition.json.
    """
    path, arrays = split_data(data, settings, config)
    given: dict[str, Any] = {"data": path, **spread(settings)}
    given["dataset"] = _named(given.get("dataset"), arrays)
    with partition_file(given) as (chosen, _):
        return _core.partition(chosen, "" if config is None else os.fspath(config), arrays)


def _named(dataset, arrays):
    return "file" if dataset is None and arrays is not None else dataset


def split_data(data, settings=None, config=None):
    """Returns (path, None) for a file or folder, (None, arrays by key) for arrays and objects, (None, None) for None. `settings`
    may name an object's columns; `config`, a file of settings, may change how arrays are read."""
    if data is None:
        return None, None
    if isinstance(data, (str, os.PathLike)):
        return data, None
    settings = settings or {}
    is_plain = config is not None or bool(settings.get("shape")) or settings.get("dp") not in (None, "", "none")
    arrays = arrays_of_object(data, settings, is_plain)
    if arrays is not None:
        data = arrays
    if isinstance(data, (tuple, list)):
        if not 2 <= len(data) <= 3:
            raise UsageError(f"data has {len(data)} parts; valid: (x, y), (x, y, client) or a dict of arrays")
        data = {name: array for name, array in zip(_NAMES, data) if array is not None}
    if not isinstance(data, Mapping):
        raise UsageError(f"data is of type {type(data).__name__}; valid: a path, (x, y), (x, y, client), a dict of arrays or a data set")
    arrays = Arrays({_key(key): _plain(key, array) for key, array in data.items() if array is not None})
    arrays.turned = getattr(data, "turned", {})
    _settle_gaps(arrays, settings)
    return None, arrays


_FORMS = ("{}", "{}_train", "train_{}", "{}_test", "test_{}")  # names of a part's arrays


def _settle_gaps(arrays, settings):
    """Leaves out rows without a label or a client if `missing` is "drop", as for tables. Otherwise C++ decides about numbers; among
    texts, gaps are refused, or an unknown text under dp."""
    import numpy

    names = [settings.get("inputs") or "x", settings.get("label") or "y", settings.get("client_column") or "client"]
    is_private = settings.get("dp") not in (None, "", "none")
    left_out = 0
    for form in _FORMS:
        part = [form.format(name) for name in names if form.format(name) in arrays]
        for key in part:
            array = arrays[key]
            gaps = (numpy.isnan(array) if array.dtype.kind == "f" else numpy.equal(array, None)) if array.dtype.kind in "fO" else numpy.array(False)
            if key == form.format(names[0]) or gaps.ndim != 1 or not gaps.any():
                continue
            if settings.get("missing") == "drop":
                left_out += int(gaps.sum())
                arrays.update({name: arrays[name][~gaps] for name in part if arrays[name].shape[:1] == gaps.shape})
            elif not is_private and any(isinstance(one, str) for one in array):
                raise UsageError(f"key '{key}' of data has no value in row {gaps.argmax()}; missing='drop' leaves such rows out")
    for key, array in arrays.items():
        if array.dtype == object:
            gap = "" if any(isinstance(one, str) for one in array) else numpy.nan
            arrays[key] = numpy.array([gap if one is None else one for one in array.tolist()])
    if left_out and not is_private:
        note = f"{left_out} row{'s' * (left_out > 1)} without a label or a client left out"
        arrays["notes"] = numpy.array([*arrays.get("notes", ()), note])


def _key(key):
    if not isinstance(key, str):
        raise UsageError(f"data has a key of type {type(key).__name__}; valid: x, y, client, x_test, y_test, client_test")
    return key


def _plain(key, given):
    """Returns the array in the form that C++ reads: itself if contiguous and in native byte order, otherwise a copy."""
    import numpy

    if isinstance(given, (list, tuple)) and not all(isinstance(one, (bool, int, float, str, numpy.generic)) for one in given):
        raise UsageError(f"key '{key}' of data is a list of values that are neither numbers nor strings; convert it to an array")
    if isinstance(given, (list, tuple)) and any(one is None or one != one for one in given) and any(isinstance(one, str) for one in given):
        given = numpy.array(given, object)
    if isinstance(given, numpy.ma.MaskedArray) and given.ndim == 1 and given.dtype.kind != "f":
        given = numpy.where(numpy.ma.getmaskarray(given), None, given.data.astype(object))  # whole numbers and texts stay what they are
    try:
        array = column_values(given) if hasattr(given, "to_numpy") and hasattr(given, "dtype") else array_of(given)
    except Exception as error:
        raise UsageError(f"key '{key}' of data is of type {type(given).__name__}, which is not an array: {error}") from None
    if array.dtype == object and array.ndim == 1:  # texts, or whole numbers with gaps, as pandas has them
        array = numpy.array([None if str(one) in ("nan", "<NA>", "NaT") and not isinstance(one, str) else one for one in array], object)
        kinds = {next((kind for kind in (str, numbers.Integral) if isinstance(one, kind)), None) for one in array if one is not None}
        if len(kinds) == 1 and None not in kinds:
            return array
    if array.dtype == object:
        raise UsageError(f"key '{key}' of data is an array of objects; valid: numbers and strings")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return numpy.require(array, requirements=["C", "A"])
