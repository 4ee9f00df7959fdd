"""A client's lots in one round, between C++ (python/lots.cpp) and the user's function (fedstride.Lot)."""

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
        """The numbers of the next lot's examples; None: the round has no more."""
        return self._lots.next()

    def release(self, drawn, gradients):
        """The noisy gradient of the lot that was drawn last, from one dict of gradients or the dicts of its parts."""
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
            raise UsageError(f"gradients are of type {type(gradients).__name__}; valid are a dict of arrays, and several such dicts")
        examples, arrays = None, []
        for name, given in gradients.items():
            if name not in self._form.tensors:
                raise UsageError(f"gradients have a tensor '{name}', which the model does not have")
            shape, begin, end = self._form.tensors[name]
            try:
                array = numbers_of(name, given)
            except Refused as error:
                raise UsageError(f"gradients: {error}") from None
            if array.ndim == 0 or array.shape[1:] != tuple(shape) or examples not in (None, array.shape[0]):
                count = "examples" if examples is None else examples
                raise UsageError(f"the gradients of '{name}' have shape {list(array.shape)}; valid is [{', '.join(map(str, (count, *shape)))}]")
            examples = array.shape[0]
            with numpy.errstate(over="ignore"):  # what is too large is not finite then, and left out
                arrays.append((begin, end - begin, numpy.ascontiguousarray(array, numpy.float32)))
        if examples:
            self._given.update(gradients)
        return examples or 0, arrays

    def untouched(self):
        """The tensors that no example had a gradient of, so that nothing may have changed them."""
        return [name for name in self._form.tensors if name not in self._given]

    def told(self):
        """Examples drawn; lots without any; examples with gradients, of these clipped and not finite; the sum of their norms."""
        return self._lots.told()
