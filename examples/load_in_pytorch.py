#!/usr/bin/env python3
"""Loads a model that fedstride saved into torch.nn.Sequential and evaluates it on CIFAR-10's test pictures.

usage: load_in_pytorch.py RUN/model.safetensors FOLDER-OF-CIFAR-10

Needs PyTorch and numpy, nothing else: the file format is a length, a JSON header and the tensors' bytes.
"""
import json
import struct
import sys

import numpy
import torch
from torch import nn


def read_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        tensors[name] = torch.from_numpy(numpy.frombuffer(data[begin:end], "<f4").reshape(info["shape"]).copy())
    return tensors, metadata


def build(metadata, tensors):
    """The model line, layer by layer: fedstride counts convolutions and dense layers from 1, as PyTorch users do."""
    channels = int(metadata["fedstride.input"].split("x")[2])
    layers, convs, denses, norms = [], 0, 0, 0
    for words in (layer.split() for layer in metadata["fedstride.model"].split("|")):
        kind = words[0]
        if kind == "conv":
            convs += 1
            option = lambda name: int(words[words.index(name) + 1]) if name in words else None
            layer = nn.Conv2d(channels, int(words[1]), int(words[2]), stride=option("stride") or 1,
                              padding=option("pad") or 0, bias="nobias" not in words)
            channels = int(words[1])
            load(layer, f"conv{convs}", tensors)
        elif kind == "groupnorm":
            norms += 1
            scale = tensors[f"gn{norms}.weight"]
            layer = nn.GroupNorm(int(words[1]), scale.shape[0])
            load(layer, f"gn{norms}", tensors)
        elif kind == "dense":
            denses += 1
            if denses == 1 and not any(isinstance(one, nn.Flatten) for one in layers):
                layers.append(nn.Flatten())
            outputs, inputs = tensors[f"fc{denses}.weight"].shape
            layer = nn.Linear(inputs, outputs, bias="nobias" not in words)
            load(layer, f"fc{denses}", tensors)
        elif kind in ("maxpool", "avgpool"):
            pool = nn.MaxPool2d if kind == "maxpool" else nn.AvgPool2d
            layer = pool(int(words[1]), int(words[2]) if len(words) > 2 else int(words[1]))
        else:
            layer = {"relu": nn.ReLU, "tanh": nn.Tanh, "flatten": nn.Flatten}[kind]() if kind != "dropout" else nn.Dropout(float(words[1]))
        layers.append(layer)
    return nn.Sequential(*layers).eval()


def load(layer, name, tensors):
    with torch.no_grad():
        layer.weight.copy_(tensors[name + ".weight"])
        if layer.bias is not None:
            layer.bias.copy_(tensors[name + ".bias"])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tensors, metadata = read_safetensors(sys.argv[1])
    model = build(metadata, tensors)
    records = numpy.fromfile(sys.argv[2] + "/test_batch.bin", numpy.uint8).reshape(-1, 3073)
    labels = torch.from_numpy(records[:, 0].astype(numpy.int64))
    pictures = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).astype(numpy.float32)) / 255
    mean = torch.tensor([0.4914, 0.4822, 0.4465]).view(1, 3, 1, 1)
    deviation = torch.tensor([0.2023, 0.1994, 0.2010]).view(1, 3, 1, 1)
    correct, loss = 0, 0.0
    with torch.no_grad():
        for begin in range(0, len(labels), 1000):
            part = slice(begin, begin + 1000)
            scores = model((pictures[part] - mean) / deviation)
            correct += int((scores.argmax(1) == labels[part]).sum())
            loss += float(nn.functional.cross_entropy(scores, labels[part], reduction="sum"))
    print(f"accuracy {correct / len(labels):.4f}, loss {loss / len(labels):.4f}")


if __name__ == "__main__":
    main()
