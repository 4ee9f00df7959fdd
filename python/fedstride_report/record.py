"""The record of a sweep's results, which is kept next to its experiment and is the source of figures and tables in documents."""

import json
import os
import time

from .comparison import metric_name
from .settings import fixed_settings
from .text import Failure


def day_of_record():
    """Today's date (UTC), or that of SOURCE_DATE_EPOCH (reproducible-builds.org) if set."""
    return time.strftime("%Y-%m-%d", time.gmtime(float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())))


def _line(entry):
    return "\n    " + json.dumps({key: None if value != value else value for key, value in entry.items()}, ensure_ascii=False,
                                 separators=(",", ":"))


def results_record(sweep):
    """The record as JSON, with one mean per line so that changes are readable as a diff: the tuning rule (what was tuned, on which
    rows, by which metric), settings, data with their status and hashes, machine, build and libraries, the day, and every mean over
    seeds after the last round with its 95 % interval. Raises Failure for an unfinished sweep, whose numbers would change."""
    for cell in sweep.cells:
        if cell.status != "finished":
            raise Failure(f"'{sweep.folder}' has a cell that is {cell.status} ({cell.command}); only finished sweeps are recorded")
    experiment, axes = sweep.experiment, {}
    for axis in experiment["axes"]:
        for i, key in enumerate(axis["keys"]):
            axes.setdefault(key, []).extend(labels[i] for labels in axis["labels"])
    tuning = experiment["tuning"]
    hashes = sorted({cell.text("data_hash") for cell in sweep.cells} - {""})
    record = {"format": "fedstride results 1", "experiment": experiment["name"], "title": experiment["title"],
              "scale": experiment["scale"], "day": day_of_record(),
              "rule": {"tuned": tuning["keys"], "on": tuning["on"], "metric": metric_name(tuning)},
              "settings": {one.key: one.value for one in fixed_settings(sweep) if not one.is_default}, "axes": axes,
              "data": {"sets": sweep.told["data"], "hashes": hashes}, "machine": sweep.machine,
              "claims": [{key: one[key] for key in ("claim", "status", "text")} for one in sweep.claims]}
    cells = [{"point": cell.point, "seconds": cell.number("seconds")} |
             ({"model_hash": cell.text("model_hash")} if cell.text("model_hash") else {}) for cell in sweep.cells]
    last = sweep.summary[sweep.summary["round"].isna() & sweep.summary["client"].isna()]
    values = [{"point": sweep.point_of[row.configuration], "metric": row.metric, "n": row.n, "mean": row.mean,
               "deviation": row.standard_deviation, "low": row.low, "high": row.high, "rank": row.rank} for row in last.itertuples()]
    text = json.dumps(record, indent=2, ensure_ascii=False).removesuffix("\n}")
    return f'{text},\n  "cells": [{",".join(map(_line, cells))}\n  ],\n  "values": [{",".join(map(_line, values))}\n  ]\n}}\n'
