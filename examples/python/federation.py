#!/usr/bin/env python3
"""A federation of Python clients with their own data, over TLS and under client-level privacy, and the audit of its ledger.

    python3 examples/python/federation.py [FOLDER]

The coordinator has no training code and no data; three clients have private data. Here they are processes on one machine.
"""
import multiprocessing
import pathlib
import subprocess
import sys
import time

import numpy as np

import fedstride

CLIENTS, ROUNDS = 3, 20


@fedstride.named("least-squares", "1")
def train(weights, task):
    """Ten steps of gradient descent of a linear model on data that only this client has."""
    random = np.random.default_rng(100 + task.client)
    x = random.normal(size=(50, 4)).astype(np.float32)
    y = x @ np.array([1, -2, 0.5, 3], np.float32) + 0.1 * random.normal(size=50).astype(np.float32)
    w = weights["w"].copy()
    for _ in range(10):
        w -= 0.1 * x.T @ (x @ w - y) / len(y)
    return fedstride.Trained({"w": w}, loss=float(np.mean((x @ w - y) ** 2)))


def client(folder, port, number):
    fedstride.Client(connect=f"127.0.0.1:{port}", client=number, certificates=folder / "certificates", folder=folder / f"client-{number}",
                     require_dp="client", quiet=True).serve(train)


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    program = fedstride.program()
    fedstride.save_tensors(folder / "first.safetensors", {"w": np.zeros(4, np.float32)})
    subprocess.run([program, "certificates", "--out", folder / "certificates", "--clients", str(CLIENTS)], check=True, stdout=subprocess.DEVNULL)
    serve = subprocess.Popen(
        [program, "serve", "--parameters", folder / "first.safetensors", "--clients", str(CLIENTS), "--rounds", str(ROUNDS), "--listen",
         "127.0.0.1:0", "--certificates", folder / "certificates", "--dp", "client", "--clip", "2", "--noise-multiplier", "0.2", "--out",
         folder / "run"], stderr=subprocess.PIPE, text=True)
    line = next(line for line in serve.stderr if "listening at" in line)
    spawn = multiprocessing.get_context("spawn")
    members = [spawn.Process(target=client, args=(folder, int(line.rsplit(":", 1)[1]), number)) for number in range(CLIENTS)]
    for member in members:
        member.start()
    for member in members:
        member.join()
    serve.stderr.read()
    if serve.wait() != 0 or any(member.exitcode for member in members):
        sys.exit("the federation failed")
    run = fedstride.open_run(folder / "run")
    print("w =", np.round(run.model()["w"], 2), "after", len(run.rounds), "rounds")
    print(subprocess.run([program, "privacy", "audit", folder / "run"], check=True, capture_output=True, text=True).stdout.strip())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else f"runs/python-federation-{int(time.time())}")
