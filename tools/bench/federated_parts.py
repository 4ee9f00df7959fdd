#!/usr/bin/env python3
"""The cost of parts of federated algorithms relative to federated averaging; the two are measured in turn.

- Optimizers, and private steps (batches of 200): a round of adadp-cnn on CIFAR-10 (one client, batches of 10), as a multiple of a
  round under SGD. An optimizer may need more gradients for a step.
- Objectives: a round of adadp-cnn on CIFAR-10 (five clients, SGD, batches of 10) under FedProx, SCAFFOLD and FedDyn, as a
  multiple of a round under FedAvg.
- Aggregation: 100 clients with one row each; the seconds that a rule over all their updates adds to a round.
- Server optimizers and compressions: one client with one row; the milliseconds that a step or a code adds to a round.
A round's time is the median of the run's own `seconds`, including averaging but not evaluation; results are medians over pairs.

    python3 tools/bench/federated_parts.py build/release/fedstride FOLDER-OF-CIFAR-10 [PAIRS [ROWS-PER-CLIENT]]

A pair takes minutes.
"""
from _measure import round_seconds, run, spread, words

OPTIMIZERS = ("heavy-ball", "adam", "adadp", "pooled")
OBJECTIVES = ("prox", "scaffold", "dyn")
AGGREGATIONS = ("median", "trimmed-mean", "multi-krum", "krum", "bulyan", "geometric-median", "norm-bounded")
SERVER_OPTIMIZERS = ("momentum", "adagrad", "adam", "yogi", "fedexp")
COMPRESSIONS = ("float16", "rounding", "qsgd", "top-k", "drive")


def compare(title, pairs_of_each, names, measure, told):
    """Measures the plain part and each other part in turn, `pairs_of_each` times; told(plain, other) is the result of a pair."""
    print(title, flush=True)
    pairs = {name: [] for name in names}
    for _ in range(pairs_of_each):
        for name in names:
            pairs[name].append(told(measure(None), measure(name)))
    for name in names:
        print(f"  {name:17} {spread(pairs[name])}", flush=True)


def main():
    program, folder, count, rows = words(__doc__, 2, 5, 1000)

    def seconds(rounds, **settings):
        return round_seconds(run(program, dataset="cifar10", data_dir=folder, model="adadp-cnn", partition="iid", rounds=rounds,
                                 evaluate_every=1000, seed=3, **{"optimizer": "sgd", **settings})[0])

    def optimizer(name):
        return seconds(3, clients=1, limit_per_client=rows, batch=10, threads=1, optimizer=name or "sgd")

    def private(name):
        privacy = {"dp": "example", "noise_multiplier": 1, "delta": 1e-5} if name else {}
        return seconds(3, clients=1, limit_per_client=rows, batch=min(200, rows), threads=1, **privacy)

    def objective(name):
        return seconds(3, clients=5, limit_per_client=rows, batch=10, threads=1, local_objective=name or "plain")

    def aggregation(name):
        attackers = 20 if name in ("krum", "multi-krum", "bulyan") else None
        return seconds(3, clients=100, limit_per_client=1, batch=1, threads=2, aggregation=name or "mean", byzantine=attackers)

    def server(name):
        return seconds(15, clients=1, limit_per_client=1, batch=1, threads=1, server_optimizer=name or "average")

    def compression(name):
        return seconds(15, clients=1, limit_per_client=1, batch=1, threads=1, compress_up=name or "none")

    compare("optimizers: a round, as a multiple of SGD's", count, OPTIMIZERS, optimizer, lambda plain, other: other / plain)
    compare("a round of private steps, as a multiple of plain ones", count, ("private",), private, lambda plain, other: other / plain)
    compare("objectives: a round, as a multiple of FedAvg's", count, OBJECTIVES, objective, lambda plain, other: other / plain)
    compare("aggregation of 100 updates of 1.1 million weights, two threads: seconds more than the mean", count, AGGREGATIONS,
            aggregation, lambda plain, other: other - plain)
    compare("compression of 1.1 million weights, one thread: milliseconds more than none", count, COMPRESSIONS, compression,
            lambda plain, other: 1000 * (other - plain))
    compare("server optimizers, 1.1 million weights, one thread: milliseconds more than averaging", count, SERVER_OPTIMIZERS, server,
            lambda plain, other: 1000 * (other - plain))


if __name__ == "__main__":
    main()
