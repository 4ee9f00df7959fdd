"""Converts data sets of PyTorch, torchvision, pandas, Hugging Face and any other object with rows to dicts of arrays."""

from __future__ import annotations

import csv
import numbers
from collections.abc import Mapping

from ._arrays import array_of, is_frame
from ._core import Error, UsageError
from ._kept import kept

# Usual names of input and label columns: the first one present is used if neither a setting nor the columns' types decide.
_INPUTS = ("x", "image", "img", "pixel_values", "input_ids", "tokens")
_LABELS = ("y", "label", "labels", "fine_label", "target")
_TEST = ("test", "validation")


def arrays_of_object(data, settings, is_plain=False):
    """Returns the arrays of a data set by key, or None if `data` is not another library's data set. The role of each column
    follows from names, types and the settings `inputs`, `label` and `client_column`, never from rows. `is_plain`: as for
    _kept.kept."""
    if _is_pair(data):
        return _of_pair(data, settings)
    if isinstance(data, Mapping) and not is_frame(data) and any(is_frame(one) for key, one in data.items() if key not in ("train", *_TEST)):
        return _of_keys(data, settings)
    train, test = _parts(data)
    if train is None:
        return None
    if is_frame(train):
        if test is not None and not is_frame(test):
            raise UsageError(f"the test part of data is of type {type(test).__name__}; with a DataFrame it must be one, too")
        return {"table": _table(train)} | ({} if test is None else {"table_test": _table(_in_order(test, train))})

    def convert():
        arrays = _arrays_of(train, settings, "data")
        if test is not None:
            more = _arrays_of(test, settings, "the test part of data")
            arrays.update({f"{key}_test": array for key, array in more.items()})
        return arrays

    if _tensors(train):  # reading everything to recognize them costs more than converting them
        return convert()
    return kept((train, test), settings, is_plain, convert)


def _is_set(data):
    """True for a data set: an object that has rows and is not an array, a list of columns or a dict of arrays."""
    if isinstance(data, list):
        first = data[0] if data else {}
        return isinstance(first, Mapping) or (isinstance(first, tuple) and 2 <= len(first) <= 3
                                              and not isinstance(first[0], (str, bytes, numbers.Number)))
    if isinstance(data, (str, bytes, tuple, Mapping)) or hasattr(data, "__array__") and not is_frame(data):
        return False
    return is_frame(data) or hasattr(data, "__len__") and hasattr(data, "__getitem__")


def _is_pair(data):
    """True for (x, y) and (x, y, client) whose x is a frame. Two frames with columns of the same names are a training and a test part."""
    if not isinstance(data, (tuple, list)) or not 2 <= len(data) <= 3 or not is_frame(data[0]):
        return False
    return not is_frame(data[1]) or len(data[1].columns) == 1 or set(data[1].columns).isdisjoint(data[0].columns)


def _parts(data):
    """Returns (training part, test part or None), or (None, None) if `data` is not a data set."""
    if _is_set(data):
        return data, None
    if isinstance(data, (tuple, list)) and len(data) == 2 and all(_is_set(part) for part in data):
        return tuple(data)
    if isinstance(data, Mapping) and "train" in data and _is_set(data["train"]):
        return data["train"], next((data[name] for name in _TEST if name in data), None)
    return None, None


def _arrays_of(data, settings, where):
    if len(data) == 0:
        raise UsageError(f"{where} has no rows; it must have at least one")
    if hasattr(data, "column_names") and hasattr(data, "with_format"):
        return _of_columns(data, settings, where)
    if _tensors(data):
        return dict(zip(_keys(settings), map(array_of, data.tensors)))
    return _of_rows(data, settings, where)


def _tensors(data):
    """True for a TensorDataset, whose tensors are the arrays."""
    tensors = getattr(data, "tensors", None)
    return isinstance(tensors, tuple) and 2 <= len(tensors) <= 3


def _keys(settings):
    """Returns the keys of inputs, labels and clients that C++ expects."""
    return settings.get("inputs") or "x", settings.get("label") or "y", settings.get("client_column") or "client"


def _of_keys(data, settings):
    """The tables of a dict with a DataFrame of inputs, beside labels and clients."""
    keys, parts = _keys(settings), {"table": ("{}", "{}_train", "train_{}"), "table_test": ("{}_test", "test_{}")}
    known = {form.format(key): (part, at) for part, forms in parts.items() for form in forms
             for at, (own, usual) in enumerate(zip(keys, ("x", "y", "client"))) for key in {own, usual}}
    unknown = next((key for key in data if key not in known), None)
    if unknown is not None:
        raise UsageError(f"data has the key '{unknown}' beside a DataFrame; valid: {', '.join(keys)}, each also with _test")
    tables, first = {}, None
    for part in parts:
        given = [next((data[name] for name, place in known.items() if place == (part, at) and name in data), None) for at in range(3)]
        if given[0] is not None:
            if not is_frame(given[0]):
                raise UsageError(f"the inputs of data are of type {type(given[0]).__name__}; beside a DataFrame, they must be one")
            if part == "table_test" and first is not None:
                given[0] = _in_order(given[0], first)
            first = given[0]
            made = _of_pair(given, settings)
            settings = {**settings, **{name: str(names[0]) for name, names in made.items() if name != "table"}}  # of the test part, too
            tables.update({part: made.pop("table"), **made})
    return tables


def _of_pair(data, settings):
    """A table of (x, y) or (x, y, client), where x is a DataFrame, and the names of the label's columns and the client's."""
    import numpy

    frame, names = data[0], {}
    taken = [str(name) for name in frame.columns]
    for setting, usual, given in zip(("label", "client_column"), ("y", "client"), data[1:]):
        if given is None:
            continue
        part = given if is_frame(given) else given.to_frame() if hasattr(given, "to_frame") else _frame_like(frame, given, usual)
        if len(part) != len(frame):
            raise UsageError(f"data has {len(frame)} rows of inputs and {len(part)} of {usual}; each example needs one")
        own = [usual if name is None else str(name) for name in part.columns]
        if settings.get(setting) and len(own) == 1:
            own = [str(settings[setting])]
        if any(name in taken or "," in name for name in own):
            own = [next(name for name in (f"{usual}{at or ''}", f"the {usual}{at or ''}") if name not in taken) for at in range(len(own))]
        names[setting] = numpy.array([",".join(own)])
        taken += own
        frame = frame.reset_index(drop=True).join(part.reset_index(drop=True).set_axis(own, axis=1))
    return {"table": _table(frame), **names}


def _in_order(frame, like):
    """The frame with its columns in another's order, if they have the same names."""
    return frame[list(like.columns)] if sorted(map(str, frame.columns)) == sorted(map(str, like.columns)) else frame


def _frame_like(frame, given, name):
    """A frame of the same library with one-dimensional or two-dimensional values."""
    values = array_of(given)
    columns = [name] if values.ndim < 2 else [f"{name} {at}" for at in range(values.shape[1])]
    return type(frame)(values.reshape(len(values), -1), columns=columns)


def _table(frame):
    """The frame as a table with a header (CSV), so that a frame is read by the rules for files."""
    import numpy

    names = [" ".join(str(name).split()) for name in frame.columns]
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise UsageError(f"data has two columns '{twice}'; each needs a name of its own")
    try:
        text = ("sep=,\n" + frame.set_axis(names, axis=1).to_csv(index=False)).encode()
    except (UnicodeError, csv.Error) as error:
        raise UsageError(f"data cannot be written as a table: {error}") from None
    return numpy.frombuffer(text, numpy.uint8)


def _column(data, columns, setting, chosen, names, kind, where):
    """Returns the name of a column: the chosen one, the only one of this type, or the first with a usual name."""
    if chosen:
        if chosen not in columns:
            raise UsageError(f"{setting} is '{chosen}'; the columns of {where} are {', '.join(map(str, columns))}")
        return chosen
    features = getattr(data, "features", None) or {}
    typed = [name for name in columns if type(features.get(name)).__name__ == kind]
    found = typed if len(typed) == 1 else [name for name in names if name in columns]
    if not found:
        raise UsageError(f"{where} has no column for {setting}; name one of {', '.join(map(str, columns))} with {setting}=")
    return found[0]


def _chosen_columns(data, columns, settings, where):
    columns = list(columns)
    chosen = {"inputs": _column(data, columns, "inputs", settings.get("inputs"), _INPUTS, "Image", where),
              "label": _column(data, columns, "label", settings.get("label"), _LABELS, "ClassLabel", where)}
    if settings.get("client_column"):
        chosen["client_column"] = _column(data, columns, "client_column", settings["client_column"], (), "", where)
    return chosen.values()


def _of_columns(data, settings, where):
    columns = list(_chosen_columns(data, data.column_names, settings, where))
    rows = data.with_format("numpy")
    arrays = {}
    for key, name in zip(_keys(settings), columns):
        column = rows[name]
        if isinstance(column, (list, tuple)) or getattr(column, "dtype", None) == object:
            column = _stacked(column, name, where)
        arrays[key] = array_of(column)
    return arrays


def _of_rows(data, settings, where):
    first = _row(data, 0, lambda row: row, where)
    if isinstance(first, Mapping):
        columns = list(_chosen_columns(data, first, settings, where))
        pick = lambda row: [row[name] for name in columns]  # noqa: E731
    elif isinstance(first, (tuple, list)) and 2 <= len(first) <= 3:
        columns = ["inputs", "label", "client"][: len(first)]
        pick = list
    else:
        raise UsageError(f"{where} has rows of type {type(first).__name__}; valid: (x, y), (x, y, client) or a dict")
    filled = [None] * len(columns)
    count = len(data)
    for index in range(count):
        values = _row(data, index, pick, where) if index else pick(first)
        if len(values) != len(columns):
            raise UsageError(f"{where}, row {index} has {len(values)} values; row 0 has {len(columns)}, and all rows must match")
        for at, value in enumerate(values):
            _put(filled, at, value, index, count, columns[at], where)
    return dict(zip(_keys(settings), filled))


def _row(data, index, pick, where):
    """A row from user code. Raises Error from any exception of that code."""
    try:
        return pick(data[index])
    except Exception as error:
        raise Error(f"{where}, row {index} of {len(data)}: {type(error).__name__}: {' '.join(str(error).split())}; every row must be readable") from error


def _stacked(column, name, where):
    filled = [None]
    for index, value in enumerate(column):
        _put(filled, 0, value, index, len(column), name, where)
    return filled[0]


def _put(filled, at, value, index, count, name, where):
    """Sets row `index` of filled[at], which is created at row 0: a list for strings, otherwise an array (integers: 64 bits)."""
    import numpy

    array = array_of(value)
    if isinstance(value, str) and (index == 0 or isinstance(filled[at], list)):
        filled[at] = filled[at] or [None] * count
        filled[at][index] = value
        return
    if index == 0:
        kind = numpy.int64 if isinstance(value, numbers.Integral) else array.dtype
        if array.dtype == object:
            raise UsageError(f"{where}, '{name}', row 0: a {type(value).__name__}; valid: numbers, arrays, tensors, images and strings")
        filled[at] = numpy.empty((count, *array.shape), kind)
    is_text = isinstance(filled[at], list)
    if is_text != isinstance(value, str) or not is_text and array.shape != filled[at].shape[1:]:
        shape = "a string" if is_text else f"shape {filled[at].shape[1:]}"
        own = "a string" if isinstance(value, str) else f"shape {array.shape}"
        raise UsageError(f"{where}, '{name}', row {index}: {own}; row 0 has {shape}, and all rows must match")
    filled[at][index] = array
