"""A comparison whose methods are the user's own code: optimizers as functions, and experiments given as a dict."""

import csv
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import SMALL, SOURCE, refused

import fedstride


def hashes(run):
    return [one["model_hash"] for one in run.rounds]


def heavy_ball(gradient, state, step):
    velocity = gradient if state is None else 0.9 * state["velocity"] + gradient
    return -np.float32(step.learning_rate) * velocity, {"velocity": velocity}


def plain(gradient, state, step):
    return -np.float32(step.learning_rate) * gradient


def median(changes, weights, clients):
    return np.median(changes, axis=0)


def experiment(**more):
    return {**SMALL, "learning_rate": 0.05, "variant": {"own": {"aggregation": median, "optimizer": plain}, "FedAvg": {"method": "fedavg"}},
            "sweep": {"seed": [1, 2]}, **more}


def test_an_optimizer_may_be_a_function_with_a_state_that_a_client_keeps(tmp_path):
    ours = fedstride.run(**SMALL, optimizer=plain, learning_rate=0.05, out=tmp_path / "a")
    theirs = fedstride.run(**SMALL, optimizer="sgd", learning_rate=0.05, out=tmp_path / "b")
    assert abs(ours.summary["test_loss"] - theirs.summary["test_loss"]) < 1e-5
    assert ours.rounds[0]["clients"][0]["learning_rate"] == 0.05
    ours = fedstride.run(**SMALL, optimizer=heavy_ball, learning_rate=0.01, out=tmp_path / "c")
    theirs = fedstride.run(**SMALL, optimizer="heavy-ball", momentum=0.9, learning_rate=0.01, out=tmp_path / "d")
    assert abs(ours.summary["test_loss"] - theirs.summary["test_loss"]) < 1e-4

    numbers = []

    def counts(gradient, state, step):
        numbers.append((step.number, step.weights.shape == gradient.shape))
        return np.zeros_like(gradient)

    fedstride.run(**{**SMALL, "threads": 1}, optimizer=counts, client_state="keep", cohort=lambda round, rows, seed: [0], out=tmp_path / "e")
    assert [number for number, _ in numbers] == list(range(len(numbers))) and all(same for _, same in numbers)
    whole = fedstride.run(**{**SMALL, "rounds": 4}, optimizer=heavy_ball, client_state="keep", learning_rate=0.01, out=tmp_path / "f")
    fedstride.run(**{**SMALL, "rounds": 2}, optimizer=heavy_ball, client_state="keep", learning_rate=0.01, out=tmp_path / "g")
    assert hashes(fedstride.resume(tmp_path / "g", rounds=4, optimizer=heavy_ball)) == hashes(whole)


@pytest.mark.parametrize("function, parts", [
    (lambda gradient, state, step: gradient[1:], ["optimizer"]),
    (lambda gradient, state, step: gradient * np.nan, ["optimizer", "finite"]),
    (lambda gradient, state, step: (gradient, 1, 2), ["optimizer", "3"]),
    (lambda gradient, state, step: (gradient, {"f": print}), ["JSON"]),
    (lambda gradient, state, step: gradient.astype(int), ["optimizer", "floating"]),
])
def test_an_optimizer_that_breaks_its_promise_is_refused_by_name(tmp_path, function, parts):
    with refused(fedstride.Error, *parts):
        fedstride.run(**SMALL, optimizer=function, out=tmp_path / "a")


def test_a_function_without_a_name_is_known_by_its_source_and_by_what_it_encloses(tmp_path):
    def scaled(factor):
        return lambda changes, weights, clients: np.mean(changes, axis=0) * np.float32(factor)

    run = fedstride.run(**SMALL, aggregation=scaled(0.5), out=tmp_path / "a")
    before = hashes(run)
    assert "source-" in run.settings["code"]
    assert hashes(fedstride.resume(run.folder, rounds=4, aggregation=scaled(0.5)))[:3] == before
    with refused(fedstride.UsageError, "code"):
        fedstride.resume(run.folder, rounds=5, aggregation=scaled(0.25))
    # With noise that a repeated round would use again, a name is needed, which says what is the same.
    def add(model, change, state):
        return model + change

    private = fedstride.run(**SMALL, dp="client", clip=1, noise_multiplier=1, server_optimizer=add, out=tmp_path / "b")
    with refused(fedstride.UsageError, "server_optimizer", "@fedstride.named"):
        fedstride.resume(private.folder, rounds=4, server_optimizer=add)


def test_first_weights_are_kept_in_the_runs_folder_and_known_by_their_contents(tmp_path):
    def train(weights, task):
        return {"w": weights["w"] * np.float32(0.5)}

    settings = {"examples": [5, 6], "clients": 2, "rounds": 2, "train": train, "model": {"w": np.ones(3, np.float32)}}
    run = fedstride.run(**settings, out=tmp_path / "a")
    kept = pathlib.Path(run.settings["init"])
    assert kept.parent == tmp_path / "a" and kept.name.startswith("weights-") and kept.is_file()
    again = fedstride.run(**settings, seed=2, out=tmp_path / "b")
    # Seeds of one method are not rivals.
    page = pathlib.Path(fedstride.report(run.folder, again.folder, out=tmp_path / "page.html")).read_text()
    assert "highest mean" not in page
    before = hashes(run)
    resumed = fedstride.resume(run.folder, rounds=3, train=train, model=settings["model"])
    assert hashes(resumed)[:2] == before and len(hashes(resumed)) == 3


def test_own_methods_are_rows_beside_the_others_and_finished_cells_are_not_run_again(tmp_path):
    sweep = fedstride.sweep(experiment(), out=tmp_path / "s")
    assert [cell.status for cell in sweep.cells] == ["finished"] * 4
    own = [cell for cell in sweep.cells if cell.point["variant"] == "own"]
    alone = fedstride.run(**SMALL, learning_rate=0.05, aggregation=median, optimizer=plain, seed=1, out=tmp_path / "alone")
    assert hashes(own[0]) == hashes(alone)
    rows = list(csv.DictReader((tmp_path / "s" / "summary.csv").open()))
    assert {row["variant"]: row["n"] for row in rows if row["metric"] == "test_accuracy"} == {"own": "2", "FedAvg": "2"}
    before = {cell.folder: (cell.folder / "summary.json").stat().st_mtime_ns for cell in sweep.cells}
    again = fedstride.sweep(experiment(), out=tmp_path / "s")
    assert {cell.folder: (cell.folder / "summary.json").stat().st_mtime_ns for cell in again.cells} == before

    def other(changes, weights, clients):
        return np.median(changes, axis=0) * np.float32(0.5)

    other.__qualname__ = median.__qualname__  # other code under the same name
    changed = experiment()
    changed["variant"]["own"]["aggregation"] = other
    assert fedstride.sweep(changed, out=tmp_path / "s2")["finished"] == 4
    assert hashes(fedstride.Sweep(tmp_path / "s2").cells[0]) != hashes(own[0])
    assert "own" in pathlib.Path(fedstride.report(tmp_path / "s", latex=True)).read_text() and "own" in (tmp_path / "s" / "report.tex").read_text()


def test_a_list_of_functions_and_parts_is_swept(tmp_path):
    sweep = fedstride.sweep({**SMALL, "sweep": {"aggregation": [median, "trimmed-mean", fedstride.Krum(byzantine=1)]}}, out=tmp_path / "s")
    assert [cell.point["variant"] for cell in sweep.cells][:2] == ["median", "trimmed-mean"] and len(sweep.cells) == 3
    with refused(fedstride.UsageError, "aggregation", "variant"):
        fedstride.sweep({**SMALL, "variant": {"a": {}}, "sweep": {"aggregation": [median]}}, out=tmp_path / "t")


def test_a_cell_that_fails_is_told_and_the_others_finish(tmp_path):
    def breaks(changes, weights, clients):
        raise ValueError("no mean today")

    broken = experiment()
    broken["variant"]["own"]["aggregation"] = breaks
    with pytest.raises(fedstride.Error, match="no mean today"):
        fedstride.sweep(broken, out=tmp_path / "s")
    assert [cell.status for cell in fedstride.Sweep(tmp_path / "s").cells if cell.point["variant"] == "FedAvg"] == ["finished"] * 2


JOBS = """
import os, sys
sys.path.insert(0, {tests!r})
import fedstride, numpy as np
from test_own_sweep import SMALL, experiment

def train(weights, task):
    os.write(1, f"process {{os.getpid()}}\\n".encode())  # one write, so that lines of two processes never mix
    return weights

given = {{"examples": 4, "clients": 3, "rounds": 2, "partition": "outside", "client_examples": "4,4,4", "model": {{"w": np.ones(3, np.float32)}}, "train": train,
         "sweep": {{"seed": [1, 2, 3, 4]}}}}
del given["examples"]
sweep = fedstride.sweep(given, out=sys.argv[1], jobs=2)
print("parent", os.getpid())
print([cell.status for cell in sweep.cells])
"""


def test_cells_run_in_processes_of_their_own(tmp_path):
    script = tmp_path / "jobs.py"
    script.write_text(JOBS.format(tests=str(SOURCE / "tests/python")))
    done = subprocess.run([sys.executable, script, tmp_path / "s"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    processes = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("process")}
    parent = next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("parent"))
    assert len(processes) == 2 and parent not in processes and "['finished', 'finished', 'finished', 'finished']" in done.stdout


def test_the_papers_example_runs_and_goes_on_where_it_was(tmp_path):
    lines = (SOURCE / "examples/paper/paper.py").read_text().splitlines()
    assert len(lines) <= 80
    command = [sys.executable, SOURCE / "examples/paper/paper.py", tmp_path / "paper", "synthetic", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    stop = threading.Timer(6, process.send_signal, [2])  # half way
    stop.start()
    process.communicate(timeout=300)
    stop.cancel()
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "own" in done.stdout and "SCAFFOLD" in done.stdout and "own is above FedAvg" in done.stdout
    assert "own" in (tmp_path / "paper/sweep/report.tex").read_text() and "Own method" in (tmp_path / "paper/sweep/report.html").read_text()
    assert json.loads((tmp_path / "paper/sweep/sweep.json").read_text())
    alone = subprocess.run([os.environ["FEDSTRIDE_PROGRAM"], "report", tmp_path / "paper/sweep"], capture_output=True, text=True)
    assert alone.returncode == 2 and "own Python code" in alone.stderr and "fedstride.report" in alone.stderr
    if shutil.which("latexmk"):
        (tmp_path / "paper.tex").write_text("\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage{booktabs}\n\\begin{document}\n"
                                            "\\input{paper/sweep/report.tex}\n\\end{document}\n")
        latex = subprocess.run(["latexmk", "-pdf", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"], cwd=tmp_path, capture_output=True, text=True)
        assert latex.returncode == 0 and "Overfull" not in latex.stdout, latex.stdout
    assert importlib.util.find_spec("torch") is None or "dense" in (tmp_path / "paper/sweep/experiment.toml").read_text()
