#!/usr/bin/env python3
"""What parts of federated algorithms cost beside federated averaging, each in turn with it.

- Objectives: a round of adadp-cnn on CIFAR-10 (five clients, SGD, batches of 10) under FedProx, SCAFFOLD and FedDyn, as a
  multiple of one under FedAvg.
- Aggregation: 100 clients of one row; the seconds that a rule over all their updates adds to a round.
- Server optimisers: one client of one row; the milliseconds that a step adds to a round.
A round is the median of the run's own `seconds`, averaging included, evaluation not; differences are medians over pairs.

    python3 bench/federated_parts.py build/release/fedstride FOLDER-OF-CIFAR-10 [PAIRS [ROWS-A-CLIENT]]      (minutes a pair)
"""
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

OBJECTIVES = ("prox", "scaffold", "dyn")
AGGREGATIONS = ("median", "trimmed-mean", "multi-krum", "krum", "bulyan", "geometric-median", "norm-bounded")
SERVER_OPTIMIZERS = ("momentum", "adagrad", "adam", "yogi", "fedexp")


def round_seconds(program, folder, rounds, *flags):
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([program, "run", "--dataset", "cifar10", "--data-dir", folder, "--model", "adadp-cnn", "--optimizer", "sgd",
                        "--partition", "iid", "--rounds", str(rounds), "--evaluate-every", "1000", "--seed", "3", "--quiet",
                        "--out", place + "/run", *flags], check=True, stdout=subprocess.DEVNULL)
        lines = Path(place, "run", "rounds.jsonl").read_text().splitlines()
        return statistics.median(json.loads(line)["seconds"] for line in lines)


def compare(title, pairs_of_each, names, measure, told):
    """Measures the plain part and each other one in turn, so many times; told(plain, other) is what a pair says."""
    print(title, flush=True)
    pairs = {name: [] for name in names}
    for _ in range(pairs_of_each):
        for name in names:
            pairs[name].append(told(measure(None), measure(name)))
    for name in names:
        values = pairs[name]
        print(f"  {name:17} {statistics.median(values):8.3f}  ({min(values):.3f} to {max(values):.3f})", flush=True)


def main():
    if len(sys.argv) not in (3, 4, 5):
        sys.exit(__doc__)
    program, folder = sys.argv[1], sys.argv[2]
    count, rows = (int(word) for word in sys.argv[3:] + ["5", "1000"][len(sys.argv) - 3 :])

    def objective(name):
        return round_seconds(program, folder, 3, "--clients", "5", "--limit-per-client", str(rows), "--batch", "10", "--threads", "1",
                             "--local-objective", name or "plain")

    def aggregation(name):
        attackers = ["--byzantine", "20"] if name in ("krum", "multi-krum", "bulyan") else []
        return round_seconds(program, folder, 3, "--clients", "100", "--limit-per-client", "1", "--batch", "1", "--threads", "2",
                             "--aggregation", name or "mean", *attackers)

    def server(name):
        return round_seconds(program, folder, 15, "--clients", "1", "--limit-per-client", "1", "--batch", "1", "--threads", "1",
                             "--server-optimizer", name or "average")

    compare("objectives: a round, as a multiple of FedAvg's", count, OBJECTIVES, objective, lambda plain, other: other / plain)
    compare("aggregation of 100 updates of 1.1 million weights, two threads: seconds more than the mean", count, AGGREGATIONS,
            aggregation, lambda plain, other: other - plain)
    compare("server optimisers, 1.1 million weights, one thread: milliseconds more than averaging", count, SERVER_OPTIMIZERS, server,
            lambda plain, other: 1000 * (other - plain))


if __name__ == "__main__":
    main()
