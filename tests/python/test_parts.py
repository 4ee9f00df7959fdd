"""Parts as objects, and partitions as lists of rows."""

import copy
import inspect
import json
import pickle

import numpy as np
import pytest
from conftest import program, refused

import fedstride
from fedstride import _core

DATA = {"dataset": "synthetic", "model": "logistic", "rounds": 1, "threads": 1, "optimizer": "sgd"}


def test_there_is_a_class_for_each_part_of_each_family():
    families = {family["key"]: family["parts"] for family in _core.families()}
    assert len(families) == 15
    classes = [getattr(fedstride, name) for name in fedstride.parts.__all__ if name != "Part"]
    assert {(one.family, one.name) for one in classes} == {(key, part["name"]) for key, parts in families.items() for part in parts}
    for one in classes:
        assert issubclass(one, fedstride.Part) and one.__doc__.startswith(f'{one.family}="{one.name}": ')
        part = next(part for part in families[one.family] if part["name"] == one.name)
        assert list(inspect.signature(one).parameters) == [setting["name"] for setting in part["settings"]]
        for setting in part["settings"]:
            assert f"\n{setting['name']}: " in one.__doc__ and getattr(one(), setting["name"]) == setting["default"]
        assert repr(one()) == f"fedstride.{one.__name__}()" and eval(repr(one())) == one()


def test_a_part_is_a_value():
    part = fedstride.Dirichlet(alpha=0.3)
    assert repr(part) == "fedstride.Dirichlet(alpha=0.3)" and part.alpha == 0.3 and (part.family, part.name) == ("partition", "dirichlet")
    assert part == fedstride.Dirichlet(alpha=0.3) != fedstride.Dirichlet(alpha=0.4) and len({part, fedstride.Dirichlet(alpha=0.3)}) == 1
    assert pickle.loads(pickle.dumps(part)) == copy.deepcopy(part) == part
    assert str(inspect.signature(fedstride.Dirichlet)) == "(*, alpha: float | None = 0.5)"
    assert "alpha" in dir(part)
    with pytest.raises(AttributeError, match="Dirichlet"):
        part.alpha = 1
    with pytest.raises(AttributeError, match="'beta'"):
        part.beta


@pytest.mark.parametrize("make, parts", [
    (lambda: fedstride.Dirichlet(alfa=0.3), ["Dirichlet", "'alfa'", "alpha"]),
    (lambda: fedstride.IID(alpha=0.3), ["IID", "'alpha'", "none"]),
    (lambda: fedstride.SGD(momentum=0.9), ["SGD", "'momentum'", 'optimizer="heavy-ball"']),
    (lambda: fedstride.Adam(lr=0.1), ["Adam", "'lr'", "'learning_rate'"]),
    (lambda: fedstride.ClientPrivacy(max_grad_norm=1), ["ClientPrivacy", "'max_grad_norm'", "'clip'"]),
    (lambda: fedstride.Dirichlet(alpha=-1), ["alpha", "-1"]),
    (lambda: fedstride.Prox(mu="much"), ["mu", "'much'"]),
    (lambda: fedstride.Scaffold(scaffold_option="three"), ["scaffold_option", "'three'", "one", "two"]),
    (lambda: fedstride.run(partition=fedstride.Prox(mu=1)), ["partition", "local_objective", "fedstride.Prox(mu=1)"]),
    (lambda: fedstride.run(partition=fedstride.Dirichlet(alpha=1), alpha=2), ["alpha", "2", "fedstride.Dirichlet(alpha=1)"]),
    (lambda: fedstride.run(partition=fedstride.Part()), ["partition", "fedstride.Part()"]),
])
def test_what_is_wrong_is_one_line(make, parts):
    with refused(fedstride.UsageError, *parts):
        make()


def test_settings_of_a_part_have_names():
    with pytest.raises(TypeError, match=r"Dirichlet\(alpha=0.1\)$"):
        fedstride.Dirichlet(0.1)
    with pytest.raises(TypeError, match="it has none$"):
        fedstride.IID(1)


def test_objects_are_the_settings_they_name(tmp_path):
    named = fedstride.run(**DATA, clients=4, partition="dirichlet", alpha=0.3, local_objective="prox", mu=0.05, server_optimizer="adam",
                          cohort="fixed", cohort_size=2, out=tmp_path / "named")
    made = fedstride.run(**DATA, clients=4, partition=fedstride.Dirichlet(alpha=0.3), local_objective=fedstride.Prox(mu=0.05),
                         server_optimizer=fedstride.ServerAdam, cohort=fedstride.FixedCohort(cohort_size=2), out=tmp_path / "made")
    assert made.summary["model_hash"] == named.summary["model_hash"]
    assert {**made.settings, "out": ""} == {**named.settings, "out": ""}
    rows = fedstride.partition(dataset="synthetic", clients=4, partition=fedstride.Dirichlet(alpha=0.3))
    assert all((one == other).all() for one, other in zip(rows, fedstride.partition(dataset="synthetic", clients=4, partition="dirichlet", alpha=0.3)))


@pytest.mark.parametrize("form", [list, tuple, lambda rows: [one.tolist() for one in rows], lambda rows: [one.astype(np.int64) for one in rows]])
def test_the_result_of_partition_goes_in_again(tmp_path, form):
    settings = {"clients": 4, "partition": "dirichlet", "alpha": 0.3}
    rows = fedstride.partition(dataset="synthetic", **settings)
    named = fedstride.run(**DATA, **settings, out=tmp_path / "named")
    given = fedstride.run(**DATA, partition=form(rows), out=tmp_path / "given")
    assert given.summary["partition_hash"] == named.summary["partition_hash"] and given.summary["model_hash"] == named.summary["model_hash"]
    again = fedstride.partition(dataset="synthetic", partition=form(rows))
    assert all((one == other).all() for one, other in zip(rows, again, strict=True))


def test_rows_may_be_left_out_and_an_array_has_a_row_for_each_client(tmp_path):
    run = fedstride.run(**DATA, partition=np.arange(60).reshape(3, 20), out=tmp_path / "run")
    assert run.settings["clients"] == 3 and [client["rows"] for client in run.clients] == [20, 20, 20]
    lists = json.loads((run.folder / "partition.json").read_text())["clients"]
    assert lists == np.arange(60).reshape(3, 20).tolist()


# A file or arrays of which a sixth is held out: rows have the numbers of the arrays.
def test_rows_count_as_in_the_user_s_arrays(tmp_path):
    x, y = np.random.default_rng(1).normal(size=(60, 4)).astype(np.float32), np.arange(60) % 3
    rows = fedstride.partition(data=(x, y), partition="iid", clients=3)
    named = fedstride.run(**{**DATA, "dataset": None}, data=(x, y), partition="iid", clients=3, out=tmp_path / "named")
    given = fedstride.run(**{**DATA, "dataset": None}, data=(x, y), partition=rows, out=tmp_path / "given")
    assert given.summary["model_hash"] == named.summary["model_hash"]


def test_such_a_run_is_resumed_and_repeated_by_its_folder_alone(tmp_path):
    rows = fedstride.partition(dataset="synthetic", clients=3, partition="iid")[:2]
    whole = fedstride.run(**{**DATA, "rounds": 3}, partition=rows, out=tmp_path / "whole")
    stopped = fedstride.run(**{**DATA, "rounds": 3}, partition=rows, on_round=lambda record: False, out=tmp_path / "parts")
    assert stopped.state == "stopped" and stopped.settings["partition_file"] == str(stopped.folder / "partition.json")
    assert fedstride.resume(stopped).summary["model_hash"] == whole.summary["model_hash"]
    again = fedstride.run(**whole.settings, out=tmp_path / "again")
    assert again.summary["model_hash"] == whole.summary["model_hash"]
    program("run", "--resume", tmp_path / "again", "--rounds", 4, "--quiet")
    assert fedstride.open_run(tmp_path / "again").summary["rounds"] == 4


# With rows that are fixed beforehand the assignment does not depend on the examples.
def test_rows_go_with_privacy_as_a_file_does(tmp_path):
    private = {**DATA, "dp": "example", "noise_multiplier": 2, "neighbours": "replace-one", "sampling": "without-replacement"}
    with refused(fedstride.UsageError, "neighbours", "replace-one"):
        fedstride.run(**private, partition="dirichlet", clients=3, out=tmp_path / "a")
    rows = fedstride.partition(dataset="synthetic", clients=3, partition="iid")
    run = fedstride.run(**private, partition=rows, out=tmp_path / "b")
    assert run.summary["privacy"][0]["epsilon"] > 0
    with refused(fedstride.UsageError, "publishable", "partition_file=FILE"):
        fedstride.run(**private, partition=rows, publishable=True, out=tmp_path / "c")


@pytest.mark.parametrize("rows, settings, parts", [
    ([[0, 1], [1, 2]], {}, ["partition", "client 1", "row 1"]),
    ([[0, 1], []], {}, ["partition", "client 1"]),
    ([[0], [10**6]], {}, ["partition", "client 1", "1000000"]),
    ([[0], [-1]], {}, ["partition", "client 1", "-1"]),
    ([[0], [0.5]], {}, ["partition", "client 1", "float64"]),
    ([0, 1, 2], {}, ["partition", "client 0", "a number"]),
    ([[0], [[1, 2]]], {}, ["partition", "client 1", "[1, 2]"]),
    ([[0], [1]], {"clients": 3}, ["clients", "3", "2"]),
    ([[0], [1]], {"partition_file": "a.json"}, ["partition", "partition_file"]),
])
def test_rows_that_cannot_be_are_refused(tmp_path, rows, settings, parts):
    with refused(fedstride.Error, *parts) as raised:
        fedstride.run(**DATA, partition=rows, **settings, out=tmp_path / "out")
    assert "/tmp/fedstride-" not in str(raised.value) and not (tmp_path / "out").exists()
