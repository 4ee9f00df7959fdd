#!/usr/bin/env python3
"""CIFAR-10, two classes per client: ADADP, which adapts its learning rate, against SGD at two learning rates.

    python3 adadp_against_sgd.py [ROUNDS [ROWS_PER_CLIENT]]

Takes two minutes per run and round on one core; writes the figure to adadp-against-sgd.svg."""

# %% Three runs with the same data and seed
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import fedstride

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
limit = int(sys.argv[2]) if len(sys.argv) > 2 else 0  # rows per client; 0: all
common = {"dataset": "cifar10", "partition": "pathological", "rounds": rounds, "limit_per_client": limit}
methods = {"ADADP": {"optimizer": "adadp"}, "SGD, rate 0.01": {"optimizer": "sgd", "learning_rate": 0.01},
           "SGD, rate 0.1": {"optimizer": "sgd", "learning_rate": 0.1}}
try:
    runs = {name: fedstride.run(**common, **settings, verbose=True) for name, settings in methods.items()}
except fedstride.Error as error:
    sys.exit(f"{error}")  # without CIFAR-10 the error says how to get it

# %% Accuracy by round, and the learning rates of ADADP's clients
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, run in runs.items():
    left.plot([one["round"] for one in run.rounds], [one["test_accuracy"] for one in run.rounds], marker="o", label=name)
left.set(xlabel="round", ylabel="test accuracy", title="CIFAR-10, two classes per client")
left.legend()
for client in range(5):
    reports = [one for one in runs["ADADP"].clients if one["client"] == client]
    right.semilogy([one["round"] for one in reports], [one["learning_rate"] for one in reports], label=f"client {client}")
right.set(xlabel="round", ylabel="learning rate", title="ADADP's learning rates")
right.legend()
figure.savefig("adadp-against-sgd.svg")
