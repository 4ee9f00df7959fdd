"""Conversion of arrays and tensors to NumPy."""


def array_of(given):
    """Returns a NumPy array: `given` itself, one that shares memory with a PyTorch tensor on the CPU, or a new one."""
    import numpy  # not at the top: `import fedstride` must not need NumPy

    return numpy.asarray(given.detach().cpu() if hasattr(given, "detach") else given)


class Refused(Exception):
    """The user's function returned something unusable; the text says why."""


def numbers_of(name, given):
    """Converts a tensor that the user's function returned to an array. Raises Refused unless it holds floating-point numbers."""
    array = array_of(given)
    if array.dtype.kind != "f":
        raise Refused(f"it returned '{name}' with dtype {array.dtype}; it must be floating point")
    return array
