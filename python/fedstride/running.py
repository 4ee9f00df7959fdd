"""Running experiments: `run`, `resume`, `sweep`, `report`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from . import _core
from ._commands import asked, words_of
from .data import split_data
from .folder import Run
from ._types import Data, Place, Value


def run(
    *,
    config: Place | None = None,
    data: Data | None = None,
    on_round: Callable[[dict[str, Any]], object] | None = None,
    verbose: bool = False,
    **settings: Value,
) -> Run:
    """Trains a federation on the calling thread and returns its folder, opened (`Run`).

    settings: the flags of `fedstride run` with underscores for dashes: `dataset="cifar10"`, `local_epochs=2`. Values are
        bool, int, float, str, paths, NumPy scalars and lists of these, joined with commas; None is as if it were not given.
    config: a TOML file with the flags' names as keys; keywords win over it.
    data: your own data: a file or folder (docs/data.md), or arrays: (x, y), (x, y, client), or a dict with the keys x, y, client,
        x_test, y_test, client_test, classes, vocabulary, read as those of an .npz file are: the same arrays give the same run.
        Pictures uint8 (rows, channels, height, width), grey ones uint8 (rows, height, width), and float32 (rows, columns) whose
        values are not all 255ths are read where they lie, and must not change during the run; everything else is converted.
        Without x_test a sixth of the rows is held out and both parts are copied.
    on_round: called after each round with the round's dict, a line of rounds.jsonl. What it raises stops the run, which
        can go on with `resume`, and is raised again. Ctrl-C does the same, and raises KeyboardInterrupt.
    verbose: prints what the command line prints.

    The GIL is released while C++ computes; several threads may run at once. Ctrl-C stops runs of the main thread. Raises
    UsageError for settings that are not valid, Error if something fails; finished rounds stay on the disk.
    """
    path, arrays = split_data(data)
    if arrays is not None and settings.get("dataset") is None:
        settings["dataset"] = "file"  # a file of settings may name another
    outcome = _core.run({**settings, "data": path}, _place(config), "", on_round, verbose, arrays)
    return Run(outcome["folder"])


def resume(
    folder: Place,
    *,
    data: Data | None = None,
    on_round: Callable[[dict[str, Any]], object] | None = None,
    verbose: bool = False,
    **settings: Value,
) -> Run:
    """Goes on with the run in `folder` from its last checkpoint: the same bits as without the interruption.

    settings: those that may change: `rounds` (not fewer than are done), `threads`, `evaluate_every` and the like.
    data: of a run that was begun with arrays, the same arrays; refused if their contents differ.
    on_round, verbose, errors: as for `run`.
    """
    path, arrays = split_data(data)
    outcome = _core.run({**settings, "data": path}, "", _place(folder), on_round, verbose, arrays)
    return Run(outcome["folder"])


def sweep(file: Place, **flags: Value) -> dict[str, Any]:
    """Runs every cell of an experiment file that is not finished yet (docs/sweeps.md): a dict with its folder, the numbers of
    cells and finished ones, failed cells and the claims' outcomes. `dry_run=True`: the cells, and how long they would take.

    Keywords are the flags of `fedstride sweep`: `out`, `jobs`, `threads`, `shard`, `scale`, `report`; and those of `run`, which
    fix a key. Raises Error if a cell failed; the others are finished. Ctrl-C stops it, and the same call goes on.
    """
    return asked("sweep", file, *words_of(flags))


def report(*folders: Place, **flags: Value) -> str:
    """Writes the page of finished sweeps or runs and returns its path. `out`: the page [FOLDER/report.html], needed for more than
    one folder; `latex=True`: also tables beside it."""
    return asked("report", *folders, *words_of(flags))["page"]


def _place(path):
    return "" if path is None else os.fspath(path)
