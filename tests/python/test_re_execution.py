"""Certificates, verification and replays from Python, of the program's training and of own code."""

import json
import os
import re
import subprocess

import numpy as np
import pytest

import fedstride
from conftest import SOURCE

SMALL = {"dataset": "synthetic", "model": "dense 8 | relu | dense classes", "optimizer": "sgd", "learning_rate": 0.1, "limit_per_client": 30, "rounds": 3}


@fedstride.named("mover", "1")
def mover(weights, task):
    return {"w": weights["w"] + task.client + 1}


def test_a_run_is_certified_verified_and_replayed(tmp_path):
    run = fedstride.run(**SMALL, clients=3, out=tmp_path / "run", keep_checkpoints=1)
    path = fedstride.certify(run, claims=["test loss below 100", "test accuracy above 0 after round 2"], key=tmp_path / "key")
    assert path == str(tmp_path / "run" / "run.cert")
    found = fedstride.verify(path)
    assert found["broken"] == [] and any("all 3 rounds" in one for one in found["held"])
    found = fedstride.verify(path, rounds=1, seed="a", threads=2)
    assert any("escapes with probability" in one for one in found["held"])
    again = fedstride.replay(run, out=tmp_path / "again")
    assert [one["model_hash"] for one in again.rounds] == [one["model_hash"] for one in run.rounds]
    without = fedstride.replay(tmp_path / "run", from_round=3, without=[1], out=tmp_path / "without")
    assert [one["model_hash"] for one in without.rounds][:2] == [one["model_hash"] for one in run.rounds][:2]
    assert without.rounds[-1]["model_hash"] != run.rounds[-1]["model_hash"]
    changed = fedstride.replay(run, from_round=2, set={"local_epochs": 2}, out=tmp_path / "changed")
    assert changed.settings["local_epochs"] == 2
    with pytest.raises(fedstride.Error, match="does not hold: test_accuracy after round 3"):
        fedstride.certify(run, claims=["test accuracy above 1"])


def test_own_code_is_repeated_by_its_owner(tmp_path):
    weights = {"w": np.zeros(4, np.float32)}
    run = fedstride.run(model=weights, train=mover, clients=3, rounds=3, out=tmp_path / "own")
    path = fedstride.certify(run)
    found = fedstride.verify(path, train=mover)
    assert found["broken"] == [] and any("all 3 rounds" in one for one in found["held"]), found

    @fedstride.named("mover", "1")
    def liar(weights, task):
        return {"w": weights["w"] + task.client + 2}

    assert any("model_hash" in one for one in fedstride.verify(path, train=liar)["broken"])

    @fedstride.named("mover", "2")
    def other(weights, task):
        return mover(weights, task)

    with pytest.raises(fedstride.UsageError, match="mover 2"):
        fedstride.verify(path, train=other)
    with pytest.raises(fedstride.UsageError, match="partition"):
        fedstride.verify(path, train=mover, seed="x", partition="iid")
    with pytest.raises(fedstride.UsageError, match="own training code|train="):
        fedstride.replay(run, without=[1], out=tmp_path / "x")


def test_arrays_are_given_again(tmp_path):
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(90, 4)).astype(np.float32)
    labels = (inputs[:, 0] > 0).astype(np.int64)
    arrays = (inputs, labels)
    run = fedstride.run(data=arrays, model="dense classes", clients=3, rounds=2, out=tmp_path / "arrays")
    path = fedstride.certify(run)
    assert fedstride.verify(path, data=arrays)["broken"] == []
    other = (inputs + 1, labels)
    assert any("other data" in one for one in fedstride.verify(path, data=other)["broken"])


def test_an_own_server_part_is_repeated(tmp_path):
    @fedstride.named("middle", "1")
    def middle(updates, weights, clients):
        return np.sort(updates, 0)[1:-1].mean(0)

    run = fedstride.run(**SMALL, clients=4, aggregation=middle, out=tmp_path / "middle")
    path = fedstride.certify(run)
    assert fedstride.verify(path, aggregation=middle)["broken"] == []
    assert json.loads((tmp_path / "middle" / "run.cert").read_text())["settings"].count("middle 1") == 1


def test_the_page_runs(tmp_path):
    blocks = re.findall(r"^```\n(.*?)^```", (SOURCE / "docs" / "re-execution.md").read_text(), re.MULTILINE | re.DOTALL)
    script = "\n".join(blocks).replace("$PWD/build/release", os.path.dirname(fedstride.program()))
    done = subprocess.run(["bash", "-euc", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Held: 'test accuracy above 0.2 after round 8', by the numbers told; models, losses and results of 3 rounds" in done.stdout
    assert "other models than 'runs/first' from round 5 on" in done.stdout and "round 5, with all: test accuracy" in done.stdout
    assert done.stdout.count("Held: models, losses and results of all 2 rounds") == 3
