"""Prepares runs with the user's own code: their settings, the functions that C++ calls, and a file of initial weights."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import tempfile

from . import _core
from ._arrays import array_of
from ._core import UsageError
from ._rows import point_to
from ._settings import OWN_PARTS
from .code import code_setting

_FORM = "fedstride.form"  # the entry of a file of first weights with the order of PyTorch's tensors and those that do not change


def tensors_of(model):
    """Returns the tensors of a module, a state dict or a dict of arrays as a dict of float32 arrays, and their form: the order,
    the tensors that are not floating point (fixed: neither averaged nor changed), and whether all tensors are PyTorch's."""
    import numpy

    if hasattr(model, "state_dict"):
        model = model.state_dict()
    if not isinstance(model, dict) or not model:
        raise UsageError(f"model is of type {type(model).__name__}; valid: a name, a line of layers, a dict of tensors, or a PyTorch module")
    torch = all(hasattr(value, "detach") for value in model.values())
    arrays, fixed = {}, {}
    for name, given in model.items():
        if not isinstance(name, str) or not name.isascii() or not name.isprintable() or not name or set(name) & {" ", "|"}:
            raise UsageError(f"model has a tensor called {name!r}; a name must be printable ASCII without spaces or '|'")
        array = array_of(given)
        if array.dtype.kind == "f":
            arrays[name] = array.astype(numpy.float32)
            if not numpy.isfinite(arrays[name]).all():
                raise UsageError(f"tensor '{name}' of model has a number that is not finite in 32 bits")
        elif array.dtype.kind in "iub" and torch:
            fixed[name] = given.detach().cpu().clone()
        else:
            raise UsageError(f"tensor '{name}' of model has dtype {array.dtype}; it must be floating point")
    if not arrays:
        raise UsageError("model has no floating-point tensor")
    return arrays, {"order": list(model), "fixed": fixed, "torch": torch}


def tensor_line(arrays):
    return " | ".join(" ".join(["tensor", name, *map(str, array.shape)]) for name, array in arrays.items())


def weights_place(folder, arrays, form=None):
    """The path of weights in a folder, whose name contains the hash of weights and form (tensors_of)."""
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(name.encode() + b"\0" + str(array.shape).encode() + array.tobytes())
    if form and form["torch"]:
        digest.update(_form_text(form).encode())
    return os.path.join(folder, f"weights-{digest.hexdigest()[:16]}.safetensors")


def save_first_weights(folder, arrays, form=None):
    """Saves weights in a folder, at their place; returns the path."""
    from .tensors import save_tensors

    path = weights_place(folder, arrays, form)
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        save_tensors(path, arrays, **{_FORM: _form_text(form)} if form and form["torch"] else {})
    return path


def kept_form(settings):
    """The form of a begun run's tensors, from the file of its first weights; empty if they are NumPy's."""
    if not str(settings.get("model", "")).startswith("tensor ") or not settings.get("init"):
        return {}
    text = _core.tensor_strings(os.fspath(settings["init"])).get(_FORM)
    if text is None:
        return {}
    import numpy
    import torch

    form = json.loads(text)
    fixed = {name: torch.from_numpy(numpy.array(values, dtype).reshape(shape)) for name, (dtype, shape, values) in form["fixed"].items()}
    return {"order": form["order"], "fixed": fixed, "torch": True}


def _form_text(form):
    arrays = {name: array_of(tensor) for name, tensor in form["fixed"].items()}
    fixed = {name: [array.dtype.name, list(array.shape), array.reshape(-1).tolist()] for name, array in arrays.items()}
    return json.dumps({"order": form["order"], "fixed": fixed})


@contextlib.contextmanager
def first_weights(arrays, form=None):
    """Yields a file of the weights that exists while the context lasts, and a function that moves them to a run's folder."""
    with tempfile.TemporaryDirectory(prefix="fedstride-") as folder:
        path = save_first_weights(folder, arrays, form)

        def keep(run):
            own = pathlib.Path(run).absolute() / pathlib.Path(path).name  # part of the run's identity
            if not own.exists():  # a resumed run has it
                shutil.copyfile(path, own)
                point_to(own, "init")

        yield path, keep


class OwnCode:
    """The functions among a run's keywords, and the settings that follow from them."""

    def __init__(self, settings, train, evaluate, workers):
        self.settings = dict(settings)
        if isinstance(evaluate, str):  # the setting with this name: "plain" or "private"
            self.settings["evaluate"], evaluate = evaluate, None
        functions = {key: self.settings[key] for key in OWN_PARTS if callable(self.settings.get(key))}
        self.named = {**functions, "train": train}
        self.functions = {}
        if functions:  # a run without functions needs no NumPy
            from ._parts import WRAPPERS

            self.functions = {key: WRAPPERS[key](function) for key, function in functions.items()}
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
            raise UsageError("evaluate is given without train; it needs train (models that fedstride trains are evaluated by fedstride)")
        if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= 1024:
            raise UsageError(f"workers is {workers!r}; it must be a whole number from 1 to 1024")
        if train is None and workers != 1:
            raise UsageError(f"workers is {workers}; without train it must be 1")

    def begin(self, **form):
        """Returns the functions as C++ expects them. form: order, torch and fixed, as for Form, and the run's arrays."""
        if self.train is None:
            return self.functions
        from ._training import Training

        training = Training(self.train, self.evaluate, workers=self.workers, **form)
        return {**self.functions, "training": training}
