"""A run keeps the schema of its data, and other data are read through it: by name, never by position, with its constants."""

import csv
import json

import h5py
import numpy
import pytest
from conftest import refused

import fedstride

RANDOM = numpy.random.default_rng(11)
KINDS = numpy.array(["cat", "dog", "emu"])
CENTERS = numpy.array([[3.0, 0, 10], [-3, 1, 40], [0, -4, 70]])
NAMES = ["a", "b", "c"]


def rows(count, seed, shift=0.0):
    """(inputs, numbers of classes): easy to tell apart where columns and classes are matched."""
    random = numpy.random.default_rng(seed)
    y = numpy.arange(count) % 3
    return (CENTERS[y] + random.normal(size=(count, 3)) * [1, 1, 5] + shift).astype(numpy.float32), y


def write_csv(path, x, labels, names=NAMES, label="kind"):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, label])
        writer.writerows([*map(repr, map(float, row)), kind] for row, kind in zip(x, labels))
    return path


def write_npz(path, x, labels, names=None):
    numpy.savez(path, x=x, y=labels, **({} if names is None else {"columns": numpy.array(names)}))
    return path


def write_hdf5(path, x, labels, names=None):
    with h5py.File(path, "w") as file:
        file["x"] = x
        file["y"] = labels if labels.dtype.kind != "U" else labels.astype("S")
    return path


def write_leaf(path, x, labels, names=None):
    users = {"u": {"x": x.tolist(), "y": labels.tolist()}}
    path.write_text(json.dumps({"users": ["u"], "num_samples": [len(x)], "user_data": users}))
    return path


FORMS = {"csv": write_csv, "npz": write_npz, "h5": write_hdf5, "json": write_leaf}


@pytest.fixture(scope="module", params=[*FORMS, "arrays"])
def trained(request, tmp_path_factory):
    """(form, run, test inputs, their classes as words)"""
    folder = tmp_path_factory.mktemp(request.param)
    x, y = rows(240, 1)
    data = {"x": x, "y": KINDS[y]} if request.param == "arrays" else FORMS[request.param](folder / f"train.{request.param}", x, KINDS[y])
    run = fedstride.run(data=data, out=folder / "run", model="dense classes", optimizer="sgd", learning_rate=0.5, rounds=6, clients=2,
                        partition="iid", threads=1)
    return request.param, run, *rows(60, 2)


def given(form, folder, name, x, labels, **more):
    return {"x": x, "y": labels} if form == "arrays" else FORMS[form](folder / f"{name}.{form}", x, labels, **more)


def test_the_schema_says_what_the_model_needs(trained):
    form, run, _, _ = trained
    schema = run.schema
    assert schema["form"] == {"shape": {"height": 1, "width": 1, "channels": 3}, "outputs": 3, "targets": "classes"}
    assert schema["classes"] == list(KINDS) and schema["labels_are_names"]
    assert len(schema["mean"]) == len(schema["deviation"]) == 3 and schema["normalized_by"] == "of the training rows"
    if form == "csv":
        assert schema["columns"] == {"named": True, "inputs": NAMES, "answers": ["kind"]}


def test_other_rows_beside_a_test_row_change_nothing(trained, tmp_path):
    form, run, x, y = trained
    plain = run.evaluate(data=given(form, tmp_path, "plain", x, KINDS[y]))
    assert plain["examples"] == 60 and plain["accuracy"] > 0.95
    # The same rows after ones of another place and scale, and in halves.
    far, classes = rows(60, 3, shift=100)
    both = run.evaluate(data=given(form, tmp_path, "both", numpy.concatenate([far, x]), KINDS[numpy.concatenate([classes, y])]))
    other = run.evaluate(data=given(form, tmp_path, "far", far, KINDS[classes]))
    assert both["loss"] == pytest.approx((plain["loss"] + other["loss"]) / 2, rel=1e-9)
    assert [a + b for a, b in zip(plain["class_correct"], other["class_correct"])] == both["class_correct"]


def test_classes_are_matched_by_name(trained, tmp_path):
    form, run, x, y = trained
    whole = run.evaluate(data=given(form, tmp_path, "whole", x, KINDS[y]))
    chosen = y != 0  # without cats, dogs would be class 0 by their order
    part = run.evaluate(data=given(form, tmp_path, "part", x[chosen], KINDS[y][chosen]))
    assert part["class_correct"] == [0, *whole["class_correct"][1:]]
    order = numpy.argsort(-y, kind="stable")
    assert run.evaluate(data=given(form, tmp_path, "turned", x[order], KINDS[y][order]))["class_correct"] == whole["class_correct"]
    with refused(fedstride.Error, "fox", "cat", "dog", "emu"):
        run.evaluate(data=given(form, tmp_path, "fox", x, numpy.array(["cat", "dog", "fox"])[y]))
    with refused(fedstride.Error, "'0'", "cat", "dog", "emu"):
        run.evaluate(data=given(form, tmp_path, "numbers", x, y))


@pytest.mark.parametrize("form", ["csv", "npz"])
@pytest.mark.parametrize("order", [[2, 0, 1], [1, 0, 2]])
def test_columns_are_matched_by_name(tmp_path, form, order):
    x, y = rows(240, 1)
    run = fedstride.run(data=FORMS[form](tmp_path / f"train.{form}", x, KINDS[y], NAMES), out=tmp_path / "run", model="dense classes",
                        optimizer="sgd", learning_rate=0.5, rounds=6, clients=2, partition="iid", threads=1)
    assert run.schema["columns"]["inputs"] == NAMES
    x, y = rows(60, 2)
    expected = run.evaluate(data=FORMS[form](tmp_path / f"plain.{form}", x, KINDS[y], NAMES))
    names = [NAMES[i] for i in order]
    assert run.evaluate(data=FORMS[form](tmp_path / f"turned.{form}", x[:, order], KINDS[y], names))["loss"] == expected["loss"]
    more = numpy.concatenate([y[:, None] * 7, x[:, order]], 1).astype(numpy.float32)  # a column more, in front
    assert run.evaluate(data=FORMS[form](tmp_path / f"more.{form}", more, KINDS[y], ["z", *names]))["loss"] == expected["loss"]
    with refused(fedstride.Error, "'c'", "z"):
        run.evaluate(data=FORMS[form](tmp_path / f"less.{form}", x, KINDS[y], ["a", "b", "z"]))


def test_frames_are_matched_by_name(tmp_path):
    pandas = pytest.importorskip("pandas")
    x, y = rows(240, 1)
    frame = pandas.DataFrame(x, columns=NAMES).assign(kind=KINDS[y])
    run = fedstride.run(data=frame, label="kind", out=tmp_path / "run", model="dense classes", optimizer="sgd", learning_rate=0.5, rounds=6,
                        clients=2, partition="iid", threads=1)
    x, y = rows(60, 2)
    test = pandas.DataFrame(x, columns=NAMES).assign(kind=KINDS[y])
    expected = run.evaluate(data=test)
    assert expected["accuracy"] > 0.95 and expected["examples"] == 60
    assert run.evaluate(data=test[["kind", "c", "a", "b"]])["loss"] == expected["loss"]
    with refused(fedstride.Error, "'c'"):
        run.evaluate(data=test.drop(columns="c"))
    turned = fedstride.run(data={"train": frame, "test": test[["b", "kind", "c", "a"]]}, label="kind", out=tmp_path / "again",
                           model="dense classes", optimizer="sgd", learning_rate=0.5, rounds=1, clients=2, partition="iid", threads=1)
    assert turned.summary["test_accuracy"] > 0.9


def test_a_run_goes_on_with_its_own_names_alone(tmp_path):
    x, y = rows(240, 1)
    train = write_csv(tmp_path / "train.csv", x, KINDS[y])
    keywords = {"model": "dense classes", "optimizer": "sgd", "learning_rate": 0.5, "clients": 2, "partition": "iid", "threads": 1}
    run = fedstride.run(data=train, out=tmp_path / "run", rounds=2, **keywords)
    whole = fedstride.run(data=train, out=tmp_path / "whole", rounds=3, **keywords)
    turned = write_csv(tmp_path / "turned.csv", x[:, [2, 0, 1]], KINDS[y], ["c", "a", "b"])
    assert fedstride.resume(run, data=turned, rounds=3).summary["model_hash"] == whole.summary["model_hash"]
    renamed = write_csv(tmp_path / "renamed.csv", x, numpy.array(["cow", "dog", "emu"])[y])
    with refused(fedstride.Error, "cow", "cat"):
        fedstride.resume(run, data=renamed, rounds=4)
    columns = write_csv(tmp_path / "columns.csv", x, KINDS[y], ["a", "b", "d"])
    with refused(fedstride.Error, "'c'"):
        fedstride.resume(run, data=columns, rounds=4)
    # Data sets that differ in names alone are two.
    other = fedstride.run(data=columns, out=tmp_path / "other", rounds=2, **keywords)
    assert other.summary["data_hash"] != run.summary["data_hash"]


def test_numbers_to_predict_keep_the_constants_of_training(tmp_path):
    x, _ = rows(240, 1)
    keywords = {"model": "dense classes", "optimizer": "sgd", "learning_rate": 0.05, "clients": 2, "partition": "iid", "threads": 1}
    run = fedstride.run(data={"x": x, "y": x @ [1.0, -2, 0.1]}, out=tmp_path / "run", rounds=30, **keywords)
    x, _ = rows(60, 2)
    x[:, 2] = x[:, 2] / 8 + 30  # another place and scale than in training
    assert run.evaluate(data={"x": x, "y": x @ [1.0, -2, 0.1]})["r2"] > 0.95


def test_missing_inputs_become_the_means_of_training(tmp_path):
    x, y = rows(240, 1)
    x[::5, 0] = numpy.nan
    run = fedstride.run(data={"x": x, "y": KINDS[y], "x_test": x[:9], "y_test": KINDS[y[:9]]}, missing="mean", normalize="none", out=tmp_path / "run", rounds=2, clients=2,
                        partition="iid", model="dense classes", optimizer="sgd", learning_rate=0.001, threads=1)
    fill = run.schema["fill"]
    assert numpy.allclose(fill, numpy.nanmean(x.astype(float), 0), rtol=1e-6)
    x, y = rows(60, 2)
    filled = x.copy()
    filled[::2, 0] = fill[0]
    x[::2, 0] = numpy.nan
    assert run.evaluate(data={"x": x, "y": KINDS[y]})["loss"] == run.evaluate(data={"x": filled, "y": KINDS[y]})["loss"]


def test_a_damaged_schema_is_refused(tmp_path):
    x, y = rows(60, 1)
    run = fedstride.run(data={"x": x, "y": y}, out=tmp_path / "run", rounds=1, clients=2, partition="iid", model="dense classes", threads=1)
    path = tmp_path / "run" / "schema.json"
    good = path.read_text()
    for damaged in ("", "{}", "[]", good.replace('"classes"', '"sheep"', 1), good.replace('"height":1', '"height":-1'),
                    good.replace('"deviation":[', '"deviation":[0,'), good.replace('"mean":[', '"mean":[' + "[" * 2000)):
        path.write_text(damaged)
        with refused(fedstride.Error, "schema.json"):
            fedstride.resume(run, data={"x": x, "y": y}, rounds=2)
    path.write_text(good)
    assert fedstride.resume(run, data={"x": x, "y": y}, rounds=2).summary["rounds"] == 2


def test_first_weights_belong_to_columns(tmp_path):
    x, y = rows(60, 1)
    keywords = {"model": "dense classes", "optimizer": "sgd", "clients": 2, "partition": "iid", "threads": 1, "rounds": 1}
    run = fedstride.run(data=write_csv(tmp_path / "a.csv", x, KINDS[y]), out=tmp_path / "run", **keywords)
    first = run.folder / "model.safetensors"
    turned = write_csv(tmp_path / "b.csv", x[:, [1, 0, 2]], KINDS[y], ["b", "a", "c"])
    with refused(fedstride.UsageError, "init", "a, b, c", "b, a, c"):
        fedstride.run(data=turned, init=first, out=tmp_path / "turned", **keywords)
    other = write_csv(tmp_path / "c.csv", x, numpy.array(["cow", "dog", "emu"])[y])
    notes = fedstride.run(data=other, init=first, out=tmp_path / "other", **keywords).summary["notes"]
    assert any("cat, dog, emu" in note and "cow, dog, emu" in note for note in notes)


def write_idx(path, array):
    path.write_bytes(bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape) + array.tobytes())


def test_pictures_and_numbered_labels_are_those_of_training(tmp_path):
    def pictures(count, seed, classes):
        random = numpy.random.default_rng(seed)
        y = random.choice(classes, count)
        x = random.integers(0, 60, (count, 8, 8))
        for row, label in enumerate(y):
            x[row, label] += 150
        return x.astype(numpy.uint8), y.astype(numpy.uint8)

    def folder(name, parts):
        for part, (x, y) in parts.items():
            (tmp_path / name).mkdir(exist_ok=True)
            write_idx(tmp_path / name / f"{part}-images-idx3-ubyte", x)
            write_idx(tmp_path / name / f"{part}-labels-idx1-ubyte", y)
        return tmp_path / name

    train = pictures(200, 1, range(5))
    run = fedstride.run(data=folder("train", {"train": train}), out=tmp_path / "run", model="dense classes", optimizer="sgd", learning_rate=0.1,
                        rounds=5, clients=2, partition="iid", threads=1)
    test = pictures(60, 2, [3, 4])  # read by themselves, these would be classes 0 and 1
    expected = run.evaluate(data=folder("test", {"train": train, "test": test}))
    assert expected["class_correct"][:3] == [0, 0, 0] and expected["accuracy"] > 0.95
    dark = (train[0] // 3, train[1])
    assert run.evaluate(data=folder("dark", {"train": dark, "test": test})) == expected
    assert run.evaluate(data={"x": test[0], "y": test[1]})["loss"] == expected["loss"]
    with refused(fedstride.Error, "5"):
        run.evaluate(data={"x": test[0], "y": test[1] + numpy.uint8(1)})
