"""Tensors as NumPy arrays, whoever made them."""


def array_of(given):
    """The array itself, one that shares memory with a tensor of PyTorch's on the CPU, or a new one of what else there is."""
    import numpy  # `import fedstride` needs none

    return numpy.asarray(given.detach().cpu() if hasattr(given, "detach") else given)
