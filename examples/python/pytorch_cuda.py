#!/usr/bin/env python3
"""Trains clients on a GPU, if there is one: a convolutional network on CIFAR-10 in a pathological partition.

    python3 examples/python/pytorch_cuda.py [FOLDER [ROUNDS [WORKERS [DATASET]]]]      (Debian: python3-torch)

Workers are processes that share the GPU, each with one client at a time; weights reach them as arrays, never pickled. cuDNN and
cuBLAS are set to be deterministic, so the same kind of GPU with the same PyTorch gives the same bits. Another GPU, or a CPU,
gives other bits.
"""
import os
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before CUDA begins

import torch
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.use_deterministic_algorithms(True)
torch.backends.cudnn.benchmark = False
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def network():
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 8 * 8, 10))


def examples(x, y):
    """Moves all of a client's examples to the device at once, since they are few."""
    return torch.from_numpy(x).to(DEVICE).float().div(127.5).sub(1), torch.from_numpy(y).to(DEVICE)


class Trainer:
    def __init__(self):
        self.net = None

    def __call__(self, weights, task):
        self.net = self.net or network().to(DEVICE)
        self.net.load_state_dict(weights)  # copies them to the device
        optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)
        x, y = examples(task.x, task.y)
        for rows in torch.randperm(len(y), generator=torch.Generator().manual_seed(task.seed)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(self.net(x[rows]), y[rows]).backward()
            optimizer.step()
        return {name: tensor.cpu() for name, tensor in self.net.state_dict().items()}


class Tester:
    def __init__(self, dataset):
        import fedstride

        data = fedstride.load_dataset(dataset)
        self.x, self.y = examples(data["x_test"].copy(), data["y_test"].astype("int64"))
        self.net = network().to(DEVICE)

    @torch.no_grad()
    def __call__(self, weights):
        self.net.load_state_dict(weights)
        scores = torch.cat([self.net(part) for part in self.x.split(500)])
        return {"accuracy": (scores.argmax(1) == self.y).float().mean().item(), "loss": nn.functional.cross_entropy(scores, self.y).item()}


def main(folder="runs/pytorch-cuda", rounds=5, workers=2, dataset="cifar10"):
    import fedstride

    torch.manual_seed(1)
    run = fedstride.run(dataset=dataset, clients=10, rounds=int(rounds), model=network(), train=fedstride.named("cuda-sgd", "1")(Trainer()),
                        evaluate=Tester(dataset), workers=int(workers), out=folder)
    print(f"on {DEVICE.type}: accuracy {run.summary['test_accuracy']:.3f}, model {run.summary['model_hash'][:16]}")


if __name__ == "__main__":
    main(*sys.argv[1:5])
