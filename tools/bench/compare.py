#!/usr/bin/env python3
"""fedstride and PyTorch on the same work, one thread, in turn: examples a second and the ratio, as medians over pairs.

    /usr/bin/python3 tools/bench/compare.py build/release/fedstride [PAIRS]      (Debian: python3-torch)
"""
import re
import statistics
import subprocess
import sys
from pathlib import Path

from _measure import spread, words

NAMES = {"adadp-cnn": "adadp-cnn", "pfl-cnn": "pfl-cnn", "874-parameter MLP": "tiny-mlp", "resnet20-gn": "resnet20-gn",
         "femnist-cnn": "femnist-cnn", "leaf-lstm": "leaf-lstm", "small-transformer": "small-transformer"}


def printed(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    program, pairs = words(__doc__, 1, 3)
    ours, theirs, peaks = {}, {}, []
    for _ in range(pairs):
        text = printed(program, "bench", "--seconds", "3")
        peaks.append(float(re.search(r"peak ([\d.]+) GFLOP/s", text)[1]))
        for name in NAMES:
            speed = re.search(re.escape(name) + r"\s+batch \d+:\s+([\d.]+) examples/s", text)[1]
            ours.setdefault(name, []).append(float(speed))
        text = printed(sys.executable, str(Path(__file__).parent / "pytorch.py"), "--seconds", "1.5")
        for name, other in NAMES.items():
            theirs.setdefault(name, []).append(float(re.search(other + r": ([\d.]+) examples/s", text)[1]))
    print(f"measured fp32 peak of one core: {statistics.median(peaks):.0f} GFLOP/s; batch 10, resnet20-gn 32, femnist-cnn 20; medians of {pairs} pairs")
    for name in NAMES:
        print(f"{name:18} fedstride {statistics.median(ours[name]):9.0f} examples/s   PyTorch {statistics.median(theirs[name]):9.0f}"
              f"   ratio {spread([a / b for a, b in zip(ours[name], theirs[name])], '.1f')}")


if __name__ == "__main__":
    main()
