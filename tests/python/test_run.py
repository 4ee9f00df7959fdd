"""fedstride.run against the program."""

import json
import os
import subprocess

import pytest

import fedstride

PROGRAM = os.environ["FEDSTRIDE_PROGRAM"]
SMALL = {"dataset": "synthetic", "model": "logistic", "rounds": 2, "clients": 3, "threads": 1}


def flags(settings):
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]


def test_the_module_and_the_program_get_the_same_bits(tmp_path):
    ours = fedstride.run(**SMALL, optimizer="adadp", out=tmp_path / "module")
    subprocess.run([PROGRAM, "run", *flags(SMALL), "--optimizer", "adadp", "--out", tmp_path / "program", "--quiet"], check=True)
    theirs = json.loads((tmp_path / "program" / "summary.json").read_text())
    assert ours.summary["model_hash"] == theirs["model_hash"]


def test_errors_have_the_words_of_the_command_line():
    with pytest.raises(fedstride.UsageError, match="^rounds is 0; it must be a whole number from 1 to 2000000000$"):
        fedstride.run(rounds=0)
    with pytest.raises(ValueError, match="^key 'runds' is unknown; did you mean 'rounds'?"):
        fedstride.run(runds=3)
    with pytest.raises(fedstride.Error):
        fedstride.resume("nowhere")
