#!/usr/bin/env python3
"""Training speed of PyTorch on one thread, for comparison with `fedstride bench`.

Same models, same batch, same work: forward, backward and SGD step on a batch that is already in memory. Every setting
that could help is tried (NCHW or channels-last, oneDNN on or off, foreach or plain optimizer, TorchScript) and the
fastest counts. Times are processor time of the one thread, the median of many short runs.

    /usr/bin/python3 tools/bench/pytorch.py [--seconds S] [MODEL ...]      (Debian: python3-torch)
"""
import argparse
import itertools
import os
import statistics
import time

THREADS = int(os.environ.get("PYTORCH_THREADS", "1"))
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(THREADS)

import torch  # noqa: E402  (after the environment is set)
from torch import nn  # noqa: E402

torch.set_num_threads(THREADS)
torch.set_flush_denormal(True)


def adadp_cnn():
    return nn.Sequential(
        nn.Conv2d(3, 64, 3), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Flatten(), nn.Linear(1600, 500), nn.ReLU(), nn.Linear(500, 500), nn.ReLU(), nn.Linear(500, 10))


def pfl_cnn():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(64 * 14 * 14, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))


def tiny_mlp():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 10))


def femnist_cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 2048), nn.ReLU(), nn.Linear(2048, 62))


class Block(nn.Module):
    """Two 3x3 convolutions with group norm; the shortcut has no parameters."""

    def __init__(self, before: int, channels: int):
        super().__init__()
        self.stride, self.more = channels // before, channels - before
        self.first = nn.Conv2d(before, channels, 3, self.stride, 1, bias=False)
        self.second = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.GroupNorm(8, channels), nn.GroupNorm(8, channels)
        self.relu1, self.relu2 = nn.ReLU(inplace=True), nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.norm2(self.second(self.relu1(self.norm1(self.first(x)))))
        if self.more > 0:
            x = nn.functional.pad(x[:, :, ::2, ::2], [0, 0, 0, 0, 0, self.more])
        return self.relu2(y + x)


def resnet20_gn():
    blocks = [Block(before, channels) for channels in (16, 32, 64)
              for before in (max(channels // 2, 16), channels, channels)]
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.GroupNorm(8, 16), nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(64, 10))


class LeafLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.levels, self.last = nn.Embedding(80, 8), nn.LSTM(8, 256, 2, batch_first=True), nn.Linear(256, 80)

    def forward(self, x):
        return self.last(self.levels(self.table(x))[0][:, -1])


class Attention(nn.Module):
    """Causal, 4 heads: plain products, which are faster here than nn.MultiheadAttention."""

    def __init__(self, size: int, positions: int):
        super().__init__()
        self.all, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.register_buffer("seen", torch.ones(positions, positions).tril().bool())

    def forward(self, x):
        rows, positions, size = x.shape
        q, k, v = self.all(x).view(rows, positions, 3, 4, size // 4).permute(2, 0, 3, 1, 4).unbind(0)
        weights = (q @ k.transpose(-1, -2) * (size // 4) ** -0.5).masked_fill(~self.seen, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(rows, positions, size))


class TransformerBlock(nn.Module):
    def __init__(self, size: int, positions: int):
        super().__init__()
        self.norm1, self.norm2, self.attention = nn.LayerNorm(size), nn.LayerNorm(size), Attention(size, positions)
        self.dense = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.dense(self.norm2(x))


class Transformer(nn.Module):
    """A score for each class at every position: classes in dimension 1, as the loss wants them."""

    def __init__(self):
        super().__init__()
        self.table, self.positions = nn.Embedding(90, 128), nn.Parameter(torch.randn(20, 128))
        self.blocks = nn.Sequential(TransformerBlock(128, 20), TransformerBlock(128, 20))
        self.last = nn.Sequential(nn.LayerNorm(128), nn.Linear(128, 90))

    def forward(self, x):
        return self.last(self.blocks(self.table(x) + self.positions)).transpose(1, 2)


# The batch of a model, if it is not --batch; of tokens, their number and vocabulary.
MODELS = {"adadp-cnn": (adadp_cnn, (3, 32, 32), None), "pfl-cnn": (pfl_cnn, (3, 32, 32), None), "tiny-mlp": (tiny_mlp, (16,), None),
          "resnet20-gn": (resnet20_gn, (3, 32, 32), 32), "femnist-cnn": (femnist_cnn, (1, 28, 28), 20),
          "leaf-lstm": (LeafLstm, (80,), 10), "small-transformer": (Transformer, (20,), 16)}
TOKENS = {"leaf-lstm": (80, (80,)), "small-transformer": (90, (20, 90))}


def step_seconds(name, batch, seconds, channels_last, onednn, foreach, script):
    build, shape, _ = MODELS[name]
    torch.manual_seed(0)
    torch.backends.mkldnn.enabled = onednn
    model, loss_function = build(), nn.CrossEntropyLoss()
    inputs, labels = torch.randn(batch, *shape), torch.randint(0, 10, (batch,))
    if name in TOKENS:
        vocabulary, answers = TOKENS[name]
        inputs, labels = torch.randint(0, vocabulary, (batch, *shape)), torch.randint(0, answers[-1], (batch, *answers[:-1]))
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
        inputs = inputs.contiguous(memory_format=torch.channels_last)
    if script:
        model = torch.jit.script(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6, foreach=foreach)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_function(model(inputs), labels).backward()
        optimizer.step()

    for _ in range(5):
        step()
    start = time.thread_time()
    step()
    repeats = max(1, int(0.02 / max(time.thread_time() - start, 1e-6)))
    times, end = [], time.thread_time() + seconds
    while len(times) < 5 or time.thread_time() < end:
        start = time.thread_time()
        for _ in range(repeats):
            step()
        times.append((time.thread_time() - start) / repeats)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS), help="of " + ", ".join(MODELS))
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=2, help="for each setting tried")
    arguments = parser.parse_args()
    for name in arguments.models:
        _, shape, own_batch = MODELS[name]
        batch = own_batch or arguments.batch
        layouts = [False, True] if len(shape) == 3 else [False]
        settings = list(itertools.product(layouts, [True, False], [True, False], [False, True]))
        # A short look at every setting, a long one at the three fastest.
        ranked = sorted(settings, key=lambda s: step_seconds(name, batch, arguments.seconds / 8, *s))
        seconds, best = min((step_seconds(name, batch, arguments.seconds, *s), s) for s in ranked[:3])
        words = [w for w, on in zip(["channels-last", "oneDNN", "foreach", "TorchScript"], best) if on]
        print(f"{name}: {batch / seconds:.0f} examples/s, {1e6 * seconds:.0f} us a step of {batch}"
              f"  ({', '.join(words) or 'plain'}; PyTorch {torch.__version__})", flush=True)


if __name__ == "__main__":
    main()
