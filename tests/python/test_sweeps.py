"""The object that fedstride.sweep returns."""

import math
import pathlib
import re

import own_accountant
import pytest
from conftest import refused

import fedstride

FILE = """dataset = "synthetic-li"
model = "logistic"
rounds = 2
threads = 1
[sweep]
optimizer = ["adadp", "sgd"]
seed = [1, 2]
[[expect]]
claim = "it learns"
value = { metric = "test_accuracy", where = { optimizer = "sgd" } }
above = 0.1
[[expect]]
claim = "it is perfect"
value = { metric = "test_accuracy", where = { optimizer = "sgd" } }
above = 0.999
"""


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweeps")
    (folder / "a.toml").write_text(FILE)
    return fedstride.sweep(folder / "a.toml", out=folder / "sweep")


def test_cells_are_runs(sweep):
    assert len(sweep) == len(sweep.cells) == 4
    assert [cell.point for cell in sweep.cells] == [{"optimizer": o, "seed": s} for o in ("adadp", "sgd") for s in (1, 2)]
    for cell in sweep.cells:
        assert isinstance(cell, fedstride.Run) and (cell.state, cell.status) == ("finished", "finished")
        assert cell.settings["optimizer"] == cell.point["optimizer"] and len(cell.rounds) == 2
        assert f"optimizer={cell.point['optimizer']}, seed={cell.point['seed']}, finished" in repr(cell)


def test_claims_and_what_it_shows(sweep):
    assert [(one["claim"], one["status"]) for one in sweep.claims] == [("it learns", "holds"), ("it is perfect", "fails")]
    assert repr(sweep) == f"<fedstride.Sweep '{sweep.folder}': 4 of 4 cells finished; 1 of 2 claims hold>"
    html = sweep._repr_html_()
    assert "it is perfect" in html and "4 of 4 cells finished" in html


def test_tables_are_frames(sweep):
    pandas = pytest.importorskip("pandas")
    frame = sweep.frame()
    assert list(frame["optimizer"]) == ["adadp", "adadp", "sgd", "sgd"] and frame["test_accuracy"].dtype == float
    assert list(frame["cell"]) == [cell.folder.name for cell in sweep.cells]  # texts, even where all are digits
    assert set(sweep.tables) == {"cells", "rounds", "clients", "summary", "expectations"}
    assert all(isinstance(table, pandas.DataFrame) for table in sweep.tables.values())
    assert len(sweep.tables["rounds"]) == 8 and len(sweep.frame("summary")) > 10
    with pytest.raises(KeyError, match="'cell'.*cells, rounds"):
        sweep.tables["cell"]


def test_it_is_also_what_the_program_prints_and_a_folder(sweep, tmp_path):
    assert sweep["finished"] == 4 and sweep["folder"] == str(sweep.folder)
    assert repr(fedstride.Sweep(sweep)) == repr(fedstride.Sweep(str(sweep.folder))) == repr(sweep)
    with refused(fedstride.Error, f"'{tmp_path}'", "experiment.toml"):
        fedstride.Sweep(tmp_path)
    (tmp_path / "experiment.toml").write_text(FILE)
    with refused(fedstride.Error, "cells.csv"):
        fedstride.Sweep(tmp_path).frame()
    assert "cells.csv" in repr(fedstride.Sweep(tmp_path))


def test_parts_and_plans(tmp_path):
    (tmp_path / "a.toml").write_text(FILE)
    planned = fedstride.sweep(tmp_path / "a.toml", out=tmp_path / "sweep", dry_run=True, local_objective=fedstride.Prox(mu=0.1))
    assert isinstance(planned, dict) and len(planned["cells"]) == 4 and not (tmp_path / "sweep").exists()
    done = fedstride.sweep(tmp_path / "a.toml", out=tmp_path / "sweep", optimizer=fedstride.SGD(learning_rate=0.05), seed=1)
    assert [(cell.settings["learning_rate"], cell.point) for cell in done.cells] == [(0.05, {})]


def test_a_failed_cell_leaves_a_sweep_to_open(tmp_path):
    (tmp_path / "a.toml").write_text(FILE.replace('dataset = "synthetic-li"', f'data = "{tmp_path}"'))
    with pytest.raises(fedstride.Error):
        fedstride.sweep(tmp_path / "a.toml", out=tmp_path / "sweep")


def test_a_sweep_over_another_command_has_tables_alone(tmp_path):
    (tmp_path / "a.toml").write_text('sampling-rate = 0.01\nnoise-multiplier = 4\ndelta = 1e-5\n[experiment]\ntitle = "Steps"\n'
                                     'command = "privacy epsilon"\n[sweep]\nsteps = [10, 100]\n')
    sweep = fedstride.sweep(tmp_path / "a.toml", out=tmp_path / "sweep")
    assert sweep.cells == [] and len(sweep) == 2 and list(sweep.frame()["steps"]) == [10, 100]


def test_a_tune_is_a_sweep_with_a_winner(tmp_path):
    (tmp_path / "rates.toml").write_text('dataset = "synthetic-li"\nmodel = "logistic"\nrounds = 4\nthreads = 1\noptimizer = "sgd"\n'
                                         'validation-fraction = 0.2\n[sweep]\nlearning-rate = [0.001, 0.01, 0.1, 1.0]\n')
    planned = fedstride.tune(tmp_path / "rates.toml", out=tmp_path / "tuned", eta=2, dry_run=True)
    assert [[rung["configurations"], rung["rounds"]] for rung in planned["brackets"][0]] == [[4, 1], [2, 2], [1, 4]]
    assert (planned["rounds_of_work"], planned["rounds_of_the_grid"]) == (8, 16) and not (tmp_path / "tuned").exists()
    done = fedstride.tune(tmp_path / "rates.toml", out=tmp_path / "tuned", eta=2)
    assert isinstance(done, fedstride.Sweep) and done["winner"]["low"] < done["winner"]["score"] < done["winner"]["high"]
    assert sorted(len(cell.rounds) for cell in done.cells) == [1, 1, 2, 4]
    winner = fedstride.open_run(done.folder / done["winner"]["run"])
    assert winner.rounds[-1]["validation_accuracy"] == done["winner"]["score"]
    with refused(fedstride.UsageError, "dp", "--accounted"):
        fedstride.tune(tmp_path / "rates.toml", out=tmp_path / "other", dp="client", noise_multiplier=1, clip=1)


def test_its_page_says_what_looking_at_private_runs_costs(tmp_path):
    noises, rounds = (1.5, 3.0), 3
    (tmp_path / "a.toml").write_text(f"""dataset = "synthetic-li"
model = "logistic"
rounds = {rounds}
threads = 1
optimizer = "sgd"
learning-rate = 0.1
dp = "example"
delta = 1e-5
sampling-rate = 1.0
[sweep]
noise-multiplier = {list(noises)}
[[figure]]
kind = "accuracy-by-round"
""")
    sweep = fedstride.sweep(tmp_path / "a.toml", out=tmp_path / "sweep")
    page = pathlib.Path(fedstride.report(sweep.folder))
    shown = re.findall(r"all (\d+) private runs together have an epsilon of at most (\S+) at delta (\S+) at (\w+) level", page.read_text())
    assert [(count, level) for count, _, _, level in shown] == [("2", "example")]
    epsilon, delta = map(float, shown[0][1:3])
    gaussian = lambda precision, delta: own_accountant.smallest_epsilon(lambda at: own_accountant.gaussian_delta(math.sqrt(precision), at), delta)
    alone = sum(gaussian(rounds / z**2, 1e-5) for z in noises)
    assert alone * (1 - 1e-9) <= epsilon < alone * 1.001 and 2e-5 <= delta < 2.002e-5
    assert gaussian(sum(rounds / z**2 for z in noises), delta) < epsilon  # what all of their releases cost together
