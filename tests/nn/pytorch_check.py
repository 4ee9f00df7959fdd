"""Holds what pytorch_test wrote into a folder against PyTorch: same weights, same batch, same scores, SGD step and clipped sum.

Reads model.safetensors, step.safetensors (the weights after one step), clipped.safetensors (the sum of the examples'
gradients, each clipped to the L2 norm in clip.txt), inputs.bin (rows x H x W x C floats), labels.bin (16 bits), scores.bin
and rate.txt. The module is built by examples/load_in_pytorch.py. Ends with 1 and says what differs if something does.
"""
import pathlib
import sys

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples"))
from load_in_pytorch import load, read_safetensors  # noqa: E402


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    model, names = load(folder / "model.safetensors")
    model.double()  # so that rounding is one side's only
    weights, metadata = read_safetensors(folder / "model.safetensors")
    stepped, _ = read_safetensors(folder / "step.safetensors")
    clipped, _ = read_safetensors(folder / "clipped.safetensors")
    height, width, channels = (int(side) for side in metadata["fedstride.input"].split("x"))
    parameters = {f"{name}.{kind}": value for name, module in names.items() for kind, value in module.named_parameters()}
    count = sum(parameter.numel() for parameter in model.parameters())
    inputs = torch.from_numpy(np.fromfile(folder / "inputs.bin", dtype="<f4").reshape(-1, height, width, channels))
    inputs = inputs.permute(0, 3, 1, 2).contiguous() if height > 1 or width > 1 else inputs.reshape(len(inputs), channels)
    labels = torch.from_numpy(np.fromfile(folder / "labels.bin", dtype="<u2").astype(np.int64))
    inputs = inputs.double()
    expected = torch.from_numpy(np.fromfile(folder / "scores.bin", dtype="<f4")).reshape(len(labels), -1)
    clip, rate = float((folder / "clip.txt").read_text()), float((folder / "rate.txt").read_text())

    total = {name: torch.zeros_like(value) for name, value in parameters.items()}
    for row in range(len(labels)):
        model.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(inputs[row : row + 1]), labels[row : row + 1]).backward()
        norm = torch.sqrt(sum((value.grad ** 2).sum() for value in parameters.values())).item()
        for name, value in parameters.items():
            total[name] += value.grad * min(1.0, clip / norm)
    largest = max(value.abs().max().item() for value in total.values())
    clipped_difference = max((total[name] - tensor).abs().max().item() for name, tensor in clipped.items()) / largest

    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    model.zero_grad(set_to_none=True)
    scores = model(inputs)
    nn.functional.cross_entropy(scores, labels).backward()
    optimizer.step()
    score_difference = (scores - expected).abs().max().item()
    step_difference = max((parameters[name] - tensor).abs().max().item() for name, tensor in stepped.items())
    moved = max((stepped[name] - tensor).abs().max().item() for name, tensor in weights.items())
    print(f"{metadata['fedstride.model'][:60]}: {count} parameters; scores differ by {score_difference:.1e} at most, weights after "
          f"a step by {step_difference:.1e} (it moved them by up to {moved:.1e}), the clipped sum by {clipped_difference:.1e} of its largest")
    same_size = count == int((folder / "parameters.txt").read_text())
    close = step_difference < 2e-6 and clipped_difference < 2e-4
    ok = same_size and score_difference < 2e-5 and moved > 1e-4 and close
    sys.exit(0 if ok else 1)


main()
