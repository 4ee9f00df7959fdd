"""Conversion of arrays, tensors and data frames to NumPy."""

from ._core import UsageError


def array_of(given):
    """Returns a NumPy array: `given` itself, one that shares memory with a PyTorch tensor on the CPU, or a new one."""
    import numpy  # not at the top: `import fedstride` must not need NumPy

    if isinstance(given, numpy.ma.MaskedArray):  # what is masked is missing
        return given.astype(numpy.result_type(given.dtype, numpy.float32)).filled(numpy.nan)
    return numpy.asarray(given.detach().cpu() if hasattr(given, "detach") else given)


def is_frame(data):
    return hasattr(data, "columns") and hasattr(data, "to_numpy")


def column_values(column):
    """The values of a pandas column. Where it has gaps, NaN or, unless all others are floating-point numbers, objects."""
    kind = {"b": "bool", "i": "int64", "u": "uint64", "f": "float64"}.get(column.dtype.kind, "object")
    if not hasattr(column.dtype, "na_value"):  # NumPy's
        return column.to_numpy()
    return column.to_numpy(kind if not column.isna().any() else "float64" if kind == "float64" else "object")


def frame_values(frame, names, where):
    """These columns of a DataFrame as floating-point numbers, NaN where they have gaps."""
    import numpy

    columns = list(frame.columns)
    for at, name in enumerate(columns):
        if name in columns[:at]:
            raise UsageError(f"{where} has two columns '{name}'; each needs a name of its own")
    for name in names:
        kind = frame[name].dtype
        if getattr(kind, "kind", "") not in tuple("biuf"):
            raise UsageError(f"{where} has column '{name}' of type {kind}; valid: numbers of pandas; for text, write a CSV file, to "
                             "which the settings categories and missing apply")
    are_single = all(str(frame[name].dtype) == "float32" for name in names)
    return frame[list(names)].to_numpy("float32" if are_single else "float64", na_value=numpy.nan)


class Refused(Exception):
    """The user's function returned something unusable; the text says why."""


def numbers_of(name, given):
    """Converts a tensor that the user's function returned to an array. Raises Refused unless it holds floating-point numbers."""
    array = array_of(given)
    if array.dtype.kind != "f":
        raise Refused(f"it returned '{name}' with dtype {array.dtype}; it must be floating point")
    return array
