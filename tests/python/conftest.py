import contextlib
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

import pytest

PROGRAM = os.environ["FEDSTRIDE_PROGRAM"]
os.environ["FEDSTRIDE_CACHE_LIMIT"] = "0"  # nothing in this user's cache; test_kept.py has one of its own
SOURCE = pathlib.Path(os.environ["FEDSTRIDE_SOURCE_DIR"])
# A round of it takes a hundredth of a second.
SMALL = {"dataset": "synthetic-li:0.5,0.5,5", "partition": "natural", "model": "logistic", "rounds": 3, "threads": 1}


def flags(settings):
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]


def program(*words):
    """What the program prints."""
    return subprocess.run([PROGRAM, *map(str, words)], check=True, capture_output=True, text=True).stdout


def names(message, *parts):
    """Whether the message is one line that has each part as a word: keys, values and names, never prose (tests/support/refusal.hpp)."""
    def word(part):
        inner = "[0-9A-Za-z_-]"
        return (f"(?<!{inner})" if re.match(inner, part) else "") + re.escape(part) + (f"(?!{inner})" if re.match(inner, part[-1]) else "")

    message = message.removesuffix("\n")
    return "\n" not in message and all(re.search(word(part), message) for part in parts)


@contextlib.contextmanager
def refused(kind, *parts):
    """The block raises an error of this kind whose message names the parts."""
    with pytest.raises(kind) as raised:
        yield raised
    assert names(str(raised.value), *parts), str(raised.value)


def program_refuses(*words):
    """The line by which the program refuses, in Python's words."""
    from fedstride import _core

    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    assert done.returncode in (1, 2)
    return _core.in_python_words(done.stderr.removeprefix("fedstride: ").removesuffix("\n"))


def program_run(folder, **settings):
    """The summary of a run of the program."""
    program("run", *flags(settings), "--out", folder, "--quiet")
    return json.loads((pathlib.Path(folder) / "summary.json").read_text())


def python(code, **environment):
    """Runs a program of Python's, with this one's module."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment})


def pytest_terminal_summary(terminalreporter):
    """Like the tests in C++: ./run-tests lists what takes longest."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    terminalreporter.write_line(f"processor time: {sum(one.ru_utime + one.ru_stime for one in used):.2f} s")
