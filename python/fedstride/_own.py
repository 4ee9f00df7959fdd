"""What a run of one's own code is made of: settings, functions for C++, a file of the first weights."""

import contextlib
import hashlib
import os
import pathlib
import tempfile

from ._arrays import array_of
from ._core import UsageError
from .code import code_setting

PARTS = ("partition", "cohort", "aggregation", "server_optimizer")


def tensors_of(model):
    """The tensors of a module, a state dict or a dict of arrays, as a dict of float32 arrays; and its form: their order, those that
    are no floating point numbers (fixed: they are not averaged, and stay as they are), and whether they were PyTorch's."""
    import numpy

    if hasattr(model, "state_dict"):
        model = model.state_dict()
    if not isinstance(model, dict) or not model:
        raise UsageError(f"model is of type {type(model).__name__}; valid are a name or line, a dict of tensors, and a PyTorch module")
    torch = all(hasattr(value, "detach") for value in model.values())
    arrays, fixed = {}, {}
    for name, given in model.items():
        if not isinstance(name, str) or not name.isascii() or not name.isprintable() or not name or set(name) & {" ", "|"}:
            raise UsageError(f"model has a tensor called {name!r}; a name is made of letters, digits and signs of ASCII without spaces and '|'")
        array = array_of(given)
        if array.dtype.kind == "f":
            arrays[name] = array.astype(numpy.float32)
            if not numpy.isfinite(arrays[name]).all():
                raise UsageError(f"model, '{name}': a number that is not finite in 32 bits")
        elif array.dtype.kind in "iub" and torch:
            fixed[name] = given.detach().cpu().clone()
        else:
            raise UsageError(f"model, '{name}': dtype {array.dtype}; valid are floating point numbers")
    if not arrays:
        raise UsageError("model has no tensor of floating point numbers")
    return arrays, {"order": list(model), "fixed": fixed, "torch": torch}


def tensor_line(arrays):
    return " | ".join(" ".join(["tensor", name, *map(str, array.shape)]) for name, array in arrays.items())


@contextlib.contextmanager
def first_weights(arrays):
    """A file of them for as long as the context lasts, whose name has their hash: it is part of what the run is."""
    from .tensors import save_tensors

    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(name.encode() + b"\0" + str(array.shape).encode() + array.tobytes())
    with tempfile.TemporaryDirectory(prefix="fedstride-") as folder:
        path = pathlib.Path(folder) / f"weights-{digest.hexdigest()[:16]}.safetensors"
        save_tensors(path, arrays)
        yield os.fspath(path)


class OwnCode:
    """The functions among a run's keywords, and what of its settings follows from them."""

    def __init__(self, settings, train, evaluate, workers):
        from . import _parts

        self.settings = dict(settings)
        if isinstance(evaluate, str):  # the setting of that name: "plain" or "private"
            self.settings["evaluate"], evaluate = evaluate, None
        functions = {key: self.settings[key] for key in PARTS if callable(self.settings.get(key))}
        self.named = {**functions, "train": train}
        self.functions = {key: _parts.WRAPPERS[key](function) for key, function in functions.items()}
        for key in functions:
            self.settings[key] = "callable"
        self._check(train, evaluate, workers)
        self.train, self.evaluate, self.workers = train, evaluate, workers
        self.code = code_setting(self.named)

    @staticmethod
    def _check(train, evaluate, workers):
        for key, function in (("train", train), ("evaluate", evaluate)):
            if function is not None and not callable(function):
                raise UsageError(f"{key} is of type {type(function).__name__}; it must be a function")
        if train is None and evaluate is not None:
            raise UsageError("evaluate is given without train; models that are trained here are evaluated here")
        if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= 1024:
            raise UsageError(f"workers is {workers!r}; it must be a whole number from 1 to 1024")
        if train is None and workers != 1:
            raise UsageError(f"workers is {workers}; it says how many processes call train, which is not given: valid is 1")

    def begin(self, **form):
        """The functions as C++ takes them; form: order, torch and fixed of the model's tensors (Form)."""
        if self.train is None:
            return self.functions
        from ._training import Training

        training = Training(self.train, self.evaluate, workers=self.workers, **form)
        return {**self.functions, "training": training}
