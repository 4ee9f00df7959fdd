#!/usr/bin/env python3
"""A paper's comparison: an own method, with its own aggregation, client optimizer and model, beside published ones.

    python3 examples/paper/paper.py [FOLDER [DATASET [JOBS]]]

Writes FOLDER/sweep/report.html and report.tex. A stopped comparison goes on where it was; finished runs are not run again.
"""
import pathlib
import sys

import numpy as np

import fedstride

try:
    import torch

    torch.manual_seed(1)
    MODEL = fedstride.from_torch(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)))
except ImportError:
    MODEL = "dense 64 | relu | dense classes"


def trimmed_by_length(changes, weights, clients):
    """The mean of the changes without the longest quarter: robust to a few clients that move far."""
    lengths = [np.linalg.norm(change) for change in changes]
    kept = np.argsort(lengths, kind="stable")[: max(1, len(changes) - len(changes) // 4)]
    return np.average([changes[i] for i in kept], axis=0, weights=[weights[i] for i in kept])


def sign_momentum(gradient, state, step):
    """Steps by the sign of a running mean of the gradients (as Lion without weight decay, Chen et al. 2023)."""
    mean = np.zeros_like(gradient) if state is None else state["mean"]
    direction = np.sign(0.9 * mean + 0.1 * gradient)
    return -step.learning_rate * direction, {"mean": 0.99 * mean + 0.01 * gradient}


def main(folder="paper", dataset="synthetic", jobs="1"):
    folder = pathlib.Path(folder)
    sweep = fedstride.sweep({
        "dataset": dataset, "clients": 20, "limit_per_client": 100, "rounds": 30, "batch": 10, "cohort": fedstride.FixedCohort(cohort_size=10),
        "model": MODEL,
        "experiment": {"title": "Own method", "claim": "The own method is better than FedAvg where clients differ."},
        "variant": {
            "own": {"aggregation": trimmed_by_length, "optimizer": sign_momentum, "learning_rate": 0.001},
            "FedAvg": {"method": "fedavg", "learning_rate": 0.03},
            "FedProx": {"method": "fedprox", "learning_rate": 0.03},
            "SCAFFOLD": {"method": "scaffold", "learning_rate": 0.03},
            "default": {},
        },
        "sweep": {"partition": ["iid", "pathological"], "seed": [1, 2, 3]},
        "expect": [{"claim": "own is above FedAvg on pathological clients",
                    "value": {"metric": "test_accuracy", "where": {"variant": "own", "partition": "pathological"}},
                    "above": {"metric": "test_accuracy", "where": {"variant": "FedAvg", "partition": "pathological"}}}],
    }, out=folder / "sweep", jobs=int(jobs))
    page = fedstride.report(sweep.folder, latex=True)
    results = sweep.frame("summary")
    print(results[(results.metric == "test_accuracy") & results["round"].isna()][["variant", "partition", "mean", "low", "high"]].to_string(index=False))
    for claim in sweep.claims:
        print(f"{claim['status']}: {claim['claim']} ({claim['text']})")
    print("page:", page)


if __name__ == "__main__":
    main(*sys.argv[1:])
