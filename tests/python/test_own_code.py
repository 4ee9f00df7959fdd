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

    run = outside(tmp_path / "a", train, rounds=1)
    assert [client["failure"] for client in run.clients] == ["its training raised ValueError: output array is read-only"] * 3
    del run


@pytest.mark.parametrize("answer, failure", [
    (lambda weights: None, "it gave a NoneType; it must give a dict of tensors, or fedstride.Trained"),
    (lambda weights: {**weights, "fc.bias": np.zeros(3, np.float32)}, "it gave 'fc.bias' with shape [3]; the model's has [2]"),
    (lambda weights: {**weights, "fc.bias": np.array([1, np.nan], np.float32)}, "it gave 'fc.bias' with a number that is not finite"),
    (lambda weights: {**weights, "fc.bias": np.array([1, 1e60])}, "it gave 'fc.bias' with a number that is not finite"),
    (lambda weights: {**weights, "fc.bias": np.zeros(2, int)}, "it gave 'fc.bias' with dtype int64; valid are floating point numbers"),
    (lambda weights: {**weights, "fc.bias": np.array([None, None])}, "it gave 'fc.bias' with dtype object"),
    (lambda weights: {name: weights[name] for name in list(weights)[1:]}, "it gave no tensor 'fc.weight'"),
    (lambda weights: {**weights, "fc.more": np.zeros(1)}, "it gave a tensor 'fc.more', which the model does not have"),
    (lambda weights: fedstride.Trained(weights, state={"a": 1}), "it gave a state, and client_state='keep' is not set"),
    (lambda weights: fedstride.Trained(weights, examples=-1), "it gave -1 examples"),
    (lambda weights: 1 / 0, "its training raised ZeroDivisionError: division by zero"),
])
def test_an_answer_that_cannot_be_used_costs_the_client_its_part(tmp_path, caplog, answer, failure):
    run = outside(tmp_path / "a", lambda weights, task: answer(weights) if task.client == 1 else dict(weights), rounds=1)
    told = [client.get("failure", "") for client in run.clients]
    assert told[0] == told[2] == "" and failure in told[1]
    assert any("client 1, round 1" in record.getMessage() for record in caplog.records)
    if "ZeroDivision" in failure:
        assert any("Traceback" in record.getMessage() for record in caplog.records)


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
    assert len(hashes(fedstride.open(tmp_path / "parts"))) == 3
    parts = fedstride.resume(tmp_path / "parts", train=count)
    assert hashes(parts) == hashes(whole)
    assert whole.clients[0]["examples"] == 7 and whole.clients[0]["loss"] == 0.5
    assert hashes(outside(tmp_path / "again", count, **settings)) == hashes(whole)


def test_a_run_goes_on_with_the_same_code_alone(tmp_path):
    outside(tmp_path / "a", rounds=1)
    with pytest.raises(fedstride.UsageError, match="has the code 'train=mover 1', and 'train=counter 1' is given"):
        fedstride.resume(tmp_path / "a", train=count, rounds=2)
    with pytest.raises(fedstride.UsageError, match="and '' is given"):
        fedstride.resume(tmp_path / "a", rounds=2)
    outside(tmp_path / "b", lambda weights, task: dict(weights), rounds=1)
    with pytest.raises(fedstride.UsageError, match=r"has code without a name and version \(train\)"):
        fedstride.resume(tmp_path / "b", train=lambda weights, task: dict(weights), rounds=2)
    for bad in ("", "a b", "x" * 65, 7):
        with pytest.raises(fedstride.UsageError, match="^name is "):
            fedstride.named(bad, 1)


def test_any_number_of_workers_gives_the_same_bits(tmp_path):
    program = textwrap.dedent("""
        import sys
        import fedstride
        from test_own_code import WEIGHTS, count, outside, hashes

        if __name__ == "__main__":
            folder = sys.argv[1]
            runs = [outside(f"{folder}/{workers}", count, workers=workers, client_state="keep", clients=5, examples=9) for workers in (1, 2, 3)]
            assert hashes(runs[0]) == hashes(runs[1]) == hashes(runs[2])
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


def test_evaluation_may_be_the_users(tmp_path):
    accuracy = lambda weights: 1 / (1 + float(weights["scale"]) ** 2)  # noqa: E731
    run = outside(tmp_path / "a", evaluate=lambda weights: {"accuracy": accuracy(weights), "loss": 2.0, "examples": 5})
    assert run.summary["test_accuracy"] == accuracy(run.model()) and run.summary["evaluated_rows"] == 5
    assert all(record["test_loss"] == 2 for record in run.rounds)
    assert outside(tmp_path / "nothing", evaluate=lambda weights: {}).summary["test_loss"] is None
    assert outside(tmp_path / "diverged", evaluate=lambda weights: {"loss": math.inf}).summary["test_loss"] is None


@pytest.mark.parametrize("told, refused", [
    ("x", "^evaluate gave 'x'"),
    ({"accuracy": "x"}, "^evaluate gave {'accuracy': 'x'}"),
    ({"examples": -1}, "^evaluate gave {'examples': -1}"),
    ({"examples": 2**32}, "^evaluate says that the number of examples is 4294967296; possible is 0 to 4294967295$"),
    (2.0, "^evaluate says that the accuracy is 2; possible is 0 to 1$"),
    ({"accuracy": -math.inf}, "^evaluate says that the accuracy is -inf; possible is 0 to 1$"),
    ({"accuracy": 0.5, "loss": -1}, r"^evaluate says that the loss is -1; possible is 0 to 1e\+06$"),
])
def test_an_evaluation_that_no_test_can_have_given_ends_the_run(tmp_path, told, refused):
    with pytest.raises(fedstride.UsageError, match=refused):
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


@pytest.mark.parametrize("settings, message", [
    ({"partition": lambda data: [data.rows]}, "gave rows to 1 client; clients is 3"),
    ({"partition": lambda data: [data.rows, data.rows, data.rows]}, "is somebody's already"),
    ({"partition": lambda data: [[10**9], [1], [2]]}, "which the data set does not have"),
    ({"partition": lambda data: [[-1], [1], [2]]}, "a row number that is none"),
    ({"partition": lambda data: [[], [1], [2]]}, "gave client 0 no row"),
    ({"partition": lambda data: [[0.5], [1], [2]]}, "it must give a list of row numbers"),
    ({"cohort": lambda round, rows, seed: [3]}, "gave client 3; there are clients 0 to 2"),
    ({"cohort": lambda round, rows, seed: [1, 1]}, "gave client 1 twice"),
    ({"aggregation": lambda updates, weights, clients: np.zeros(3, np.float32)}, "it must give .* in one"),
    ({"aggregation": lambda updates, weights, clients: "x"}, "it must give floating point numbers"),
    ({"aggregation": lambda updates, weights, clients: updates[0] * np.nan}, "not finite"),
    ({"server_optimizer": lambda model, change, state: (model, {"f": print})}, "valid are arrays and what JSON can hold"),
    ({"server_optimizer": lambda model, change, state: (model, np.zeros(3))}, "it must be a dict of arrays"),
    ({"aggregation": "callable"}, "means a Python function that is handed over"),
    ({"dp": "client", "noise_multiplier": 1, "clip": 1, "aggregation": lambda *a: a[0][0]}, "aggregation is 'callable'|aggregation 'callable'"),
])
def test_parts_that_break_their_promises_are_refused_by_name(tmp_path, settings, message):
    with pytest.raises(fedstride.Error, match=message):
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
    with pytest.raises(fedstride.UsageError, match="^dp is 'example'; the model is tensors alone"):
        outside(tmp_path / "c", dp="example", noise_multiplier=1.0)


@pytest.mark.parametrize("keywords, message", [
    ({"model": WEIGHTS}, "it needs train"),
    ({"model": 7, "train": move}, "^model is of type int"),
    ({"model": {"a": np.array([np.inf])}, "train": move}, "not finite"),
    ({"model": {"a": np.array([1])}, "train": move}, "dtype int64"),
    ({"model": {"a b": np.ones(1)}, "train": move}, "a tensor called 'a b'"),
    ({"train": 7}, "^train is of type int"),
    ({"evaluate": move}, "^evaluate is given without train"),
    ({"workers": 2}, "^workers is 2"),
    ({"workers": 0, "train": move}, "^workers is 0"),
    ({"model": WEIGHTS, "train": lambda weights, task: weights, "workers": 2, "examples": 1}, "cannot be sent to other processes"),
    ({"model": WEIGHTS, "train": move, "examples": [1, 2]}, "client-examples has 2 numbers"),
    ({"model": WEIGHTS, "train": move, "local_objective": "prox"}, "^local-objective is 'prox'"),
])
def test_requests_that_make_no_sense_are_refused(tmp_path, keywords, message):
    with pytest.raises(fedstride.UsageError, match=message):
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
    run = fedstride.resume(run, rounds=3, train=named_train, model=first)
    assert run.summary["model_hash"] == fedstride.open(tmp_path / "3").summary["model_hash"]
    with pytest.raises(fedstride.UsageError, match="tensor 'bias' is in the model given and not in the run's"):
        fedstride.resume(run, rounds=4, train=named_train, model=nn.Linear(2, 2))


def test_the_program_does_not_go_on_with_python_s_code(tmp_path):
    fedstride.run(**SMALL, partition=fedstride.named("thirds", 1)(lambda data: [data.rows[i::3] for i in range(3)]), out=tmp_path / "a")
    done = subprocess.run([os.environ["FEDSTRIDE_PROGRAM"], "run", "--resume", tmp_path / "a", "--rounds", "3"], capture_output=True, text=True)
    assert done.returncode == 2 and "has code of its own ('partition=thirds 1')" in done.stderr
