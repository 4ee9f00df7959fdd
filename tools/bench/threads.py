#!/usr/bin/env python3
"""Compares two threads with one, in turn: the speed-ups of whole runs and sweeps, and of a run's rounds. Also measures the speed-up
that two cores allow, with two one-thread runs at once and one after the other. The machine must be idle.

    python3 tools/bench/threads.py build/release/fedstride FOLDER-OF-CIFAR-10 [PAIRS]      (a minute per pair)
"""
import subprocess
import tempfile
import time
from pathlib import Path

from _measure import command, rounds_of, spread, words

WORKS = {
    "logistic, ten clients, short rounds": dict(model="logistic", clients=10, limit_per_client=200, rounds=40, partition="iid"),
    "logistic, three clients": dict(model="logistic", clients=3, rounds=10, partition="iid"),
    "FedBuff, logistic": dict(model="logistic", clients=50, limit_per_client=100, rounds=60, partition="iid", mode="fedbuff",
                              devices="lognormal"),
    "adadp-cnn, CIFAR-10, five clients, ADADP": dict(dataset="cifar10", model="adadp-cnn", clients=5, limit_per_client=300, rounds=2,
                                                     optimizer="adadp"),
    "adadp-cnn, CIFAR-10, private": dict(dataset="cifar10", model="adadp-cnn", clients=5, limit_per_client=200, rounds=2, dp="example",
                                         noise_multiplier=1, optimizer="sgd", partition="iid"),
    "sweep of eight cells, logistic, five clients": dict(sweep="seed = [1, 2, 3, 4, 5, 6, 7, 8]", model="logistic", clients=5,
                                                         limit_per_client=400, rounds=10),
    "sweep of 200 tiny cells": dict(sweep=f"seed = {list(range(1, 201))}", model="logistic", clients=5, limit_per_client=20, rounds=1),
}


def start(program, folder, sweep=None, **settings):
    """Starts a run, or a sweep over `sweep`, the lines of a [sweep] table; with two threads, two cells run at a time."""
    words = command(program, "sweep" if sweep else "run", quiet=True, out=folder, **settings)
    if sweep:
        file = Path(f"{folder}.toml")
        file.write_text(f'[sweep]\n{sweep}\n')
        words[2:2] = [str(file), "--jobs", str(settings["threads"])]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measured(program, runs, **settings):
    """Returns the seconds that this many runs take at once, and the seconds of one run's rounds, 0 for a sweep."""
    with tempfile.TemporaryDirectory() as place:
        begun = time.perf_counter()
        for process in [start(program, Path(place, str(one)), **settings) for one in range(runs)]:
            if process.wait():
                raise SystemExit(f"the run failed: {' '.join(process.args)}")
        return time.perf_counter() - begun, sum(line["seconds"] for line in rounds_of(Path(place, "0")))


def main():
    program, folder, count = words(__doc__, 2, 5)
    for name, settings in WORKS.items():
        data = dict(data_dir=folder) if "dataset" in settings else {}
        runs, rounds, allowed = [], [], []
        for _ in range(count):
            one, one_rounds = measured(program, 1, threads=1, **settings, **data)
            two, two_rounds = measured(program, 1, threads=2, **settings, **data)
            both, _ = measured(program, 2, threads=1, **settings, **data)
            runs.append(one / two)
            if two_rounds:
                rounds.append(one_rounds / two_rounds)
            allowed.append(2 * one / both)
        print(f"{name}: whole {spread(runs, '.2f')}" + (f", rounds {spread(rounds, '.2f')}" if rounds else ""),
              f", allowed {spread(allowed, '.2f')}; {one:.1f} s", sep="", flush=True)


if __name__ == "__main__":
    main()
