#!/usr/bin/env python3
"""Low-rank adapters (Hu et al. 2022) for a frozen model: only the adapters are trained, clipped, noised and sent.

    python3 examples/python/adapters.py [FOLDER [ROUNDS]]      (Debian: python3-torch)
"""
import sys

import torch
from torch import nn

import fedstride


class Adapted(nn.Module):
    """A frozen linear layer plus the low-rank update B A; B starts at 0, so the model starts unchanged."""

    def __init__(self, frozen, rank):
        super().__init__()
        self.frozen = frozen.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, frozen.in_features) / frozen.in_features**0.5)
        self.b = nn.Parameter(torch.zeros(frozen.out_features, rank))

    def forward(self, x):
        return self.frozen(x) + x @ self.a.T @ self.b.T


def pictures(x):
    return torch.from_numpy(x).float().flatten(1) / 127.5 - 1


def pretrained(x, y):
    """The model to adapt, here trained on a few public rows that lack half of the classes."""
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(30):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return net


def adapters(net):
    """Returns the tensors to train and send: all but the frozen ones."""
    return {name: tensor for name, tensor in net.state_dict().items() if ".frozen." not in name}


def main(folder="runs/adapters", rounds=10):
    data = fedstride.load_dataset("synthetic")
    x_test, y_test = pictures(data["x_test"].copy()), torch.from_numpy(data["y_test"].astype("int64"))
    known = y_test[:200] < 5
    base = pretrained(x_test[:200][known], y_test[:200][known])  # public rows, which are not used for testing
    net = nn.Sequential(Adapted(base[0], 2), base[1], Adapted(base[2], 2))

    @fedstride.named("adapters", "1")
    def train(weights, task):
        net.load_state_dict(weights, strict=False)
        optimizer = torch.optim.SGD((tensor for tensor in net.parameters() if tensor.requires_grad), 0.1)
        x, y = pictures(task.x), torch.from_numpy(task.y)
        for rows in torch.randperm(len(y), generator=torch.Generator().manual_seed(task.seed)).split(10):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
            optimizer.step()
        return adapters(net)

    @torch.no_grad()
    def evaluate(weights):
        net.load_state_dict(weights, strict=False)
        return float((net(x_test[200:]).argmax(1) == y_test[200:]).float().mean())

    first = {name: tensor.clone() for name, tensor in adapters(net).items()}
    before = evaluate(first)
    run = fedstride.run(dataset="synthetic", clients=200, partition="iid", cohort=fedstride.PoissonCohort(cohort_rate=0.5), rounds=rounds,
                        model=first, train=train, evaluate=evaluate, out=folder,
                        dp=fedstride.ClientPrivacy(clip=1, noise_multiplier=0.6))
    sent = sum(tensor.numel() for tensor in first.values())
    print(f"{sent} of {sum(tensor.numel() for tensor in net.state_dict().values())} numbers are sent; accuracy {before:.3f} before, "
          f"{run.summary['test_accuracy']:.3f} after, at epsilon {run.summary['privacy'][0]['epsilon']:.3g}")


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
