"""The code of docs/python.md, in its order, and the examples."""

import importlib.util
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import SOURCE

import fedstride

PAGE = (SOURCE / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


class Recorder:
    """Stands in for a tracker, which Debian has not: keeps what is called, with the names and arguments that their documents give."""

    def __init__(self, calls, name=""):
        self.calls, self.name = calls, name

    def __getattr__(self, name):
        return Recorder(self.calls, f"{self.name}.{name}".lstrip("."))

    def __call__(self, *words, **named):
        self.calls.append((self.name, words, named))
        return Recorder(self.calls, self.name + "()")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def test_every_block_of_the_page_runs(tmp_path, monkeypatch, capsys):
    assert len(BLOCKS) >= 7
    monkeypatch.chdir(tmp_path)
    mlflow, wandb = [], []
    monkeypatch.setitem(sys.modules, "mlflow", Recorder(mlflow))
    monkeypatch.setitem(sys.modules, "wandb", Recorder(wandb))
    names = {}
    for number, block in enumerate(BLOCKS):
        if "import torch" in block and importlib.util.find_spec("torch") is None:
            continue
        exec(compile(block, f"docs/python.md, block {number + 1}", "exec"), names)
        for comment in re.findall(r"^print\(run\)  # (.*)$", block, re.MULTILINE):
            assert re.sub(r"\d\.\d+", "#", repr(names["run"])) == re.sub(r"\d\.\d+", "#", comment)  # bits depend on the build
    assert [name for name, _, _ in mlflow] == ["start_run", "log_params", "log_metrics", "log_metrics"]
    assert mlflow[-1][2] == {"step": 2} and 0 <= mlflow[-1][1][0]["test_accuracy"] <= 1
    assert [name for name, _, _ in wandb] == ["init", "init().log", "init().log"]
    assert wandb[0][2]["project"] == "federation" and wandb[-1][1][0]["round"] == wandb[-1][2]["step"] == 2
    shown = capsys.readouterr().out
    assert "rounds is 0; it must be a whole number from 1 to 2000000000\n" in shown
    if importlib.util.find_spec("torch") is not None:
        accuracy, epsilon = re.search(r"^accuracy ([\d.]+) epsilon ([\d.]+)$", shown, re.MULTILINE).groups()
        assert float(accuracy) > 0.2 and 0 < float(epsilon) < 20
    assert names["weights"]["fc1.weight"].shape == (10, 3072)


WORDS = (SOURCE / "docs" / "coming-from.md").read_text()
OURS = re.findall(r"^\|.*\| `([^`]+)` \|$", WORDS, re.MULTILINE)


def test_every_row_of_words_ends_in_ours():
    rows = [line for line in WORDS.splitlines() if line.startswith("|") and not re.match(r"^\|(---|.*\| fedstride \|$)", line)]
    assert len(OURS) == len(rows) > 20 and all(row.count("|") == 5 for row in rows)


@pytest.mark.parametrize("ours", OURS)
def test_our_words_run(tmp_path, ours):
    names = {"fedstride": fedstride, "folder": tmp_path / "first", "weights": {"w": np.zeros(2, np.float32)},
             "train": lambda weights, task: {"w": weights["w"] + 1}, "mean_without_extremes": lambda updates, weights, clients: np.sort(updates, 0)[1:-1].mean(0)}
    small = {"dataset": "synthetic", "model": "dense 8 | relu | dense classes", "rounds": 1, "limit_per_client": 30}
    if ours.startswith("fedstride."):
        fedstride.run(**small, out=tmp_path / "first")
        assert len(eval(ours, names)) == 1
        return
    given = eval(f"dict({ours})", names)
    if "train" in given:
        small = {"rounds": 1}
    if isinstance(given.get("partition"), list):
        del small["limit_per_client"]
    run = fedstride.run(**{**small, **given}, out=tmp_path / "run")
    for key, value in given.items():
        if isinstance(value, fedstride.Part):
            assert {key: value.name, **value.settings}.items() <= run.settings.items()
        elif isinstance(value, (str, int)) and key not in ("examples", "method"):
            assert run.settings[key] == value
    assert run.state == "finished" and ("dp" not in given or run.summary["privacy"])


PLAIN = {"optimizer": "sgd", "local_objective": "plain", "aggregation": "mean", "server_optimizer": "average", "personal": "none", "dp": "none"}
ALGORITHMS = {  # what the papers define; PLAIN is McMahan et al.'s FedAvg
    "FedAvg": {}, "FedProx(proximal_mu=0.1)": {"local_objective": "prox", "mu": 0.1}, "SCAFFOLD": {"local_objective": "scaffold"},
    "FedAdam": {"server_optimizer": "adam"}, "FedYogi": {"server_optimizer": "yogi"}, "FedAdagrad": {"server_optimizer": "adagrad"},
    "FedAvgM": {"server_optimizer": "momentum"}, "FedMedian": {"aggregation": "median"},
    "FedTrimmedAvg(beta=0.2)": {"aggregation": "trimmed-mean", "trim": 0.2}, "Krum": {"aggregation": "krum", "byzantine": 1},
    "-algo Ditto": {"personal": "ditto", "ditto_lambda": 0.1}, "-algo FedPer": {"personal": "local-layers"},
    "GaussianMechanism": {"dp": "client", "clip_rule": "fixed", "clip": 1, "noise_multiplier": 2, "cohort": "poisson", "cohort_rate": 0.5,
                          "client_noise": "central"},
    "PLDPrivacyAccountant": {"dp": "client", "clip": 1, "epsilon": 8, "accountant": "tight"}}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_s_row_resolves_to_that_algorithm(tmp_path, name):
    (ours,) = re.findall(rf"^\|.*`{re.escape(name)}`.*\| `([^`]+)` \|$", WORDS, re.MULTILINE)
    given = eval(f"dict({ours})", {"fedstride": fedstride})
    run = fedstride.run(**{"dataset": "synthetic", "rounds": 1, "limit_per_client": 30, **given}, out=tmp_path / "run")
    resolved = PLAIN | ALGORITHMS[name]
    assert {key: run.settings.get(key) for key in resolved} == resolved


def test_every_row_of_algorithms_is_compared_with_its_definition():
    section = WORDS[WORDS.index("## Algorithms"):WORDS.index("## What differs")]
    rows = [row for row in section.splitlines() if row.startswith("| ") and "| fedstride |" not in row]
    assert len(rows) == len(ALGORITHMS) and all(sum(f"`{name}`" in row for name in ALGORITHMS) == 1 for row in rows)


def test_the_readme_s_lines_run(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", (SOURCE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(blocks[0], "README.md", "exec"), names)
    assert names["weights"]["fc1.weight"].dtype.name == "float32"
    assert float(capsys.readouterr().out.split()[0]) > 0.1


def example(folder, *words, **environment):
    return subprocess.run([sys.executable, SOURCE / "examples" / "python" / "adadp_against_sgd.py", *words], cwd=folder,
                          capture_output=True, text=True, env={**os.environ, **environment})


def test_the_example_draws_its_figure(tmp_path):
    pytest.importorskip("matplotlib")
    if not os.path.exists(os.path.join(os.environ.get("FEDSTRIDE_DATA", ""), "cifar10", "data_batch_1.bin")):
        pytest.skip("CIFAR-10 is not in FEDSTRIDE_DATA")
    done = example(tmp_path, "1", "20")
    assert done.returncode == 0, done.stderr
    figure = (tmp_path / "adadp-against-sgd.svg").read_text()
    assert figure.count("<svg") == 1 and len(figure) > 10_000


def test_without_data_the_example_says_how_to_get_them(tmp_path):
    pytest.importorskip("matplotlib")
    done = example(tmp_path, "1", FEDSTRIDE_DATA=str(tmp_path), HOME=str(tmp_path))
    assert done.returncode == 1 and "fedstride data get cifar10" in done.stderr and "Traceback" not in done.stderr
    assert len((SOURCE / "examples" / "python" / "adadp_against_sgd.py").read_text().splitlines()) < 40


@pytest.mark.parametrize("name, module", [("speeches_hdf5.py", "h5py"), ("writers_hdf5.py", "h5py"), ("writers_hdf5.py", "numpy")])
def test_an_example_without_a_module_it_needs_says_so_in_one_line(tmp_path, name, module):
    code = f"import runpy, sys; sys.modules['{module}'] = None; sys.argv = ['{name}', 'out']; runpy.run_path(r'{SOURCE}/examples/data/{name}', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and f"python3-{module}" in done.stderr, done.stderr


def run_example(folder, name, *words):
    done = subprocess.run([sys.executable, SOURCE / "examples" / "python" / name, *map(str, words)], cwd=folder, capture_output=True,
                          text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_of_own_parts_runs(tmp_path):
    lines = run_example(tmp_path, "own_parts.py", tmp_path).splitlines()
    assert [line.split(":")[0] for line in lines] == ["mean", "median"]


def test_the_example_with_optuna_prunes_and_finds_a_rate(tmp_path):
    pytest.importorskip("optuna")
    text = run_example(tmp_path, "optuna_search.py", 6, tmp_path)
    assert "of 6 trials" in text and "learning rate" in text


def test_a_tracker_that_fails_is_logged_once_and_stops_nothing(tmp_path, caplog):
    told = []

    @fedstride.tracker
    def track(record):
        told.append(record["round"])
        raise OSError("the server is gone")

    run = fedstride.run(dataset="synthetic", model="logistic", clients=2, rounds=3, on_round=track, out=tmp_path / "run")
    assert run.state == "finished" and told == [1, 2, 3]
    assert [record.getMessage() for record in caplog.records] == ["the tracker failed in round 1; the run continues, and later failures are not logged"]
    assert "the server is gone" in caplog.text


def test_the_example_of_a_federation_learns_and_is_audited(tmp_path):
    text = run_example(tmp_path, "federation.py", tmp_path / "f")
    assert "after 20 rounds" in text and "client" in text
    assert np.abs(fedstride.open_run(tmp_path / "f" / "run").model()["w"] - [1, -2, 0.5, 3]).max() < 1


@pytest.mark.parametrize("name, words, expected", [
    ("pytorch_lstm.py", [2], "accuracy 0."),
    ("personal_head.py", [2], "round 2, client 3"),
    ("private_pytorch.py", [1], "at delta 1e-05"),
    ("adapters.py", [2], "6420 of 203742 numbers are sent"),
    ("pytorch_cuda.py", [1, 2, "synthetic"], "on c"),
])
def test_the_examples_with_pytorch_run(tmp_path, name, words, expected):
    pytest.importorskip("torch")
    assert expected in run_example(tmp_path, name, tmp_path / "run", *words)


def test_the_example_of_a_resnet_runs(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(SOURCE / "examples" / "python"))
    import pytorch_resnet

    assert sum(parameter.numel() for parameter in pytorch_resnet.resnet18().parameters()) == 11_173_962
    pytorch_resnet.main(str(tmp_path / "run"), rounds=1, rows=20, width=8, dataset="synthetic")


def test_fedex_moves_its_distribution_by_exponentiated_gradient(monkeypatch):
    monkeypatch.syspath_prepend(str(SOURCE / "examples" / "python"))
    import fedex

    one = fedex.FedEx(2)
    assert list(one.odds(1)) == [0.5, 0.5]
    # Worked by hand. Round 1: mean loss 0.5 = baseline; gradients 10 (0.2 - 0.5) / (0.5 x 40) = -0.15 and 30 (0.6 - 0.5) / 20 = 0.15; step
    # sqrt(2 log 2) / 0.15, so that the odds are as exp(1.17741) to exp(-1.17741).
    one.scores[1] = [(0, 10, 0.2), (1, 30, 0.6)]
    assert one.odds(2) == pytest.approx([0.913317, 0.086683], abs=1e-6)
    # Round 2: baseline 0.5; gradient (10 (0.4 - 0.5) + 30 (0.3 - 0.5)) / (0.913317 x 40) = -0.191609; step 1.17741 / 0.243338.
    one.scores[2] = [(0, 10, 0.4), (0, 30, 0.3)]
    assert one.odds(3) == pytest.approx([0.963810, 0.036190], abs=1e-5)
    # Round 3: baseline (0.325 + 0.9 x 0.5) / 1.9 = 0.407895, which both settings meet: nothing moves.
    one.scores[3] = [(0, 10, 0.775 / 1.9), (1, 30, 0.775 / 1.9)]
    assert one.odds(4) == pytest.approx(one.odds(3), abs=1e-12)
    assert one.odds(2) == pytest.approx([0.913317, 0.086683], abs=1e-6)  # of an earlier round, as before
    drawn = [one.draw(3, client) for client in range(1000)]
    assert drawn == [one.draw(3, client) for client in range(1000)] and 940 < drawn.count(0) < 985


def test_the_example_of_fedex_goes_on_with_the_same_bits(tmp_path):
    run_example(tmp_path, "fedex.py", tmp_path / "parts", 1)
    text = run_example(tmp_path, "fedex.py", tmp_path / "parts", 2)
    assert text == run_example(tmp_path, "fedex.py", tmp_path / "whole", 2) and len(text.splitlines()) == 7
    parts, whole = (fedstride.open_run(tmp_path / name) for name in ("parts", "whole"))
    assert [one["model_hash"] for one in parts.rounds] == [one["model_hash"] for one in whole.rounds]
