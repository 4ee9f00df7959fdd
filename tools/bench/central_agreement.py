#!/usr/bin/env python3
"""Trains one network centrally in fedstride and in PyTorch, and compares test accuracies after the same number of epochs.

Both train resnet20-gn on CIFAR-10 with SGD (momentum 0.9, batch 32, crops and flips); one client has every image. The learning
rate falls linearly from epoch to epoch, because at a constant rate single epochs differ by percentage points. The random numbers
differ, so the two agree only as closely as two seeds do.

    /usr/bin/python3 tools/bench/central_agreement.py build/release/fedstride FOLDER-OF-CIFAR-10 [EPOCHS [SEED]]      (Debian: python3-torch)
"""
from pathlib import Path

import numpy as np
import torch
from _measure import run, words
from pytorch import resnet20_gn
from torch import nn

RATE, FINAL_RATE, MOMENTUM, BATCH = 0.05, 0.0005, 0.9, 32


def pictures(path):
    records = np.fromfile(path, np.uint8).reshape(-1, 3073)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].astype(np.int64)


def normalized(data):
    mean, deviation = torch.tensor([0.4914, 0.4822, 0.4465]), torch.tensor([0.2023, 0.1994, 0.2010])
    return (torch.from_numpy(data).float() / 255 - mean.view(1, 3, 1, 1)) / deviation.view(1, 3, 1, 1)


def cropped(data, random):
    """Pads each side by 4 black pixels and takes a random 32 x 32 crop, mirrored half of the time, in 8 bits as in fedstride."""
    padded = np.pad(data, ((0, 0), (0, 0), (4, 4), (4, 4)))
    result = np.empty_like(data)
    for i, (y, x, mirror) in enumerate(zip(random.integers(0, 9, len(data)), random.integers(0, 9, len(data)), random.random(len(data)))):
        part = padded[i, :, y : y + 32, x : x + 32]
        result[i] = part[:, :, ::-1] if mirror < 0.5 else part
    return result


def with_pytorch(folder, epochs, seed):
    torch.manual_seed(seed)
    random, model = np.random.default_rng(seed), resnet20_gn()
    train = [pictures(folder / f"data_batch_{i}.bin") for i in range(1, 6)]
    data, labels = np.concatenate([part[0] for part in train]), np.concatenate([part[1] for part in train])
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    for epoch in range(epochs):
        way = epoch / max(epochs - 1, 1)
        for group in optimizer.param_groups:
            group["lr"] = (1 - way) * RATE + way * FINAL_RATE
        order = random.permutation(len(labels))
        for begin in range(0, len(order), BATCH):
            rows = order[begin : begin + BATCH]
            optimizer.zero_grad(set_to_none=True)
            scores = model(normalized(cropped(data[rows], random)))
            nn.functional.cross_entropy(scores, torch.from_numpy(labels[rows])).backward()
            optimizer.step()
    test, answers = pictures(folder / "test_batch.bin")
    with torch.no_grad():
        found = torch.cat([model(normalized(test[i : i + 500])).argmax(1) for i in range(0, len(test), 500)])
    return float((found == torch.from_numpy(answers)).float().mean())


def with_fedstride(program, folder, epochs, seed):
    return run(program, dataset="cifar10", data_dir=folder, clients=1, partition="iid", model="resnet20-gn", optimizer="heavy-ball",
               learning_rate=RATE, schedule="linear", final_learning_rate=FINAL_RATE, schedule_epochs=max(epochs - 1, 1), momentum=MOMENTUM,
               batch=BATCH, augment="crop-flip", local_epochs=epochs, rounds=1, threads=1, seed=seed)[1]["test_accuracy"]


def main():
    program, folder, epochs, seed = words(__doc__, 2, 10, 1)
    torch.set_num_threads(1)
    ours = with_fedstride(program, folder, epochs, seed)
    print(f"fedstride: test accuracy {ours:.4f} after {epochs} epochs", flush=True)
    theirs = with_pytorch(Path(folder), epochs, seed)
    print(f"PyTorch:   test accuracy {theirs:.4f}; difference {100 * (ours - theirs):+.2f} points")


if __name__ == "__main__":
    main()
