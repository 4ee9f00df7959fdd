"""A client's lots in one round: connects C++ (python/lots.cpp) and the user's function (fedstride.Lot)."""

from collections.abc import Mapping

import numpy

from . import _core
from ._arrays import Refused, numbers_of
from ._core import UsageError


class Lots:
    def __init__(self, terms, form):
        self._form, self._given = form, set()
        self._lots = _core.Lots(terms, [(begin, end - begin) for _, begin, end in form.tensors.values()])

    def next(self):
        """The indices of the next lot's examples, or None if the round has no more lots."""
        return self._lots.next()

    def release(self, drawn, gradients):
        """Returns the noisy gradient of the last lot drawn, from one dict of gradients or one dict per part of the lot."""
        parts = iter([gradients] if isinstance(gradients, Mapping) else gradients)
        if not drawn:
            self._given.update(self._form.tensors)

        def part():
            given = next(parts, None)
            return None if given is None else self._flat(given)

        flat = self._lots.release(part)
        if self._form.torch:
            import torch

            flat = torch.from_numpy(flat)
        return {name: flat[begin:end].reshape(shape) for name, (shape, begin, end) in self._form.tensors.items()}

    def _flat(self, gradients):
        if not isinstance(gradients, Mapping):
            raise UsageError(f"gradients are of type {type(gradients).__name__}; valid: a dict of arrays, or several such dicts")
        examples, arrays = None, []
        for name, given in gradients.items():
            if name not in self._form.tensors:
                raise UsageError(f"gradients contain '{name}', which is not a tensor of the model")
            shape, begin, end = self._form.tensors[name]
            try:
                array = numbers_of(name, given)
            except Refused as error:
                raise UsageError(f"gradients: {error}") from None
            if array.ndim == 0 or array.shape[1:] != tuple(shape) or examples not in (None, array.shape[0]):
                count = "examples" if examples is None else examples
                raise UsageError(f"the gradients of '{name}' have shape {list(array.shape)}; it must be [{', '.join(map(str, (count, *shape)))}]")
            examples = array.shape[0]
            with numpy.errstate(over="ignore"):  # numbers that overflow become infinite, and their examples are omitted
                arrays.append((begin, end - begin, numpy.ascontiguousarray(array, numpy.float32)))
        if examples:
            self._given.update(gradients)
        return examples or 0, arrays

    def untouched(self):
        """Returns the names of the tensors without a gradient from any example, which must not have changed."""
        return [name for name in self._form.tensors if name not in self._given]

    def told(self):
        """Returns the numbers of examples drawn, of empty lots, of examples with gradients, of clipped and of nonfinite examples;
        and the sum of the norms."""
        return self._lots.told()
