#!/usr/bin/env python3
"""Compares the program's weights with an independent version of the federated algorithms, written from their papers in numpy and
float64.

    /usr/bin/python3 tools/bench/algorithms_reference.py --program build/release/fedstride      (Debian: python3-numpy)

Every case is twenty rounds of softmax regression on Fashion-MNIST from the same initial weights. There are two kinds of clients,
for which the order in which a client reads its rows changes nothing:
  pictures   five clients of 20 to 150 rows, two classes each; one batch holds all rows of a client, so an epoch is one step
  copies     client k holds 10 to 70 copies of a single image, in batches of 10: all batches are the same, and clients take
             different numbers of steps, which FedNova corrects for
Which clients took part in a round is read from the run's rounds.jsonl; everything else is computed here.
"""
import argparse
import gzip
import json
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _measure import command, rounds_of

ROUNDS = 20
LOCAL_EPOCHS = 3
CLASSES = 10
PIXELS = 28 * 28
MEAN, DEVIATION = 0.2860, 0.3530  # of a pixel of the training part, scaled to 0..1
PICTURES = (20, 35, 60, 90, 150)  # rows of each client
COPIES = (10, 20, 30, 45, 70)
BATCH_OF_COPIES = 10
TOLERANCE = 1e-5   # largest |ours - theirs| / |ours|; the program computes in float32
LEAST_EFFECT = 1e-2  # a case whose result is closer than this to plain averaging tests nothing

Weights = np.ndarray  # classes x (pixels + 1): the last column is the bias


# ---------------------------------------------------------------------------------------------------- clients

@dataclass
class Federation:
    """The input of an algorithm."""
    inputs: list[np.ndarray]   # each client's rows, with a column of ones for the bias
    labels: list[np.ndarray]
    start: Weights
    cohorts: list[list[int]]   # the clients of each round
    steps: list[int]           # local steps of each client in a round
    importance: np.ndarray     # w_k: rows of a client, or 1
    rate: float                # eta, the local learning rate
    momentum: float            # rho, of heavy-ball clients; 0: SGD

    def gradient(self, client: int, weights: Weights) -> Weights:
        """The gradient of the mean softmax cross-entropy over all rows of a client."""
        x, y = self.inputs[client], self.labels[client]
        scores = x @ weights.T
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(y)), y] -= 1
        return p.T @ x / len(y)

    def loss(self, client: int, weights: Weights) -> float:
        """The mean softmax cross-entropy over all rows of a client."""
        scores = self.inputs[client] @ weights.T
        scores -= scores.max(axis=1, keepdims=True)
        y = self.labels[client]
        return float((np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]).mean())

    def train(self, client: int, weights: Weights, extra: Callable[[Weights], Weights] | None = None) -> Weights:
        """Takes local steps along the gradient + extra(current weights); m = rho m + direction starts at 0 in every round."""
        m = np.zeros_like(weights)
        for _ in range(self.steps[client]):
            direction = self.gradient(client, weights)
            if extra is not None:
                direction = direction + extra(weights)
            m = self.momentum * m + direction
            weights = weights - self.rate * m
        return weights

    def shares(self, cohort: list[int]) -> np.ndarray:
        """p_k, which sum to 1 over the cohort."""
        return self.importance[cohort] / self.importance[cohort].sum()

    def shares_of_all(self, cohort: list[int]) -> np.ndarray:
        """Replaces the papers' 1/N: w_k over the sum of all clients' weights, present or not."""
        return self.importance[cohort] / self.importance.sum()


def weighted_sum(shares: np.ndarray, values: list[Weights]) -> Weights:
    return sum(p * value for p, value in zip(shares, values))


# ---------------------------------------------------------------------------------------------------- server optimizers

Server = Callable[[list[Weights], np.ndarray], Weights]  # changes Delta_k and their shares p_k -> the step of the model
Trainer = Callable[[Federation, int, Weights], Weights]


def federate(federation: Federation, server: Server, trainer: Trainer = Federation.train, mean_of_two: bool = False) -> Weights:
    """McMahan et al. 2017, Algorithm 1, with the server's step left open as in Reddi et al. 2021, Algorithm 1."""
    weights = federation.start
    for cohort in federation.cohorts:
        before = weights
        changes = [trainer(federation, client, weights) - weights for client in cohort]
        weights = weights + server(changes, federation.shares(cohort))
    return (weights + before) / 2 if mean_of_two else weights


def average(rate: float = 1.0) -> Server:
    """The weighted mean of the changes; rate 1 is McMahan et al. 2017."""
    return lambda changes, shares: rate * weighted_sum(shares, changes)


def momentum(beta: float, rate: float = 1.0, nesterov: bool = False) -> Server:
    """FedAvgM, Hsu et al. 2019, section 4.3: v <- beta v + Delta. The step is v, or Delta + beta v for Nesterov's momentum."""
    v = 0.0

    def step(changes: list[Weights], shares: np.ndarray) -> Weights:
        nonlocal v
        mean = weighted_sum(shares, changes)
        v = beta * v + mean
        return rate * (mean + beta * v if nesterov else v)
    return step


def adaptive(next_v: Callable[[Weights, Weights], Weights], rate: float, beta1: float, tau: float) -> Server:
    """Reddi et al. 2021, Algorithm 2, as printed: without bias correction; v_-1 = tau^2, the least that the paper allows."""
    m, v = 0.0, tau**2

    def step(changes: list[Weights], shares: np.ndarray) -> Weights:
        nonlocal m, v
        mean = weighted_sum(shares, changes)
        m = beta1 * m + (1 - beta1) * mean
        v = next_v(v, mean**2)
        return rate * m / (np.sqrt(v) + tau)
    return step


def adagrad(rate: float, beta1: float = 0.0, tau: float = 1e-3) -> Server:
    return adaptive(lambda v, square: v + square, rate, beta1, tau)


def adam(rate: float, beta1: float = 0.9, beta2: float = 0.99, tau: float = 1e-3) -> Server:
    return adaptive(lambda v, square: beta2 * v + (1 - beta2) * square, rate, beta1, tau)


def yogi(rate: float, beta1: float = 0.9, beta2: float = 0.99, tau: float = 1e-3) -> Server:
    return adaptive(lambda v, square: v - (1 - beta2) * square * np.sign(v - square), rate, beta1, tau)


def fedexp(epsilon: float = 1e-3) -> Server:
    """FedExP, Jhunjhunwala et al. 2023, Algorithm 1 and equation (5), with p_k in place of 1/M."""
    def step(changes: list[Weights], shares: np.ndarray) -> Weights:
        mean = weighted_sum(shares, changes)
        mean_square = sum(p * np.sum(change**2) for p, change in zip(shares, changes))
        return max(1.0, mean_square / (2 * (np.sum(mean**2) + epsilon))) * mean
    return step


# ---------------------------------------------------------------------------------------------------- local objectives

def proximal(mu: float) -> Trainer:
    """FedProx, Li et al. 2020, equation (2): f_k(w) + mu/2 |w - theta|^2."""
    return lambda federation, client, theta: federation.train(client, theta, lambda w: mu * (w - theta))


def scaffold(federation: Federation, option: int, rate: float = 1.0) -> Weights:
    """SCAFFOLD, Karimireddy et al. 2020, Algorithm 1; all control variates start at 0.

    Line 17 adds |S|/N times the mean change of c_k to c; with weights, the sum over S of w_k times the changes, over the sum of
    all w_k.
    """
    theta = federation.start
    c = np.zeros_like(theta)
    c_of = [np.zeros_like(theta) for _ in federation.steps]
    for cohort in federation.cohorts:
        changes, changes_of_c = [], []
        for k in cohort:
            c_k = c_of[k]
            theta_k = federation.train(k, theta, lambda w: c - c_k)                    # line 10
            if option == 1:
                c_of[k] = federation.gradient(k, theta)                                # line 12 (i)
            else:
                c_of[k] = c_k - c + (theta - theta_k) / (federation.steps[k] * federation.rate)  # line 12 (ii)
            changes.append(theta_k - theta)
            changes_of_c.append(c_of[k] - c_k)
        theta = theta + rate * weighted_sum(federation.shares(cohort), changes)       # lines 16, 17
        c = c + weighted_sum(federation.shares_of_all(cohort), changes_of_c)
    return theta


def dyn(federation: Federation, alpha: float) -> Weights:
    """FedDyn, Acar et al. 2021, Algorithm 1, with local steps for the argmin; h_k is the paper's gradient of L_k at theta_k.

    With weights, the 1/m over all clients in h becomes w_k over the sum of all; the mean of the models uses p_k.
    """
    theta = federation.start
    h = np.zeros_like(theta)
    h_of = [np.zeros_like(theta) for _ in federation.steps]
    for cohort in federation.cohorts:
        models = []
        for k in cohort:
            theta_k = federation.train(k, theta, lambda w: alpha * (w - theta) - h_of[k])
            h_of[k] = h_of[k] - alpha * (theta_k - theta)
            models.append(theta_k)
        h = h - alpha * weighted_sum(federation.shares_of_all(cohort), [model - theta for model in models])
        theta = weighted_sum(federation.shares(cohort), models) - h / alpha
    return theta


def accumulation(steps: int, rate: float, rho: float, mu: float) -> float:
    """|a|_1 of FedNova, Wang et al. 2020, section 4.1: a_j is the weight of the j-th gradient in change / -rate.

    Found by following every gradient through the local steps. For SGD it is `steps`; the paper's closed forms for
    momentum and for a proximal term also follow.
    """
    now, m = np.zeros(steps), np.zeros(steps)
    for gradient in np.eye(steps):
        m = rho * m + gradient + mu * now
        now = now - rate * m
    return float(np.abs(now / rate).sum())


def nova(federation: Federation, mu: float = 0.0) -> Weights:
    """FedNova, Wang et al. 2020, equation (6): theta -= tau_eff sum p_k rate d_k, with d_k = -Delta_k / (rate |a_k|_1).

    tau_eff = sum p_k |a_k|_1 is its value in federated averaging (equation 4), so only the bias is removed.
    (If mu is above 0, the authors' code uses sum p_k tau_k, steps instead of norms; the paper leaves tau_eff free.)
    """
    theta = federation.start
    for cohort in federation.cohorts:
        shares = federation.shares(cohort)
        norms = np.array([accumulation(federation.steps[k], federation.rate, federation.momentum, mu) for k in cohort])
        changes = [proximal(mu)(federation, k, theta) - theta for k in cohort]
        theta = theta + (shares @ norms) * weighted_sum(shares / norms, changes)
    return theta


def fair(federation: Federation, q: float) -> Weights:
    """q-FedAvg, Li et al. 2020, Algorithm 2, with L = 1 / rate, and p_k where the paper draws clients by their shares."""
    theta = federation.start
    lipschitz = 1 / federation.rate
    for cohort in federation.cohorts:
        shares = federation.shares(cohort)
        losses = np.array([federation.loss(k, theta) for k in cohort])
        u = [lipschitz * (theta - federation.train(k, theta)) for k in cohort]
        denominators = [q * F**(q - 1) * np.sum(u_k**2) + lipschitz * F**q for F, u_k in zip(losses, u)]
        theta = theta - weighted_sum(shares * losses**q, u) / (shares @ np.array(denominators))
    return theta


# ---------------------------------------------------------------------------------------------------- cases

@dataclass
class Case:
    """The program's flags in addition to the common ones, and the same algorithm here."""
    flags: str
    reference: Callable[[Federation], Weights]
    copies: bool = False      # each client holds copies of one image, and clients take different numbers of steps
    everyone: bool = False    # all clients in every round instead of three of five
    equal: bool = False       # all clients have equal weight
    momentum: float = 0.0
    rate: float = 0.002
    averages: bool = False    # is, or may be, plain averaging

    def all_flags(self) -> list[str]:
        flags = ["--learning-rate", str(self.rate), "--batch", str(BATCH_OF_COPIES if self.copies else max(PICTURES))]
        flags += ["--optimizer", "heavy-ball", "--momentum", str(self.momentum)] if self.momentum > 0 else ["--optimizer", "sgd"]
        flags += ["--cohort", "all"] if self.everyone else ["--cohort", "fixed", "--cohort-size", "3"]
        flags += ["--weights", "equal" if self.equal else "examples"]
        return flags + self.flags.split()


CASES: dict[str, Case] = {
    "average": Case("", lambda f: federate(f, average()), averages=True),
    "average-equal": Case("", lambda f: federate(f, average()), equal=True, everyone=True, averages=True),
    "average-copies": Case("", lambda f: federate(f, average()), copies=True, averages=True),
    "average-heavy-ball": Case("", lambda f: federate(f, average()), momentum=0.9, averages=True),
    "average-rate": Case("--server-learning-rate 0.5", lambda f: federate(f, average(0.5))),
    "momentum": Case("--server-optimizer momentum", lambda f: federate(f, momentum(0.9))),
    "momentum-rate": Case("--server-optimizer momentum --server-momentum 0.7 --server-learning-rate 0.5",
                          lambda f: federate(f, momentum(0.7, 0.5)), equal=True),
    "nesterov": Case("--server-optimizer momentum --server-nesterov", lambda f: federate(f, momentum(0.9, nesterov=True))),
    "adagrad": Case("--server-optimizer adagrad --server-learning-rate 0.003", lambda f: federate(f, adagrad(0.003))),
    "adagrad-beta": Case("--server-optimizer adagrad --server-learning-rate 0.003 --server-beta1 0.5 --server-tau 0.01",
                         lambda f: federate(f, adagrad(0.003, 0.5, 0.01)), equal=True, everyone=True),
    "adam": Case("--server-optimizer adam --server-learning-rate 0.002", lambda f: federate(f, adam(0.002))),
    "adam-beta": Case("--server-optimizer adam --server-learning-rate 0.002 --server-beta1 0.6 --server-beta2 0.9 "
                      "--server-tau 0.01", lambda f: federate(f, adam(0.002, 0.6, 0.9, 0.01)), everyone=True),
    "yogi": Case("--server-optimizer yogi --server-learning-rate 0.002", lambda f: federate(f, yogi(0.002))),
    "yogi-beta": Case("--server-optimizer yogi --server-learning-rate 0.002 --server-beta1 0.6 --server-beta2 0.9 "
                      "--server-tau 0.01", lambda f: federate(f, yogi(0.002, 0.6, 0.9, 0.01)), everyone=True),
    "fedexp": Case("--server-optimizer fedexp", lambda f: federate(f, fedexp(), mean_of_two=True), everyone=True),
    "fedexp-last": Case("--server-optimizer fedexp --server-answer last", lambda f: federate(f, fedexp()), everyone=True),
    "fedexp-copies": Case("--server-optimizer fedexp", lambda f: federate(f, fedexp(), mean_of_two=True), copies=True),
    "fedexp-epsilon": Case("--server-optimizer fedexp --server-epsilon 1e-4", lambda f: federate(f, fedexp(1e-4), mean_of_two=True),
                           copies=True, everyone=True, equal=True),
    "prox": Case("--local-objective prox --mu 20", lambda f: federate(f, average(), proximal(20))),
    "prox-heavy-ball": Case("--local-objective prox --mu 20", lambda f: federate(f, average(), proximal(20)), momentum=0.9),
    "prox-adam": Case("--local-objective prox --mu 20 --server-optimizer adam --server-learning-rate 0.002",
                      lambda f: federate(f, adam(0.002), proximal(20)), copies=True),
    "scaffold-one": Case("--local-objective scaffold --scaffold-option one", lambda f: scaffold(f, 1)),
    "scaffold-two": Case("--local-objective scaffold --scaffold-option two", lambda f: scaffold(f, 2)),
    "scaffold-one-equal": Case("--local-objective scaffold --scaffold-option one", lambda f: scaffold(f, 1), equal=True),
    "scaffold-two-equal": Case("--local-objective scaffold --scaffold-option two", lambda f: scaffold(f, 2), equal=True),
    "scaffold-two-all": Case("--local-objective scaffold --scaffold-option two", lambda f: scaffold(f, 2), everyone=True),
    "scaffold-two-rate": Case("--local-objective scaffold --scaffold-option two --server-learning-rate 0.5",
                              lambda f: scaffold(f, 2, 0.5)),
    "scaffold-one-copies": Case("--local-objective scaffold --scaffold-option one", lambda f: scaffold(f, 1), copies=True),
    "scaffold-two-copies": Case("--local-objective scaffold --scaffold-option two", lambda f: scaffold(f, 2), copies=True),
    "dyn": Case("--local-objective dyn --dyn-alpha 20", lambda f: dyn(f, 20)),
    "dyn-equal": Case("--local-objective dyn --dyn-alpha 20", lambda f: dyn(f, 20), equal=True),
    "dyn-all": Case("--local-objective dyn --dyn-alpha 20", lambda f: dyn(f, 20), everyone=True),
    "dyn-copies": Case("--local-objective dyn --dyn-alpha 20", lambda f: dyn(f, 20), copies=True),
    "dyn-heavy-ball": Case("--local-objective dyn --dyn-alpha 20", lambda f: dyn(f, 20), momentum=0.9),
    "nova-same-steps": Case("--local-objective nova", nova, averages=True),
    "nova": Case("--local-objective nova", nova, copies=True),
    "nova-equal": Case("--local-objective nova", nova, copies=True, equal=True),
    "nova-all": Case("--local-objective nova", nova, copies=True, everyone=True),
    "nova-heavy-ball": Case("--local-objective nova", nova, copies=True, momentum=0.9, rate=0.0005),
    "nova-prox": Case("--local-objective nova --mu 20", lambda f: nova(f, 20), copies=True),
    "fair": Case("--local-objective fair --fairness-q 2", lambda f: fair(f, 2)),
    "fair-half": Case("--local-objective fair --fairness-q 0.5", lambda f: fair(f, 0.5), copies=True),
    "fair-equal": Case("--local-objective fair --fairness-q 1", lambda f: fair(f, 1), equal=True, everyone=True),
    "nova-prox-heavy-ball": Case("--local-objective nova --mu 20", lambda f: nova(f, 20), copies=True, momentum=0.9, rate=0.0005),
}


# ---------------------------------------------------------------------------------------------------- data and files

def data_file(data_dir: Path | None, name: str) -> Path:
    folders = [Path("/usr/share/datasets/fashion-mnist")]
    if data_dir is not None:
        folders = [data_dir / "fashion-mnist", data_dir / "FashionMNIST" / "raw", data_dir]
    for folder in folders:
        for path in (folder / name, folder / (name + ".gz")):
            if path.is_file():
                return path
    sys.exit(f"no {name} or {name}.gz in {', '.join(map(str, folders))}; install dataset-fashion-mnist or give --data-dir")


def read_bytes(path: Path, header: int, count: int) -> np.ndarray:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
        file.seek(header)
        return np.frombuffer(file.read(count), np.uint8)


def training_rows(data_dir: Path | None, count: int = 5000) -> tuple[np.ndarray, np.ndarray]:
    """The first images, as bytes, and their labels."""
    pixels = read_bytes(data_file(data_dir, "train-images-idx3-ubyte"), 16, count * PIXELS)
    labels = read_bytes(data_file(data_dir, "train-labels-idx1-ubyte"), 8, count)
    return pixels.reshape(count, PIXELS), labels.astype(int)


class Data:
    """A small data set with its partition; rows are ordered by client."""

    def __init__(self, folder: Path, pixels: np.ndarray, labels: np.ndarray, places: list[np.ndarray]):
        """Client k holds the images at places[k]. Writes the files that the program reads."""
        self.folder, self.pixels, self.labels = folder, pixels[np.concatenate(places)], labels[np.concatenate(places)]
        ends = np.cumsum([len(p) for p in places]).tolist()
        self.rows = [list(range(end - len(p), end)) for p, end in zip(places, ends)]
        count, labels = len(self.labels), self.labels.astype(np.uint8)
        folder.mkdir()
        for part in ("train", "t10k"):  # the test part must exist but is not used here
            images = struct.pack(">4B3I", 0, 0, 8, 3, count, 28, 28) + self.pixels.tobytes()
            (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
            (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">4BI", 0, 0, 8, 1, count) + labels.tobytes())
        self.partition_file = folder / "partition.json"
        self.partition_file.write_text(json.dumps({"clients": self.rows}))


def write_pictures(folder: Path, pixels: np.ndarray, labels: np.ndarray) -> Data:
    """Client k holds the first images of the classes 2k and 2k + 1."""
    return Data(folder, pixels, labels, [np.flatnonzero(labels // 2 == k)[:size] for k, size in enumerate(PICTURES)])


def write_copies(folder: Path, pixels: np.ndarray, labels: np.ndarray) -> Data:
    """Client k holds copies of the first image of class 2k."""
    return Data(folder, pixels, labels, [np.repeat(np.flatnonzero(labels == 2 * k)[0], size) for k, size in enumerate(COPIES)])


def write_weights(path: Path, weights: Weights) -> None:
    """Writes the weights as safetensors, in PyTorch's layout: outputs x inputs."""
    tensors = {"fc1.weight": weights[:, :PIXELS], "fc1.bias": weights[:, PIXELS]}
    header, data = {}, b""
    for name, tensor in tensors.items():
        begin, data = len(data), data + np.ascontiguousarray(tensor, "<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_weights(path: Path) -> Weights:
    content = path.read_bytes()
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:begin])

    def tensor(name: str) -> np.ndarray:
        first, last = header[name]["data_offsets"]
        return np.frombuffer(content[begin + first:begin + last], "<f4").reshape(header[name]["shape"])
    return np.column_stack([tensor("fc1.weight"), tensor("fc1.bias")]).astype(float)


# ---------------------------------------------------------------------------------------------------- comparison

class UnknownFlag(Exception):
    """The program does not know a flag of the case."""


class Comparison:
    """The data, files and initial weights shared by the cases."""

    def __init__(self, program: Path, data_dir: Path | None, folder: Path):
        self.program, self.folder = program, folder
        folder.mkdir(parents=True, exist_ok=True)
        rows = training_rows(data_dir)
        self.data = {False: write_pictures(folder / "pictures", *rows), True: write_copies(folder / "copies", *rows)}
        random = np.random.default_rng(1).uniform(-0.02, 0.02, (CLASSES, PIXELS + 1))
        self.start = random.astype(np.float32).astype(float)
        write_weights(folder / "start.safetensors", self.start)

    def run(self, name: str, case: Case) -> Path:
        """Runs the program's training; returns the folder of the results."""
        out, data = self.folder / name, self.data[case.copies]
        words = command(self.program, dataset="fashion-mnist", data_dir=data.folder, clients=5, partition="file",
                        partition_file=data.partition_file, model="dense classes", init=self.folder / "start.safetensors", rounds=ROUNDS,
                        local_epochs=LOCAL_EPOCHS, schedule="constant", seed=1, threads=1, quiet=True, evaluate_every=ROUNDS,
                        evaluate_rows=10, out=out)
        done = subprocess.run(words + case.all_flags(), capture_output=True, text=True)
        if done.returncode != 0:
            message = done.stderr.strip() or f"exit status {done.returncode}"
            raise UnknownFlag(message) if re.search(r"'[^']*' is unknown", message) else RuntimeError(message)
        return out

    def federation(self, case: Case, out: Path) -> Federation:
        """The reference's input; refuses a run that did not follow the case."""
        data = self.data[case.copies]
        rows = data.rows
        if json.loads((out / "partition.json").read_text())["clients"] != rows:
            raise RuntimeError("the rows in partition.json differ from those in the partition file")
        inputs = [np.column_stack([(data.pixels[r] / 255 - MEAN) / DEVIATION, np.ones(len(r))]) for r in rows]
        steps = [LOCAL_EPOCHS * (-(-len(r) // BATCH_OF_COPIES) if case.copies else 1) for r in rows]
        lines = rounds_of(out)
        if len(lines) != ROUNDS:
            raise RuntimeError(f"rounds.jsonl has {len(lines)} lines instead of {ROUNDS}")
        for report in (report for line in lines for report in line["clients"]):
            if report["steps"] != steps[report["client"]]:
                raise RuntimeError(f"client {report['client']} took {report['steps']} steps instead of {steps[report['client']]}")
        return Federation(inputs, [data.labels[r] for r in rows], self.start,
                          [[report["client"] for report in line["clients"]] for line in lines], steps,
                          np.array([1.0 if case.equal else len(r) for r in rows]), case.rate, case.momentum)

    def compare(self, name: str, case: Case) -> tuple[float, float, float]:
        """Returns the error relative to the weights and to their movement, and the distance from plain averaging relative to the
        movement."""
        out = self.run(name, case)
        federation = self.federation(case, out)
        ours, theirs = case.reference(federation), read_weights(out / "model.safetensors")
        error, moved = np.linalg.norm(theirs - ours), np.linalg.norm(ours - self.start)
        effect = np.linalg.norm(ours - federate(federation, average())) / moved
        return float(error / np.linalg.norm(ours)), float(error / moved), float(effect)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=Path, help="the program fedstride")
    parser.add_argument("--data-dir", type=Path, help="folder with Fashion-MNIST (default: where Debian's package puts it)")
    parser.add_argument("--only", metavar="NAME,...", help="only these cases: " + ", ".join(CASES))
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the runs in this folder, which must be new or empty")
    parser.add_argument("--strict", action="store_true", help="count a case with flags unknown to the program as a failure")
    options = parser.parse_args()
    options.names = options.only.split(",") if options.only else list(CASES)
    if unknown := [name for name in options.names if name not in CASES]:
        parser.error(f"no case {', '.join(unknown)}; valid: {', '.join(CASES)}")
    if not options.program.is_file():
        parser.error(f"no program {options.program}")
    if options.keep is not None and options.keep.exists() and any(options.keep.iterdir()):
        parser.error(f"{options.keep} is not empty")
    return options


def main() -> int:
    options = arguments()
    failures = unknown_cases = 0
    with tempfile.TemporaryDirectory() as temporary:
        comparison = Comparison(options.program, options.data_dir, options.keep or Path(temporary))
        print(f"{'case':22}{'of weights':>12}{'of movement':>13}{'effect':>9}  flags")
        for name in options.names:
            case = CASES[name]
            flags = " ".join(case.all_flags()) + ("  (copies)" if case.copies else "")
            try:
                error, error_of_movement, effect = comparison.compare(name, case)
            except UnknownFlag as unknown:
                print(f"{name:22}not known to this program: {unknown}")
                unknown_cases += 1
                failures += options.strict
                continue
            except RuntimeError as problem:
                print(f"{name:22}FAILED: {problem}")
                failures += 1
                continue
            verdict = ""
            if not error <= TOLERANCE:  # also if it is NaN
                verdict = "  ABOVE THE TOLERANCE"
            elif effect < LEAST_EFFECT and not case.averages:
                verdict = "  TOO NEAR PLAIN AVERAGING TO SHOW ANYTHING"
            failures += verdict != ""
            print(f"{name:22}{error:12.1e}{error_of_movement:13.1e}{effect:9.3f}  {flags}{verdict}", flush=True)
    print(f"{len(options.names)} cases: {failures} failed, {unknown_cases} not known to this program")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
