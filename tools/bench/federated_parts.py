#!/usr/bin/env python3
"""The cost of parts of federated algorithms relative to federated averaging; the two are measured in turn.

- Objectives: a round of adadp-cnn on CIFAR-10 (five clients, SGD, batches of 10) under FedProx, SCAFFOLD and FedDyn, as a
  multiple of a round under FedAvg.
- Aggregation: 100 clients with one row each; the seconds that a rule over all their updates adds to a round.
- Server optimizers: one client with one row; the milliseconds that a step adds to a round.
A round's time is the median of the run's own `seconds`, including averaging but not evaluation; results are medians over pairs.

    python3 tools/bench/federated_parts.py build/release/fedstride FOLDER-OF-CIFAR-10 [PAIRS [ROWS-PER-CLIENT]]

A pair takes minutes.
"""
from _measure import round_seconds, run, spread, words

OBJECTIVES = ("prox", "scaffold", "dyn")
AGGREGATIONS = ("median", "trimmed-mean", "multi-krum", "krum", "bulyan", "geometric-median", "norm-bounded")
SERVER_OPTIMIZERS = ("momentum", "adagrad", "adam", "yogi", "fedexp")


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
        return round_seconds(run(program, dataset="cifar10", data_dir=folder, model="adadp-cnn", optimizer="sgd", partition="iid",
                                 rounds=rounds, evaluate_every=1000, seed=3, **settings)[0])

    def objective(name):
        return seconds(3, clients=5, limit_per_client=rows, batch=10, threads=1, local_objective=name or "plain")

    def aggregation(name):
        attackers = 20 if name in ("krum", "multi-krum", "bulyan") else None
        return seconds(3, clients=100, limit_per_client=1, batch=1, threads=2, aggregation=name or "mean", byzantine=attackers)

    def server(name):
        return seconds(15, clients=1, limit_per_client=1, batch=1, threads=1, server_optimizer=name or "average")

    compare("objectives: a round, as a multiple of FedAvg's", count, OBJECTIVES, objective, lambda plain, other: other / plain)
    compare("aggregation of 100 updates of 1.1 million weights, two threads: seconds more than the mean", count, AGGREGATIONS,
            aggregation, lambda plain, other: other - plain)
    compare("server optimizers, 1.1 million weights, one thread: milliseconds more than averaging", count, SERVER_OPTIMIZERS, server,
            lambda plain, other: 1000 * (other - plain))


if __name__ == "__main__":
    main()
