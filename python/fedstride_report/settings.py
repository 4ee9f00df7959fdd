"""The settings that cells share or that tell methods apart, and runs joined as the cells of one sweep."""

from collections import Counter, namedtuple

from .comparison import method_table
from .labels import number_of
from .model import Sweep
from .text import counted

FixedSetting = namedtuple("FixedSetting", "key value is_default")
FixedSetting.__doc__ = """A nonempty setting that all cells share; is_default: as the program or the chosen part has it."""
MAX_KEYS_OF_RUNS = 3


def varying_keys(settings):
    """The keys whose values differ between these settings; a missing one is ""."""
    return {key for own in settings for key in own if len({one.get(key, "") for one in settings}) > 1}


def fixed_settings(sweep):
    """The FixedSettings, by name; for commands other than run, the experiment file's settings. Examines only the configurations
    whose settings the task has."""
    own = [told["settings"] for told in sweep.told["cells"] if told.get("settings")]
    if sweep.experiment["command"] != "run" or not own:
        return [FixedSetting(key, value, False) for key, value in sorted(sweep.experiment["settings"].items()) if value]
    shared = {key: value for key, value in own[0].items() if all(one.get(key) == value for one in own) and value}
    if len({cell.value("seed") for cell in sweep.cells}) > 1:
        shared.pop("seed", None)
    # Also the defaults of the parts that the first cell chose.
    defaults = sweep.defaults | next(told["defaults"] for told in sweep.told["cells"] if told.get("settings"))
    return [FixedSetting(key, value, defaults.get(key) == value) for key, value in sorted(shared.items())]


_PIECES = ("optimizer", "local-objective", "aggregation", "server-optimizer")  # of a method, which its table always shows


def settings_of_methods(sweep):
    """What the methods and conditions of a sweep resolve to: tables of values of axes that a reader would otherwise know by their
    names alone, with the settings that differ between them and the pieces of the algorithm. A table is a list of rows."""
    table = method_table(sweep)
    settings_of = {told["configuration"]: told["settings"] for told in sweep.told["cells"] if told.get("settings")}
    cells = [seeds[0] for column in table.seeds for seeds in column if seeds and seeds[0].configuration in settings_of]
    if sweep.experiment["command"] != "run" or not cells:
        return []
    settings = [settings_of[cell.configuration] for cell in cells]
    varying = varying_keys(settings) - {"seed", *sweep.experiment["tuning"]["keys"]}
    tables = []
    for axes in (table.method_keys, table.condition_keys):
        of_values = {}
        for cell, own in zip(cells, settings):
            of_values.setdefault(tuple(cell.value(axis) for axis in axes), []).append(own)
        if all(number_of(text) is not None for values in of_values for text in values if text):
            continue  # numbers say what they are
        # The settings that are functions of these axes alone.
        keys = [key for key in sorted(varying) if all(len({own.get(key, "") for own in some}) == 1 for some in of_values.values())]
        pieces = [key for key in _PIECES if key not in keys] if axes is table.method_keys else []
        shown = [key for key in pieces if len({own.get(key) for own in settings}) == 1] + [key for key in keys if key not in axes]
        if shown:
            lines = [[*axes, *shown], *([*values, *(some[0].get(key, "") for key in shown)] for values, some in of_values.items())]
            tables.append(lines if len(lines) >= len(lines[0]) else [list(line) for line in zip(*lines)])  # the longer side goes down
    return tables


def _names_of(runs):
    """The folders' names, or paths for folders that share a name; numbered if a folder is given more than once."""
    counts, used, names = Counter(run.experiment["name"] for run in runs), Counter(), []
    for run in runs:
        name = run.experiment["name"] if counts[run.experiment["name"]] == 1 else str(run.folder)
        used[name] += 1
        names.append(name if used[name] == 1 else f"{name} ({used[name]})")
    return names


def joined_runs(runs):
    """Several runs as the cells of one Sweep, so that figures compare them. The settings that differ are the axes; runs that differ
    only in the seed are averaged. If more than MAX_KEYS_OF_RUNS settings differ, or two runs have the same settings and seed, the
    only axis is "run", with the folders' names."""
    tolds = [run.told["cells"][0] for run in runs]
    settings = [told["settings"] for told in tolds]
    differing = varying_keys(settings)
    # If the parts themselves differ, their default settings add no information.
    differing = {key for key in differing if any(key in own and told["defaults"].get(key) != own[key] for own, told in zip(settings, tolds))}
    has_seeds = "seed" in differing
    keys = sorted(differing - {"seed"})
    points = [tuple(own.get(key, "") for key in keys) for own in settings]
    by_settings = len(keys) <= MAX_KEYS_OF_RUNS and len(set(zip(points, (own.get("seed") for own in settings)))) == len(runs)
    if not by_settings:
        keys, points = ["run"], [(name,) for name in _names_of(runs)]
    cells = []
    for told, values in zip(tolds, points):
        point = {key: value for key, value in zip(keys, values) if value}
        seed = {"seed": told["settings"]["seed"]} if has_seeds and by_settings else {}
        cells.append(told | {"point": point | seed, "configuration": "\0".join(f"{key}\0{value}" for key, value in point.items())})
    axes = [{"keys": [key], "labels": [[value] for value in dict.fromkeys(one["point"][key] for one in cells if key in one["point"])],
             "settings": [], "when": {}} for key in keys + ["seed"] * (has_seeds and by_settings)]
    first = runs[0].told["experiment"]
    experiment = first | {"name": "runs", "file": "", "title": counted(len(runs), "run"), "axes": axes, "settings": {},
                          "note": " ".join(run.experiment["note"] for run in runs if run.experiment["note"])}
    told = runs[0].told | {"folder": "", "is_run": False, "experiment": experiment, "machine": {}, "cells": cells}
    return Sweep(told, runs[0].fields, runs[0].defaults).read()
