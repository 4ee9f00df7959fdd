#!/usr/bin/env python3
"""A custom aggregation and partition: a weighted median, and clients with one class each.

    python3 examples/python/own_parts.py [FOLDER]
"""
import sys

import numpy as np

import fedstride


@fedstride.named("weighted-median", "1")
def weighted_median(updates, weights, clients):
    """For each parameter, the smallest change with at least half of the clients' weight at or below it."""
    changes = np.stack(updates)
    order = np.argsort(changes, axis=0, kind="stable")
    below = np.cumsum(weights[order], axis=0)
    middle = np.argmax(below >= below[-1] / 2, axis=0)
    return np.take_along_axis(changes, np.take_along_axis(order, middle[None], axis=0), axis=0)[0]


@fedstride.named("a-class-each", "1")
def a_class_each(data):
    classes = data.labels[data.rows]
    return [data.rows[classes % data.clients == client] for client in range(data.clients)]


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "runs"
    setting = {"dataset": "synthetic", "model": "logistic", "clients": 5, "rounds": 10, "partition": a_class_each}
    for name, aggregation in (("mean", None), ("median", weighted_median)):
        run = fedstride.run(**setting, aggregation=aggregation, out=f"{folder}/own-parts-{name}")
        print(f"{name}: accuracy {run.summary['test_accuracy']:.3f}")
