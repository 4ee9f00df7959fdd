#!/usr/bin/env python3
"""Example-level privacy for a PyTorch model: fedstride draws the lots, clips and noises the gradients, and keeps the ledger.

    python3 examples/python/private_pytorch.py [FOLDER [ROUNDS]]      (Debian: python3-torch)
"""
import sys

import torch
from torch import nn

import fedstride

MEAN, DEVIATION = 0.5, 0.25  # public constants


def net():
    return nn.Sequential(nn.Conv2d(3, 8, 5, 2), nn.GroupNorm(4, 8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 7 * 7, 10))


def gradients(model, x, y):
    """Yields the gradient of each example: a dict of tensors of shape (1, *shape)."""
    for i in range(len(y)):
        loss = nn.functional.cross_entropy(model(x[i : i + 1]), y[i : i + 1])
        found = torch.autograd.grad(loss, list(model.parameters()))
        yield {name: gradient[None] for (name, _), gradient in zip(model.named_parameters(), found)}


@fedstride.uses_clipped_sum  # everything learned comes from lot.gradient
@fedstride.named("private-cnn", "1")
def train(weights, task):
    model = net()
    model.load_state_dict(weights)
    x, y = (torch.from_numpy(task.x).float() / 255 - MEAN) / DEVIATION, torch.from_numpy(task.y)
    for lot in task.lots():
        noisy = lot.gradient(gradients(model, x[lot.indices], y[lot.indices]))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter -= 0.5 * noisy[name]
    return model.state_dict()


def evaluate(weights):
    model = net()
    model.load_state_dict(weights)
    x, y = torch.tensor(TESTS["x_test"]).float(), torch.tensor(TESTS["y_test"].astype("int64"))
    with torch.no_grad():
        return (model((x / 255 - MEAN) / DEVIATION).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    TESTS = fedstride.load_dataset(dataset="synthetic")
    torch.manual_seed(0)
    run = fedstride.run(dataset="synthetic", clients=4, partition="iid", rounds=int(sys.argv[2]) if len(sys.argv) > 2 else 10,
                        model=net(), train=train, evaluate=evaluate, optimizer="sgd", batch=50, dp="example", clip=1, epsilon=8,
                        noise_multiplier=1, out=sys.argv[1] if len(sys.argv) > 1 else "runs/private-pytorch")
    spent = run.summary["privacy"][0]
    print(f"accuracy {run.rounds[-1]['test_accuracy']:.3f}, epsilon {spent['epsilon']:.2f} at delta {spent['delta']:g}")
