#!/usr/bin/env python3
"""Compares fedstride and PyTorch on the same work, on one thread, in turn. Reports examples per second of processor time and the
ratio, as medians over pairs.

    tools/bench/compare.py build/release/fedstride                     (Debian: python3-torch; `--install` installs its BLAS)
    tools/bench/compare.py build/release/fedstride --rows 'logistic 10|adadp-cnn 10' --pairs 1 --seconds 0.3

The rows are single steps, whole rounds, and rounds under example-level privacy against vectorized per-example gradients. PyTorch
is Debian's, and also Debian unstable's if tools/bench/sid has made build/sid. It runs on every BLAS installed there with the kernels
that are fastest on this processor, with and without tcmalloc, each in its fastest setting (pytorch.py). The two that look fastest are
measured; the fastest of each Debian counts. A BLAS that multiplies 512x512 matrices at less than 0.6 of the core's peak is left out; if
none is left, there is no ratio.

The results file has machine, versions, date, command and each pair's numbers; it is written after every row.
"""
import argparse
import datetime
import json
import math
import os
import platform
import re
import resource
import shlex
import statistics
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import _peers
from _measure import run, spread

Row = namedtuple("Row", "work name batch optimizer")
STEPS = ("adadp-cnn", "pfl-cnn", "femnist-cnn", "resnet20", "resnet20-gn", "resnet8-gn", "adadp-mlp", "logistic", "leaf-lstm", "small-transformer")
ROUNDS = ("adadp-cnn sgd", "adadp-cnn adadp", "logistic private", "adadp-mlp private", "adadp-cnn private", "resnet8-gn private")
CLIENTS, ROWS = 5, 100  # clients per round, rows per client


def rows_of(batches, pattern):
    rows = [Row("step", name, batch, "sgd") for name in STEPS for batch in batches]
    rows += [Row("round", name, batch, optimizer) for name, optimizer in map(str.split, ROUNDS) for batch in batches]
    return [row for row in rows if re.search(pattern, title(row))]


def title(row):
    return f"{row.work} {row.name} {row.batch} {row.optimizer}"


def fedstride_step(program, row, seconds):
    return _peers.bench(program, row.name, row.batch, seconds)["steps"][0]["examples_per_second"]


def processor_seconds(program, row, rounds):
    """Returns the processor seconds of a run, including start and final evaluation, and the lines of its rounds."""
    private = dict(dp="example", noise_multiplier=1, clip=1) if row.optimizer == "private" else {}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines, _ = run(program, dataset="synthetic", model=row.name, optimizer="adadp" if row.optimizer == "adadp" else "sgd",
                   learning_rate=0.01, partition="iid", clients=CLIENTS, limit_per_client=ROWS, batch=row.batch, threads=1,
                   rounds=rounds, evaluate_every=1000000, **private)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, lines


def fedstride_round(program, row, seconds):
    """Returns the examples per second of all rounds but the first, with checkpoints: from a long run minus a run of one round."""
    once, lines = processor_seconds(program, row, 1)
    more = math.ceil(max(2, 2 * seconds / lines[0]["seconds"]))
    while True:
        all_seconds, lines = processor_seconds(program, row, 1 + more)
        if all_seconds - once >= seconds:
            return sum(line["examples"] for line in lines[1:]) / (all_seconds - once)
        # On a busy machine, a start can cost more than a few rounds; the difference would then say nothing.
        more *= 4


def ask_time(peer, row, seconds, setting, quick=False):
    """Returns PyTorch's seconds per example, or None if it lacks the setting for this model."""
    round_of = {"clients": 1 if quick else CLIENTS, "rows": ROWS} if row.work == "round" else {}
    return peer.ask(**row._asdict(), **round_of, seconds=seconds / 8 if quick else seconds, setting=setting, quick=quick)


def settings_in_words(setting):
    return " ".join(name if value is True else str(value) for name, value in setting.items() if value) or "plain"


def fastest_setting(peer, row, seconds):
    """Returns the seconds per example of the fastest setting in short tests, repeated for the three fastest, and this setting; None if
    this PyTorch cannot do the work."""
    def look(setting):
        return ask_time(peer, row, seconds, setting, quick=True)
    looks = [(look(setting), setting) for setting in peer.ask(work="settings", name=row.name, optimizer=row.optimizer)]
    best = sorted((each for each in looks if each[0] is not None), key=lambda each: each[0])[:3]
    return min(((min(took, look(setting)), setting) for took, setting in best), key=lambda each: each[0], default=(None, None))


def measured(program, peers, row, pairs, seconds):
    """Returns a row of the results. In each system, the fastest of the two peers that look fastest counts."""
    looks = [(*fastest_setting(peer, row, seconds), peer) for peer in peers]
    looks = sorted((each for each in looks if each[1] is not None), key=lambda each: each[0])
    found = [(peer, setting) for system in dict.fromkeys(peer.about["system"] for peer in peers)
             for _, setting, peer in [each for each in looks if each[2].about["system"] == system][:2]]
    ours = []
    theirs = [{"system": peer.about["system"], "pytorch": peer.about["pytorch"], "blas": peer.about["package"] or peer.about["blas"],
               "environment": peer.about.get("environment", {}), "setting": settings_in_words(setting), "examples_per_second": []} for peer, setting in found]
    for _ in range(pairs):
        ours.append((fedstride_step if row.work == "step" else fedstride_round)(program, row, seconds))
        for (peer, setting), each in zip(found, theirs):
            each["examples_per_second"].append(1 / ask_time(peer, row, seconds, setting))
    for each in theirs:
        each["ratios"] = [a / b for a, b in zip(ours, each["examples_per_second"])]
        each["counts"] = each is max((other for other in theirs if other["system"] == each["system"]), key=median_speed)
    return {**row._asdict(), "fedstride": ours, "peers": theirs}


def median_speed(peer):
    return statistics.median(peer["examples_per_second"])


def in_words(row):
    words = f"{title(Row(*(row[key] for key in Row._fields))):30} fedstride {statistics.median(row['fedstride']):8.0f} examples/s"
    for peer in row["peers"]:
        words += (f"\n    {'ratio' if peer['counts'] else 'slower:'} {spread(peer['ratios'], '.2f')} to {median_speed(peer):.0f} "
                  f"of PyTorch {peer['pytorch']}, {' '.join([peer['blas'], *peer['environment'].values()])}, {peer['setting']}")
    return words


def counting(row):
    """Returns the peer that counts in each system, in the order of the systems' names."""
    return {peer["system"]: peer for peer in sorted(row["peers"], key=lambda peer: peer["system"]) if peer["counts"]}


def table(results):
    """Returns a results file as lines of Markdown: for each kind of work, medians and ranges of the ratios."""
    rows = results["rows"]
    batches = list(dict.fromkeys(row["batch"] for row in rows))
    versions = {system: peer["pytorch"].split("+")[0] for row in rows for system, peer in counting(row).items()}
    found = {(row["work"], row["name"], row["optimizer"], row["batch"]): counting(row) for row in rows}
    heads = [f"{batch}: PyTorch {versions[system]}" for batch in batches for system in sorted(versions)]
    lines = ["| work | " + " | ".join(heads) + " |", "|---" * (1 + len(heads)) + "|"]
    for kind in dict.fromkeys(key[:3] for key in found):
        cells = [spread(peer["ratios"], ".2f").replace(" to ", "–") if (peer := found.get((*kind, batch), {}).get(system)) else ""
                 for batch in batches for system in sorted(versions)]
        lines.append(f"| {kind[0]}, `{kind[1]}`, {kind[2]} | " + " | ".join(cells) + " |")
    return lines


def machine():
    lines = dict(re.findall(r"^([^\t:]+)\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE))
    return {"processor": f"{lines.get('model name', platform.machine())} (family {lines.get('cpu family')}, model {lines.get('model')})",
            "cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0], "kernel": platform.release()}


def head(program, peak, peers, fast):
    bench = _peers.bench(program, "logistic", 10, 0.01)
    return {"format": 1, "date": datetime.date.today().isoformat(), "command": shlex.join(sys.argv), "machine": machine(),
            "fedstride": {key: bench[key] for key in ("version", "compiler", "instruction_set")}
            | {"build": subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()},
            "peak_flops_per_second": peak,
            "peers": [{**peer.about, "share_of_peak": peer.flops / peak, "compared": peer in fast} for peer in peers], "rows": []}


def minutes(rows, peers, systems, pairs, seconds):
    """Estimates the minutes on an idle machine: PyTorch takes a second or more per round and is timed for at least three."""
    looks = peers * 11 * (seconds / 8 + 0.1)
    steps = sum(row.work == "step" for row in rows)
    rounds = len(rows) - steps
    step_seconds = looks + pairs * seconds * 1.3 * (1 + 2 * systems)
    round_seconds = 2 * looks + pairs * (4 * seconds + 2 * systems * 5)
    return (steps * step_seconds + rounds * round_seconds) / 60


def main(words=None, make_peers=_peers.all_peers):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default="build/release/fedstride")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="processor time of each measurement")
    parser.add_argument("--batches", type=int, nargs="+", default=[10, 50])
    parser.add_argument("--rows", default="", metavar="PATTERN", help="of the rows that --estimate lists, those that match")
    parser.add_argument("--results", type=Path, default=_peers.ROOT / "build" / "compare.json")
    parser.add_argument("--avx2", action="store_true", help="keep the peers to AVX2, for a program built for it (the preset x86-64-v3)")
    parser.add_argument("--table", action="store_true", help="print the results file as a table; measure nothing")
    parser.add_argument("--estimate", action="store_true", help="list the rows and the minutes that they take; measure nothing")
    parser.add_argument("--install", action="store_true",
                        help="first install the libraries of tools/packages' group 'bench', which NumPy and others then use too")
    given = parser.parse_args(words)
    if given.table:
        print("\n".join(table(json.loads(given.results.read_text()))))
        return
    rows = rows_of(given.batches, given.rows)
    if not rows:
        parser.error(f"no row matches '{given.rows}'; --estimate lists them")
    if given.install:
        script = f". {shlex.quote(str(_peers.ROOT / 'tools' / 'setup.sh'))}; program=compare.py; begin; need_packages bench"
        if subprocess.run(["bash", "-c", script]).returncode:
            sys.exit(1)
    if given.estimate:
        systems = 1 + (_peers.SID / "made").exists()
        for row in rows:
            print(title(row))
        print(f"{len(rows)} rows, about {minutes(rows, 6 * systems, 2 * systems, given.pairs, given.seconds):.0f} minutes on an idle machine")
        return
    # On a busy core, the measured peak fluctuates like the products, so both are the best of several.
    peak = max(_peers.measured_peak(given.program) for _ in range(5))
    peers = make_peers(peak, given.avx2)
    fast = _peers.fast_enough(peers, peak)
    results = head(given.program, peak, peers, fast)
    print(f"{results['date']}, {results['machine']['processor']}, peak {1e-9 * peak:.0f} GFLOP/s of fp32 a core; "
          f"fedstride {results['fedstride']['build']}")
    for peer in peers:
        print(f"{peer.about['system']}: {_peers.in_words(peer)}{'' if peer in fast else ': too slow, left out'}")
    if results["machine"]["load"] > 0.5:
        print(f"the machine is busy (load {results['machine']['load']:.1f}): ratios are indicative")
    for row in rows:
        results["rows"].append(measured(given.program, fast, row, given.pairs, given.seconds))
        print(in_words(results["rows"][-1]), flush=True)
        given.results.write_text(json.dumps(results, indent=1) + "\n")
    for peer in peers:
        peer.end()
    print(f"medians of {given.pairs} pairs, spans in brackets; all numbers in {given.results}")


if __name__ == "__main__":
    main()
