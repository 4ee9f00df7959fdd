"""Example-level privacy around training functions of one's own."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import fedstride
from conftest import names, program, refused

WEIGHTS = {"a": np.zeros((2, 2), np.float32), "b": np.ones(3, np.float32)}
PRIVATE = {"dp": "example", "noise_multiplier": 1.0, "clip": 0.5, "batch": 4, "clients": 3, "rounds": 2, "optimizer": "sgd"}


def gradients(indices):
    """Of example i: a norm of about i."""
    length = indices.astype(np.float32)
    return {"a": np.stack([np.full((2, 2), value) for value in length]) if len(length) else np.zeros((0, 2, 2), np.float32),
            "b": np.stack([np.array([value, 0, -value]) for value in length]).astype(np.float32) if len(length) else np.zeros((0, 3), np.float32)}


@fedstride.uses_clipped_sum
@fedstride.named("private", "1")
def train(weights, task):
    for lot in task.lots():
        noisy = lot.gradient(gradients(lot.indices))
        weights = {name: weights[name] - 0.1 * noisy[name] for name in weights}
    return weights


def private(folder, function=train, **settings):
    return fedstride.run(**{"model": WEIGHTS, "train": function, "examples": [10, 20, 40], "out": folder, **PRIVATE, **settings})


def hashes(run):
    return [record["model_hash"] for record in run.rounds]


def test_it_is_the_built_in_private_training(tmp_path):
    # Logistic regression; noise too small to matter, and everyone in the lot, since the two runs draw from different sources.
    data = fedstride.load_dataset(dataset="synthetic")
    mean, deviation = (np.reshape(data[key], (1, 3, 1, 1)) for key in ("mean", "deviation"))

    @fedstride.uses_clipped_sum
    def logistic(weights, task):
        weights = {name: array.astype(float) for name, array in weights.items()}
        matrix, bias = weights
        x = ((task.x / 255 - mean) / deviation).reshape(task.examples, -1)
        for lot in task.lots():
            drawn, classes = x[lot.indices], task.y[lot.indices]
            scores = drawn @ weights[matrix].T + weights[bias]
            errors = np.exp(scores - scores.max(1, keepdims=True))
            errors /= errors.sum(1, keepdims=True)
            errors[np.arange(len(classes)), classes] -= 1
            parts = np.array_split(np.arange(len(classes)), 5)
            noisy = lot.gradient({matrix: errors[part][:, :, None] * drawn[part][:, None, :], bias: errors[part]} for part in parts)
            for name in weights:
                weights[name] = weights[name] - 0.05 * noisy[name]
        return weights

    settings = {"dataset": "synthetic", "model": "logistic", "limit_per_client": 200, "clients": 3, "rounds": 2, "optimizer": "sgd",
                "learning_rate": 0.05, "dp": "example", "noise_multiplier": 1e-6, "clip": 0.5, "sampling_rate": 1, "threads": 1}
    built_in = fedstride.run(**settings, out=tmp_path / "a")
    own = fedstride.run(**settings, train=logistic, out=tmp_path / "b")
    for name, array in built_in.model().items():
        assert np.abs(array - own.model()[name]).max() < 2e-4 * np.abs(array).max()  # its norms have a margin of 1e-4
    for one, other in zip(built_in.clients, own.clients):
        assert one["releases"] == other["releases"] == 1 and one["examples"] == other["examples"]
        assert one["clipped_share"] == other["clipped_share"] and abs(one["gradient_norm"] / other["gradient_norm"] - 1) < 2e-4


def test_the_noise_is_what_the_ledger_charges(tmp_path):
    seen = {}

    @fedstride.uses_clipped_sum
    def still(weights, task):
        for lot in task.lots():
            zeros = {"w": np.zeros((len(lot), 2000), np.float32)}
            seen.setdefault(task.client, []).append(lot.gradient(zeros)["w"])
        return weights

    run = fedstride.run(model={"w": np.zeros(2000, np.float32)}, train=still, examples=[50, 50], out=tmp_path / "a",
                        **{**PRIVATE, "clients": 2, "rounds": 3, "noise_multiplier": 3.0, "batch": 10})
    for client in range(2):
        values = np.concatenate(seen[client])
        assert len(seen[client]) == 15 and abs(values.std() / (3.0 * 0.5 / 10) - 1) < 0.02 and abs(values.mean()) < 0.005
    assert abs(np.corrcoef(seen[0][0], seen[0][1])[0, 1]) < 0.1 and abs(np.corrcoef(seen[0][0], seen[1][0])[0, 1]) < 0.1
    statement = run.summary["privacy"][0]
    asked = fedstride.privacy.epsilon(noise_multiplier=3.0, sampling_rate=0.2, steps=15, delta=1e-5, accountant=statement["accountant"])
    assert abs(asked / statement["epsilon"] - 1) < 1e-6
    assert any("your own code computed the gradients" in text for text in statement["assumptions"])
    assert "your own code computed the gradients" in program("privacy", "audit", tmp_path / "a")


def test_every_lot_reserved_is_charged(tmp_path):
    @fedstride.uses_clipped_sum
    def early(weights, task):
        if task.client == 0:
            lot = next(task.lots())
            lot.gradient(gradients(lot.indices))
        if task.client == 1:
            raise RuntimeError("no")
        return weights

    run = private(tmp_path / "a", early, rounds=1, sampling_rate=0.25)
    assert [client["releases"] for client in run.clients] == [4, 4, 4]


def test_workers_and_a_resumed_run_have_the_same_bits(tmp_path):
    code = f"""
import sys
sys.path[:0] = [{str(pathlib.Path(__file__).parent)!r}]
import test_private_training as here
if __name__ == "__main__":
    one = here.private({str(tmp_path / "1")!r}, rounds=4)
    two = here.private({str(tmp_path / "2")!r}, rounds=4, workers=2)
    begun = here.private({str(tmp_path / "3")!r}, rounds=2)
    went_on = here.fedstride.resume(begun, rounds=4, train=here.train, workers=2)
    assert here.hashes(one) == here.hashes(two) == here.hashes(went_on), [here.hashes(run) for run in (one, two, went_on)]
    secret = here.private({str(tmp_path / "4")!r}, rounds=4, workers=2, randomness="secret")
    assert here.hashes(secret)[0] != here.hashes(one)[0]
"""
    file = tmp_path / "program.py"
    file.write_text(code)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    ledgers = [[json.loads(line) for line in (tmp_path / name / "ledger.jsonl").read_text().splitlines()] for name in "12"]
    assert [entry.get("groups") for entry in ledgers[0]] == [entry.get("groups") for entry in ledgers[1]]


def test_a_budget_ends_the_run(tmp_path):
    run = private(tmp_path / "a", rounds=1000, epsilon=3.0, noise_multiplier=2.0)
    assert 1 < run.summary["rounds"] < 1000
    assert run.summary["privacy"][0]["epsilon"] <= 3.0


def test_both_levels_together(tmp_path):
    run = private(tmp_path / "a", dp="both", client_noise_multiplier=1.0, client_clip=1.0)
    assert [statement["level"] for statement in run.summary["privacy"]] == ["example", "client"]


@pytest.mark.parametrize("wrong, parts", [
    (lambda lot: lot.gradient({"a": np.zeros((len(lot), 2, 2))}) and {**WEIGHTS, "b": WEIGHTS["b"] + 1},
     ["'b'"]),
    (lambda lot: lot.gradient({"a": np.zeros((len(lot), 4))}), ["'a'", "[40, 4]", "[examples, 2, 2]"]),
    (lambda lot: lot.gradient({"a": np.zeros((len(lot), 2, 2)), "b": np.zeros((3, 3))}), ["'b'", "[3, 3]", "[40, 3]"]),
    (lambda lot: lot.gradient({"a": np.zeros(())}), ["'a'", "[]", "[examples, 2, 2]"]),
    (lambda lot: lot.gradient({"c": np.zeros((40, 1))}), ["'c'"]),
    (lambda lot: lot.gradient({"b": np.zeros((40, 3), int)}), ["'b'", "int64"]),
    (lambda lot: lot.gradient({}), ["40", "0"]),
    (lambda lot: lot.gradient([]), ["40", "0"]),
    (lambda lot: lot.gradient([gradients(lot.indices)] * 2), ["40", "80"]),
    (lambda lot: lot.gradient(7), ["TypeError", "_lots.py"]),
    (lambda lot: lot.gradient([7]), ["gradients", "int"]),
    (lambda lot: [lot.gradient(gradients(lot.indices)), lot.gradient(gradients(lot.indices))], ["Error", "_lots.py"]),
    (lambda lot: None, ["lot"]),
])
def test_wrong_gradients_cost_the_client_the_round(tmp_path, wrong, parts):
    @fedstride.uses_clipped_sum
    def function(weights, task):
        answer = None
        for lot in task.lots():
            answer = wrong(lot)
        return answer

    run = private(tmp_path / "a", function, clients=1, examples=40, rounds=1, sampling_rate=1, local_epochs=2, accept_failures="all")
    assert names(run.clients[0]["failure"], *parts)
    assert run.clients[0]["releases"] == 2
    assert np.array_equal(run.model()["a"], WEIGHTS["a"])


def test_gradients_that_are_not_finite_are_left_out(tmp_path):
    @fedstride.uses_clipped_sum
    def function(weights, task):
        for lot in task.lots():
            values = np.zeros((len(lot), 3))
            values[:5] = [[np.nan, 0, 0], [np.inf, 0, 0], [0, -np.inf, 0], [0, 1e300, 0], [100, 0, 0]]
            noisy = lot.gradient({"b": values})
        return {"a": weights["a"], "b": weights["b"] + noisy["b"]}

    run = private(tmp_path / "a", function, clients=1, examples=40, rounds=1, sampling_rate=1, noise_multiplier=1e-6)
    assert run.clients[0]["nonfinite"] == 4
    assert np.allclose(run.model()["b"], [1 + 0.5 / 40, 1, 1], atol=1e-6)


def test_it_must_be_said(tmp_path):
    def plain(weights, task):
        return weights

    with refused(fedstride.UsageError, "dp", "'example'", "Task.lots()", "fedstride.uses_clipped_sum"):
        private(tmp_path / "a", plain)
    with refused(fedstride.UsageError, "builtin_function_or_method"):
        fedstride.uses_clipped_sum(max)
    seen = []

    @fedstride.uses_clipped_sum
    def curious(weights, task):
        try:
            next(task.lots())
        except fedstride.UsageError as error:
            seen.append(str(error))
        return weights

    fedstride.run(model=WEIGHTS, train=curious, examples=5, clients=1, rounds=1, out=tmp_path / "b")
    assert len(seen) == 1 and names(seen[0], "lots", "dp='example'", "dp='both'")
    assert not (tmp_path / "a").exists()


def test_the_word_is_part_of_what_the_run_is(tmp_path):
    run = private(tmp_path / "a")
    assert run.settings["code"] == "train=private 1 (clipped sum)"

    @fedstride.named("private", "1")
    def other(weights, task):
        return train(weights, task)

    with pytest.raises(fedstride.UsageError, match=r"'train=private 1 \(clipped sum\)'.*'train=private 1'"):
        fedstride.resume(run, rounds=3, train=other)


def test_tensors_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(3, 2)
    x, y = torch.randn(30, 3), torch.randn(30, 2)

    @fedstride.uses_clipped_sum
    def linear(weights, task):
        net.load_state_dict(weights)
        for lot in task.lots():
            rows = []
            for i in lot.indices:
                net.zero_grad()
                ((net(x[i]) - y[i]) ** 2).sum().backward()
                rows.append({name: parameter.grad[None].clone() for name, parameter in net.named_parameters()})
            noisy = lot.gradient(rows)
            with torch.no_grad():
                for name, parameter in net.named_parameters():
                    assert isinstance(noisy[name], torch.Tensor) and noisy[name].shape == parameter.shape
                    parameter -= 0.1 * noisy[name]
        return net.state_dict()

    run = fedstride.run(model=net, train=linear, examples=30, out=tmp_path / "a", **{**PRIVATE, "clients": 1, "noise_multiplier": 0.5})
    assert "failure" not in run.clients[0] and run.clients[0]["releases"] == 8
