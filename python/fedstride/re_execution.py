"""Runs repeated: `certify`, `verify`, `replay` (docs/re-execution.md)."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _core
from ._commands import asked
from ._core import UsageError
from ._own import OwnCode, kept_form
from ._settings import OWN_PARTS
from ._types import Data, Evaluate, Place, Train, Value
from .data import split_data
from .folder import Run


def certify(run: Place, *, out: Place | None = None, claims: Sequence[str] = (), key: Place | None = None) -> str:
    """Writes a run's certificate (`out`, by default run.cert in its folder) and returns its path.

    claims: such as "test accuracy above 0.5 after round 60"; Error for one that does not hold.
    key: signs it with the 32 secret bytes in this file, which is made if missing.
    """
    words = [word for claim in claims for word in ("--claim", claim)]
    return asked("certify", _folder(run), *words, out=out, key=key)["certificate"]


def verify(
    certificate: Place,
    *,
    data: Data | None = None,
    train: Train | None = None,
    evaluate: Evaluate | None = None,
    workers: int = 1,
    rounds: int | None = None,
    seed: str = "",
    checkpoints: Place = "",
    key: Place = "",
    signer: str = "",
    threads: int = 0,
    data_dir: Place | None = None,
    **parts: Callable[..., Any],
) -> dict[str, list[str]]:
    """Checks a certificate and returns what was found: a dict of lists, "held", "broken" (empty: it holds) and "not_checked".

    data: for a run on arrays, the same arrays, or a file or folder.
    train, evaluate, workers, parts: the functions of a run of own code (parts: partition, cohort, aggregation, server_optimizer,
        optimizer), with the same names and versions.
    rounds, seed: repeat this many rounds, drawn from a seed; None: all.
    checkpoints, key, signer: published checkpoints, the run's secret.key, and the public key that must have signed.
    """
    path = os.fspath(certificate)
    named = _settings_of(path)
    where, arrays = split_data(data, named)
    for name, part in parts.items():
        if name not in OWN_PARTS or not callable(part):
            raise UsageError(f"{name} is {part!r}; verify takes functions for {', '.join(OWN_PARTS)}, and no settings but threads and data_dir")
    code = OwnCode({**parts, "data": where, "data_dir": data_dir, "threads": threads}, train, evaluate, workers)
    begun = named.get("code", "")
    if code.code and code.code != begun:
        raise UsageError(f"'{path}' certifies a run with the code '{begun}', not '{code.code}'; it must be the same")
    here = {name: value for name, value in code.settings.items() if name not in code.functions and value is not None}
    init = named.get("init")
    form = kept_form({**named, "init": os.path.join(os.path.dirname(path), init)}) if train and init else {}
    functions = code.begin(**form, arrays=arrays) if train or code.functions else {}
    options = {"here": here, "rounds": rounds, "seed": seed, "checkpoints": os.fspath(checkpoints), "key": os.fspath(key), "signer": signer}
    return _core.verify(path, options, arrays, functions)


def replay(
    run: Place,
    *,
    from_round: int = 1,
    without: Sequence[int] = (),
    set: Mapping[str, Value] | None = None,
    out: Place | None = None,
    **flags: Value,
) -> Run:
    """Repeats a run with one thing changed and everything else the same; returns the replay.

    from_round: the first round that the change reaches.
    without: clients that are no longer asked.
    set: settings with other values.
    flags: `threads`, `data`, `data_dir`, `keep_checkpoints`.
    """
    words = [word for name, value in (set or {}).items() for word in ("--set", f"{name.replace('_', '-')}={_text(value)}")]
    told = asked("replay", _folder(run), *words, **{"from": from_round}, without=",".join(map(str, without)) or None, out=out, **flags)
    return Run(told["folder"])


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def _folder(run):
    return os.fspath(run.folder if isinstance(run, Run) else run)


def _settings_of(path):
    """The settings that a certificate names; empty if it is none, as C++ reports."""
    try:
        with open(path, encoding="utf-8") as file:
            return tomllib.loads(json.load(file)["settings"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
