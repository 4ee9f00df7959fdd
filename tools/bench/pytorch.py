#!/usr/bin/env python3
"""The peer of compare.py: PyTorch's processor time for training steps and clients' rounds on one thread.

    LD_LIBRARY_PATH=FOLDER-OF-A-BLAS /usr/bin/python3 tools/bench/pytorch.py      (Debian: python3-torch)

It reads jobs, one JSON object per line, and answers each with a line. A job's `work` is

- `hello`: versions, the BLAS in use, and its speed in a product of 512x512 matrices;
- `settings`: every setting that could help this model: NCHW or channels-last, oneDNN on or off, foreach or plain SGD,
  TorchScript, and torch.compile where there is a compiler; for private steps torch.func's vmap or the expanded weights;
- `step`: forward, backward and SGD on a batch that is in memory;
- `round`: clients load the global weights and train on rows in memory, and their changes are averaged; the optimizer is sgd,
  adadp or private (per-example gradients of all parameters are clipped and summed, with Gaussian noise, for an SGD step).

A time is the median of many, in seconds per example.
"""
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

THREADS = int(os.environ.get("PYTORCH_THREADS", "1"))
for library in ("OMP", "MKL", "OPENBLAS", "BLIS"):
    os.environ[library + "_NUM_THREADS"] = str(THREADS)

import torch  # noqa: E402  (after the environment is set)
from torch import nn  # noqa: E402

torch.set_num_threads(THREADS)
torch.set_flush_denormal(True)


def adadp_cnn():
    return nn.Sequential(
        nn.Conv2d(3, 64, 3), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Flatten(), nn.Linear(1600, 500), nn.ReLU(), nn.Linear(500, 500), nn.ReLU(), nn.Linear(500, 10))


def adadp_mlp():
    layers = [layer for width in (3072, 256, 256) for layer in (nn.Linear(width, 256, bias=False), nn.ReLU())]
    return nn.Sequential(nn.Flatten(), *layers, nn.Linear(256, 10, bias=False))


def logistic():
    return nn.Sequential(nn.Flatten(), nn.Linear(3072, 10))


def pfl_cnn():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(64 * 14 * 14, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))


def femnist_cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 2048), nn.ReLU(), nn.Linear(2048, 62))


def group_norm(channels):
    return nn.GroupNorm(8, channels)


class Block(nn.Module):
    """Two 3x3 convolutions with normalization; the shortcut has no parameters."""

    def __init__(self, before: int, channels: int, norm):
        super().__init__()
        self.stride, self.more = channels // before, channels - before
        self.first = nn.Conv2d(before, channels, 3, self.stride, 1, bias=False)
        self.second = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = norm(channels), norm(channels)
        self.relu1, self.relu2 = nn.ReLU(inplace=True), nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.norm2(self.second(self.relu1(self.norm1(self.first(x)))))
        if self.more > 0:
            x = nn.functional.pad(x[:, :, ::2, ::2], [0, 0, 0, 0, 0, self.more])
        return self.relu2(y + x)


def resnet(blocks_of_a_width, norm):
    blocks = [Block(before, channels, norm) for channels in (16, 32, 64)
              for before in (max(channels // 2, 16), *[channels] * (blocks_of_a_width - 1))]
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), norm(16), nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(64, 10))


def resnet20():
    return resnet(3, nn.BatchNorm2d)


def resnet8_gn():
    return resnet(1, group_norm)


def resnet20_gn():
    return resnet(3, group_norm)


class LeafLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.levels, self.last = nn.Embedding(80, 8), nn.LSTM(8, 256, 2, batch_first=True), nn.Linear(256, 80)

    def forward(self, x):
        return self.last(self.levels(self.table(x))[0][:, -1])


class Attention(nn.Module):
    """Causal attention with 4 heads, by plain products, which are faster here than nn.MultiheadAttention."""

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
    """A score for each class at every position: classes in dimension 1, as the loss requires."""

    def __init__(self):
        super().__init__()
        self.table, self.positions = nn.Embedding(90, 128), nn.Parameter(torch.randn(20, 128))
        self.blocks = nn.Sequential(TransformerBlock(128, 20), TransformerBlock(128, 20))
        self.last = nn.Sequential(nn.LayerNorm(128), nn.Linear(128, 90))

    def forward(self, x):
        return self.last(self.blocks(self.table(x) + self.positions)).transpose(1, 2)


PICTURE = (3, 32, 32)
MODELS = {"adadp-cnn": (adadp_cnn, PICTURE), "pfl-cnn": (pfl_cnn, PICTURE), "femnist-cnn": (femnist_cnn, (1, 28, 28)),
          "resnet20": (resnet20, PICTURE), "resnet20-gn": (resnet20_gn, PICTURE), "resnet8-gn": (resnet8_gn, PICTURE), "adadp-mlp": (adadp_mlp, PICTURE),
          "logistic": (logistic, PICTURE), "leaf-lstm": (LeafLstm, (80,)), "small-transformer": (Transformer, (20,))}
# The vocabulary's size, and the shape of the answers with the number of classes last.
TOKENS = {"leaf-lstm": (80, (80,)), "small-transformer": (90, (20, 90))}
PRODUCT = 512


def is_convolutional(name):
    return len(MODELS[name][1]) == 3 and "conv" in repr(MODELS[name][0]()).lower()


def settings_of(name, optimizer):
    """Returns the settings to try: keywords of step_work() and round_work()."""
    layouts, others = [False, True] if is_convolutional(name) else [False], [True, False]
    if optimizer == "private":
        return [dict(channels_last=layout, onednn=onednn, per_example=way)
                for layout, onednn, way in itertools.product(layouts, others, ["vmap", "expanded"])]
    loops = others if optimizer == "sgd" else [True]
    found = [dict(channels_last=layout, onednn=onednn, foreach=foreach, script=script)
             for layout, onednn, foreach, script in itertools.product(layouts, others, loops, [False, True])]
    if hasattr(torch, "compile") and shutil.which("g++") and "LD_PRELOAD" not in os.environ:
        found += [dict(channels_last=layout, onednn=True, foreach=True, compiled=True) for layout in layouts]
    return found


def built(name, rows, channels_last, onednn, script=False, compiled=False):
    """Returns the model, its inputs and labels."""
    build, shape = MODELS[name]
    torch.manual_seed(0)
    torch.backends.mkldnn.enabled = onednn
    model = build()
    inputs, labels = torch.randn(rows, *shape), torch.randint(0, 10, (rows,))
    if name in TOKENS:
        vocabulary, answers = TOKENS[name]
        inputs, labels = torch.randint(0, vocabulary, (rows, *shape)), torch.randint(0, answers[-1], (rows, *answers[:-1]))
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
        inputs = inputs.contiguous(memory_format=torch.channels_last)
    model = torch.jit.script(model) if script else torch.compile(model) if compiled else model
    return model, inputs, labels


def sgd_step(model, parameters, rate, foreach):
    loss, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(parameters, lr=rate, foreach=foreach)

    def step(inputs, labels):
        optimizer.zero_grad(set_to_none=True)
        loss(model(inputs), labels).backward()
        optimizer.step()
    return step


def adadp_step(model, parameters, rate):
    """Compares a full step with two half steps (Koskela & Honkela 2020), at tolerance 0.1; undone steps cost as much as others.
    Takes two batches."""
    loss, state = nn.CrossEntropyLoss(), {"rate": rate}

    def gradient(inputs, labels):
        return torch.autograd.grad(loss(model(inputs), labels), parameters)

    def step(inputs, labels):
        half = len(inputs) // 2
        first = gradient(inputs[:half], labels[:half])
        with torch.no_grad():
            before = [p.clone() for p in parameters]
            torch._foreach_add_(parameters, first, alpha=-state["rate"] / 2)
        second = gradient(inputs[half:], labels[half:])
        with torch.no_grad():
            full = torch._foreach_add(before, first, alpha=-state["rate"])
            torch._foreach_add_(parameters, second, alpha=-state["rate"] / 2)
            error = sum(((f - p) / f.abs().clamp_(min=1)).square_().sum() for f, p in zip(full, parameters)).sqrt().item()
            if not error <= 0.1:
                for p, b in zip(parameters, before):
                    p.copy_(b)
            state["rate"] *= min(max(0.1 / error, 0.9), 1.1) if error > 0 else 1.1
    return step


def per_example_gradients(model, parameters, way):
    """Returns a function of a batch that returns, for each parameter, a tensor whose first dimension is the example."""
    if way == "expanded":
        from torch.nn.utils._per_sample_grad import call_for_per_sample_grads
        loss = nn.CrossEntropyLoss(reduction="sum")

        def expanded(inputs, labels):
            for p in parameters:
                p.grad_sample = None
            loss(call_for_per_sample_grads(model)(inputs), labels).backward()
            return [p.grad_sample for p in parameters]
        return expanded
    loss = nn.CrossEntropyLoss()
    try:
        from torch.func import functional_call, grad, vmap
        names = [name for name, _ in model.named_parameters()]

        def of_one(values, x, y):
            return loss(functional_call(model, dict(zip(names, values)), (x[None],)), y[None])
    except ImportError:  # PyTorch before 2.0
        from functorch import grad, make_functional, vmap
        function, _ = make_functional(model)

        def of_one(values, x, y):
            return loss(function(values, x[None]), y[None])
    per_example = vmap(grad(of_one), in_dims=(None, 0, 0), randomness="different")
    return lambda inputs, labels: per_example(tuple(p.detach() for p in parameters), inputs, labels)


def private_step(model, parameters, rate, way, clip=1.0, noise=1.0):
    gradients = per_example_gradients(model, parameters, way)

    def step(inputs, labels):
        each = gradients(inputs, labels)
        with torch.no_grad():
            # As in Opacus, because squares would need as much memory as the gradients.
            norms = torch.stack([g.reshape(len(inputs), -1).norm(2, dim=1) for g in each]).norm(2, dim=0)
            factors = (clip / norms).clamp_(max=1)
            for p, g in zip(parameters, each):
                total = torch.einsum("n,n...->...", factors, g)
                p.sub_(total.add_(torch.randn_like(total), alpha=noise * clip), alpha=rate / len(inputs))
    return step


def step_work(name, batch, optimizer, foreach, **setting):
    """Returns a step and its number of examples. Its learning rate is too small to change the weights or the share of zeros."""
    model, inputs, labels = built(name, batch, **setting)
    step = sgd_step(model, list(model.parameters()), 1e-6, foreach)
    return lambda: step(inputs, labels), batch


def round_work(name, batch, optimizer, clients, rows, foreach=True, per_example=None, **setting):
    """Returns a round of this many clients with this many rows each, and its number of examples."""
    model, inputs, labels = built(name, rows, **setting)
    parameters = list(model.parameters())
    start = [p.detach().clone() for p in parameters]
    at_once = batch * (2 if optimizer == "adadp" else 1)

    def work():
        change = [torch.zeros_like(p) for p in start]
        for _ in range(clients):
            with torch.no_grad():
                for p, s in zip(parameters, start):
                    p.copy_(s)
            step = (sgd_step(model, parameters, 0.01, foreach) if optimizer == "sgd" else adadp_step(model, parameters, 0.01)
                    if optimizer == "adadp" else private_step(model, parameters, 0.01, per_example))
            for first in range(0, rows, at_once):
                step(inputs[first:first + at_once], labels[first:first + at_once])
            with torch.no_grad():
                for c, p, s in zip(change, parameters, start):
                    c.add_(p.detach() - s)
        with torch.no_grad():
            for s, c in zip(start, change):
                s.add_(c, alpha=1 / clients)
    return work, clients * rows


def median_time(work, seconds, warm, least):
    """Returns the processor time of one call: the median over this many seconds and at least `least` measurements."""
    for _ in range(warm):
        start = time.thread_time()
        work()
        once = time.thread_time() - start
    repeats = max(1, int(0.02 / max(once, 1e-6)))
    times, end = [], time.thread_time() + seconds
    while len(times) < least or time.thread_time() < end:
        start = time.thread_time()
        for _ in range(repeats):
            work()
        times.append((time.thread_time() - start) / repeats)
    return statistics.median(times)


def product_flops(seconds=0.3):
    """Returns the operations per second of the fastest product of two square matrices; compute-bound in any good BLAS."""
    torch.backends.mkldnn.enabled = False
    a, b = torch.randn(PRODUCT, PRODUCT), torch.randn(PRODUCT, PRODUCT)
    times, end = [], time.thread_time() + seconds
    while len(times) < 4 or time.thread_time() < end:
        start = time.thread_time()
        torch.mm(a, b)
        times.append(time.thread_time() - start)
    return 2 * PRODUCT ** 3 / min(times)


def version_of(package):
    """The package's name and version, or nothing if it is not Debian's."""
    return subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}", package], capture_output=True, text=True).stdout


def blas_in_use():
    """Returns the library file that products run in, and its package with version."""
    torch.mm(torch.ones(2, 2), torch.ones(2, 2))
    with open("/proc/self/maps") as maps:
        path = next((os.path.realpath(line.split()[-1]) for line in maps if "libblas" in line or "libmkl_rt" in line), None)
    if path is None:
        return "built into PyTorch", ""
    owner = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True).stdout.split(": ")[0]
    return path, version_of(owner)


def hello():
    path, package = blas_in_use()
    # Debian's 1.13.1 calls itself 1.13.0a0.
    return {"pytorch": (version_of("python3-torch").split() or [torch.__version__])[-1], "python": sys.version.split()[0],
            "blas": path, "package": package,
            "capability": torch.backends.cpu.get_cpu_capability() if hasattr(torch.backends, "cpu") else None,
            "product_flops_per_second": product_flops()}


def answer(work, seconds=0.0, setting=None, quick=False, **job):
    """Answers a job. A quick answer, which ranks settings, takes fewer calls after the first call, which also warms up."""
    if work == "hello":
        return hello()
    if work == "settings":
        return settings_of(**job)
    if work == "step":
        call, examples = step_work(**job, **setting)
        warm, least = (2, 1) if quick else (4, 5)
    else:
        call, examples = round_work(**job, **setting)
        warm, least = 1, 1 if quick else 3
    return median_time(call, seconds, warm, least) / examples


def main():
    # Only answers go to standard output, not PyTorch's messages.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            reply = {"answer": answer(**json.loads(line))}
        except Exception as error:  # a setting that this PyTorch, or this model, does not support
            reply = {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
        print(json.dumps(reply), file=answers)


if __name__ == "__main__":
    main()
