"""What a run releases moves by what is accounted: measured from the weights that a run publishes and from nothing else.

A second implementation of tests/sim/settings/neighbours_test.cpp, which works inside the program. Here the program is a black box, started in
each way it can be: alone, as a coordinator and its clients over TLS, and on ranks of MPI. Two neighbouring data sets with next to no
noise give two models; (first weights - last weights) x a public divisor is the released sum, and it may move by the sensitivity that
the statement is about. It needs the program and numpy, not the Python module.
"""

import json
import math
import os
import pathlib
import re
import struct
import subprocess

import numpy
import pytest
from conftest import PROGRAM, flags, names

FEATURES = 6
ROWS = 60
CLASSES = 4
SLACK = 2e-3  # of the clip: rounding of float weights, and noise of 1e-6
LAYERS = "dense 5 | relu | dense classes"
SHAPES = {"fc1.weight": (5, FEATURES), "fc1.bias": (5,), "fc2.weight": (CLASSES, 5), "fc2.bias": (CLASSES,)}
MPIRUN = os.environ.get("FEDSTRIDE_MPIRUN", "")
WAYS = ["run", "launch", pytest.param("mpi", marks=pytest.mark.skipif(not MPIRUN, reason="this build is without MPI"))]


# Tensors, in the files that the program reads and writes (https://github.com/huggingface/safetensors).


def read_tensors(path):
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    return {
        name: numpy.frombuffer(data[8 + length :][slice(*tensor["data_offsets"])], "<f4").astype(float)
        for name, tensor in header.items()
    }


def write_tensors(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        values = numpy.asarray(values, "<f4")
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def first_weights():
    """The last layer's are 0: rows alike with each label once then have gradients that cancel."""
    random = numpy.random.default_rng(1)
    tensors = {name: random.normal(0, 0.5, shape) for name, shape in SHAPES.items()}
    return {name: numpy.float32(values * (not name.startswith("fc2"))) for name, values in tensors.items()}


# Data: rows of (client, features, label).


def ordinary():
    random = numpy.random.default_rng(2)
    return [(row * 3 // ROWS, random.uniform(0, 255, FEATURES), row % CLASSES) for row in range(ROWS)]


EXTREME = numpy.array([math.nan, -1e30, 1e30, 1e9, -1e9, 255.0])


def replaced(rows):
    return [*rows[:3], (rows[3][0], EXTREME, 7), *rows[4:]]


def appended(rows):
    return [*rows, (rows[-1][0], EXTREME, 7)]


def rewritten(rows, client, value, label=None):
    """That client's inputs are all the same, and its labels, if one is named."""
    x = numpy.full(FEATURES, float(value))
    return [(k, x, y if label is None else label) if k == client else (k, x_before, y) for k, x_before, y in rows]


def without_effect(rows, client):
    """Inputs alike with each label equally often: their gradients cancel at the first weights."""
    return rewritten(rows, client, 100)


def extreme_client(rows, client, label):
    return rewritten(rows, client, 255, label)


# Runs.

COMMON = {
    "label": "label",
    "client-column": "who",
    "range": "0,255",
    "classes": CLASSES,
    "public-test": "true",
    "partition": "natural",
    "model": LAYERS,
    "optimizer": "sgd",
    "learning-rate": 1,
    "batch": 100,
    "rounds": 1,
    "threads": 1,
    "noise-multiplier": 1e-6,
}
EXAMPLE = {"dp": "example", "clip": 1, "sampling-rate": 1}
CLIENT = {"dp": "client", "clip": 0.1}
BOTH = {**EXAMPLE, "dp": "both", "client-clip": 0.1, "client-noise-multiplier": 1e-6}


NUMBERS = [f"x{i}" for i in range(FEATURES)]
WORDS = {"columns": ["x0", "x1", "city"], "categories": "city=Rome,Oslo", "missing": "indicator"}  # 2 numbers, 2 words, 2 gaps: 6 inputs


def fields(x, columns):
    """The fields of a row. Of the extreme record a number is missing, the other is out of range, and the word is none that is named."""
    if columns is NUMBERS:
        return [*map(repr, map(float, x))]
    city = "Rome" if x[2] < 128 else "Oslo" if x[2] < 256 else "Atlantis"
    return [*("" if math.isnan(one) else repr(float(one)) for one in x[:2]), city]


class Run:
    """One run of the program, by what it publishes."""

    def __init__(self, folder, rows, way="run", test=ordinary()[::20], columns=NUMBERS, **settings):
        self.folder = folder / "run"
        data = folder / "data"
        data.mkdir(parents=True)
        head = ",".join(["who", *columns, "label"])
        for name, part in (("train", rows), ("test", test)):
            lines = [",".join([f"c{client}", *fields(x, columns), str(label)]) for client, x, label in part]
            (data / f"{name}.csv").write_text("\n".join([head, *lines]) + "\n")
        self.first = first_weights()
        write_tensors(folder / "first.safetensors", self.first)
        words = [PROGRAM, "run", "--fleet=mpi"] if way == "mpi" else [PROGRAM, way]
        if way == "mpi":
            words = [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", "2", *words]
        own = {"clients": len({row[0] for row in rows}), "data": data, "init": folder / "first.safetensors", "out": self.folder}
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words += [*flags({**COMMON, **own, **settings}), "--quiet"]
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **root})
        assert done.returncode == 0, done.stderr
        self.last = read_tensors(self.folder / "model.safetensors")
        assert {name: len(values) for name, values in self.last.items()} == {name: math.prod(SHAPES[name]) for name in SHAPES}

    def moved(self, name):
        return self.first[name].ravel().astype(float) - self.last[name]

    def sum(self, divisor):
        """The released sum, of gradients or (the other way round) of updates."""
        return divisor * numpy.concatenate([self.moved(name) for name in sorted(SHAPES)])

    def trained(self):
        """The rows that clients hold."""
        last = (self.folder / "rounds.jsonl").read_text().splitlines()[-1]
        return sum(client["rows"] for client in json.loads(last)["clients"])

    def statements(self):
        audit = subprocess.run([PROGRAM, "privacy", "audit", str(self.folder), "--json"], check=True, capture_output=True, text=True)
        return json.loads(audit.stdout)["statements"]

    def divisor(self):
        """The public number that a round's sum was divided by, as the client level's statement says it."""
        return float(re.search(r"the sum of a round is divided by ([0-9.]+)", str(self.statements())).group(1))


@pytest.fixture
def run(tmp_path):
    count = iter(range(100))
    return lambda rows, *way, **settings: Run(tmp_path / str(next(count)), rows, *way, **settings)


def distance(one, other):
    return float(numpy.linalg.norm(one - other))


def check_moves(found, bound, clip=1.0):
    """No more than is accounted, and enough for the test to mean something."""
    assert found <= bound + SLACK * clip
    assert found > 0.3 * bound


# Every way of starting the program.


@pytest.mark.parametrize("way", WAYS)
def test_one_record(run, way):
    rows = ordinary()
    base = run(rows, way, **EXAMPLE).sum(len(rows))
    check_moves(distance(base, run(appended(rows), way, **EXAMPLE).sum(len(rows) + 1)), 1)
    check_moves(distance(base, run(replaced(rows), way, **EXAMPLE).sum(len(rows))), 2)


@pytest.mark.parametrize("way", WAYS)
def test_one_record_of_words_and_gaps(run, way):
    rows = ordinary()
    base = run(rows, way, **EXAMPLE, **WORDS).sum(len(rows))
    check_moves(distance(base, run(appended(rows), way, **EXAMPLE, **WORDS).sum(len(rows) + 1)), 1)
    check_moves(distance(base, run(replaced(rows), way, **EXAMPLE, **WORDS).sum(len(rows))), 2)


@pytest.mark.parametrize("way", WAYS)
def test_one_client(run, way):
    rows = ordinary()
    without = run(without_effect(rows, 1), way, **CLIENT)
    one = run(extreme_client(rows, 1, 0), way, **CLIENT).sum(without.divisor())
    other = run(extreme_client(rows, 1, 1), way, **CLIENT).sum(without.divisor())
    check_moves(distance(without.sum(without.divisor()), one), 0.1, 0.1)
    check_moves(distance(one, other), 0.2, 0.1)


def test_one_client_more(run):
    rows = ordinary()
    three, two = run(rows, **CLIENT), run([row for row in rows if row[0] < 2], **CLIENT)
    assert (three.divisor(), two.divisor()) == (3, 2)
    check_moves(distance(three.sum(3), two.sum(2)), 0.1, 0.1)


def test_rows_are_split_at_their_numbers(run):
    """A record more moves no other to another part; one less in the middle numbers the others anew, which the statement excludes."""
    rows = ordinary()
    base, more = run(rows, **EXAMPLE, **{"validation-fraction": 0.3}), run(appended(rows), **EXAMPLE, **{"validation-fraction": 0.3})
    check_moves(distance(base.sum(base.trained()), more.sum(more.trained())), 1)
    assert any("(add-remove neighbors)" in one for one in base.statements()[0]["assumptions"])


@pytest.mark.parametrize("rule", ["adaptive", "auto-s"])
def test_one_record_under_another_bound(run, rule):
    rows, settings = ordinary(), {**EXAMPLE, "clip-rule": rule, "clip": 0.5}
    base = run(rows, **settings).sum(len(rows))
    check_moves(distance(base, run(appended(rows), **settings).sum(len(rows) + 1)), 0.5, 0.5)
    check_moves(distance(base, run(replaced(rows), **settings).sum(len(rows))), 1, 0.5)


def test_updates_are_scaled_up_towards_the_bound(run):
    """A client's update is far shorter than 20, and yet it moves the sum by nearly that."""
    rows, settings = ordinary(), {**CLIENT, "clip-rule": "auto-s", "clip": 20}
    without = run(without_effect(rows, 1), **settings).sum(3)
    one, other = (run(extreme_client(rows, 1, label), **settings).sum(3) for label in (0, 1))
    check_moves(distance(without, one), 20, 20)
    check_moves(distance(one, other), 40, 20)
    assert distance(without, one) > 15


# Everything that travels beside the gradients.


def test_both_levels(run):
    rows = ordinary()
    without = run(without_effect(rows, 1), **BOTH)
    check_moves(distance(without.sum(3), run(extreme_client(rows, 1, 0), **BOTH).sum(3)), 0.1, 0.1)
    assert [one["level"] for one in without.statements()] == ["example", "client"]
    # Updates too short to be clipped: a client's is the mean of its 20 noisy gradients.
    wide = {**BOTH, "client-clip": 10}
    base = run(rows, **wide).sum(3 * 20)
    check_moves(distance(base, run(replaced(rows), **wide).sum(3 * 20)), 2)


@pytest.mark.parametrize("rate", [1, 0.5])
def test_scaffold_clips_model_and_control_together(run, rate):
    """After one step a client's control has changed by its model's change / rate (option two), so that this is what the model may
    have of the clip; clipped by itself it would have all."""
    rows = ordinary()
    settings = {**CLIENT, "local-objective": "scaffold", "learning-rate": rate}
    model = distance(*(run(some, **settings).sum(3) for some in (without_effect(rows, 1), extreme_client(rows, 1, 0))))
    both = math.hypot(model, model / rate)
    check_moves(both, 0.1, 0.1)
    assert both > 0.099


@pytest.mark.parametrize("personal", [{"personal": "ditto"}, {"personal": "fine-tune"},
                                      {"personal": "local-layers", "local-layers": "fc1"}], ids=lambda one: one["personal"])
@pytest.mark.parametrize("level", [EXAMPLE, CLIENT], ids=lambda one: one["dp"])
def test_personal_models_stay_with_their_clients(run, level, personal):
    rows = ordinary()
    settings = {**level, **personal}
    if level is CLIENT:
        base, other = run(without_effect(rows, 1), **settings), run(extreme_client(rows, 1, 0), **settings)
        check_moves(distance(base.sum(3), other.sum(3)), 0.1, 0.1)
    else:
        base, other = run(rows, **settings), run(replaced(rows), **settings)
        check_moves(distance(base.sum(60), other.sum(60)), 2)
    if "local-layers" in personal:
        assert not base.moved("fc1.weight").any() and not other.moved("fc1.bias").any()
    else:
        plain = run(extreme_client(rows, 1, 0) if level is CLIENT else replaced(rows), **level)
        assert distance(plain.sum(60), other.sum(60)) < 1e-4


@pytest.mark.parametrize("level", [EXAMPLE, CLIENT], ids=lambda one: one["dp"])
def test_frozen_layers_of_a_file(run, level):
    rows = ordinary()
    settings = {**level, "freeze": "fc1"}
    if level is CLIENT:
        base, other = run(without_effect(rows, 1), **settings), run(extreme_client(rows, 1, 0), **settings)
        check_moves(distance(base.sum(3), other.sum(3)), 0.1, 0.1)
    else:
        base, other = run(rows, **settings), run(appended(rows), **settings)
        check_moves(distance(base.sum(60), other.sum(61)), 1)
    assert not other.moved("fc1.weight").any() and not other.moved("fc1.bias").any()
    assert all(any("(init)" in said for said in one["assumptions"]) for one in base.statements())


def test_adadp_pays_for_its_two_gradients(run):
    """At a tiny rate both gradients are taken where the first is: (first - last) 2 / rate is their sum, and each moves by the clip."""
    rows = [(0, x, y) for _, x, y in ordinary()]
    rate = 1e-4
    settings = {**EXAMPLE, "optimizer": "adadp", "learning-rate": rate}
    base, more = run(rows, **settings), run(appended(rows), **settings)
    sums = [one.sum(2 * count / rate) for one, count in ((base, 60), (more, 61))]
    check_moves(distance(*sums), 2)
    (line,) = (base.folder / "rounds.jsonl").read_text().splitlines()
    (client,) = json.loads(line)["clients"]
    assert (client["steps"], client["releases"]) == (1, 2)
    # Two releases at full rate cost what two steps of SGD do.
    (statement,) = run(rows, **settings, **{"noise-multiplier": 2}).statements()
    question = {"sampling": "full", "noise-multiplier": 2, "steps": 2, "delta": 1e-5}
    asked = subprocess.run([PROGRAM, "privacy", "epsilon", *flags(question), "--json"], check=True, capture_output=True, text=True)
    assert statement["epsilon"] == pytest.approx(json.loads(asked.stdout)["epsilon"])


def test_who_attacks_is_no_neighbour_s_business(run):
    """With a client more another is drawn to attack: the sum moves by more than a clip, and add-remove is not promised."""
    rows = ordinary()
    settings = {**CLIENT, "attack": "sign-flip", "attackers": 1}
    three, two = run(rows, **settings), run([row for row in rows if row[0] < 2], **settings)
    assert distance(three.sum(3), two.sum(2)) > 0.15
    (statement,) = three.statements()
    assert any("(zero-out neighbors)" in one for one in statement["assumptions"])
    with pytest.raises(AssertionError, match="neighbours.*'add-remove'.*'sign-flip'"):
        run(rows, **settings, neighbours="add-remove")


# Accuracy on protected rows.

EVALUATE = {"public-test": "false", "evaluate": "private", "evaluate-noise": 1e-6, "learning-rate": 1e-6}


def released(run, test, records, **settings):
    """The released sum of vectors of norm 1, of models that have next to no loss on label 0 and a very large one on others."""
    one = run(ordinary(), test=test, **EVALUATE, **settings)
    summary = json.loads((one.folder / "summary.json").read_text())
    return records * numpy.array([2 * summary["test_accuracy"] - 1, 2 * summary["test_loss"] / 5 - 1]) / math.sqrt(2)


@pytest.mark.parametrize("level", [EXAMPLE, BOTH, CLIENT], ids=lambda one: one["dp"])
def test_private_evaluation(run, level, monkeypatch):
    """One test row moves it by one record at example level, also where a client is a record; a client's rows at client level."""
    certain = first_weights()
    certain["fc2.bias"][:] = [100, 0, 0, 0]
    monkeypatch.setitem(globals(), "first_weights", lambda: certain)
    right, wrong = [(client, numpy.full(FEATURES, 127.5), label) for client, label in ((0, 0), (0, 1))]
    others = [(1, right[1], 0), (2, right[1], 0)]
    by_client = level is not EXAMPLE
    base = released(run, [right, *others], 3, **level)
    more = released(run, [right, wrong, *others], 3 if by_client else 4, **level)
    other = released(run, [wrong, *others], 3, **level)
    assert distance(base, more) <= 1 + SLACK
    assert distance(base, more) > 0.9
    check_moves(distance(base, other), 2)


def test_protected_rows_of_a_publishable_run_are_not_evaluated(run):
    """A client's own test rows are rows that it would train on, whatever test part is public."""
    settings = {**CLIENT, "publishable": "true", "randomness": "secret", "noise-multiplier": 2}
    held_out, public = run(ordinary(), **settings, **{"client-test": 0.2}), run(ordinary(), **settings)

    def evaluate(one, *more):
        return subprocess.run([PROGRAM, "evaluate", str(one.folder), "--per-client", *more], capture_output=True, text=True)

    for done in (evaluate(held_out), evaluate(public, "--fine-tune", "1")):
        assert done.returncode == 2 and names(done.stderr, "publishable")
    assert evaluate(public).returncode == 0
    told = run(ordinary(), **CLIENT, **{"client-test": 0.2})
    assert "note: " in evaluate(told).stdout
    assert json.loads(evaluate(told, "--json").stdout)["not_covered"] is True
