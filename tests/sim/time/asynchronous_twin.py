#!/usr/bin/env python3
"""Writes tests/golden/asynchronous_twin.csv: FedAsync and FedBuff over 200 events, by a program of its own, from the papers.

Six clients, all at work whenever they may be, minimize a_k/2 |x - b_k|^2 by three gradient steps of 0.1 a task. A line: mode, event's
number, time of the version in seconds, staleness of its last update, the two numbers of the model.
"""
import heapq
import math
from pathlib import Path

import numpy as np

SECONDS = [1.0, 1.5, 2.25, 3.0, 4.5, 11.0]
CURVATURES = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
MINIMA = np.array([[1, -1], [2, 0], [0, 3], [-2, 1], [1, 1], [-1, -2]], dtype=float)


def change(client, start):
    x = start.copy()
    for _ in range(3):
        x = x - 0.1 * CURVATURES[client] * (x - MINIMA[client])
    return x - start


def events(buffer, apply):
    """Calls apply(list of (client, model it began from, staleness)), which returns the next model, for each full buffer."""
    model, version, held, lines, ended = np.array([0.5, -0.25]), 0, [], [], 0
    queue = [(seconds, client) for client, seconds in enumerate(SECONDS)]
    begun = {client: (version, model) for client in range(6)}
    idle = set()
    heapq.heapify(queue)
    while ended < 200:
        now, client = heapq.heappop(queue)
        ended += 1
        idle.add(client)
        held.append((client, begun[client][1], version - begun[client][0]))
        if len(held) == buffer:
            model = apply(model, held)
            version += 1
            lines.append((ended, now, held[-1][2], *model))
            held = []
        if queue and queue[0][0] == now:
            continue  # all ends of an instant come before its starts
        for one in sorted(idle - {entry[0] for entry in held}):
            begun[one] = (version, model)
            heapq.heappush(queue, (now + SECONDS[one], one))
            idle.discard(one)
    return lines


def fedasync(model, held):
    client, start, staleness = held[0]
    alpha = 0.6 * (staleness + 1) ** -0.5
    return (1 - alpha) * model + alpha * (start + change(client, start))


def fedbuff(model, held):
    return model + 0.7 / len(held) * sum(change(client, start) / math.sqrt(1 + staleness) for client, start, staleness in held)


def main():
    out = Path(__file__).resolve().parents[2] / "golden" / "asynchronous_twin.csv"
    with out.open("w") as file:
        file.write("mode,event,seconds,staleness,first,second\n")
        for name, lines in (("fedasync", events(1, fedasync)), ("fedbuff", events(3, fedbuff))):
            for line in lines:
                file.write(",".join([name] + [repr(float(value)) for value in line]) + "\n")


if __name__ == "__main__":
    main()
