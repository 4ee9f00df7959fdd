"""Clients of federations over a network, trained by functions."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from conftest import PROGRAM, names, program, refused

import fedstride

FIRST = {"w": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), "b": np.zeros(2, np.float32)}


@fedstride.named("mover", "1")
def move(weights, task):
    goal = np.random.default_rng(task.seed).normal()
    state = {"rounds": 1 if task.state is None else task.state["rounds"] + 1}
    return fedstride.Trained({name: weight + (goal * state["rounds"] - weight) / 2 for name, weight in weights.items()}, state=state)


class Federation:
    """A coordinator over loopback."""

    def __init__(self, folder, *words, clients=2, rounds=3):
        self.folder, self.out = folder, folder / "net"
        fedstride.save_tensors(folder / "first.safetensors", FIRST)
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--insecure-loopback", "--clients", str(clients), "--rounds", str(rounds), "--out",
             self.out, *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = next(line for line in self.process.stderr if "listening at" in line).rsplit(":", 1)[1].strip()
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr))
        self.reader.start()

    def client(self, number, **more):
        return fedstride.Client(connect=f"127.0.0.1:{self.port}", client=number, insecure_loopback=True, quiet=True,
                                folder=self.folder / f"client-{number}", **more)

    def serve(self, *serves):
        """Each on a thread; what they return."""
        results = [None] * len(serves)

        def call(i, one):
            results[i] = one()

        threads = [threading.Thread(target=call, args=pair) for pair in enumerate(serves)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        code = self.process.wait(30)
        self.reader.join()
        assert code == 0, "".join(self.log)
        return results


def tensors(folder):
    return ["--parameters", folder / "first.safetensors"]


def test_a_federation_of_python_clients_has_the_bits_of_the_run_in_one_process(tmp_path):
    federation = Federation(tmp_path, *tensors(tmp_path), "--client-examples", "10,30", "--client-state", "keep")
    told = federation.serve(*[lambda number=number: federation.client(number).serve(move) for number in range(2)])
    assert [one["finished"] for one in told] == [True, True] and told[0]["updates_sent"] == 3
    # The file's order of tensors is by name.
    here = fedstride.run(model=dict(sorted(FIRST.items())), train=move, clients=2, examples=[10, 30], rounds=3, client_state="keep", out=tmp_path / "here")
    net = fedstride.open_run(federation.out)
    assert [one["model_hash"] for one in net.rounds] == [one["model_hash"] for one in here.rounds]
    assert net.summary["test_accuracy"] is None


def test_a_client_may_test_the_models(tmp_path):
    federation = Federation(tmp_path, *tensors(tmp_path))
    federation.serve(lambda: federation.client(0).serve(lambda weights, task: dict(weights)),
                     lambda: federation.client(1).serve(lambda weights, task: dict(weights),
                                                        evaluate=lambda weights: {"accuracy": 0.25, "loss": 2.0, "examples": 7}))
    net = fedstride.open_run(federation.out)
    assert [record["test_accuracy"] for record in net.rounds] == [0.25] * 3
    assert net.summary["evaluated_rows"] == 7 and net.summary["test_loss"] == 2


def test_python_and_c_plus_plus_clients_share_a_federation(tmp_path):
    settings = ["--dataset", "synthetic", "--model", "logistic", "--optimizer", "sgd", "--accept-other-builds"]
    federation = Federation(tmp_path, *settings)
    seen = []

    def train(weights, task):
        seen.append((weights["fc1.weight"].shape, task.x.shape[0], len(task.rows)))
        return dict(weights)

    beside = lambda: program("join", "--connect", f"127.0.0.1:{federation.port}", "--client", 1, "--insecure-loopback", "--out",  # noqa: E731
                             tmp_path / "theirs", "--quiet", "--accept-other-builds")
    federation.serve(lambda: federation.client(0, accept_other_builds=True).serve(train), beside)
    assert len(seen) == 3 and seen[0][0] == (10, 3072 if seen[0][0][1] == 3072 else seen[0][0][1]) and seen[0][1] == seen[0][2] > 0
    assert fedstride.open_run(federation.out).summary["test_accuracy"] > 0


def test_a_client_without_a_function_is_trained_by_fedstride(tmp_path):
    federation = Federation(tmp_path, "--dataset", "synthetic", "--model", "logistic", "--optimizer", "sgd")
    federation.serve(*[lambda number=number: federation.client(number).serve() for number in range(2)])
    here = fedstride.run(dataset="synthetic", model="logistic", optimizer="sgd", clients=2, rounds=3, out=tmp_path / "here")
    assert fedstride.open_run(federation.out).summary["model_hash"] == here.summary["model_hash"]


def test_what_a_client_s_function_raises_costs_its_part_alone(tmp_path):
    federation = Federation(tmp_path, *tensors(tmp_path))
    federation.serve(lambda: federation.client(0).serve(lambda weights, task: 1 / 0), lambda: federation.client(1).serve(lambda weights, task: dict(weights)))
    assert [record["failed_clients"] for record in fedstride.open_run(federation.out).rounds] == [1, 1, 1]


def test_a_federation_whose_clients_all_fail_ends_with_the_cause(tmp_path):
    def fail(federation, number):
        with pytest.raises(fedstride.Error):  # its coordinator is gone
            federation.client(number, patience=1.0).serve(lambda weights, task: 1 / 0)

    federation = Federation(tmp_path, *tensors(tmp_path))
    with pytest.raises(AssertionError, match="2 of 2 clients failed in round 1; client 0: .*can be resumed"):
        federation.serve(*[lambda number=number: fail(federation, number) for number in range(2)])
    run = fedstride.open_run(federation.out)
    assert not run.summary["finished"] and run.summary["rounds"] == 0

    # The same command again, and the same clients with code that works: the run goes on.
    federation = Federation(tmp_path, *tensors(tmp_path))
    told = federation.serve(*[lambda number=number: federation.client(number, patience=30.0).serve(lambda weights, task: dict(weights))
                              for number in range(2)])
    assert [one["finished"] for one in told] == [True, True]
    assert fedstride.open_run(federation.out).summary["finished"]


def test_clients_are_protected(tmp_path):
    federation = Federation(tmp_path, *tensors(tmp_path), "--dp", "client", "--clip", "1", "--noise-multiplier", "1", "--publishable")
    federation.serve(*[lambda number=number: federation.client(number, require_dp="client").serve(
        lambda weights, task: dict(weights), evaluate=lambda weights: 0.5) for number in range(2)])
    program("privacy", "audit", federation.out)
    summary = fedstride.open_run(federation.out).summary
    assert "test_accuracy" not in summary and "privacy" in summary  # nobody knows of whose examples it is


def test_the_program_joins_with_a_file_of_python(tmp_path):
    (tmp_path / "mine.py").write_text(textwrap.dedent("""
        def train(weights, task):
            return {name: array + 1 for name, array in weights.items()}

        def evaluate(weights):
            return {"loss": float(weights["b"][0])}
    """))
    federation = Federation(tmp_path, *tensors(tmp_path), clients=1)
    words = ["join", "--connect", f"127.0.0.1:{federation.port}", "--client", "0", "--insecure-loopback", "--out", tmp_path / "c", "--train",
             tmp_path / "mine.py", "--json", "--quiet"]
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, env={**os.environ, "FEDSTRIDE_PYTHON": sys.executable}, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["updates_sent"] == 3
    assert federation.process.wait(30) == 0
    net = fedstride.open_run(federation.out)
    assert np.allclose(net.model()["w"], FIRST["w"] + 3, atol=1e-6) and net.summary["test_loss"] == pytest.approx(3)

    def join(*more):
        words = [PROGRAM, "join", "--connect", "127.0.0.1:1", "--client", "0", "--insecure-loopback", *map(str, more)]
        return subprocess.run(words, capture_output=True, text=True, env={**os.environ, "FEDSTRIDE_PYTHON": sys.executable})

    done = join("--train", tmp_path / "absent.py")
    assert done.returncode == 2 and names(done.stderr, str(tmp_path / "absent.py"))
    (tmp_path / "empty.py").write_text("")
    done = join("--train", tmp_path / "empty.py")
    assert done.returncode == 2 and names(done.stderr, str(tmp_path / "empty.py"), "train(weights, task)")
    done = join("--train", tmp_path / "mine.py", "--patience", 0.1, "--out", tmp_path / "alone", "--log", "json", "--log-level", "error")
    assert done.returncode == 5 and not done.stdout  # no coordinator: it may be away
    last = json.loads(done.stderr)
    assert last["level"] == "error" and "no coordinator was reached" in last["message"]
    done = subprocess.run([PROGRAM, "join", "--connect", "127.0.0.1:1", "--client", "0", "--insecure-loopback", "--train", tmp_path / "empty.py"],
                          capture_output=True, text=True, env={**os.environ, "FEDSTRIDE_PYTHON": "no-such-python"})
    assert done.returncode == 1 and names(done.stderr, "no-such-python")


def test_a_client_of_tensors_needs_a_function(tmp_path):
    federation = Federation(tmp_path, *tensors(tmp_path), clients=1)
    with pytest.raises(fedstride.Error, match="train"):
        federation.client(0).serve()
    federation.process.kill()
    federation.process.wait()


def test_examples_are_not_protected_by_a_client_s_own_code(tmp_path):
    federation = Federation(tmp_path, "--dataset", "synthetic", "--model", "logistic", "--optimizer", "sgd", "--dp", "example",
                            "--noise-multiplier", "1", clients=1)
    with refused(fedstride.Error, "dp 'example'"):
        federation.client(0).serve(fedstride.uses_clipped_sum(lambda weights, task: dict(weights)))
    federation.process.kill()
    federation.process.wait()


@pytest.mark.parametrize("keywords", [{"client": -1}, {"client": True}, {"threads": -1}, {"patience": float("nan")}, {"delta": 1}])
def test_clients_that_make_no_sense_are_refused(keywords):
    ((key, value),) = keywords.items()
    with refused(fedstride.UsageError, key, str(value)):
        fedstride.Client(**{"connect": "127.0.0.1:1", "client": 0, **keywords})


def test_without_certificates_only_loopback_is_valid(tmp_path):
    with refused(fedstride.UsageError, "certificates"):
        fedstride.Client(connect="127.0.0.1:1", client=0, folder=tmp_path / "c").serve(move)
