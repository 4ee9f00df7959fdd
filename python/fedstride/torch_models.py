"""Converts PyTorch modules to models of layers, which native kernels train."""

from __future__ import annotations

import copy
import math
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._arrays import array_of
from ._core import UsageError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import ArrayLike, NDArray

_EPSILON = 1e-5  # of group and layer normalization; PyTorch's default


class LayeredModel:
    """A model line with initial weights, for `run(model=...)`; what `from_torch` returns.

    line: the layers (docs/models.md); tensors: the module's weights, float32 arrays by fedstride's names, in PyTorch's layouts;
    names: maps fedstride's names to the module's ("conv1.weight" to "0.weight").
    """

    def __init__(self, line: str, tensors: dict[str, NDArray[numpy.float32]], names: dict[str, str], module: Any = None):
        self.line, self.tensors, self.names = line, tensors, names
        self._module = module  # None: nothing to compare with
        self._proven: set[tuple[int, ...]] = set()

    def __repr__(self) -> str:
        return f"<fedstride.LayeredModel {self.line!r}>"

    def state_dict(self, tensors: Mapping[str, ArrayLike]) -> dict[str, Any]:
        """Converts weights by fedstride's names (`run.model()`) to PyTorch tensors by the module's, for `load_state_dict`."""
        import numpy
        import torch

        others = {} if self._module is None else {name: tensor.clone() for name, tensor in self._module.state_dict().items()}
        return {**others, **{theirs: torch.from_numpy(numpy.array(tensors[ours])) for ours, theirs in self.names.items()}}

    def check(self, height: int, width: int, channels: int, vocabulary: int) -> None:
        """Raises UsageError unless line and module agree on examples of this form, which a run knows from its data."""
        self._prove((height,) if vocabulary else (channels,) if height == width == 1 else (channels, height, width), vocabulary)

    def _prove(self, shape: tuple[int, ...], vocabulary: int) -> None:
        if self._module is not None and (*shape, vocabulary) not in self._proven:
            _prove(self._module, shape, vocabulary)
            self._proven.add((*shape, vocabulary))


def from_torch(module: Any) -> LayeredModel:
    """Converts a `torch.nn.Sequential`, nested or not, of layers that fedstride supports to a model line with the module's
    weights.

    Known: Conv2d, Linear, MaxPool2d, AvgPool2d, AdaptiveAvgPool2d(1), BatchNorm1d, BatchNorm2d, GroupNorm, LayerNorm of one
    dimension, Embedding, ReLU, LeakyReLU, GELU, Tanh, Sigmoid, Dropout, Flatten, Identity. The last layer is a Linear with an output for each answer of the
    data; with another number of outputs, the run initializes it again and says so in a note. The loss and gradients of module and
    line, without dropout, are compared on random examples: here and, if the data's examples have another shape, before the run.
    Raises UsageError, naming the layer, for any difference, any other layer, shared or frozen parameters, and hooks; a module
    with its own forward is trained by your code (`train=`).
    """
    layers = list(_layers(module, ""))
    if len(layers) == 1 and type(module).__name__ != "Sequential" and any(True for _ in module.children()):
        raise UsageError(f"the module is of type {type(module).__name__}, whose forward is its own; valid: a torch.nn.Sequential; anything else is "
                         "trained by your own code (train=)")
    if not layers or type(layers[-1][1]).__name__ != "Linear":
        raise UsageError(f"the module ends in {type(layers[-1][1]).__name__ if layers else 'nothing'}; it must end in Linear, whose outputs "
                         "are scores (the loss has the softmax)")
    words, tensors, names = _converted(layers)
    _refuse_hooks(module)
    _refuse_shared(layers)
    for name in module.state_dict().keys() - names.values():
        if name.endswith("num_batches_tracked"):  # used only with a cumulative average
            continue
        raise UsageError(f"the module has a tensor '{name}'; valid: only the weights and biases of its layers")
    model = LayeredModel(" | ".join(words), tensors, names, _ready(module))
    model._prove(*_example(layers))
    return model


# --- the line ---

_STEMS = {"Conv2d": "conv", "Linear": "fc", "BatchNorm1d": "bn", "BatchNorm2d": "bn", "GroupNorm": "gn", "LayerNorm": "ln", "Embedding": "embedding"}
_ACTIVATIONS = {"ReLU": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Identity": ""}
_POOLS = ("MaxPool2d", "AvgPool2d")


def _layers(module, place):
    """Yields (name, layer) for every layer, in order; a layer used twice appears twice."""
    if not hasattr(module, "named_children") or not hasattr(module, "named_parameters"):
        raise UsageError(f"the model is of type {type(module).__name__}; valid: a torch.nn.Sequential or layer")
    if type(module).__name__ != "Sequential":
        yield place, module
        return
    for name, child in module._modules.items():
        yield from _layers(child, f"{place}.{name}" if place else name)


def _converted(layers):
    """Returns the line's words, the weights by fedstride's names, and a map from these names to the module's."""
    words, tensors, names, count = [], {}, {}, {}
    for number, (place, layer) in enumerate(layers):
        kind = type(layer).__name__
        _refuse_parametrized(place, layer, kind)
        word = _word(place, layer, kind, is_last=number == len(layers) - 1)
        if word:
            words.append(word)
        stem = _STEMS.get(kind)
        if stem is None:
            continue
        count[stem] = count.get(stem, 0) + 1
        for name, tensor in layer.named_parameters():
            ours = f"{stem}{count[stem]}.{name}"
            if not tensor.requires_grad:
                raise UsageError(f"layer '{place}', {kind}: {name} has requires_grad=False, and fedstride would train it; valid: True, and "
                                 f"run(freeze='{stem}{count[stem]}')")
            if not tensor.is_floating_point() or not tensor.isfinite().all():
                raise UsageError(f"layer '{place}', {kind}: {name} must hold finite floating-point numbers")
            tensors[ours] = array_of(tensor.float()).copy()
            names[ours] = f"{place}.{name}" if place else name
        for name in ("running_mean", "running_var") if stem == "bn" else ():
            tensors[f"{stem}{count[stem]}.{name}"] = array_of(getattr(layer, name).float()).copy()
            names[f"{stem}{count[stem]}.{name}"] = f"{place}.{name}" if place else name
    return words, tensors, names


def _one(place, kind, setting, value):
    """Returns a size that PyTorch allows to differ between dimensions. Raises UsageError if it differs."""
    values = value if isinstance(value, tuple) else (value, value)
    if len(set(values)) != 1 or not isinstance(values[0], int):
        raise UsageError(f"layer '{place}', {kind}: {setting} is {value}; it must be the same whole number in both dimensions")
    return values[0]


def _window(place, layer, kind):
    return tuple(_one(place, kind, setting, getattr(layer, setting)) for setting in ("kernel_size", "stride", "padding"))


def _must(place, layer, kind, **expected):
    for setting, value in expected.items():
        found = getattr(layer, setting, value)
        if found not in (value, (value, value)):
            raise UsageError(f"layer '{place}', {kind}: {setting} is {found}; it must be {value}")


def _word(place, layer, kind, is_last):
    if kind in _ACTIVATIONS:
        return _ACTIVATIONS[kind]
    bias = "" if getattr(layer, "bias", None) is not None else " nobias"
    if kind == "Linear":
        return f"dense {'classes' if is_last else layer.out_features}{bias}"
    if kind == "Conv2d":
        _must(place, layer, kind, groups=1, dilation=1, padding_mode="zeros")
        size, stride, pad = _window(place, layer, kind)
        return f"conv {layer.out_channels} {size} {stride} {pad}{bias}"
    if kind == "MaxPool2d":
        _must(place, layer, kind, dilation=1, ceil_mode=False, return_indices=False)
    if kind == "AvgPool2d":
        _must(place, layer, kind, ceil_mode=False, count_include_pad=True, divisor_override=None)
    if kind in _POOLS:
        size, stride, pad = _window(place, layer, kind)
        return f"{'maxpool' if kind == 'MaxPool2d' else 'avgpool'} {size} {stride}{f' pad {pad}' if pad else ''}"
    if kind == "AdaptiveAvgPool2d":
        _must(place, layer, kind, output_size=1)
        return "globalavgpool"
    if kind in ("BatchNorm1d", "BatchNorm2d"):
        _must(place, layer, kind, eps=_EPSILON, affine=True, track_running_stats=True)
        if layer.momentum == 0:
            raise UsageError(f"layer '{place}', {kind}: momentum is 0, so its statistics never move; freeze the layer, or give a number above 0")
        return "batchnorm cumulative" if layer.momentum is None else f"batchnorm {layer.momentum:.9g}"
    if kind == "GroupNorm":
        _must(place, layer, kind, eps=_EPSILON, affine=True)
        return f"groupnorm {layer.num_groups}"
    if kind == "LayerNorm":
        _must(place, layer, kind, eps=_EPSILON, elementwise_affine=True)
        if len(layer.normalized_shape) != 1:
            raise UsageError(f"layer '{place}', LayerNorm: normalized_shape is {tuple(layer.normalized_shape)}; it must have one dimension")
        return "layernorm"
    if kind == "Embedding":
        _must(place, layer, kind, padding_idx=None, max_norm=None, scale_grad_by_freq=False)
        return f"embedding {layer.embedding_dim}"
    if kind == "LeakyReLU":
        return f"leakyrelu {layer.negative_slope:.9g}"
    if kind == "GELU":
        _must(place, layer, kind, approximate="none")
        return "gelu"
    if kind == "Dropout":
        if layer.p >= 1:
            raise UsageError(f"layer '{place}', Dropout: p is {layer.p}; it must be below 1")
        return f"dropout {layer.p:.9g}" if layer.p > 0 else ""
    if kind == "Flatten":
        _must(place, layer, kind, start_dim=1, end_dim=-1)
        return "flatten"
    known = sorted({*_STEMS, *_ACTIVATIONS, *_POOLS, "AdaptiveAvgPool2d", "LeakyReLU", "GELU", "Dropout", "Flatten"})
    raise UsageError(f"layer '{place}' is a {kind}, which fedstride does not have; valid: {', '.join(known)}, in Sequential; "
                     "anything else is trained by your own code (train=)")


# --- what a line cannot say ---

_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks", "_post_accumulate_grad_hooks")


def _refuse_parametrized(place, layer, kind):
    """Refuses weight_norm, pruning and the like, old and new, which rename parameters."""
    found = [name for name, _ in layer.named_parameters()]
    if hasattr(layer, "parametrizations") or kind in _STEMS and not {"weight", "bias"}.issuperset(found):
        raise UsageError(f"layer '{place}', {kind}: its weights are computed from {', '.join(found)}; valid: plain weights, without "
                         "weight_norm, pruning or another parametrization")


def _refuse_hooks(module):
    for place, owner in [*module.named_modules(), *module.named_parameters()]:
        if any(getattr(owner, hooks, None) for hooks in _HOOKS):
            raise UsageError(f"'{place}', a {type(owner).__name__}, has a hook, which fedstride would not call; valid: a module without hooks")


def _refuse_shared(layers):
    """Refuses parameters that share memory, wholly or partly: they are one in PyTorch but would be two in a line."""
    extents = []
    for number, (place, layer) in enumerate(layers):
        for name, tensor in layer.named_parameters():
            length = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
            text = f"layer '{place}', {type(layer).__name__}: {name}"
            if length < tensor.numel():
                raise UsageError(f"{text} has values that share memory; valid: separate memory for each value")
            extents.append((tensor.data_ptr(), tensor.data_ptr() + length * tensor.element_size(), number, text))
    extents.sort()
    for one, other in zip(extents, extents[1:]):
        if other[0] < one[1]:
            later, first = (one, other) if one[2] > other[2] else (other, one)
            raise UsageError(f"{later[3]} is shared with {first[3]}, and fedstride would train two; valid: separate parameters for each layer")


# --- the examples that a module reads ---

_SIZES = {"Linear": "in_features", "LayerNorm": "normalized_shape", "GroupNorm": "num_channels", "BatchNorm1d": "num_features", "BatchNorm2d": "num_features", "Conv2d": "in_channels"}


def _size(layer):
    """The number of values or channels that a layer reads."""
    size = getattr(layer, _SIZES[type(layer).__name__])
    return size[0] if isinstance(size, tuple) else size


def _example(layers):
    """Returns the shape and vocabulary of examples that the module can read, as its layers suggest: (channels, height, width) for
    images, (values,) for rows, (positions,) for tokens."""
    kinds = [type(layer).__name__ for _, layer in layers]
    if "Embedding" in kinds:
        return (3,), layers[kinds.index("Embedding")][1].num_embeddings
    end = next((at for at, kind in enumerate(kinds) if kind in ("Flatten", "AdaptiveAvgPool2d")), len(kinds))
    first = next(layer for _, layer in layers if type(layer).__name__ in _SIZES)
    if not {"Conv2d", "AdaptiveAvgPool2d", *_POOLS}.intersection(kinds) and (type(first).__name__ != "GroupNorm" or "Flatten" not in kinds):
        return (_size(first),), 0
    windows = [_window(place, layer, kind) for (place, layer), kind in zip(layers[:end], kinds) if kind in ("Conv2d", *_POOLS)]
    if kinds[end:] and kinds[end] == "Flatten":
        return _picture(layers, end, windows), 0
    side = _side_for(2, windows) or _side_for(1, windows) or 1
    return (_size(first), side, side + 1), 0


def _picture(layers, end, windows):
    """Returns the shape of images that the Flatten at `end` turns into the next layer's input."""
    before = [layer for _, layer in layers[:end] if type(layer).__name__ in ("Conv2d", "GroupNorm")]
    place, after = next((place, layer) for place, layer in layers[end:] if type(layer).__name__ in _SIZES)
    count = _size(after)
    known = next((layer.out_channels for layer in reversed(before) if hasattr(layer, "out_channels")), before and _size(before[0]))
    for channels in [known] if known else (1, 3, 4, *range(2, count + 1)):
        places = count // channels if count % channels == 0 else 0
        for height in range(math.isqrt(places), 0, -1):
            sides = [_side_for(height, windows), _side_for(places // height, windows)] if places % height == 0 else [None]
            if None not in sides:
                return (_size(before[0]) if before else channels, *sides)
    setting = _SIZES[type(after).__name__]
    raise UsageError(f"layer '{place}', {type(after).__name__}: {setting} is {count}; it must be {known or 'channels'} x height x width of "
                     "the images before Flatten")


def _side_for(made, windows):
    """The smallest image side that these windows, each (kernel, stride, pad), reduce to `made`; None if there is none."""
    side = made
    for kernel, stride, pad in reversed(windows):
        side = max(1, (side - 1) * stride + kernel - 2 * pad)
    check = side
    for kernel, stride, pad in windows:
        check = (check + 2 * pad - kernel) // stride + 1
    return side if check == made else None


def _follow(layers, x, vocabulary):
    """Raises UsageError if a layer does not fit its input from the batch x, or reads it differently than fedstride does."""
    shape = tuple(x.shape[1:])
    for place, layer in layers:
        kind = type(layer).__name__
        wrong = _misread(layer, kind, x, vocabulary)
        try:
            x = x if wrong else layer(x)
        except Exception as error:
            wrong = _line_of(error)
        if wrong:
            raise UsageError(f"layer '{place}', {kind}: {wrong} (for examples of shape {shape})")


def _misread(layer, kind, x, vocabulary):
    has_pictures = x.dim() == 4
    if kind in ("Conv2d", "AdaptiveAvgPool2d", *_POOLS) and not has_pictures:
        return "its input is not images; it must come before Flatten"
    if kind in ("Linear", "LayerNorm") and has_pictures:
        return "it would read the rows of images; it must come after Flatten"
    if kind in ("GroupNorm", "Flatten") and x.dim() == 3:
        return "it would read a sequence; it must not come after Embedding"
    if kind == "Embedding":
        return f"num_embeddings is {layer.num_embeddings}; it must be the data's vocabulary, {vocabulary}" * (layer.num_embeddings != vocabulary)
    if kind in _SIZES and _size(layer) != (reads := x.shape[1 if has_pictures else -1]):
        return f"{_SIZES[kind]} is {_size(layer)}; it must be {reads}"
    return ""


def _line_of(error):
    return " ".join(str(error).split())[:300]


# --- the proof ---

_EXAMPLES = 6
_ATTEMPTS = 5  # a batch may be near kinks, where rounding decides a gradient, or leave a small layer without a gradient


class _Unproven(Exception):
    """Module and line are not known to be equal; the text says why."""


class _Differs(_Unproven):
    """Module and line differ."""


def _ready(module):
    """Returns a copy to compare with, unaffected by later changes and without dropout, which is random."""
    try:
        ready = copy.deepcopy(module).cpu().float()
    except Exception as error:
        raise UsageError(f"the module cannot be copied ({_line_of(error)}); valid: one that copy.deepcopy copies") from None
    for part in ready.modules():
        part.train(type(part).__name__ != "Dropout")
        part.inplace = False  # the same values, and PyTorch has a gradient after every layer
    return ready


def _prove(module, shape, vocabulary):
    """Raises UsageError unless the module and its line have the same loss and gradients on random examples: with the module's weights
    and, since these may hide a layer (zeros), with random ones."""
    import torch

    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        for redraws in (False, True):
            for attempt in range(_ATTEMPTS):
                random = torch.Generator().manual_seed(attempt)
                tried = _redrawn(module, random) if redraws else module
                x = torch.randint(vocabulary, (_EXAMPLES, *shape), generator=random) if vocabulary else _normal((_EXAMPLES, *shape), random)
                if attempt == 0:
                    with torch.no_grad():
                        _follow(_layers(tried, ""), x, vocabulary)
                unproven = _difference(tried, x, vocabulary, random, must_reach=redraws)
                if unproven is None:
                    break
            else:
                where = _culprit(tried, x, vocabulary, random) if isinstance(unproven, _Differs) else "the module"
                raise UsageError(f"{where}: fedstride's line is not proven to compute the same: {unproven}; valid: "
                                 "PyTorch's own layers; anything else is trained by your own code (train=)")


def _normal(shape, random):
    import torch

    return torch.randn(shape, generator=random, dtype=torch.float32, device="cpu")


def _redrawn(module, random):
    """Returns a copy of the module with random weights, scaled to preserve the size of signals."""
    import torch

    module = copy.deepcopy(module)
    with torch.no_grad():
        for tensor in module.parameters():
            tensor.copy_(_normal(tensor.shape, random) / (tensor[0].numel() ** 0.5 if tensor.dim() > 1 else 1))
    return module


def _culprit(module, x, vocabulary, random):
    """Names the first layer at which module and line differ."""
    import torch

    layers = list(_layers(module, ""))
    for count, (place, layer) in enumerate(layers, 1):
        parts = [part for _, part in layers[:count]]
        with torch.no_grad():
            reached = torch.nn.Sequential(*parts)(x)
        if count < len(layers):
            parts += [torch.nn.Flatten()] * (reached.dim() == 4)
            parts.append(torch.nn.Linear(reached[0].numel() if reached.dim() == 4 else reached.shape[-1], 2))
        if _difference(torch.nn.Sequential(*parts), x, vocabulary, random) is not None:
            return f"layer '{place}', {type(layer).__name__}"
    return "the module, whose layers agree one by one"


def _difference(module, x, vocabulary, random, must_reach=False):
    """Returns what differs on the batch x, or None. `must_reach`: no gradient may be zero."""
    try:
        _compare(module, x, vocabulary, random, must_reach)
    except _Unproven as unproven:
        return unproven
    except UsageError:
        raise
    except Exception as error:
        return _Unproven(f"{type(error).__name__}: {_line_of(error)}")


def _compare(module, x, vocabulary, random, must_reach):
    """Raises _Unproven for a difference. 64-bit gradients are the reference, and 32-bit gradients the measure of rounding."""
    import torch

    layers = list(_layers(module, ""))
    words, tensors, names = _converted(layers)
    outputs = layers[-1][1].out_features
    y = torch.randint(outputs, x.shape, generator=random) if vocabulary else _normal((len(x), outputs), random)
    single = _of_module(module, x, y, names)
    exact = _of_module(copy.deepcopy(module).double(), x if vocabulary else x.double(), y, names)
    largest = max(1e-30, *(abs(value).max() for value in exact.values()))
    rate = min(1e6, 1e4 / largest)  # so large that adding the old weights does not round the gradient
    line = " | ".join(word for word in words if not word.startswith("dropout "))
    found = _of_line(line, tensors, x, y, vocabulary, rate)
    for ours, value in exact.items():
        what = f"the gradient of '{names[ours]}'" if ours else "the loss"
        if must_reach and not value.any():
            raise _Unproven(f"{what} is zero on random examples")
        if found[ours].shape != value.shape:
            raise _Differs(f"{what} has shape {found[ours].shape} instead of {value.shape}")
        allowed = (5e-3 if ours else 1e-4) * abs(value).max() + 30 * abs(single[ours] - value).max() + 1e-6 * largest
        error = abs(found[ours] - value).max()
        if not error <= allowed:
            raise _Differs(f"{what} differs by {error:.3g}, where its largest magnitude is {abs(value).max():.3g}")


def _of_module(module, x, y, names):
    """Returns the module's gradients by fedstride's names, and its loss under ''."""
    import torch

    scores = module(x)
    loss = ((scores - y) ** 2).mean() if y.is_floating_point() else torch.nn.functional.cross_entropy(scores.flatten(0, 1), y.flatten())
    parameters = dict(module.named_parameters())
    trained = {ours: parameters[theirs] for ours, theirs in names.items() if theirs in parameters}  # not running statistics
    gradients = torch.autograd.grad(loss, list(trained.values()))
    return {"": array_of(loss), **{ours: array_of(gradient.to_dense()) for ours, gradient in zip(trained, gradients)}}


def _of_line(line, tensors, x, y, vocabulary, rate):
    """Returns the gradients and the loss of a model line, from a run of one step."""
    import numpy

    from ._own import save_first_weights
    from .running import run

    x, y, settings = array_of(x), array_of(y), {"targets": "values"}
    if vocabulary:
        settings = {"targets": "positions", "vocabulary": vocabulary, "classes": tensors[list(tensors)[-1]].shape[0]}
    else:
        channels, height, width = x.shape[1:] if x.ndim == 4 else (x.shape[1], 1, 1)
        settings["shape"], settings["normalize"] = f"{height}x{width}x{channels}", "none"
        x = numpy.moveaxis(x.reshape(len(x), channels, -1), 1, 2).reshape(len(x), -1)  # channels innermost, as floats are read
    with tempfile.TemporaryDirectory(prefix="fedstride-") as folder:
        file = save_first_weights(folder, tensors)
        done = run(**settings, model=line, init=file, data={"x": x, "y": y, "x_test": x[:1], "y_test": y[:1]}, clients=1, partition="iid", rounds=1,
                   optimizer="sgd", learning_rate=rate, batch=len(x), threads=1, progress=False, out=f"{folder}/run")
        trained = done.model()
        return {"": numpy.array(done.rounds[0]["train_loss"]), **{name: (tensors[name] - trained[name]) / rate for name in tensors}}
