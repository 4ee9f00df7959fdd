"""Sweeps for the tests of fedstride_report: made of numbers, or those that an earlier program's tables are known of."""

import json
import pathlib
import tarfile

import pandas as pd
from fedstride_report.model import Cell, Sweep, read

KNOWN = pathlib.Path(__file__).parent / "known"
EXPERIMENT = {"name": "made", "file": "made.toml", "scale": "full", "command": "run", "title": "Made", "source": "", "claim": "", "note": "",
              "settings": {}, "axes": [], "conditions": [], "table": {"rows": [], "columns": []}, "target": None, "by": "rounds",
              "expectations": [], "figures": []}


def known_sweep(name, folder):
    """The sweep of known/NAME.tar.xz, read from the folder, in which its tables as they should be have the names NAME/TABLE.csv.
    The program of 28 November 2026 (commit 1b5fac2e) ran it and wrote these tables in C++."""
    with tarfile.open(KNOWN / f"{name}.tar.xz") as archive:
        archive.extractall(folder)
    task = json.loads((folder / name / "task.json").read_text())
    (told,) = task["sweeps"]
    told["folder"] = str(folder / name)
    for cell in told["cells"]:
        cell["folder"] = str(folder / name / "cells" / cell["key"])
    return read(told, task["fields"], task["defaults"])


def axis(key, *labels):
    return {"keys": [key], "labels": [[label] for label in labels], "settings": [key], "when": {}}


def cell(point, numbers=None, rounds=(), clients=(), **others):
    """A finished cell; its configuration is its point without the seed. rounds: dicts; clients: dicts with round and client."""
    others = {"configuration": "".join(key + value for key, value in point.items() if key != "seed"), "status": "finished"} | others
    return Cell(key="".join(key + value for key, value in point.items()), point=point, command="fedstride run", folder=pathlib.Path("none"),
                numbers=dict(numbers or {}), rounds=pd.DataFrame(list(rounds), index=range(1, len(rounds) + 1), dtype=float),
                clients=pd.DataFrame(list(clients)), round_hashes=[""] * len(rounds), **others)


def sweep(cells, folder="made", **experiment):
    """A sweep of these cells; the keywords replace parts of the experiment."""
    made = EXPERIMENT | {"tuning": {"keys": [], "on": "validation", "metric": "accuracy", "why": ""}} | experiment
    told = {"folder": str(folder), "is_run": False, "experiment": made, "machine": {}, "cells": []}
    return Sweep(told).conclude(cells)


def quantity(metric, where=None, pick="", **others):
    return {"metric": metric, "where": where or {}, "pick": pick, "pick_where": {}, "round": None, "client": None, "minus": [],
            "over": []} | others


def claim(value, relation, other, **others):
    return {"claim": "c", "value": value, "relation": relation, "other": other, "within": 0, "margin": 0, "scale": "full",
            "reason": ""} | others
