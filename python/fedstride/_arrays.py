"""Conversion of arrays, tensors and data frames to NumPy."""


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


class Refused(Exception):
    """The user's function returned something unusable; the text says why."""


def numbers_of(name, given):
    """Converts a tensor that the user's function returned to an array. Raises Refused unless it holds floating-point numbers."""
    array = array_of(given)
    if array.dtype.kind != "f":
        raise Refused(f"it returned '{name}' with dtype {array.dtype}; it must be floating point")
    return array
