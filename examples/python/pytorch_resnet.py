#!/usr/bin/env python3
"""A PyTorch ResNet-18 with group norm, trained by your own function on CIFAR-10 in a pathological partition.

    python3 examples/python/pytorch_resnet.py [FOLDER [ROUNDS [ROWS]]]      (Debian: python3-torch)

ROWS: use at most this many rows of each client, for a trial.
"""
import sys

import torch
from torch import nn

import fedstride


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.GroupNorm(8, outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.GroupNorm(8, outputs))
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.GroupNorm(8, outputs))

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet18(width=64):
    widths = [width, width, 2 * width, 2 * width, 4 * width, 4 * width, 8 * width, 8 * width]
    layers, inputs = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.GroupNorm(8, width), nn.ReLU()], width
    for i, outputs in enumerate(widths):
        layers.append(Block(inputs, outputs, 2 if i in (2, 4, 6) else 1))
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10))


def examples(x, y):
    return torch.from_numpy(x).float().div(127.5).sub(1), torch.from_numpy(y)


class Trainer:
    """One epoch of SGD with momentum. It is a class so that worker processes receive its settings."""

    def __init__(self, width):
        self.width, self.model = width, None

    def __call__(self, weights, task):
        self.model = self.model or resnet18(self.width)
        self.model.load_state_dict(weights)
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)
        x, y = examples(task.x, task.y)
        order, total = torch.randperm(len(y), generator=torch.Generator().manual_seed(task.seed)), 0.0
        for rows in order.split(32):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(self.model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        return fedstride.Trained(self.model.state_dict(), loss=total / len(y))


class Tester:
    def __init__(self, width, dataset, rows):
        data = fedstride.load_dataset(dataset)
        self.model, self.x, self.y = resnet18(width), data["x_test"][:rows].copy(), data["y_test"][:rows].astype("int64")

    @torch.no_grad()
    def __call__(self, weights):
        self.model.load_state_dict(weights)
        x, y = examples(self.x, self.y)
        scores = torch.cat([self.model(part) for part in x.split(100)])
        right = (scores.argmax(1) == y).float().mean().item()
        return {"accuracy": right, "loss": nn.functional.cross_entropy(scores, y).item(), "examples": len(y)}


def main(folder="runs/pytorch-resnet", rounds=3, rows=200, width=64, dataset="cifar10"):
    torch.manual_seed(1)
    train = fedstride.named("resnet18-gn-sgd", "1")(Trainer(width))
    run = fedstride.run(dataset=dataset, clients=5, limit_per_client=rows, rounds=rounds, model=resnet18(width), train=train,
                        evaluate=Tester(width, dataset, 500), out=folder, on_round=lambda record: print(
                            f"round {record['round']}: accuracy {record['test_accuracy']:.3f}", flush=True))
    print(f"model {run.summary['model_hash'][:16]}, {run.summary['parameters']} parameters, in {run.folder}")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:]))
