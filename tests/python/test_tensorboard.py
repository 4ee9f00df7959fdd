"""TensorBoard's file while a run goes on, as tests/python/event_reader.py reads it."""

import pytest
from conftest import SMALL, program, refused
from event_reader import NAME, events

import fedstride


def test_each_round_is_there_when_it_is_done(tmp_path):
    board = tmp_path / "board/run" / NAME
    seen = []

    def look(record):
        step, scalars = events(board)[-1]
        assert step == record["round"] and scalars["accuracy/test"] == pytest.approx(record["test_accuracy"], rel=1e-6)
        seen.append(step)

    run = fedstride.run(**SMALL, optimizer="adadp", tensorboard=tmp_path / "board", on_round=look, out=tmp_path / "run")
    assert run.settings["tensorboard"] == str(tmp_path / "board")
    before = board.read_bytes()
    fedstride.resume(run, rounds=5, on_round=look)
    assert seen == [1, 2, 3, 4, 5] and board.read_bytes().startswith(before)
    assert [step for step, _ in events(board)] == [0, 1, 2, 3, 4, 5]
    program("run", "--resume", run.folder, "--rounds", 6, "--quiet")  # the folder knows of the board
    assert [step for step, _ in events(board)] == [0, 1, 2, 3, 4, 5, 6]
    plain = fedstride.run(**{**SMALL, "rounds": 6}, optimizer="adadp", out=tmp_path / "plain")
    assert plain.summary["model_hash"] == fedstride.open_run(run.folder).summary["model_hash"]


def test_a_board_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with refused(fedstride.Error, str(tmp_path / "file/board")):
        fedstride.run(**SMALL, tensorboard=tmp_path / "file/board", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
