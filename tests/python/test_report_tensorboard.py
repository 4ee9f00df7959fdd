"""TensorBoard's files of runs and sweeps (python/fedstride_report/tensorboard.py)."""

import re
import subprocess
import time

import pandas as pd
import pytest
from conftest import PROGRAM, SMALL, flags, program
from event_reader import NAME, events, masked, timed_events
from fedstride_report import tensorboard
from fedstride_report.text import Failure, UsageFailure
from made_pages import made
from made_results import cell, sweep


def with_folders(one, folder):
    """The sweep, whose cells have a rounds.jsonl each."""
    for number, each in enumerate(one.cells):
        each.folder = folder / f"cell{number}"
        each.folder.mkdir(parents=True)
        (each.folder / "rounds.jsonl").write_text("")
    return one


def test_each_cell_is_a_run_called_by_what_varies_each_round_a_step_with_every_number(tmp_path):
    one = with_folders(made(fractions=(0,), rates=(0.01,), seeds=2, clients=2, private=True), tmp_path)
    written = tensorboard.export(one, tmp_path / "board")
    # One share and one rate: they tell nothing apart but whether there is a rate.
    assert written == {"folder": str(tmp_path / "board"), "without_rounds": 0, "clients_left_out": 0, "unfinished": 0,
                       "runs": ["optimizer=adadp,seed=1", "optimizer=adadp,seed=2", "optimizer=sgd,learning-rate=0.01,seed=1",
                                "optimizer=sgd,learning-rate=0.01,seed=2"]}
    found = events(tmp_path / "board" / written["runs"][1] / NAME)
    assert [step for step, _ in found] == [0, 1, 2, 3]
    rounds, clients = one.cells[1].rounds, one.cells[1].clients
    for step, scalars in found[1:]:
        expected = {"accuracy/test": "test_accuracy", "loss/test": "test_loss", "privacy/epsilon": "epsilon_spent",
                    "privacy/delta": "delta_spent", "privacy/epsilon_by_tight": "epsilon_by_tight",
                    "privacy/epsilon_by_rdp": "epsilon_by_rdp", "privacy/epsilon_by_strong": "epsilon_by_strong"}
        assert set(scalars) == {*expected, *(f"clients/{name}/{client}" for name in ("learning_rate", "rejected_share") for client in (0, 1))}
        for tag, metric in expected.items():
            assert scalars[tag] == pytest.approx(rounds[metric][step], rel=1e-6)
        at = clients[(clients["round"] == step) & (clients["client"] == 1)]
        assert scalars["clients/learning_rate/1"] == pytest.approx(at["learning_rate"].item(), rel=1e-6)
    # Again: the same bytes in the same file.
    before = (tmp_path / "board" / written["runs"][0] / NAME).read_bytes()
    tensorboard.export(one, tmp_path / "board")
    assert (tmp_path / "board" / written["runs"][0] / NAME).read_bytes() == before


def test_time_goes_on_by_what_the_rounds_took(tmp_path):
    rounds = [{"seconds": 2.0 * number, "test_loss": 1.0} for number in (1, 2, 3)]
    written = tensorboard.export(with_folders(sweep([cell({}, {}, rounds)]), tmp_path), tmp_path / "board")
    times = [time for time, _, _ in timed_events(tmp_path / "board" / written["runs"][0] / NAME)]
    assert [after - before for before, after in zip(times, times[1:])] == pytest.approx([2, 4, 6], abs=1e-5)
    assert times[-1] == pytest.approx((tmp_path / "cell0/rounds.jsonl").stat().st_mtime, abs=1e-5)


def test_numbers_that_are_missing_or_too_large_for_a_float(tmp_path):
    rounds = [{"test_loss": 1e300, "test_accuracy": 0.5}, {"test_loss": float("nan"), "test_accuracy": 0.5}]
    tensorboard.export(with_folders(sweep([cell({}, {}, rounds)]), tmp_path), tmp_path / "board")
    assert events(tmp_path / "board/made" / NAME) == [(0, {}), (1, {"accuracy/test": 0.5, "loss/test": float("inf")}),
                                                      (2, {"accuracy/test": 0.5})]


def test_names_are_of_letters_that_a_folder_may_have_and_no_two_cells_share_one(tmp_path):
    texts = ["../../a|b", "../../a/b", "../../a|b", "x" * 300]
    cells = [cell({"model": text, "seed": str(number)}, {}, [{"test_loss": 1.0}]) for number, text in enumerate(texts)]
    one = with_folders(sweep(cells), tmp_path)
    for each in one.cells:
        each.point.pop("seed")
    written = tensorboard.export(one, tmp_path / "board")["runs"]
    assert len(set(written)) == 4 and all((tmp_path / "board" / name / NAME).exists() for name in written)
    assert all(re.fullmatch(r"model=\.\._\.\._a_b-.*", name) for name in written[:3]) and len(written[3]) == 180
    assert written[0] != written[2]


def test_many_clients_have_curves_up_to_a_number_and_cells_without_rounds_none(tmp_path):
    def change(one):
        one.rounds = pd.DataFrame() if one.point["optimizer"] == "adadp" else one.rounds

    one = with_folders(made(fractions=(0,), rates=(0.01,), seeds=1, rounds=2, clients=40, change=change), tmp_path)
    written = tensorboard.export(one, tmp_path / "board")
    assert len(written["runs"]) == 1 and written["without_rounds"] == 1 and written["clients_left_out"] == 8
    scalars = events(tmp_path / "board" / written["runs"][0] / NAME)[1][1]
    assert "clients/learning_rate/31" in scalars and "clients/learning_rate/32" not in scalars


def test_what_cannot_be_exported_is_refused_in_one_line(tmp_path):
    with pytest.raises(UsageFailure, match="results of 'privacy epsilon'"):
        tensorboard.export(sweep([cell({}, {"epsilon": 1})], command="privacy epsilon"), tmp_path / "board")
    with pytest.raises(Failure, match="no finished round yet"):
        tensorboard.export(with_folders(sweep([cell({}, status="missing")]), tmp_path), tmp_path / "board")
    (tmp_path / "file").write_text("")
    with pytest.raises(Failure, match="cannot make the folder '.*file/board/made'"):
        tensorboard.export(with_folders(sweep([cell({}, {}, [{"test_loss": 1.0}])]), tmp_path / "more"), tmp_path / "file/board")


def test_tags_are_in_groups():
    examples = {"test_accuracy": "accuracy/test", "validation_loss": "loss/validation", "train_loss": "loss/train", "loss": "loss/loss",
                "worst_client_accuracy": "clients/worst_accuracy", "client_epsilon_by_rdp": "privacy/client_epsilon_by_rdp",
                "rejected_share": "training/rejected_share", "own_accuracy_p10": "training/own_accuracy_p10", "own_loss": "loss/own"}
    assert {metric: tensorboard.tag(metric) for metric in examples} == examples


def test_checksums_are_those_of_the_documents():
    assert tensorboard.masked_crc32c(b"") == 0xA282EAD8
    assert tensorboard.masked_crc32c(bytes(32)) == ((0x8A9136AA >> 15 | 0x8A9136AA << 17) + 0xA282EAD8) & 0xFFFFFFFF  # RFC 3720 B.4
    assert all(tensorboard.masked_crc32c(bytes(range(end))) == masked(bytes(range(end))) for end in range(0, 256, 17))


def test_the_command_exports_a_run_and_follows_it(tmp_path):
    told = program("run", *flags(SMALL), "--out", tmp_path / "run", "--quiet") + program(
        "export", tmp_path / "run", "--tensorboard", tmp_path / "board")
    assert f"1 run in {tmp_path / 'board'}\n" in told and f"tensorboard --logdir {tmp_path / 'board'}\n" in told
    whole = events(tmp_path / "board/run" / NAME)
    assert [step for step, _ in whole] == list(range(SMALL["rounds"] + 1))
    # Of a run that is not finished, the file grows by the rounds that it lacks.
    (tmp_path / "run/summary.json").rename(tmp_path / "summary.json")
    lines = (tmp_path / "run/rounds.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "run/rounds.jsonl").write_text(lines[0])
    following = subprocess.Popen([PROGRAM, "export", tmp_path / "run", "--tensorboard", tmp_path / "live", "--follow"])
    live = tmp_path / "live/run" / NAME
    while not live.exists():
        time.sleep(0.05)
    begun = live.read_bytes()
    (tmp_path / "run/rounds.jsonl").write_text("".join(lines))
    (tmp_path / "summary.json").rename(tmp_path / "run/summary.json")
    assert following.wait(60) == 0 and live.read_bytes().startswith(begun) and events(live) == whole
