"""Holds what pytorch_test wrote into a folder against PyTorch: same weights, same batch, same scores, SGD step and clipped sum.

Reads model.safetensors, step.safetensors (the weights after one step), gradient.safetensors and gradient_rest.safetensors (by the
slow twin in double, their sum), clipped.safetensors if examples have gradients of their own (the sum of these, each clipped to the L2
norm in clip.txt), inputs.bin (rows x H x W x C floats), labels.bin (16 bits) or
values.bin, scores.bin and rate.txt. The module is built by examples/load_in_pytorch.py. Ends with 1 and says what differs if something does.
"""
import pathlib
import sys

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples"))
from load_in_pytorch import load, read_safetensors  # noqa: E402


def loss(targets, scores, answers):
    """Of one example: the mean over its answers; a position with label 65535 does not count."""
    if targets == "values":
        return nn.functional.mse_loss(scores, answers)
    if targets == "flags":
        return nn.functional.binary_cross_entropy_with_logits(scores, answers)
    return nn.functional.cross_entropy(scores.reshape(len(answers), -1), answers, ignore_index=65535)


def difference_when_clipped(folder, model, parameters, targets, inputs, answers):
    """The largest difference to the sum of the examples' clipped gradients, as a share of its largest number."""
    clipped, _ = read_safetensors(folder / "clipped.safetensors")
    clip = float((folder / "clip.txt").read_text())
    total = {name: torch.zeros_like(value) for name, value in parameters.items()}
    for row in range(len(inputs)):
        model.zero_grad(set_to_none=True)
        loss(targets, model(inputs[row : row + 1])[0], answers[row]).backward()
        norm = torch.sqrt(sum((value.grad ** 2).sum() for value in parameters.values())).item()
        for name, value in parameters.items():
            total[name] += value.grad * min(1.0, clip / norm)
    largest = max(value.abs().max().item() for value in total.values())
    return max((total[name] - tensor).abs().max().item() for name, tensor in clipped.items()) / largest


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    model, names = load(folder / "model.safetensors")
    model.double().train()  # so that rounding is one side's only
    weights, metadata = read_safetensors(folder / "model.safetensors")
    stepped, _ = read_safetensors(folder / "step.safetensors")
    twin = [read_safetensors(folder / f"gradient{name}.safetensors")[0] for name in ("", "_rest")]
    height, width, channels = (int(side) for side in metadata["fedstride.input"].split("x"))
    parameters = {f"{name}.{kind}": value for name, module in names.items() for kind, value in module.named_parameters()}
    buffers = {f"{name}.{kind}": value for name, module in names.items() for kind, value in module.named_buffers() if value.is_floating_point()}
    count = sum(value.numel() for value in [*model.parameters(), *buffers.values()])
    inputs = torch.from_numpy(np.fromfile(folder / "inputs.bin", dtype="<f4").reshape(-1, height, width, channels))
    if "fedstride.vocabulary" in metadata:
        inputs = inputs.reshape(len(inputs), height).long()
    else:
        inputs = inputs.permute(0, 3, 1, 2).contiguous() if height > 1 or width > 1 else inputs.reshape(len(inputs), channels)
    targets = metadata.get("fedstride.targets", "classes")
    if targets in ("values", "flags"):
        answers = torch.from_numpy(np.fromfile(folder / "values.bin", dtype="<f4")).reshape(len(inputs), -1)
    else:
        answers = torch.from_numpy(np.fromfile(folder / "labels.bin", dtype="<u2").astype(np.int64)).reshape(len(inputs), -1)
    inputs = inputs if "fedstride.vocabulary" in metadata else inputs.double()
    answers = answers.double() if targets in ("values", "flags") else answers
    expected = torch.from_numpy(np.fromfile(folder / "scores.bin", dtype="<f8"))
    rate = float((folder / "rate.txt").read_text())

    clipped_difference = 0
    if (folder / "clipped.safetensors").exists():
        clipped_difference = difference_when_clipped(folder, model, parameters, targets, inputs, answers)

    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    model.zero_grad(set_to_none=True)
    scores = model(inputs)
    (sum(loss(targets, scores[row], answers[row]) for row in range(len(inputs))) / len(inputs)).backward()
    optimizer.step()
    score_difference = (scores.flatten() - expected).abs().max().item()
    # Relative to the largest of a tensor's or, where rounding is all that there is, of the whole gradient.
    top = max(value.grad.abs().max().item() for value in parameters.values())
    twin_difference = max((value.grad - twin[0][name].double() - twin[1][name].double()).abs().max().item() / max(value.grad.abs().max().item(), 1e-3 * top)
                          for name, value in parameters.items())
    parameters |= buffers
    step_difference = max((parameters[name] - tensor).abs().max().item() for name, tensor in stepped.items())
    moved = max((stepped[name] - tensor).abs().max().item() for name, tensor in weights.items())
    print(f"{metadata['fedstride.model'][:60]}: {count} parameters; scores differ by {score_difference:.1e} at most, weights after "
          f"a step by {step_difference:.1e} (it moved them by up to {moved:.1e}), the clipped sum by {clipped_difference:.1e} of its largest, the twin's gradient by {twin_difference:.1e}")
    same_size = count == int((folder / "parameters.txt").read_text())
    # Normalization over few values amplifies the rounding of the network's 32 bits.
    close = step_difference < (2e-4 * moved if buffers else 2e-6) and clipped_difference < 2e-4
    ok = same_size and score_difference < 1e-9 and twin_difference < 1e-9 and moved > 1e-4 and close
    sys.exit(0 if ok else 1)


main()
