"""fedstride.open_run: a run's folder, whole, going on, damaged."""

import copy
import json
import re

import numpy
import pytest
from conftest import SMALL, names, program, python, refused

import fedstride


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return fedstride.run(**SMALL, out=tmp_path_factory.mktemp("runs") / "run")


def test_what_it_holds(run):
    assert [record["round"] for record in run.rounds] == [1, 2, 3]
    assert len(run.clients) == 15 and {(one["round"], one["client"]) for one in run.clients} >= {(1, 0), (3, 4)}
    assert run.summary["rounds"] == 3 and run.settings["local_epochs"] == 1
    assert fedstride.open_run(run).summary == fedstride.open_run(str(run.folder)).summary == run.summary
    assert repr(run).startswith(f"<fedstride.Run '{run.folder}': finished, ")


@pytest.mark.parametrize("name, here", [("accuracy", 'summary["test_accuracy"]'), ("history", "rounds"), ("weights", "model()"),
                                        ("epsilon", 'summary["privacy"]'), ("audit", "fedstride.privacy.audit(run)"), ("save", "folder")])
def test_expected_names_lead_to_what_they_are_here(run, name, here):
    with pytest.raises(AttributeError, match=f"'{name}'; it is {re.escape(here)}"):
        getattr(run, name)
    assert not hasattr(run, "nothing")
    assert copy.copy(run).folder == run.folder


def test_settings_make_the_run_again(run, tmp_path):
    again = fedstride.run(**run.settings, out=tmp_path / "again")
    assert again.summary["model_hash"] == run.summary["model_hash"]


def test_frames(run):
    pandas = pytest.importorskip("pandas")
    frame = run.frame()
    assert isinstance(frame, pandas.DataFrame) and list(frame["round"]) == [1, 2, 3] and "clients" not in frame
    assert frame["test_accuracy"].iloc[-1] == run.summary["test_accuracy"]
    assert run.clients_frame().groupby("client").size().to_dict() == {client: 3 for client in range(5)}


def test_without_pandas_one_clear_line(run):
    done = python(f"import sys; sys.modules['pandas'] = None\nimport fedstride\nfedstride.open_run({str(run.folder)!r}).frame()")
    assert done.stderr.splitlines()[-1].startswith("ImportError: ") and names(done.stderr.splitlines()[-1], "pandas")
    assert "During handling" not in done.stderr


def test_the_model_under_pytorch_s_names(run):
    model = run.model()
    assert {name: array.shape for name, array in model.items()} == {"fc1.weight": (10, 60), "fc1.bias": (10,)}
    assert all(array.dtype == numpy.float32 and array.flags.writeable for array in model.values())
    # The logistic model's scores, from its weights, give the accuracy that the run has.
    data = fedstride.load_dataset(SMALL["dataset"])
    x = (data["x_test"] - data["mean"]) / data["deviation"]
    scores = x @ model["fc1.weight"].T + model["fc1.bias"]
    assert abs((scores.argmax(1) == data["y_test"]).mean() - run.summary["test_accuracy"]) < 0.005


def test_tensors_go_out_and_in(run, tmp_path):
    tensors = {"a": numpy.arange(6, dtype=numpy.float64).reshape(2, 3), "b": numpy.float32(4),
               "c": numpy.arange(12, dtype=numpy.float32).reshape(3, 4).T, "d": numpy.zeros((0, 3))}
    fedstride.save_tensors(tmp_path / "t.safetensors", tensors)
    read = fedstride.load_tensors(tmp_path / "t.safetensors")
    assert read.keys() == tensors.keys()
    for name in tensors:
        assert read[name].shape == numpy.shape(tensors[name]) and (read[name] == tensors[name]).all()
    fedstride.save_tensors(tmp_path / "m.safetensors", run.model())
    first = fedstride.run(**{**SMALL, "rounds": 1}, init=tmp_path / "m.safetensors", out=tmp_path / "a")
    second = fedstride.run(**{**SMALL, "rounds": 1}, init=run.folder / "model.safetensors", out=tmp_path / "b")
    assert first.summary["model_hash"] == second.summary["model_hash"]
    for bad in ({"a": numpy.array(["x"])}, {3: numpy.zeros(1)}, {"__metadata__": numpy.zeros(1)}, {"a": numpy.zeros(1, complex)}):
        with pytest.raises(fedstride.UsageError):
            fedstride.save_tensors(tmp_path / "bad", bad)
    for text in (b"", b"12345678", (10).to_bytes(8, "little") + b"{}"):
        (tmp_path / "bad").write_bytes(text)
        with pytest.raises(fedstride.Error, match="bad'"):
            fedstride.load_tensors(tmp_path / "bad")
    with pytest.raises(fedstride.Error):
        fedstride.load_tensors(tmp_path / "none")


def test_tensors_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(3, 2)
    fedstride.save_tensors(tmp_path / "t", layer.state_dict())
    read = fedstride.load_tensors(tmp_path / "t")
    assert (torch.from_numpy(read["weight"]) == layer.weight).all()


def test_evaluate(run):
    assert run.evaluate() == json.loads(program("evaluate", run.folder, "--json"))
    assert run.evaluate()["accuracy"] == run.summary["test_accuracy"]
    assert run.evaluate(part="train", threads=1) == json.loads(program("evaluate", run.folder, "--json", "--part", "train"))
    with refused(fedstride.UsageError, "part", "'both'", "test", "train"):
        run.evaluate(part="both")


def test_missing_and_damaged_folders(run, tmp_path):
    with refused(fedstride.Error, f"'{tmp_path}'"):
        fedstride.open_run(tmp_path)
    with refused(fedstride.Error, f"'{tmp_path / 'none'}'"):
        fedstride.open_run(tmp_path / "none")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "config.toml").write_text((run.folder / "config.toml").read_text())
    for ask in (lambda one: one.summary, lambda one: one.rounds, lambda one: one.model(), lambda one: one.evaluate()):
        with pytest.raises(fedstride.Error) as raised:
            ask(fedstride.open_run(damaged))
        assert "\n" not in str(raised.value) and str(damaged) in str(raised.value)
    (damaged / "rounds.jsonl").write_text('{"round": 1}\nnonsense\n')
    with refused(fedstride.Error, "line 2"):
        fedstride.open_run(damaged).rounds
    (damaged / "summary.json").write_text("{")
    with refused(fedstride.Error, "summary.json"):
        fedstride.open_run(damaged).summary
    (damaged / "config.toml").write_text("= 3")
    with refused(fedstride.Error, "config.toml"):
        fedstride.open_run(damaged).settings


def test_a_run_that_goes_on_may_be_looked_at(run, tmp_path):
    folder = tmp_path / "going"
    folder.mkdir()
    (folder / "config.toml").write_text((run.folder / "config.toml").read_text())
    lines = (run.folder / "rounds.jsonl").read_text()
    (folder / "rounds.jsonl").write_text(lines[:-20])  # the last line is being written
    assert len(fedstride.open_run(folder).rounds) == 2
    (folder / "rounds.jsonl").write_text("")
    assert fedstride.open_run(folder).rounds == []
