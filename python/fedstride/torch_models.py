"""PyTorch modules as models of layers, which native kernels train."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._arrays import array_of
from ._core import UsageError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import ArrayLike, NDArray

_EPSILON = 1e-5  # of group and layer normalization, as PyTorch's default


class LayeredModel:
    """A model line with first weights, for `run(model=...)`; what `from_torch` returns.

    line: the layers (docs/models.md); tensors: the module's weights, float32 arrays by fedstride's names, in PyTorch's layouts; names:
    the module's names by fedstride's ("0.weight" by "conv1.weight").
    """

    def __init__(self, line: str, tensors: dict[str, NDArray[numpy.float32]], names: dict[str, str]):
        self.line, self.tensors, self.names = line, tensors, names

    def __repr__(self) -> str:
        return f"<fedstride.LayeredModel {self.line!r}>"

    def state_dict(self, tensors: Mapping[str, ArrayLike]) -> dict[str, Any]:
        """Weights by fedstride's names, such as `run.model()`, as PyTorch tensors by the module's, for `load_state_dict`."""
        import numpy
        import torch

        return {theirs: torch.from_numpy(numpy.array(tensors[ours])) for ours, theirs in self.names.items()}


def from_torch(module: Any) -> LayeredModel:
    """A `torch.nn.Sequential`, nested or not, of layers that fedstride has, as a model line with the module's weights.

    Known: Conv2d, Linear, MaxPool2d, AvgPool2d, AdaptiveAvgPool2d(1), GroupNorm, LayerNorm of one dimension, Embedding, ReLU, LeakyReLU,
    GELU, Tanh, Sigmoid, Dropout, Flatten, Identity. The last is a Linear with an output for each answer of the data; with another number of outputs it starts
    anew, and a note of the run says so. Raises UsageError,
    naming the layer, for any other; a module with a forward of its own is trained by your code (`train=`).
    """
    layers = list(_layers(module, ""))
    if not layers or type(layers[-1][1]).__name__ != "Linear":
        raise UsageError(f"the module ends in {type(layers[-1][1]).__name__ if layers else 'nothing'}; it must end in Linear, whose outputs "
                         "are scores (the loss has the softmax)")
    words, tensors, names, count = [], {}, {}, {}
    for number, (place, layer) in enumerate(layers):
        kind = type(layer).__name__
        word = _word(place, layer, kind, is_last=number == len(layers) - 1)
        if word:
            words.append(word)
        stem = _STEMS.get(kind)
        if stem is None:
            continue
        count[stem] = count.get(stem, 0) + 1
        for name, tensor in layer.named_parameters():
            ours = f"{stem}{count[stem]}.{name}"
            tensors[ours] = array_of(tensor).astype("float32")
            names[ours] = f"{place}.{name}" if place else name
    return LayeredModel(" | ".join(words), tensors, names)


_STEMS = {"Conv2d": "conv", "Linear": "fc", "GroupNorm": "gn", "LayerNorm": "ln", "Embedding": "embedding"}
_ACTIVATIONS = {"ReLU": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Flatten": "flatten", "Identity": ""}


def _layers(module, place):
    """(name, layer) of every layer, in order."""
    if not hasattr(module, "named_children") or not hasattr(module, "named_parameters"):
        raise UsageError(f"the model is of type {type(module).__name__}; valid: a torch.nn.Sequential or layer")
    if type(module).__name__ != "Sequential":
        yield place, module
        return
    for name, child in module.named_children():
        yield from _layers(child, f"{place}.{name}" if place else name)


def _one(place, kind, setting, value):
    """A size that PyTorch allows to differ by dimension."""
    values = value if isinstance(value, tuple) else (value, value)
    if len(set(values)) != 1 or not isinstance(values[0], int):
        raise UsageError(f"layer '{place}', {kind}: {setting} is {value}; it must be one whole number for both dimensions")
    return values[0]


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
        size, stride, pad = (_one(place, kind, setting, getattr(layer, setting)) for setting in ("kernel_size", "stride", "padding"))
        return f"conv {layer.out_channels} {size} {stride} {pad}{bias}"
    if kind == "MaxPool2d":
        _must(place, layer, kind, dilation=1, ceil_mode=False, return_indices=False)
    if kind == "AvgPool2d":
        _must(place, layer, kind, ceil_mode=False, count_include_pad=True, divisor_override=None)
    if kind in ("MaxPool2d", "AvgPool2d"):
        size, stride, pad = (_one(place, kind, setting, getattr(layer, setting)) for setting in ("kernel_size", "stride", "padding"))
        return f"{'maxpool' if kind == 'MaxPool2d' else 'avgpool'} {size} {stride}{f' pad {pad}' if pad else ''}"
    if kind == "AdaptiveAvgPool2d":
        _must(place, layer, kind, output_size=1)
        return "globalavgpool"
    if kind == "GroupNorm":
        _must(place, layer, kind, eps=_EPSILON, affine=True)
        return f"groupnorm {layer.num_groups}"
    if kind == "LayerNorm":
        _must(place, layer, kind, eps=_EPSILON, elementwise_affine=True)
        if len(layer.normalized_shape) != 1:
            raise UsageError(f"layer '{place}', LayerNorm: normalized_shape is {tuple(layer.normalized_shape)}; it must have one dimension")
        return "layernorm"
    if kind == "Embedding":
        _must(place, layer, kind, padding_idx=None, max_norm=None)
        return f"embedding {layer.embedding_dim}"
    if kind == "LeakyReLU":
        return f"leakyrelu {layer.negative_slope:.9g}"
    if kind == "GELU":
        _must(place, layer, kind, approximate="none")
        return "gelu"
    if kind == "Dropout":
        return f"dropout {layer.p:.9g}" if layer.p > 0 else ""
    known = sorted({*_STEMS, *_ACTIVATIONS, "MaxPool2d", "AvgPool2d", "AdaptiveAvgPool2d", "LeakyReLU", "GELU", "Dropout"})
    raise UsageError(f"layer '{place}' is a {kind}, which fedstride has not; valid: {', '.join(known)}, in Sequential; "
                     "anything else is trained by your own code (train=)")
