"""The cost of releases with noise: the questions of `fedstride privacy`, with its flags as keywords.

    fedstride.privacy.epsilon(sampling_rate=0.01, noise_multiplier=4, steps=10_000, delta=1e-5)

Keywords of all: `accountant` ("tight", "rdp", ...), `sampling` ("poisson", "full", "shuffle"), `neighbours`, `sampling_rate` (share
of the records in a lot), `noise_multiplier` (standard deviation of the noise on the sum / clip bound of one record), `steps`
(releases), `epochs`, `epsilon`, `delta`. Each function raises UsageError for one that is missing or not valid. With
`details=True` the answer is the dict that the program prints as JSON.
"""

from __future__ import annotations

import json
from typing import Any

from ._commands import asked, carry_out, numbers, words_of
from ._types import Place, Value


def epsilon(*, details: bool = False, **question: Value) -> Any:
    """The epsilon that an accountant proves, rounded up; math.inf if it proves none. `composition=FILE` asks about every case
    of a file instead and returns a list of dicts."""
    return _answer("epsilon", "epsilon", question, details)


def delta(*, details: bool = False, **question: Value) -> Any:
    """The delta that an accountant proves; as `epsilon` otherwise."""
    return _answer("delta", "delta", question, details)


def calibrate(*, details: bool = False, **question: Value) -> Any:
    """The smallest noise multiplier, to 0.001 and rounded up, that meets epsilon and delta."""
    return _answer("calibrate", "noise_multiplier", question, details)


def steps(*, details: bool = False, **question: Value) -> Any:
    """The largest number of steps within epsilon and delta."""
    return _answer("steps", "steps", question, details)


def compare(**question: Value) -> Any:
    """All accountants side by side: a dict whose "accountants" has a dict for each, with "unsound" where it proves nothing. With
    `composition=FILE` a list of such dicts."""
    return _answer("compare", None, question, True)


def evaluate(file: Place) -> list[dict[str, Any]]:
    """Answers every case of a composition file (docs/compositions.md): a list of dicts. Raises Error if a case cannot be
    answered, or its answer is out of the case's bounds."""
    return _lines(carry_out("privacy", "evaluate", file))


def audit(folder: Place, **flags: Value) -> dict[str, Any]:
    """What the ledger of a run's folder says was released, and what it costs: a dict."""
    return asked("privacy", "audit", folder, *words_of(flags))


def _answer(ask, name, question, details):
    if question.get("composition") is not None:
        return _lines(carry_out("privacy", ask, *words_of(question), "--json"))
    answer = asked("privacy", ask, *words_of(question))
    return answer if details else answer[name]


def _lines(text):
    return [numbers(json.loads(line)) for line in text.splitlines()]
