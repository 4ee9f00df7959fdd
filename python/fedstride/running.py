"""Running experiments: `run`, `resume`, `sweep`, `report`."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._commands import asked, words_of
from ._core import UsageError
from ._own import OwnCode, first_weights, tensor_line, tensors_of
from .data import split_data
from .folder import Run
from ._types import Data, Evaluate, Place, Tensors, Train, Value


def run(
    *,
    config: Place | None = None,
    data: Data | None = None,
    model: str | Tensors | Any | None = None,
    train: Train | None = None,
    evaluate: Evaluate | str | None = None,
    examples: int | Sequence[int] | None = None,
    workers: int = 1,
    on_round: Callable[[dict[str, Any]], object] | None = None,
    verbose: bool = False,
    **settings: Value | Callable[..., Any],
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
    model: a name or a line of layers (docs/models.md); or the tensors of any other model, which are the first weights: a dict
        of arrays, a PyTorch state dict or a module. Then `train` is needed. Tensors that are no floating point numbers stay as
        they are; all others are averaged, batch norm's statistics too.
    train: trains a client instead of fedstride: train(weights, task) gets a dict of tensors (NumPy's, which share memory and are
        read-only; PyTorch's of its own, if the model was PyTorch's) and a fedstride.Task, and gives trained weights back, or
        fedstride.Trained. What it raises, or an answer that cannot be used, costs the client its part in the round.
    evaluate: evaluate(weights) gives an accuracy, or a dict with any of accuracy, loss and examples; without it models of layers
        are evaluated here, others not at all. A text is the setting of that name: "private" (docs/privacy.md).
    examples: the number of each client's examples, where only `train` knows them (a list, or one number for all).
    workers: processes that call `train`, each for one client at a time; no result depends on it.
    partition, cohort, aggregation, server_optimizer: a name, or a function (docs/python.md).
    on_round: called after each round with the round's dict, a line of rounds.jsonl. What it raises stops the run, which
        can go on with `resume`, and is raised again. Ctrl-C does the same, and raises KeyboardInterrupt.
    verbose: prints what the command line prints.

    The GIL is released while C++ computes; several threads may run at once. Ctrl-C stops runs of the main thread. Raises
    UsageError for settings that are not valid, Error if something fails; finished rounds stay on the disk.
    """
    path, arrays = split_data(data)
    settings["data"] = path
    if arrays is not None and settings.get("dataset") is None:
        settings["dataset"] = "file"  # a file of settings may name another
    if examples is not None:
        settings = {"partition": "outside", **settings, "client_examples": examples if isinstance(examples, (list, tuple)) else [examples]}
    code = OwnCode(settings, train, evaluate, workers)
    with contextlib.ExitStack() as until_done:
        form: dict[str, Any] = {}
        if model is None or isinstance(model, str):
            code.settings["model"] = model
        else:
            if train is None:
                raise UsageError("model is tensors alone, whose layers are not known here; it needs train, a function that trains it")
            tensors, form = tensors_of(model)
            code.settings["model"] = tensor_line(tensors)
            code.settings["init"] = until_done.enter_context(first_weights(tensors))
            if not any(code.settings.get(key) is not None for key in ("partition", "dataset", "data")) and config is None:
                code.settings["partition"] = "outside"
        outcome = _core.run({**code.settings, "code": code.code}, _place(config), "", on_round, verbose, arrays, code.begin(**form))
    return Run(outcome["folder"])


def resume(
    folder: Place,
    *,
    data: Data | None = None,
    model: Tensors | Any | None = None,
    train: Train | None = None,
    evaluate: Evaluate | str | None = None,
    workers: int = 1,
    on_round: Callable[[dict[str, Any]], object] | None = None,
    verbose: bool = False,
    **settings: Value | Callable[..., Any],
) -> Run:
    """Goes on with the run in `folder` from its last checkpoint: the same bits as without the interruption.

    settings: those that may change: `rounds` (not fewer than are done), `threads`, `evaluate_every` and the like.
    data: of a run that was begun with arrays, the same arrays; refused if their contents differ.
    model: of a run that began with PyTorch's tensors, these or a module: its names and types, not its values.
    train, evaluate, workers, partition, cohort, aggregation, server_optimizer: as for `run`, the same functions by name and version.
    on_round, verbose, errors: as for `run`.
    """
    path, arrays = split_data(data)
    code = OwnCode({**settings, "data": path}, train, evaluate, workers)
    has_run = (pathlib.Path(folder) / "config.toml").is_file()  # else C++ says what is wrong
    begun = Run(folder).settings.get("code", "") if has_run else ""
    if has_run and "?" not in begun and (code.code or "") != begun:
        raise UsageError(f"the run in '{os.fspath(folder)}' has the code '{begun}', and '{code.code or ''}' is given; valid is the same")
    form = {} if model is None else tensors_of(model)[1]
    given = {key: value for key, value in code.settings.items() if key not in code.functions}
    outcome = _core.run(given, "", _place(folder), on_round, verbose, arrays, code.begin(**form))
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
