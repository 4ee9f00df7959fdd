#!/usr/bin/env python3
"""What a round costs as a federation grows: milliseconds of a round on one thread, for numbers of clients, of weights and of a cohort's
members, and the run's largest memory. Prints docs' table; a row that grows faster than what it grows with is marked.

    tools/bench/growth.py build/release/fedstride [--most 1e7] [--rounds 11]

Clients have one row of 16 bytes and train one step of SGD; rounds are not evaluated. The median of rounds counts, without the first.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

from _measure import command, rounds_of

# clients, cohort, units of each of two hidden layers (0: none)
GROWTHS = {
    "clients, cohort of 10": [(n, 10, 0) for n in (10, 100, 1000, 10**4, 10**5, 10**6, 10**7)],
    "weights, cohort of 2": [(2, 2, units) for units in (24, 80, 260, 840, 2700, 10_000)],
    "cohort of 100,000 clients": [(10**5, cohort, 0) for cohort in (10, 100, 1000, 10_000)],
}


def data_of(clients, folder):
    path = folder / f"{clients}.npz"
    if not path.exists():
        random = numpy.random.default_rng(1)
        x = random.integers(0, 256, (max(clients, 100), 4, 4), dtype=numpy.uint8)
        y = (x.reshape(len(x), -1).mean(1) > 128).astype(numpy.int64)
        numpy.savez(path, x=x, y=y, x_test=x[:100], y_test=y[:100])
    return path


def measured(program, clients, cohort, units, rounds, folder):
    """Returns the milliseconds of a round, the seconds before the first, and the megabytes of the largest run so far."""
    model = f"repeat 2 {{ dense {units} nobias | relu }} | dense classes nobias" if units else "dense classes"
    with tempfile.TemporaryDirectory() as place:
        out = Path(place, "run")
        words = command(program, dataset="file", data=data_of(clients, folder), model=model, partition="iid", clients=clients, limit_per_client=1,
                        cohort="fixed", cohort_size=cohort, rounds=rounds, optimizer="sgd", learning_rate=0.01, batch=1, threads=1,
                        server_optimizer="average", evaluate_every=rounds, checkpoint_every=rounds, quiet=True, out=out)
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"'{' '.join(map(str, words))}' failed")
        lines = rounds_of(out)
    spent = usage.ru_utime + usage.ru_stime
    each = [line["seconds"] for line in lines]
    return 1000 * statistics.median(each[1:]), spent - sum(each), usage.ru_maxrss / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default="build/release/fedstride")
    parser.add_argument("--most", type=float, default=1e8, help="clients and weights")
    parser.add_argument("--rounds", type=int, default=11)
    given = parser.parse_args()
    print("| grows | | ms a round | ratio | s before and after | MB |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, sizes in GROWTHS.items():
            before = None
            for clients, cohort, units in sizes:
                weights = 18 * units + units**2
                if max(clients, weights) > given.most:
                    continue
                size = {"clients": clients, "weights": weights, "cohort": cohort}[name.split(",")[0].split()[0]]
                took, around, memory = measured(given.program, clients, cohort, units, given.rounds, Path(folder))
                ratio = "" if before is None else f"{took / before[1]:.1f} for {size / before[0]:.0f}"
                marked = " superlinear" if before is not None and took / before[1] > 1.2 * size / before[0] else ""
                print(f"| {name} | {size:,} | {took:.3g} | {ratio}{marked} | {around:.2f} | {memory:.0f} |", flush=True)
                before = size, took


if __name__ == "__main__":
    main()
