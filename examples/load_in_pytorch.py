#!/usr/bin/env python3
"""Loads a model saved by fedstride, with any layers, into a torch.nn.Module, and shows it.

usage: load_in_pytorch.py RUN/model.safetensors [TABLE.csv | FOLDER-OF-CIFAR-10]

With a table, the model is evaluated on all its rows, which are read through the schema in the model's file; with a folder, on the
test images in it. Needs only PyTorch and numpy: the file format is a length, a JSON header and the tensors' bytes. From Python:
`model, names = load("RUN/model.safetensors")`; names["conv1"] is the module with the tensors conv1.weight and conv1.bias.
"""
import csv
import json
import os
import re
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


class Residual(nn.Module):
    """body(x) + shortcut(x)."""

    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return self.body(x) + self.shortcut(x)


class Subsample(nn.Module):
    """Keeps every stride-th row and column and appends channels of zeros (He et al. 2016, option A)."""

    def __init__(self, stride, more_channels):
        super().__init__()
        self.stride, self.more_channels = stride, more_channels

    def forward(self, x):
        x = x[:, :, :: self.stride, :: self.stride]
        return nn.functional.pad(x, (0, 0, 0, 0, 0, self.more_channels))


class LayerNorm(nn.LayerNorm):
    """Normalizes over the channels at each position: dimension 1 of an image, the last dimension of other inputs."""

    def forward(self, x):
        return super().forward(x) if x.dim() < 4 else super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Positions(nn.Module):
    """Adds a separate vector to each position."""

    def __init__(self, positions, size):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(positions, size))

    def forward(self, x):
        return x + self.weight


class Outputs(nn.Module):
    """The outputs of a recurrent layer at all positions, without the last state."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class CausalAttention(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return self.layer(x, x, x, attn_mask=later, need_weights=False)[0]


class Last(nn.Module):
    def forward(self, x):
        return x[:, -1]


class Sequence(nn.Module):
    """The rows of an image as positions: each is a vector of width x channels, channels innermost."""

    def forward(self, x):
        return x.permute(0, 2, 3, 1).flatten(2)


class Builder:
    """Builds the layers of a model line and passes an example of zeros through them, to find each layer's input shape."""

    def __init__(self, line, shape, classes, vocabulary=0):
        self.pieces = re.findall(r"[{}|]|[^{}|]+", line)
        self.classes, self.names, self.counts = classes, {}, {}
        height, width, channels = shape
        picture = height > 1 or width > 1
        self.vocabulary = vocabulary
        self.zeros = torch.zeros(1, channels, height, width) if picture else torch.zeros(1, channels)
        if vocabulary > 0:
            self.zeros = torch.zeros(1, height, dtype=torch.long)

    def counted(self, prefix, module):
        self.counts[prefix] = self.counts.get(prefix, 0) + 1
        self.names[f"{prefix}{self.counts[prefix]}"] = module
        return module

    def add(self, layers, module):
        layers.append(module)
        self.zeros = module.eval()(self.zeros)  # one row, over which nothing can be normalized

    def line(self):
        layers = []
        while self.pieces and self.pieces[0] != "}":
            text = self.pieces.pop(0).strip()
            if text in ("", "|"):
                continue
            if self.pieces and self.pieces[0] == "{":
                self.block(text.split(), layers)
            else:
                self.layer(text.split(), layers)
        return nn.Sequential(*layers)

    def block(self, words, layers):
        self.pieces.pop(0)  # {
        if words[0] == "repeat":
            inside = list(self.pieces)
            for _ in range(int(words[1])):
                self.pieces = list(inside)
                layers.append(self.line())
            self.pieces.pop(0)  # }
            return
        before = self.zeros
        body = self.line()
        self.pieces.pop(0)
        after, self.zeros = self.zeros, before
        layers.append(Residual(body, self.shortcut(before, after, body, words[1:] == ["pad"])))
        self.zeros = after

    def shortcut(self, before, after, body, pads):
        if before.shape == after.shape:
            return nn.Identity()
        stride = next(s for s in range(1, 1025)
                      if all((i - 1) // s + 1 == o for i, o in zip(before.shape[2:], after.shape[2:])))
        channels = after.shape[1]
        if pads:
            return Subsample(stride, channels - before.shape[1])
        layers = [self.counted("conv", nn.Conv2d(before.shape[1], channels, 1, stride, bias=False))]
        if isinstance(body[-1], nn.GroupNorm):
            layers.append(self.counted("gn", nn.GroupNorm(body[-1].num_groups, channels)))
        return nn.Sequential(*layers)

    def layer(self, words, layers):
        kind, *words = words
        number = lambda word, default: int(words[words.index(word) + 1]) if word in words else default
        channels = self.zeros.shape[1 if self.zeros.dim() == 4 else -1]
        if kind == "conv":
            module = self.counted("conv", nn.Conv2d(channels, int(words[0]), int(words[1]), number("stride", 1), number("pad", 0),
                                                    bias="nobias" not in words))
        elif kind == "dense":
            if self.zeros.dim() == 4:
                self.add(layers, nn.Flatten())
            units = self.classes if words[0] == "classes" else int(words[0])
            module = self.counted("fc", nn.Linear(self.zeros.shape[-1], units, bias="nobias" not in words))
        elif kind == "batchnorm":
            norm = nn.BatchNorm2d if self.zeros.dim() == 4 else nn.BatchNorm1d
            module = self.counted("bn", norm(channels, momentum=None if words == ["cumulative"] else float(words[0]) if words else 0.1))
        elif kind == "groupnorm":
            module = self.counted("gn", nn.GroupNorm(int(words[0]), channels))
        elif kind == "layernorm":
            module = self.counted("ln", LayerNorm(channels))
        elif kind in ("maxpool", "avgpool"):
            pool = nn.MaxPool2d if kind == "maxpool" else nn.AvgPool2d
            module = pool(int(words[0]), int(words[1]), number("pad", 0))
        elif kind == "embedding":
            module = self.counted("embedding", nn.Embedding(self.vocabulary, int(words[0])))
        elif kind == "positions":
            module = self.counted("positions", Positions(*self.zeros.shape[1:]))
        elif kind in ("lstm", "gru"):
            recurrent = nn.LSTM if kind == "lstm" else nn.GRU
            module = Outputs(self.counted(kind, recurrent(channels, int(words[0]), batch_first=True)))
        elif kind == "attention":
            module = CausalAttention(self.counted("attention", nn.MultiheadAttention(channels, int(words[0]), batch_first=True)))
        elif kind == "leakyrelu":
            module = nn.LeakyReLU(float(words[0]))
        elif kind == "dropout":
            module = nn.Dropout(float(words[0]))
        else:
            plain = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "flatten": nn.Flatten,
                     "globalavgpool": lambda: nn.AdaptiveAvgPool2d(1), "last": Last, "sequence": Sequence}
            if kind not in plain:
                raise ValueError(f"layer '{kind}' is unknown; add its module to Builder.layer")
            module = plain[kind]()
        self.add(layers, module)


def build(line, shape, classes, vocabulary=0):
    """Returns the module of a model line written by fedstride and its layers by their names in the file; shape is (height, width,
    channels), or for tokens (their number, 1, 1)."""
    builder = Builder(line, shape, classes, vocabulary)
    with torch.no_grad():
        model = builder.line()
    return model, builder.names


def load(path):
    tensors, metadata = read_safetensors(path)
    shape = [int(side) for side in metadata["fedstride.input"].split("x")]
    model, names = build(metadata["fedstride.model"], shape, int(metadata["fedstride.classes"]),
                         int(metadata.get("fedstride.vocabulary", 0)))
    wanted = {f"{name}.{kind}": value for name, module in names.items() for kind, value in module.state_dict(keep_vars=True).items()
              if kind != "num_batches_tracked"}
    if wanted.keys() != tensors.keys():
        raise ValueError(f"the file's tensors differ from the model's in: {sorted(wanted.keys() ^ tensors.keys())}")
    with torch.no_grad():
        for name, value in wanted.items():
            value.copy_(tensors[name])
    return model.eval(), names


MISSING = {"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A", "<NA>"}


def read_table(path, schema):
    """Returns the inputs and answers of a table, whose columns are found by the schema's names, or by number if it has none."""
    columns, names = schema["columns"], schema.get("classes", [])
    with open(path, newline="", encoding="utf-8-sig") as file:
        first = file.readline()
        file.seek(0)
        rows = [row for row in csv.reader(file, delimiter=next((s for s in ";,\t" if s in first), ",")) if row]
    header = rows.pop(0) if columns.get("named") else [str(i + 1) for i in range(len(rows[0]))]
    place = {name.strip(): i for i, name in enumerate(header)}
    words = {one["column"]: one["words"] for one in columns.get("categories", [])}
    fill = schema.get("fill") or schema["mean"]
    numbers = [name for name in columns["inputs"] if name not in words]

    def inputs(row):
        fields = [row[place[name]].strip() for name in numbers]
        values = [fill[i] if field in MISSING else float(field) for i, field in enumerate(fields)]
        for name in columns["inputs"]:
            values += [float(row[place[name]].strip() == word) for word in words.get(name, [])]
        return values + ([float(field in MISSING) for field in fields] if schema.get("missing") == "indicator" else [])

    def answer(row):
        fields = [row[place[name]].strip() for name in columns["answers"]]
        if schema["form"]["targets"] != "classes":
            return [float(field) for field in fields]
        return names.index(fields[0]) if schema.get("labels_are_names") else int(float(fields[0]))

    return torch.tensor([inputs(row) for row in rows]), torch.tensor([answer(row) for row in rows])


def read_cifar10(folder):
    records = numpy.fromfile(folder + "/test_batch.bin", numpy.uint8).reshape(-1, 3073)
    pictures = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).astype(numpy.float32)) / 255
    return pictures, torch.from_numpy(records[:, 0].astype(numpy.int64))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    model, _ = load(sys.argv[1])
    if len(sys.argv) == 2:
        print(model)
        print(f"{sum(parameter.numel() for parameter in model.parameters())} parameters")
        return
    schema = json.loads(read_safetensors(sys.argv[1])[1]["fedstride.schema"])
    if schema.get("client_moments"):
        sys.exit("each client's inputs have their own mean and deviation (client_moments), which this program does not apply")
    examples, labels = read_cifar10(sys.argv[2]) if os.path.isdir(sys.argv[2]) else read_table(sys.argv[2], schema)
    each = (1, -1, 1, 1) if examples.dim() == 4 else (1, -1)
    mean, deviation = (torch.tensor(schema[name]).view(each) for name in ("mean", "deviation"))
    correct, loss = 0, 0.0
    with torch.no_grad():
        if schema["form"]["targets"] == "values":
            errors = model((examples - mean) / deviation) - labels
            r2 = 1 - (errors**2).sum() / ((labels - labels.mean(0)) ** 2).sum()
            print(f"R2 {r2:.4f}, loss {(errors**2).sum(1).mean():.4f}")
            return
        for begin in range(0, len(labels), 1000):
            part = slice(begin, begin + 1000)
            scores = model((examples[part] - mean) / deviation)
            correct += int((scores.argmax(1) == labels[part]).sum())
            loss += float(nn.functional.cross_entropy(scores, labels[part], reduction="sum"))
    print(f"accuracy {correct / len(labels):.4f}, loss {loss / len(labels):.4f}")


if __name__ == "__main__":
    main()
