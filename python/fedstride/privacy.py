"""Privacy accounting: the commands of `fedstride privacy`, with their flags as keywords.

    fedstride.privacy.epsilon(sampling_rate=0.01, noise_multiplier=4, steps=10_000, delta=1e-5)

Common keywords: `accountant` ("tight", "rdp", ...), `sampling` ("poisson", "full", "shuffle"), `neighbours`, `sampling_rate` (share of
the records in a lot), `noise_multiplier` (standard deviation of the noise on the sum, divided by the clip bound), `steps` (number of
releases), `epochs`, `epsilon`, `delta`. Each function raises UsageError if one is missing or invalid. With `details=True` it returns
the dict that the program prints as JSON.
"""

from __future__ import annotations

import json
from typing import Any

from ._commands import asked, carry_out, numbers
from ._settings import of_command, takes
from ._types import Place, Value

__all__ = ["audit", "calibrate", "compare", "delta", "epsilon", "evaluate", "steps"]


@takes(of_command("privacy epsilon"), describe=True)
def epsilon(*, details: bool = False, **question: Value) -> Any:
    """The epsilon that an accountant proves at `delta`, rounded up; math.inf if it proves none. With `composition=FILE`, a list of
    dicts, one for each case of the file."""
    return _answer("epsilon", "epsilon", question, details)


@takes(of_command("privacy delta"), describe=True)
def delta(*, details: bool = False, **question: Value) -> Any:
    """The delta that an accountant proves at `epsilon`; otherwise as `epsilon()`."""
    return _answer("delta", "delta", question, details)


@takes(of_command("privacy calibrate"), describe=True)
def calibrate(*, details: bool = False, **question: Value) -> Any:
    """The smallest noise multiplier for epsilon and delta, rounded up to 0.001."""
    return _answer("calibrate", "noise_multiplier", question, details)


@takes(of_command("privacy steps"), describe=True)
def steps(*, details: bool = False, **question: Value) -> Any:
    """The largest number of steps within epsilon and delta."""
    return _answer("steps", "steps", question, details)


@takes(of_command("privacy compare"), describe=True)
def compare(**question: Value) -> Any:
    """All accountants compared: a dict whose "accountants" has a dict for each, with "unsound" if it proves nothing. With
    `composition=FILE`, a list of such dicts."""
    return _answer("compare", None, question, True)


def evaluate(file: Place) -> list[dict[str, Any]]:
    """Answers every case of a composition file (docs/compositions.md): a list of dicts. Raises Error if a case has no answer, or one
    outside its bounds."""
    return _lines(carry_out("privacy", "evaluate", file))


@takes(of_command("privacy audit"), describe=True)
def audit(folder: Place, **flags: Value) -> dict[str, Any]:
    """The audit of a run's ledger: a dict of what was released and its privacy cost. Raises Error if the audit fails."""
    return asked("privacy", "audit", folder, **flags)


def _answer(ask, name, question, details):
    if question.get("composition") is not None:
        return _lines(carry_out("privacy", ask, **{**question, "json": True}))
    answer = asked("privacy", ask, **question)
    return answer if details else answer[name]


def _lines(text):
    return [numbers(json.loads(line)) for line in text.splitlines()]


def __dir__() -> list[str]:
    return __all__
