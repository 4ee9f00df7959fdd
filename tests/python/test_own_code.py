"""Functions of one's own as parts, training and evaluation of a run."""

import json
import logging
import math
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from conftest import names, refused

import fedstride

WEIGHTS = {"fc.weight": np.arange(6, dtype=np.float32).reshape(2, 3) / 8, "fc.bias": np.zeros(2, np.float32), "scale": np.float32(1)}
SMALL = {"dataset": "synthetic", "model": "logistic", "rounds": 2, "clients": 3, "threads": 1, "optimizer": "sgd"}


@fedstride.named("mover", "1")
def move(weights, task):
    """Goes halfway to a number drawn for the client and round."""
    goal = np.random.default_rng(task.seed).normal()
    return {name: weight + (goal - weight) / 2 for name, weight in weights.items()}


@fedstride.named("counter", "1")
def count(weights, task):
    rounds = 1 if task.state is None else task.state["rounds"] + 1
    means = np.zeros(2) if task.state is None else task.state["means"]
    trained = {name: weight + np.float32(rounds) for name, weight in weights.items()}
    return fedstride.Trained(trained, examples=7, loss=0.5, state={"rounds": rounds, "means": means + rounds})


def sees_floats(weights, task):
    assert task.x.dtype == np.float64 and task.x.shape == (len(task.y), 3, 5, 5)
    return dict(weights)


def outside(folder, train=move, **settings):
    return fedstride.run(**{"model": WEIGHTS, "train": train, "examples": [10, 20, 30], "clients": 3, "rounds": 3, "out": folder, **settings})


def hashes(run):
    return [record["model_hash"] for record in run.rounds]


def test_a_round_is_the_mean_of_the_trained_weights(tmp_path):
    seen = {}

    def train(weights, task):
        assert [*weights] == ["fc.weight", "fc.bias", "scale"] and weights["fc.weight"].shape == (2, 3) and weights["scale"].shape == ()
        assert task.examples == 10 * (task.client + 1) and task.round == 1 and task.state is None
        seen[task.client] = move(weights, task)
        return seen[task.client]

    run = outside(tmp_path / "a", train, rounds=1)
    for name in WEIGHTS:
        mean = sum(examples * seen[client][name].astype(float) for client, examples in enumerate([10, 20, 30])) / 60
        assert np.abs(run.model()[name] - mean).max() < 1e-6
    assert run.summary["test_accuracy"] is None and run.summary["training_rows"] == 60


def test_weights_are_read_without_a_copy_and_cannot_be_changed(tmp_path):
    def train(weights, task):
        assert all(not array.flags.writeable and not array.flags.owndata for array in weights.values())
        weights["fc.bias"] += 1

    run = outside(tmp_path / "a", train, rounds=1, accept_failures="all")
    assert all(names(client["failure"], "ValueError: output array is read-only") for client in run.clients)
    del run


@pytest.mark.parametrize("answer, parts", [
    (lambda weights: None, ["NoneType", "fedstride.Trained"]),
    (lambda weights: {**weights, "fc.bias": np.zeros(3, np.float32)}, ["'fc.bias'", "[3]", "[2]"]),
    (lambda weights: {**weights, "fc.bias": np.array([1, np.nan], np.float32)}, ["'fc.bias'", "finite"]),
    (lambda weights: {**weights, "fc.bias": np.array([1, 1e60])}, ["'fc.bias'", "finite"]),
    (lambda weights: {**weights, "fc.bias": np.zeros(2, int)}, ["'fc.bias'", "int64"]),
    (lambda weights: {**weights, "fc.bias": np.array([None, None])}, ["'fc.bias'", "object"]),
    (lambda weights: {name: weights[name] for name in list(weights)[1:]}, ["'fc.weight'"]),
    (lambda weights: {**weights, "fc.more": np.zeros(1)}, ["'fc.more'"]),
    (lambda weights: fedstride.Trained(weights, state={"a": 1}), ["client_state='keep'"]),
    (lambda weights: fedstride.Trained(weights, examples=-1), ["-1", "examples"]),
    (lambda weights: 1 / 0, ["ZeroDivisionError: division by zero"]),
])
def test_an_answer_that_cannot_be_used_costs_the_client_its_part(tmp_path, caplog, answer, parts):
    run = outside(tmp_path / "a", lambda weights, task: answer(weights) if task.client == 1 else dict(weights), rounds=1)
    told = [client.get("failure", "") for client in run.clients]
    assert told[0] == told[2] == "" and names(told[1], *parts)
    assert any("client 1, round 1" in record.getMessage() for record in caplog.records)
    if "ZeroDivision" in parts[0]:
        assert any("Traceback" in record.getMessage() for record in caplog.records)


def broken(weights, task):
    if task.client == 2:
        raise KeyError("unheard", task.examples)
    return 1 / 0


@fedstride.named("mended", "1")
def mended(weights, task):
    """Fails for all clients as long as the file is there."""
    if pathlib.Path(os.environ["FEDSTRIDE_TEST_BROKEN"]).exists():
        raise OSError("no space")
    return move(weights, task)


class Fragile(Exception):
    """Cannot be made anew from what it was pickled as."""

    def __init__(self, first, second):
        super().__init__(first)


def fragile(weights, task):
    raise Fragile("first", "second")


def test_a_round_in_which_all_fail_ends_the_run_with_the_first_cause(tmp_path, caplog):
    with refused(fedstride.Error, "3 of 3", "round 1", "client 0", "ZeroDivisionError", "accept-failures 'all'") as raised:
        outside(tmp_path / "a", broken)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    summary = fedstride.open_run(tmp_path / "a").summary
    assert summary["finished"] is False and summary["rounds"] == 0 and names(summary["notes"][-1], "3 of 3", "ZeroDivisionError")
    shown = [record.getMessage() for record in caplog.records]
    assert len(shown) == 2 and all("Traceback" in text for text in shown)  # the second of three was like the first
    assert "KeyError" in shown[1] and "client 2, round 1" in shown[1]


def test_failures_can_be_accepted_and_are_counted_in_a_note(tmp_path, caplog):
    run = outside(tmp_path / "a", broken, accept_failures="all", rounds=4)
    assert run.summary["finished"] and [record["failed_clients"] for record in run.rounds] == [3] * 4
    assert names(run.summary["notes"][-1], "4 of 4 rounds", "12 updates", "ZeroDivisionError: division by zero (8)", "KeyError")
    assert len(caplog.records) == 2  # each traceback once, whatever the round
    with refused(fedstride.Error, "1 of 3", "round 1", "client 1") as raised:
        outside(tmp_path / "b", lambda weights, task: {} if task.client == 1 else dict(weights), accept_failures="none")
    assert "'fc.weight'" in str(raised.value.__cause__)


def test_a_run_that_failed_is_resumed_once_its_code_is_mended(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDSTRIDE_TEST_BROKEN", str(tmp_path / "broken"))
    whole = outside(tmp_path / "whole", mended)
    (tmp_path / "broken").touch()
    with refused(fedstride.Error, "3 of 3", "round 1", "no space"):
        outside(tmp_path / "parts", mended, client_state="reset")
    (tmp_path / "broken").unlink()
    assert hashes(fedstride.resume(tmp_path / "parts", train=mended)) == hashes(whole)


def test_failures_in_workers_are_as_in_one_process(tmp_path):
    code = textwrap.dedent("""
        import logging, sys, traceback
        sys.path.insert(0, sys.argv[1])
        import fedstride, test_own_code as own
        if __name__ == "__main__":
            for name in ("broken", "fragile"):
                try:
                    own.outside(f"{sys.argv[2]}/{name}", getattr(own, name), workers=2)
                except fedstride.Error as error:
                    print(name, type(error.__cause__).__name__, "RemoteTraceback" == type(error.__cause__.__cause__).__name__, error)
    """)
    (tmp_path / "own.py").write_text(code)
    done = subprocess.run([sys.executable, tmp_path / "own.py", pathlib.Path(__file__).parent, tmp_path], capture_output=True, text=True)
    first, second = done.stdout.splitlines()
    assert first.startswith("broken ZeroDivisionError True 3 of 3") or first.startswith("broken KeyError True 3 of 3"), done.stderr
    assert second.startswith("fragile RuntimeError True 3 of 3") and "Fragile: first" in second
    assert done.stderr.count("Traceback (most") == 3  # ZeroDivisionError, KeyError, Fragile


@pytest.mark.parametrize("workers", [1, 2])
def test_under_dp_the_text_of_an_exception_is_not_shown_and_the_round_is_charged(tmp_path, workers):
    code = textwrap.dedent("""
        import sys
        sys.path.insert(0, sys.argv[1])
        import fedstride, test_own_code as own
        if __name__ == "__main__":
            try:
                own.outside(sys.argv[2], own.broken, dp="client", noise_multiplier=1.0, workers=int(sys.argv[3]))
            except fedstride.Error as error:
                print(error.__cause__, error)
    """)
    (tmp_path / "own.py").write_text(code)
    here = pathlib.Path(__file__).parent
    done = subprocess.run([sys.executable, tmp_path / "own.py", here, tmp_path / "run", str(workers)], capture_output=True, text=True)
    assert names(done.stdout, "3 of 3", "ZeroDivisionError", "test_own_code.py") and done.stdout.startswith("None "), done.stderr
    files = "".join(path.read_text() for path in (tmp_path / "run").iterdir() if path.suffix in (".json", ".jsonl"))
    for text in (done.stdout, done.stderr, files):
        assert "division" not in text and "unheard" not in text and "Traceback" not in text
    run = fedstride.open_run(tmp_path / "run")
    assert len(run.rounds) == 1 and run.rounds[0]["client_privacy"]["epsilon"] > 0  # released, charged, and then ended
    subprocess.run([os.environ["FEDSTRIDE_PROGRAM"], "privacy", "audit", tmp_path / "run"], check=True, capture_output=True)


def test_other_arrays_are_taken(tmp_path):
    def train(weights, task):
        wide = np.zeros((2, 6), np.float64)
        wide[:, ::2] = weights["fc.weight"]
        return {"fc.weight": wide[:, ::2], "fc.bias": np.asfortranarray(weights["fc.bias"]), "scale": 2.0}

    run = outside(tmp_path / "a", train, rounds=1)
    assert "failure" not in run.clients[0] or not run.clients[0]["failure"]
    assert run.model()["scale"] == 2 and (run.model()["fc.weight"] == WEIGHTS["fc.weight"]).all()


def test_runs_repeat_resume_and_keep_what_clients_keep(tmp_path):
    settings = {"cohort": "fixed", "cohort_size": 2, "client_state": "keep", "rounds": 6}
    whole = outside(tmp_path / "whole", count, **settings)

    def stop(record):
        if record["round"] == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="^enough$"):
        outside(tmp_path / "parts", count, on_round=stop, **settings)
    assert len(hashes(fedstride.open_run(tmp_path / "parts"))) == 3
    parts = fedstride.resume(tmp_path / "parts", train=count)
    assert hashes(parts) == hashes(whole)
    assert whole.clients[0]["examples"] == 7 and whole.clients[0]["loss"] == 0.5
    assert hashes(outside(tmp_path / "again", count, **settings)) == hashes(whole)


def test_a_run_goes_on_with_the_same_code_alone(tmp_path):
    outside(tmp_path / "a", rounds=1)
    with pytest.raises(fedstride.UsageError, match="'train=mover 1'.*'train=counter 1'"):
        fedstride.resume(tmp_path / "a", train=count, rounds=2)
    with refused(fedstride.UsageError, "'train=mover 1'", "''"):
        fedstride.resume(tmp_path / "a", rounds=2)
    outside(tmp_path / "b", lambda weights, task: dict(weights), rounds=1)
    with refused(fedstride.UsageError, f"'{tmp_path / 'b'}'", "train"):
        fedstride.resume(tmp_path / "b", train=lambda weights, task: dict(weights), rounds=2)
    for bad in ("", "a b", "x" * 65, 7):
        with refused(fedstride.UsageError, "name", f"'{bad}'" if isinstance(bad, str) else "7"):
            fedstride.named(bad, 1)


def test_any_number_of_workers_gives_the_same_bits(tmp_path):
    program = textwrap.dedent("""
        import sys
        import fedstride
        import numpy
        from test_own_code import WEIGHTS, count, outside, hashes, sees_floats

        if __name__ == "__main__":
            folder = sys.argv[1]
            runs = [outside(f"{folder}/{workers}", count, workers=workers, client_state="keep", clients=5, examples=9) for workers in (1, 2, 3)]
            assert hashes(runs[0]) == hashes(runs[1]) == hashes(runs[2])
            data = {"x_train": numpy.linspace(0, 1, 24 * 75).reshape(24, 3, 5, 5), "y_train": numpy.arange(24) % 2}
            data |= {"x_test": data["x_train"], "y_test": data["y_train"]}
            rows = fedstride.run(model=WEIGHTS, train=sees_floats, data=data, workers=2, clients=3, partition="iid", rounds=1, out=f"{folder}/rows")
            assert rows.rounds[0].get("failures", 0) == 0
            print("same")
    """)
    (tmp_path / "main.py").write_text(program)
    here = pathlib.Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{here}"}
    done = subprocess.run([sys.executable, tmp_path / "main.py", tmp_path], env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "same\n", done.stderr


def test_models_of_layers_are_trained_outside_and_evaluated_here(tmp_path):
    images = {}

    def train(weights, task):
        assert [*weights] == ["fc1.weight", "fc1.bias"] and weights["fc1.weight"].shape[0] == 10
        images[task.client] = (task.x, task.y, task.rows)
        return dict(weights)

    run = fedstride.run(**{**SMALL, "optimizer": None, "rounds": 1}, train=train, out=tmp_path / "a")
    first = fedstride.run(**{**SMALL, "rounds": 1, "learning_rate": 1e-30}, out=tmp_path / "b")
    assert run.summary["model_hash"] == first.summary["model_hash"]
    assert run.summary["test_accuracy"] == first.summary["test_accuracy"] is not None
    data = fedstride.load_dataset("synthetic")
    for x, y, rows in images.values():
        assert (x == data["x"][rows]).all() and (y == data["y"][rows]).all()


@pytest.mark.parametrize("settings", [{"model": WEIGHTS, "partition": "iid"}, {"model": "logistic"}, {"model": WEIGHTS, "partition": "dirichlet"}])
def test_training_of_ones_own_without_data_asks_for_them(tmp_path, settings):
    with refused(fedstride.UsageError, "train", "data=", "dataset=", "synthetic", "examples="):
        fedstride.run(**settings, train=move, clients=3, rounds=1, out=tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_r2_is_told_by_its_name(tmp_path):
    x = np.linspace(0, 1, 60, dtype=np.float32)[:, None]
    run = fedstride.run(model=WEIGHTS, train=move, evaluate=lambda weights: {"r2": -0.5}, data=(x, 0.3 * x[:, 0]), partition="iid", clients=2,
                        rounds=1, out=tmp_path / "a")
    assert run.summary["metric"] == "R2" and run.summary["test_r2"] == -0.5 and "test_accuracy" not in run.summary


def test_evaluation_may_be_the_users(tmp_path):
    accuracy = lambda weights: 1 / (1 + float(weights["scale"]) ** 2)  # noqa: E731
    run = outside(tmp_path / "a", evaluate=lambda weights: {"accuracy": accuracy(weights), "loss": 2.0, "examples": 5})
    assert run.summary["test_accuracy"] == accuracy(run.model()) and run.summary["evaluated_rows"] == 5
    assert all(record["test_loss"] == 2 for record in run.rounds)
    assert outside(tmp_path / "nothing", evaluate=lambda weights: {}).summary["test_loss"] is None
    assert outside(tmp_path / "diverged", evaluate=lambda weights: {"loss": math.inf}).summary["test_loss"] is None


@pytest.mark.parametrize("told, parts", [
    ("x", ["evaluate", "'x'"]),
    ({"accuracy": "x"}, ["evaluate", "{'accuracy': 'x'}"]),
    ({"examples": -1}, ["evaluate", "{'examples': -1}"]),
    ({"examples": 2**32}, ["evaluate", "examples", "4294967296", "4294967295"]),
    (2.0, ["evaluate", "accuracy", "2", "1"]),
    ({"accuracy": -math.inf}, ["evaluate", "accuracy", "-inf", "1"]),
    ({"accuracy": 0.5, "loss": -1}, ["evaluate", "loss", "-1", "1e+06"]),
])
def test_an_evaluation_that_no_test_can_have_given_ends_the_run(tmp_path, told, parts):
    with refused(fedstride.UsageError, *parts):
        outside(tmp_path / "a", evaluate=lambda weights: told)


def test_partitions_cohorts_aggregations_and_server_optimizers_may_be_functions(tmp_path):
    def deal(data):
        assert len(data.labels) == len(data.rows) and data.clients == 3
        return [data.rows[client::3] for client in range(3)]

    run = fedstride.run(**SMALL, partition=deal, out=tmp_path / "a")
    manifest = json.loads((tmp_path / "a" / "partition.json").read_text())
    assert len(manifest["clients"]) == 3
    dealt = fedstride.run(**SMALL, out=tmp_path / "b")
    mean = fedstride.run(**SMALL, out=tmp_path / "c", aggregation=lambda updates, weights, clients: np.average(updates, axis=0, weights=weights))
    assert abs(mean.summary["test_loss"] - dealt.summary["test_loss"]) < 1e-5
    median = fedstride.run(**SMALL, aggregation="median", out=tmp_path / "d")
    ours = fedstride.run(**SMALL, aggregation=lambda updates, weights, clients: np.median(updates, axis=0), out=tmp_path / "e")
    assert abs(ours.summary["test_loss"] - median.summary["test_loss"]) < 1e-5

    def momentum(model, change, state):
        velocity = change if state is None else 0.5 * state["velocity"] + change
        return model + velocity, {"velocity": velocity, "steps": 1}

    ours = fedstride.run(**{**SMALL, "rounds": 4}, server_optimizer=momentum, out=tmp_path / "f")
    theirs = fedstride.run(**{**SMALL, "rounds": 4}, server_optimizer="momentum", server_momentum=0.5, server_learning_rate=1.0, out=tmp_path / "g")
    assert abs(ours.summary["test_loss"] - theirs.summary["test_loss"]) < 1e-4
    run = fedstride.run(**SMALL, cohort=lambda round, rows, seed: [round % 3], out=tmp_path / "h")
    assert [[client["client"] for client in record["clients"]] for record in run.rounds] == [[1], [2]]


@pytest.mark.parametrize("settings, parts", [
    ({"partition": lambda data: [data.rows]}, ["1", "clients", "3"]),
    ({"partition": lambda data: [data.rows, data.rows, data.rows]}, ["partition", "client 1"]),
    ({"partition": lambda data: [[10**9], [1], [2]]}, ["partition", "1000000000"]),
    ({"partition": lambda data: [[-1], [1], [2]]}, ["partition", "-1"]),
    ({"partition": lambda data: [[], [1], [2]]}, ["partition", "client 0"]),
    ({"partition": lambda data: [[0.5], [1], [2]]}, ["partition", "row numbers"]),
    ({"cohort": lambda round, rows, seed: [3]}, ["cohort", "client 3", "0", "2"]),
    ({"cohort": lambda round, rows, seed: [1, 1]}, ["cohort", "client 1"]),
    ({"aggregation": lambda updates, weights, clients: np.zeros(3, np.float32)}, ["aggregation", "3"]),
    ({"aggregation": lambda updates, weights, clients: "x"}, ["aggregation", "floating"]),
    ({"aggregation": lambda updates, weights, clients: updates[0] * np.nan}, ["aggregation", "finite"]),
    ({"server_optimizer": lambda model, change, state: (model, {"f": print})}, ["JSON"]),
    ({"server_optimizer": lambda model, change, state: (model, np.zeros(3))}, ["dict"]),
    ({"aggregation": "callable"}, ["aggregation", "'callable'"]),
    ({"dp": "client", "noise_multiplier": 1, "clip": 1, "aggregation": lambda *a: a[0][0]}, ["aggregation", "'callable'"]),
])
def test_parts_that_break_their_promises_are_refused_by_name(tmp_path, settings, parts):
    with refused(fedstride.Error, *parts):
        fedstride.run(**{**SMALL, **settings}, out=tmp_path / "a")


def test_what_a_part_raises_is_raised_as_it_was(tmp_path):
    class Mine(Exception):
        pass

    def fail(*arguments):
        raise Mine("no")

    for part in ("partition", "cohort", "aggregation", "server_optimizer"):
        with pytest.raises(Mine, match="^no$"):
            fedstride.run(**SMALL, **{part: fail}, out=tmp_path / part)


def test_states_of_a_server_optimizer_are_in_the_checkpoint(tmp_path):
    @fedstride.named("adder", 2)
    def adder(model, change, state):
        steps = 0 if state is None else state["steps"]
        return model + change * np.float32(0.5**steps), {"steps": steps + 1, "array": np.arange(steps)}

    whole = fedstride.run(**{**SMALL, "rounds": 4}, server_optimizer=adder, out=tmp_path / "a")
    fedstride.run(**SMALL, server_optimizer=adder, out=tmp_path / "b")
    parts = fedstride.resume(tmp_path / "b", rounds=4, server_optimizer=adder)
    assert hashes(parts) == hashes(whole)


def test_clients_are_protected_around_the_code(tmp_path):
    private = {"dp": "client", "noise_multiplier": 1.0, "clip": 0.5}
    run = outside(tmp_path / "a", **private)
    assert run.rounds[-1]["client_privacy"]["epsilon"] > 0
    assert hashes(outside(tmp_path / "b", **private)) == hashes(run)
    subprocess.run([os.environ["FEDSTRIDE_PROGRAM"], "privacy", "audit", tmp_path / "a"], check=True, capture_output=True)
    with refused(fedstride.UsageError, "dp", "'example'"):
        outside(tmp_path / "c", dp="example", noise_multiplier=1.0)


@pytest.mark.parametrize("keywords, parts", [
    ({"model": WEIGHTS}, ["model", "train"]),
    ({"model": 7, "train": move}, ["model", "int"]),
    ({"model": {"a": np.array([np.inf])}, "train": move}, ["'a'", "finite"]),
    ({"model": {"a": np.array([1])}, "train": move}, ["'a'", "int64"]),
    ({"model": {"a b": np.ones(1)}, "train": move}, ["'a b'"]),
    ({"train": 7}, ["train", "int"]),
    ({"evaluate": move}, ["evaluate", "train"]),
    ({"workers": 2}, ["workers", "2"]),
    ({"workers": 0, "train": move}, ["workers", "0"]),
    ({"model": WEIGHTS, "train": lambda weights, task: weights, "workers": 2, "examples": 1}, ["workers"]),
    ({"model": WEIGHTS, "train": move, "examples": [1, 2]}, ["client_examples", "2"]),
    ({"model": WEIGHTS, "train": move, "local_objective": "prox"}, ["local_objective", "'prox'"]),
])
def test_requests_that_make_no_sense_are_refused(tmp_path, keywords, parts):
    with refused(fedstride.UsageError, *parts):
        fedstride.run(**{"clients": 3, "rounds": 1, **keywords}, out=tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_killed_in_a_function_and_resumed_the_bits_are_the_same(tmp_path):
    program = textwrap.dedent("""
        import sys, time
        import fedstride
        import test_own_code as own

        if sys.argv[2] == "resume":
            run = fedstride.resume(sys.argv[1], train=own.count)
        else:
            @fedstride.named("counter", "1")
            def slow(weights, task):
                if task.round == 3 and task.client == 1:
                    open(sys.argv[1] + ".there", "w").close()
                    time.sleep(60)
                return own.count(weights, task)

            run = own.outside(sys.argv[1], slow, client_state="keep", rounds=5)
        print(own.hashes(run)[-1])
    """)
    (tmp_path / "main.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{pathlib.Path(__file__).parent}"}
    for how in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        folder = tmp_path / f"run{int(how)}"
        process = subprocess.Popen([sys.executable, tmp_path / "main.py", folder, "run"], env=environment, stderr=subprocess.DEVNULL)
        for _ in range(400):
            if pathlib.Path(f"{folder}.there").exists():
                break
            time.sleep(0.05)
        process.send_signal(how)
        process.wait(20 if how != signal.SIGTERM else 70)
        done = subprocess.run([sys.executable, tmp_path / "main.py", folder, "resume"], env=environment, capture_output=True, text=True)
        whole = outside(tmp_path / f"whole{int(how)}", count, client_state="keep", rounds=5)
        assert done.stdout.strip() == hashes(whole)[-1], done.stderr


def test_memory_does_not_grow_over_rounds(tmp_path):
    program = textwrap.dedent("""
        import gc, sys, weakref
        import numpy as np
        import fedstride

        weights = {"w": np.zeros(20_000, np.float32)}
        kept = []

        class Trainer:
            def __call__(self, weights, task):
                return {name: weight + np.float32(1e-3) for name, weight in weights.items()}

        def memory():
            return int(open("/proc/self/statm").read().split()[1]) * 4096

        def watch(record):
            if record["round"] in (200, 1000):
                gc.collect()
                kept.append(memory())

        gc.disable()
        trainer = Trainer()
        gone = weakref.ref(trainer)
        fedstride.run(model=weights, train=trainer, clients=4, rounds=1000, out=sys.argv[1], on_round=watch, checkpoint_every=1000)
        del trainer
        assert gone() is None, "a reference cycle holds the training function"
        print(kept[1] - kept[0])
    """)
    (tmp_path / "main.py").write_text(program)
    done = subprocess.run([sys.executable, tmp_path / "main.py", tmp_path / "a"], capture_output=True, text=True, timeout=120)
    assert int(done.stdout) < 4 << 20, done.stderr


def test_a_pytorch_model_trains_as_in_a_plain_loop_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))

        def forward(self, x):
            return self.layers(x)

    torch.manual_seed(3)
    first = Net()
    counts = [12, 30, 18]
    data = [(torch.randn(count, 4), torch.randint(0, 3, (count,))) for count in counts]

    def trained(weights, client):
        net = Net()
        net.load_state_dict(weights)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for x, y in zip(*(part.split(6) for part in data[client])):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
        return net.state_dict()

    def train(weights, task):
        assert all(isinstance(tensor, torch.Tensor) for tensor in weights.values()) and [*weights] == [*first.state_dict()]
        weights["layers.0.weight"] += 0  # its own
        return trained(weights, task.client)

    expected = {name: tensor.clone() for name, tensor in first.state_dict().items()}
    for rounds in range(1, 4):
        all_of = [trained(expected, client) for client in range(3)]
        for name, tensor in expected.items():
            if tensor.is_floating_point():
                expected[name] = sum(count * one[name].double() for count, one in zip(counts, all_of)).div(60).float()
        run = fedstride.run(model=first, train=train, clients=3, examples=counts, rounds=rounds, out=tmp_path / str(rounds))
        for name, array in run.model().items():
            assert np.abs(array - expected[name].numpy()).max() < 1e-6 * rounds, name
        assert "layers.1.num_batches_tracked" not in run.model() and "layers.1.running_mean" in run.model()
    named_train = fedstride.named("plain", 1)(train)
    run = fedstride.run(model=first, train=named_train, clients=3, examples=counts, rounds=2, out=tmp_path / "a")
    kept = fedstride.resume(run, rounds=3, train=named_train)  # PyTorch's tensors, as the run's folder says
    assert kept.summary["model_hash"] == fedstride.open_run(tmp_path / "3").summary["model_hash"]
    run = fedstride.run(model=first, train=named_train, clients=3, examples=counts, rounds=2, out=tmp_path / "b")
    run = fedstride.resume(run, rounds=3, train=named_train, model=first)
    assert run.summary["model_hash"] == fedstride.open_run(tmp_path / "3").summary["model_hash"]
    with refused(fedstride.UsageError, "'bias'"):
        fedstride.resume(run, rounds=4, train=named_train, model=nn.Linear(2, 2))


def test_the_program_does_not_go_on_with_python_s_code(tmp_path):
    fedstride.run(**SMALL, partition=fedstride.named("thirds", 1)(lambda data: [data.rows[i::3] for i in range(3)]), out=tmp_path / "a")
    done = subprocess.run([os.environ["FEDSTRIDE_PROGRAM"], "run", "--resume", tmp_path / "a", "--rounds", "3"], capture_output=True, text=True)
    assert done.returncode == 2 and names(done.stderr, "'partition=thirds 1'")
