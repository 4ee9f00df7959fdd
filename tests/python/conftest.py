import json
import os
import pathlib
import subprocess
import sys

PROGRAM = os.environ["FEDSTRIDE_PROGRAM"]
SOURCE = pathlib.Path(os.environ["FEDSTRIDE_SOURCE_DIR"])
# A round of it takes a hundredth of a second.
SMALL = {"dataset": "synthetic-li:0.5,0.5,5", "partition": "natural", "model": "logistic", "rounds": 3, "threads": 1}


def flags(settings):
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]


def program(*words):
    """What the program prints."""
    return subprocess.run([PROGRAM, *map(str, words)], check=True, capture_output=True, text=True).stdout


def program_refuses(*words):
    """The line by which the program refuses."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    assert done.returncode in (1, 2)
    return done.stderr.removeprefix("fedstride: ").removesuffix("\n")


def program_run(folder, **settings):
    """The summary of a run of the program."""
    program("run", *flags(settings), "--out", folder, "--quiet")
    return json.loads((pathlib.Path(folder) / "summary.json").read_text())


def python(code, **environment):
    """Runs a program of Python's, with this one's module."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment})
