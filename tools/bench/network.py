#!/usr/bin/env python3
"""What the network costs between processes of one machine.

    tools/bench/network.py PROGRAM rounds [--pairs 3] [--rounds 4] [--dataset cifar10]
                                                                    a networked round against an in-process one
    tools/bench/network.py PROGRAM clients [--clients 500] [--rounds 200] many clients: rounds, memory, descriptors

Needs nothing but Python 3. Runs go to a temporary folder.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from _measure import command, round_seconds, rounds_of, run, spread


def compare_rounds(program, arguments):
    """Compares pairs of consecutive runs, without the first round of each, which starts threads and processes."""
    ratios, hashes = [], set()
    for pair in range(arguments.pairs):
        seconds = {}
        for subcommand in ("run", "launch"):
            rounds, _ = run(program, subcommand, dataset=arguments.dataset, clients=5, partition="iid", model="adadp-cnn", optimizer="adadp",
                            rounds=arguments.rounds + 1, evaluate_every=arguments.rounds + 1)
            seconds[subcommand] = round_seconds(rounds[1:])
            hashes.add(rounds[-1]["model_hash"])
        ratios.append(seconds["launch"] / seconds["run"])
        print(f"pair {pair + 1}: in process {seconds['run']:.3f} s, networked {seconds['launch']:.3f} s a round, "
              f"ratio {ratios[-1]:.3f}")
    print(f"median ratio {spread(ratios)}; {'the same model every time' if len(hashes) == 1 else 'MODELS DIFFER'}")
    return 0 if len(hashes) == 1 else 1


def resident(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def many_clients(program, arguments):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        process = subprocess.Popen(command(program, "launch", dataset="synthetic", clients=arguments.clients, partition="iid",
                                           model="logistic", rounds=arguments.rounds, evaluate_every=arguments.rounds, optimizer="sgd",
                                           quiet=True, out=out))
        samples, began = [], time.monotonic()
        while process.poll() is None:
            time.sleep(1)
            try:
                samples.append((len(rounds_of(out)), resident(process.pid), len(os.listdir(f"/proc/{process.pid}/fd"))))
            except (FileNotFoundError, ProcessLookupError):
                break
        if process.wait() != 0:
            return 1
        lines = rounds_of(out)
        missing = sum(arguments.clients - len(line["clients"]) for line in lines)
        peak = json.loads((out / "summary.json").read_text())["peak_memory_bytes"]
        print(f"{arguments.clients} clients, {len(lines)} rounds in {time.monotonic() - began:.0f} s; updates missing: {missing}")
        print(f"first round (clients starting) {lines[0]['seconds']:.1f} s, then {round_seconds(lines[1:]):.2f} s")
        print(f"coordinator: peak {peak / 1e6:.0f} MB")
        for done, memory, descriptors in samples[:: max(1, len(samples) // 10)]:
            print(f"  after round {done}: {memory / 1e6:.0f} MB, {descriptors} descriptors")
        return 0 if missing == 0 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("what", choices=["rounds", "clients"])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--dataset", default="synthetic")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (4 if arguments.what == "rounds" else 200)
    return (compare_rounds if arguments.what == "rounds" else many_clients)(os.path.realpath(arguments.program), arguments)


if __name__ == "__main__":
    sys.exit(main())
