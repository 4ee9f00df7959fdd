"""Tensors as NumPy arrays, whoever made them."""


def array_of(given):
    """The array itself, one that shares memory with a tensor of PyTorch's on the CPU, or a new one of what else there is."""
    import numpy  # `import fedstride` needs none

    return numpy.asarray(given.detach().cpu() if hasattr(given, "detach") else given)


class Refused(Exception):
    """An answer of the user's function that cannot be used; the text says why."""


def numbers_of(name, given):
    """The array of a tensor that a function gave. Raises Refused if it is not of floating point numbers."""
    array = array_of(given)
    if array.dtype.kind != "f":
        raise Refused(f"it gave '{name}' with dtype {array.dtype}; valid are floating point numbers")
    return array
