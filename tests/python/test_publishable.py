"""Every number that a publishable run leaves is computed again by a program of its own (published.py), and is the same for neighbouring
data sets where it is called public."""

import copy
import re

import numpy as np
import pytest

import own_accountant
import published
from conftest import PROGRAM, SOURCE, program

COMMON = {"model": "dense 8 | relu | dense classes", "batch": 6, "classes": 3, "publishable": True, "randomness": "secret", "threads": 1}
SGD = {"optimizer": "sgd", "learning-rate": 0.1}
EXAMPLE = {"dp": "example", "noise-multiplier": 1.2, "clip": 0.5}
CLIENT = {"dp": "client", "noise-multiplier": 1.5, "clip": 0.2}
NAMED = {"mean": "0.67", "deviation": "1.2", "public-test": True}
TABLE = {**COMMON, **NAMED, "header": "no", "clients": 3, "partition": "iid"}
NATURAL = {**COMMON, "partition": "natural", "range": "-3,5"}
PRIVATE = {"evaluate": "private", "evaluate-noise": 0.4, "normalize": "private", "normalize-noise": 1.0}

# name -> data, settings, neighbours of each level, rounds
RUNS = {
    "example": ("table", {**TABLE, **SGD, **EXAMPLE}, {"example": "zero-out"}, 3),
    "budget": ("table", {**TABLE, **SGD, **EXAMPLE, "epsilon": 2.2}, {"example": "zero-out"}, 9),
    "shuffle": ("table", {**TABLE, **SGD, **EXAMPLE, "sampling": "shuffle"}, {"example": "zero-out"}, 2),
    "fixed-lots": ("table", {**TABLE, **SGD, **EXAMPLE, "noise-multiplier": 4.0, "sampling": "without-replacement"}, {"example": "replace-one"}, 2),
    "replaced": ("table", {**TABLE, **SGD, **EXAMPLE, "neighbours": "replace-one", "local-epochs": 2}, {"example": "replace-one"}, 2),
    "whole": ("table", {**TABLE, **SGD, **EXAMPLE, "noise-multiplier": 8.0, "sampling-rate": 1.0, "evaluate-rows": 20}, {"example": "zero-out"}, 2),
    "fitted": ("table", {**TABLE, **SGD, **EXAMPLE, "noise-multiplier": 0.0, "epsilon": 3.0}, {"example": "zero-out"}, 1),
    "cohort": ("held-out", {**NATURAL, **EXAMPLE, "optimizer": "adadp", "cohort": "poisson", "cohort-rate": 0.6}, {"example": "add-remove"}, 3),
    "private": ("held-out", {**NATURAL, **SGD, **EXAMPLE, **PRIVATE, "evaluate-every": 2}, {"example": "add-remove"}, 3),
    "private-budget": ("held-out", {**NATURAL, **SGD, **EXAMPLE, **PRIVATE, "evaluate-noise": 2.0, "normalize-noise": 3.0, "evaluate-every": 2,
                                    "epsilon": 5.0}, {"example": "add-remove"}, 9),
    "numbers": ("numbers", {**TABLE, **SGD, **EXAMPLE, "targets": "values", "classes": 0}, {"example": "zero-out"}, 2),
    "client": ("tested", {**NATURAL, **SGD, **CLIENT, "public-test": True, "weights": "examples", "client-noise": "discrete"}, {"client": "add-remove"}, 3),
    "hidden": ("table", {**TABLE, **SGD, **CLIENT, "cohort": "poisson", "cohort-rate": 0.5, "epsilon": 4.0}, {"client": "add-remove"}, 9),
    "local": ("table", {**TABLE, **SGD, **CLIENT, "client-noise": "local"}, {"client": "replace-one"}, 2),
    "private-client": ("tested", {**NATURAL, **SGD, **CLIENT, **PRIVATE, "evaluate-noise": 0.05}, {"client": "add-remove"}, 2),
    "both": ("table", {**TABLE, "optimizer": "adadp", "dp": "both", "noise-multiplier": 2.0, "clip": 0.5, "client-noise-multiplier": 3.0,
                       "client-clip": 0.3, "cohort": "poisson", "cohort-rate": 0.5}, {"example": "zero-out", "client": "add-remove"}, 3),
}


def rows(count, seed):
    random = np.random.default_rng(seed)
    y = np.arange(count) % 3
    return (random.normal(size=(count, 3)) * 0.7 + 2 * np.eye(3)[y]).astype(np.float32), y


def extreme(x, y, which):
    """The rows' places taken by others as unlike them as can be."""
    x, y = x.copy(), y.copy()
    x[which] = np.array([np.nan, 1e30, -1e30], np.float32)
    y[which] = 7 if y.dtype.kind == "i" else 1e30
    return x, y


def write_table(path, x, y):
    path.write_text("".join(",".join(map(str, row)) + f",{label}\n" for row, label in zip(x.tolist(), y)))


def write_data(kind, folder, neighbour):
    """The file that is named, and its training and test rows; of a neighbour: an "example", a "client" or a row of the "test" part is
    another."""
    folder.mkdir()
    if kind in ("table", "numbers"):
        (x, y), tests = rows(180, 1), rows(60, 2)
        if kind == "numbers":
            y, tests = x.sum(1) / 2, (tests[0], tests[0].sum(1) / 2)
        # Who holds which rows of these is dealt by their number, so that the client to be replaced cannot be named here: example 3 is.
        changed = extreme(x, y, [3]) if neighbour else (x, y)
        write_table(folder / "train.csv", *changed)
        write_table(folder / "test.csv", *tests)
        return folder, published.Rows(*changed, np.arange(180) % 3), published.Rows(*tests, np.zeros(60, int))
    x, y = rows(120, 3)
    client = np.repeat([0, 1, 2], [60, 40, 20])
    test = published.held_out(client)
    if neighbour:
        x, y = extreme(x, y, client == 1 if neighbour == "client" else np.flatnonzero(test == (neighbour == "test"))[7])
    arrays = {"x": x, "y": y, "client": client}
    file = folder / "data.npz"
    if kind == "tested":
        tests = rows(45, 4)
        of = np.repeat([0, 1, 2], [20, 15, 10])
        np.savez(file, **arrays, x_test=tests[0], y_test=tests[1], client_test=of)
        return file, published.Rows(x, y, client), published.Rows(*tests, of)
    np.savez(file, **arrays)
    part = lambda chosen: published.Rows(x[chosen], y[chosen], client[chosen])
    return file, part(~test), part(test)


def facts_of(data, settings, neighbours):
    constants = ["classes 3 (named)"] if settings["classes"] else []
    if "range" in settings:
        low, high = map(float, settings["range"].split(","))
        middle, half = (published.number_text(number) for number in ((low + high) / 2, (high - low) / 2))
        constants.append(f"mean {','.join([middle] * 3)}, deviation {','.join([half] * 3)} (of the range {settings['range']}, named)")
    else:
        constants.append(f"mean {','.join([settings['mean']] * 3)}, deviation {','.join([settings['deviation']] * 3)} (named)")
    numerics = re.search(r"kNumericsVersion = (\d+)", (SOURCE / "core/build_info.hpp").read_text()).group(1)
    return published.Facts(data[1], data[2], constants, neighbours, program("--version").strip(), int(numerics))


def run_of(name, folder, neighbour=""):
    """The run, a round at a time, so that every round's model is seen; its settings, facts and models."""
    kind, settings, neighbours, rounds = RUNS[name]
    folder.mkdir()
    data = write_data(kind, folder / "data", neighbour)
    given = {**settings, "data": str(data[0])}
    stages = {}
    for done in range(1, rounds + 1):
        if done == 1:
            words = [f"--{key}" if value is True else f"--{key}={value}" for key, value in given.items()]
            program("run", *words, "--rounds=1", "--out", folder / "run", "--quiet")
        else:
            program("run", "--resume", folder / "run", f"--rounds={done}", "--quiet")
        stages[done] = published.read_model(folder / "run")
        summary = published.read_results(folder / "run")[1]
        if "halted" in summary:
            break
    return folder / "run", given, facts_of(data, settings, neighbours), stages


def leaves(tree, path=()):
    if isinstance(tree, (dict, list)):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(value, (*path, key))
    else:
        yield path, tree


def altered(tree, path, value):
    tree = copy.deepcopy(tree)
    inner = tree
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = not value if isinstance(value, bool) else 1 if value is None else value + "7" if isinstance(value, str) else 1.5 * value + 10
    return tree


@pytest.mark.parametrize("name", RUNS)
def test_every_field_follows(name, tmp_path):
    run, given, facts, stages = run_of(name, tmp_path / "one")
    public = published.check_run(run, given, facts, stages)

    # What this program says of a field, it says of no other value: none is passed over.
    lines, summary = published.read_results(run)
    for path, value in leaves([lines, summary]):
        if path[-1] == "learning_rate" and given["optimizer"] == "adadp":
            continue  # a function of noisy gradients that are kept nowhere
        with pytest.raises((AssertionError, KeyError)):
            published.check_run(run, given, facts, stages, altered([lines, summary], path, value))
    for extra in ([[{**lines[0], "train_loss": 1.0}, *lines[1:]], summary], [lines, {**summary, "notes": []}]):
        with pytest.raises(AssertionError, match="nothing here says why it may"):
            published.check_run(run, given, facts, stages, extra)

    # Neighbours, and the same public fields.
    for neighbour in ["client"] if given["dp"] == "client" else ["example", "test"] if RUNS[name][0] == "held-out" else ["example"]:
        other, given, facts, stages = run_of(name, tmp_path / neighbour, neighbour)
        assert published.check_run(other, given, facts, stages) == public


def test_the_accountant_of_this_file_knows_known_answers():
    # Balle & Wang's own check: delta of N(0, 1) against N(mu, 1) at epsilon 0 is the total variation.
    assert own_accountant.gaussian_delta(1.0, 0.0) == pytest.approx(2 * own_accountant.normal_cdf(0.5) - 1)
    # Losses on a grid against the closed form: a release at a rate next to 1, and full ones.
    exact, _ = own_accountant.interval((("full", "zero-out", 1, 2.0, 4),), 1e-5)
    for neighbours, noise in (("zero-out", 2.0), ("replace-one", 4.0)):
        low, high = own_accountant.interval((("poisson", neighbours, 1 - 1e-9, noise, 4),), 1e-5)
        assert low <= exact <= high and high - low < 5e-3
    # More noise, a smaller rate and fewer releases cost less.
    low, _ = own_accountant.interval((("poisson", "zero-out", 0.1, 1.2, 20),), 1e-5)
    for release in (("poisson", "zero-out", 0.1, 1.3, 20), ("poisson", "zero-out", 0.09, 1.2, 20), ("poisson", "zero-out", 0.1, 1.2, 18)):
        assert own_accountant.interval((release,), 1e-5)[1] < low
