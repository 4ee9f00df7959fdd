"""Commands of the program, carried out in this process: the same words, checks and numbers."""

import json
import math
import os
import warnings

from . import _core
from ._core import Error


def words_of(flags):
    """Keywords as words of a command line: `steps=10` is `--steps=10`; None is left out, True is the flag alone."""
    words = []
    for name, value in flags.items():
        if value is None or value is False:
            continue
        flag = "--" + name.replace("_", "-")
        words.append(flag if value is True else f"{flag}={text_of(name, value)}")
    return words


def text_of(name, value):
    """A value as a word: numbers with all their digits, lists joined with commas."""
    if isinstance(value, (list, tuple)):
        return ",".join(text_of(name, one) for one in value)
    if hasattr(value, "__fspath__"):
        return os.fspath(value)
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, (bool, int, float, str)):
        return str(value)
    raise _core.UsageError(
        f"{name} is of type {type(value).__name__}; valid are bool, int, float, str, a path, and a list of these")


def carry_out(*words):
    """What the command prints. Its remarks become warnings. Raises what it refuses, and Error where it ends with a code."""
    code, output, remarks = _core.command([os.fspath(word) for word in words])
    lines = [line.removeprefix("fedstride: ") for line in remarks.splitlines()]
    if code:
        raise Error("; ".join(lines) or f"'{' '.join(map(str, words))}' ended with code {code}")
    for line in lines:
        warnings.warn(line.removeprefix("note: "), stacklevel=3)
    return output


def asked(*words):
    """The JSON that a command prints."""
    return numbers(json.loads(carry_out(*words, "--json")))


def numbers(value):
    """JSON has no infinity: the program says "infinite"."""
    if isinstance(value, dict):
        return {key: numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [numbers(one) for one in value]
    return math.inf if value == "infinite" else value
