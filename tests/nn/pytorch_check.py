"""Holds what pytorch_test wrote into a folder against PyTorch: same weights, same batch, same scores and SGD step.

Reads model.safetensors, step.safetensors (the weights after one step), inputs.bin (rows x H x W x C floats), labels.bin
(16 bits), scores.bin and rate.txt. Ends with 1 and says what differs if something does.
"""
import json
import pathlib
import struct
import sys

import numpy as np
import torch
from torch import nn


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = np.frombuffer(data[8 + length + begin : 8 + length + end], dtype="<f4")
        tensors[name] = torch.from_numpy(values.reshape(entry["shape"]).copy())
    return metadata, tensors


def option(words, name, default):
    return int(words[words.index(name) + 1]) if name in words else default


def build(line, shape, classes):
    """The line of layers as torch.nn.Sequential; returns it and the names of its layers with weights."""
    layers, names, convolutions, dense, norms = [], {}, 0, 0, 0
    with torch.no_grad():
        values = torch.zeros(1, shape[2], shape[0], shape[1])
        for text in line.split(" | "):
            kind, *words = text.split()
            if kind == "conv":
                convolutions += 1
                names[f"conv{convolutions}"] = str(len(layers))
                layer = nn.Conv2d(values.shape[1], int(words[0]), int(words[1]), option(words, "stride", 1),
                                  option(words, "pad", 0), bias="nobias" not in words)
            elif kind == "dense":
                if values.dim() == 4:
                    layers.append(nn.Flatten())
                    values = layers[-1](values)
                dense += 1
                names[f"fc{dense}"] = str(len(layers))
                units = classes if words[0] == "classes" else int(words[0])
                layer = nn.Linear(values.shape[1], units, bias="nobias" not in words)
            elif kind == "groupnorm":
                norms += 1
                names[f"gn{norms}"] = str(len(layers))
                layer = nn.GroupNorm(int(words[0]), values.shape[1])
            elif kind in ("maxpool", "avgpool"):
                pool = nn.MaxPool2d if kind == "maxpool" else nn.AvgPool2d
                layer = pool(int(words[0]), int(words[1]))
            else:
                layer = {"relu": nn.ReLU, "tanh": nn.Tanh, "flatten": nn.Flatten}[kind]()
            layers.append(layer)
            values = layer(values)
    return nn.Sequential(*layers), names


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    metadata, weights = read_safetensors(folder / "model.safetensors")
    _, stepped = read_safetensors(folder / "step.safetensors")
    shape = [int(side) for side in metadata["fedstride.input"].split("x")]
    model, names = build(metadata["fedstride.model"], shape, int(metadata["fedstride.classes"]))

    def theirs(name):
        layer, kind = name.split(".")
        return f"{names[layer]}.{kind}"

    model.load_state_dict({theirs(name): tensor for name, tensor in weights.items()})
    inputs = np.fromfile(folder / "inputs.bin", dtype="<f4").reshape(-1, *shape)
    inputs = torch.from_numpy(inputs).permute(0, 3, 1, 2).contiguous()
    labels = torch.from_numpy(np.fromfile(folder / "labels.bin", dtype="<u2").astype(np.int64))
    expected = torch.from_numpy(np.fromfile(folder / "scores.bin", dtype="<f4")).reshape(len(labels), -1)

    optimizer = torch.optim.SGD(model.parameters(), lr=float((folder / "rate.txt").read_text()))
    scores = model(inputs)
    nn.functional.cross_entropy(scores, labels).backward()
    optimizer.step()
    score_difference = (scores - expected).abs().max().item()
    state = model.state_dict()
    step_difference = max((state[theirs(name)] - tensor).abs().max().item() for name, tensor in stepped.items())
    moved = max((stepped[name] - tensor).abs().max().item() for name, tensor in weights.items())
    print(f"{metadata['fedstride.model']}: scores differ by {score_difference:.1e} at most, weights after a step by "
          f"{step_difference:.1e}; the step moved them by up to {moved:.1e}")
    sys.exit(0 if score_difference < 1e-5 and step_difference < 1e-6 and moved > 1e-4 else 1)


main()
