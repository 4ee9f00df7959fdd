"""Data brought as arrays, data sets as arrays, partitions."""

import json
import pathlib

import numpy
import pytest
from conftest import SMALL, program, program_refuses, program_run, refused

import fedstride

RANDOM = numpy.random.default_rng(5)
TABLE = {"x": RANDOM.normal(size=(120, 6)).astype(numpy.float32), "y": RANDOM.integers(0, 3, 120),
         "x_test": RANDOM.normal(size=(30, 6)).astype(numpy.float32), "y_test": RANDOM.integers(0, 3, 30)}
PICTURES = {"x": RANDOM.integers(0, 256, (60, 3, 8, 8), numpy.uint8), "y": numpy.arange(60) % 4,
            "x_test": RANDOM.integers(0, 256, (20, 3, 8, 8), numpy.uint8), "y_test": numpy.arange(20) % 4}
OWN = {"model": "logistic", "clients": 3, "rounds": 2, "threads": 1, "partition": "dirichlet"}


def npz(folder, arrays):
    path = pathlib.Path(folder) / "data.npz"
    numpy.savez(path, **arrays)
    return path


CASES = {
    "a table": (TABLE, {}),
    "no test part": ({key: TABLE[key] for key in ("x", "y")}, {}),
    "pictures, channels first": (PICTURES, {}),
    "pictures, channels last": ({**PICTURES, "x": PICTURES["x"].transpose(0, 2, 3, 1).copy(),
                                 "x_test": PICTURES["x_test"].transpose(0, 2, 3, 1).copy()}, {}),
    "grey pictures": ({"x": PICTURES["x"][:, 0].copy(), "y": PICTURES["y"]}, {}),
    "255ths": ({"x": (PICTURES["x"] / 255).astype(numpy.float32), "y": PICTURES["y"]}, {}),
    "double precision": ({"x": TABLE["x"].astype(numpy.float64), "y": TABLE["y"].astype(numpy.uint8)}, {}),
    "half precision": ({"x": TABLE["x"].astype(numpy.float16), "y": TABLE["y"]}, {}),
    "words for classes, and clients": ({"x": TABLE["x"], "y": numpy.array(["ant", "bee", "cow"])[TABLE["y"]],
                                        "client": numpy.array(["äöü", "b"])[numpy.arange(120) % 2]},
                                       {"partition": "natural", "clients": 2}),
    "clients as numbers": ({**TABLE, "client": numpy.arange(120) % 3, "client_test": numpy.arange(30) % 3},
                           {"partition": "natural", "clients": 3}),
    "numbers to predict": ({"x": TABLE["x"], "y": TABLE["x"][:, :2] * 2}, {"partition": "iid", "model": "dense classes", "targets": "values"}),
    "tokens": ({"x": RANDOM.integers(0, 9, (90, 5)), "y": RANDOM.integers(0, 2, 90)}, {"model": "embedding 4 | last | dense classes"}),
    "a name of one's own": ({"x": TABLE["x"], "kind": TABLE["y"]}, {"label": "kind"}),
    "names of one's own": ({"train_rows": TABLE["x"], "train_kinds": TABLE["y"], "test_rows": TABLE["x_test"], "test_kinds": TABLE["y_test"]},
                           {"inputs": "rows", "label": "kinds"}),
    "labels as floats": ({"x": TABLE["x"], "y": TABLE["y"].astype(float)}, {}),
    "one-hot labels": ({"x": TABLE["x"], "y": numpy.eye(3, dtype=numpy.float32)[TABLE["y"]]}, {}),
    "missing values": ({"x": numpy.where(TABLE["x"] > 1, numpy.nan, TABLE["x"]), "y": TABLE["y"]}, {"missing": "indicator"}),
    "classes said": ({"x": TABLE["x"], "y": TABLE["y"], "classes": numpy.array(5)}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_arrays_are_the_run_of_their_file(tmp_path, name):
    arrays, settings = CASES[name]
    settings = {**OWN, **settings}
    theirs = program_run(tmp_path / "program", **settings, data=npz(tmp_path, arrays))
    ours = fedstride.run(**settings, data=arrays, out=tmp_path / "module")
    assert ours.summary["model_hash"] == theirs["model_hash"]
    assert ours.summary["data_hash"] == theirs["data_hash"]


def test_forms_of_data(tmp_path):
    def hash_of(data, name, **settings):
        return fedstride.run(**{**OWN, **settings}, data=data, out=tmp_path / name).summary["model_hash"]

    x, y = TABLE["x"], TABLE["y"]
    expected = hash_of({"x": x, "y": y}, "dict")
    assert hash_of((x, y), "pair") == expected
    assert hash_of((x, y, None), "none") == expected
    assert hash_of([numpy.asfortranarray(x), y[::1]], "fortran") == expected
    assert hash_of((x.astype(">f4"), y.astype(">i8")), "other byte order") == expected
    assert hash_of((numpy.repeat(x, 2, 0)[::2], numpy.repeat(y, 2)[::2]), "strides") == expected
    assert hash_of((x, y.tolist()), "a list of labels") == expected
    x.setflags(write=False)
    assert hash_of((x, y), "read-only") == expected
    x.setflags(write=True)
    assert hash_of(npz(tmp_path, {"x": x, "y": y}), "file") == expected
    torch = pytest.importorskip("torch")
    assert hash_of((torch.from_numpy(x), torch.from_numpy(y)), "torch") == expected


def test_bad_arrays_are_refused_by_name(tmp_path):
    x, y = TABLE["x"], TABLE["y"]
    holes = x.copy()
    holes[7, 2] = numpy.nan
    for data, *parts in (
        ((x, y[:100]), "'x'", "120", "'y'", "100"),
        ((x, y, y[:3]), "'x'", "120", "'client'", "3"),
        ((holes, y), "'x'", "example 7", "number 2", "missing", "missing="),
        ((x, numpy.full(120, numpy.inf)), "'y'"),
        ((x.astype(object), y), "'x'", "objects"),
        ((x.astype(complex), y), "'x'", "complex128"),
        ((x, numpy.array(["2020-01-01"] * 120, "datetime64[D]")), "'y'", "datetime64[D]"),
        ((x.astype(numpy.longdouble), y), "'x'", "float128"),
        ((numpy.float32(3), y), "'x'"),
        ((x[:0], y[:0]), "data", "training"),
        ((numpy.zeros((10, 0)), y[:10]), "'x'"),
        ((numpy.zeros((4, 2, 2, 2, 2)), y[:4]), "'x'", "4"),
        ({"x": x}, "'y'"),
        ({"y": y}, "'x'"),
        ({"x": x, "y": y, "z": y}, "'z'", "x", "y"),
        ({"x": x, "y": y, 3: y}, "data", "int"),
        ({**TABLE, "x_test": TABLE["x_test"][:, :5]}, "data"),
        ((x,), "data", "1", "(x, y)"),
        (7, "data", "int"),
        (([[1, 2], [3]], [0, 1]), "'x'", "list"),
        ((lambda: 0, y), "'x'", "objects"),
    ):
        with refused(fedstride.Error, *parts):
            fedstride.run(**OWN, data=data, out=tmp_path / "out")
    for key, value in (("dataset", "cifar10"), ("format", "npz"), ("augment", "flip-crop")):
        with refused(fedstride.UsageError, key, f"'{value}'"):
            fedstride.run(**{**OWN, key: value}, data=(x, y), out=tmp_path / "out")


def test_a_run_on_arrays_goes_on_with_the_same_arrays_alone(tmp_path):
    data = (TABLE["x"], TABLE["y"])
    settings = {**OWN, "optimizer": "adadp"}  # 'pooled' plans for a number of rounds
    fedstride.run(**settings, data=data, out=tmp_path / "out")
    whole = fedstride.run(**{**settings, "rounds": 4}, data=data, out=tmp_path / "whole")
    with refused(fedstride.UsageError, "arrays", "data="):
        fedstride.resume(tmp_path / "out", rounds=4)
    with refused(fedstride.Error, "data"):
        fedstride.resume(tmp_path / "out", rounds=4, data=(TABLE["x"] + 1, TABLE["y"]))
    assert fedstride.resume(tmp_path / "out", rounds=3, data=data).summary["rounds"] == 3
    # The file with the same arrays is the same data.
    run = fedstride.resume(tmp_path / "out", rounds=4, data=npz(tmp_path, {"x": data[0], "y": data[1]}))
    assert run.summary["model_hash"] == whole.summary["model_hash"]


def test_a_model_is_evaluated_on_arrays(tmp_path):
    run = fedstride.run(**OWN, data=TABLE, out=tmp_path / "out")
    assert run.evaluate(data=TABLE)["accuracy"] == run.summary["test_accuracy"]
    assert run.evaluate(data=TABLE, part="train")["examples"] == 120
    with refused(fedstride.UsageError, "per_client", "arrays"):
        run.evaluate(data=TABLE, per_client=True)


def peak():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def test_arrays_that_fit_are_not_copied(tmp_path):
    rows = 20_000
    pictures = numpy.zeros((rows, 3, 32, 32), numpy.uint8)
    pictures[:] = numpy.arange(rows, dtype=numpy.uint8)[:, None, None, None]
    numbers = numpy.full((rows, 1000), 0.3, numpy.float32)
    numbers += numpy.arange(rows, dtype=numpy.float32)[:, None]
    y = numpy.arange(rows) % 10
    for x in (pictures, numbers):
        data = {"x": x, "y": y, "x_test": x[:100], "y_test": y[:100]}
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        before = peak()
        fedstride.run(**{**OWN, "rounds": 1, "partition": "iid"}, limit_per_client=50, data=data, out=tmp_path / str(x.ndim))
        assert peak() - before < x.nbytes / 2


def test_poisoned_data_leave_the_arrays_alone(tmp_path):
    x = PICTURES["x"].copy()
    fedstride.run(**OWN, data={**PICTURES, "x": x}, attack="backdoor", attackers=1, out=tmp_path / "out")
    assert (x == PICTURES["x"]).all()


def data_types(data):
    return {str(value.dtype) for value in data.values() if isinstance(value, numpy.ndarray)}


def test_load_dataset():
    data = fedstride.load_dataset("synthetic")
    assert data["x"].shape == (10000, 3, 32, 32) and data["x"].dtype == numpy.uint8 and not data["x"].flags.writeable
    assert data["y"].shape == (10000,) and data["y_test"].shape == (2000,) and data["classes"] == 10
    x = data["x"]
    del data
    assert x[-1].max() > 0  # the memory is still there
    assert data_types(fedstride.load_dataset("synthetic")) <= {"uint8", "int64", "float32"}  # PyTorch takes no uint16
    natural = fedstride.load_dataset(SMALL["dataset"])
    assert natural["x"].dtype == numpy.float32 and natural["x"].shape[1] == 60
    assert set(natural["client"]) == set(range(5)) and len(natural["client_names"]) == 5
    held = fedstride.load_dataset(data=(TABLE["x"], TABLE["y"]))
    assert (held["x"] == TABLE["x"][held["rows"]]).all() and (held["x_test"] == TABLE["x"][held["rows_test"]]).all()
    assert len(held["rows"]) + len(held["rows_test"]) == 120 and 8 <= len(held["rows_test"]) <= 32  # about a sixth
    with refused(fedstride.UsageError, "dataset", "'cifra10'"):
        fedstride.load_dataset("cifra10")


def test_a_known_data_set_as_arrays_is_the_same_run(tmp_path):
    known = fedstride.run(**{**SMALL, "dataset": "synthetic", "partition": "pathological"}, out=tmp_path / "a")
    data = fedstride.load_dataset("synthetic")
    clients = fedstride.partition(dataset="synthetic")
    brought = {name: data[name] for name in ("x", "y", "x_test", "y_test")}
    again = fedstride.run(**{**SMALL, "dataset": "file", "partition": "pathological"}, data=brought, out=tmp_path / "b")
    assert sum(len(rows) for rows in clients) <= 10000 and again.summary["training_rows"] == known.summary["training_rows"]


@pytest.mark.parametrize("settings", [{"partition": "dirichlet", "alpha": 0.3, "clients": 7, "seed": 3}, {"limit_per_client": 20}])
def test_partition(tmp_path, settings):
    ours = fedstride.partition(dataset="synthetic", **settings)
    words = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    program("partition", "--dataset=synthetic", *words, "--manifest", tmp_path / "rows.json")
    theirs = json.loads((tmp_path / "rows.json").read_text())["clients"]
    assert [rows.tolist() for rows in ours] == theirs
    assert all(rows.dtype == numpy.uint32 for rows in ours)
    with pytest.raises(fedstride.UsageError) as raised:
        fedstride.partition(partition="dirichelt")
    assert str(raised.value).replace(", callable", "") == program_refuses("partition", "--partition=dirichelt")


def test_partition_of_arrays_has_their_row_numbers():
    x, y = TABLE["x"], TABLE["y"]
    clients = fedstride.partition(data=(x, y, numpy.arange(120) % 4), partition="natural")
    assert len(clients) == 4
    for client, rows in enumerate(clients):
        assert 15 <= len(rows) <= 29 and set(rows % 4) == {client}  # about five sixths of 30
