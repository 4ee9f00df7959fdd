"""Carries out the program's commands in this process, with the same checks and results."""

import json
import math
import os
import warnings

from . import _core
from ._core import Error


def carry_out(*words, **flags):
    """Returns what the command prints. The keyword `steps=10` becomes `--steps=10`; True becomes a bare flag; None and False are
    omitted. Notes become warnings. Raises the command's errors, and Error if it returns a nonzero exit code."""
    code, output, remarks = _core.command([os.fspath(word) for word in words], flags)
    lines = [_core.in_python_words(line.removeprefix("fedstride: ")) for line in remarks.splitlines()]
    if code:
        raise Error("; ".join(lines) or f"'{' '.join(map(str, words))}' failed with exit code {code}")
    for line in lines:
        warnings.warn(line.removeprefix("note: "), stacklevel=3)
    return output


def asked(*words, **flags):
    """Returns the JSON that a command prints."""
    return numbers(json.loads(carry_out(*words, **{**flags, "json": True})))


def numbers(value):
    """Replaces "infinite" with math.inf, because JSON has no infinity."""
    if isinstance(value, dict):
        return {key: numbers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [numbers(one) for one in value]
    return math.inf if value == "infinite" else value
