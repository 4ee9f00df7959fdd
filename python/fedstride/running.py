"""Running experiments: `run`, `resume`, `sweep`, `tune`, `report`."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, overload

from . import _core
from ._commands import asked
from ._core import Error, UsageError
from ._own import OwnCode, first_weights, kept_form, tensor_line, tensors_of
from ._rows import partition_file
from ._settings import of_command, of_resume, of_run, takes
from ._types import Data, Evaluate, OnRound, Place, Rows, Tensors, Train, Value
from ._watching import watching
from .data import split_data
from .folder import Run
from .parts import Part, spread
from .sweeps import Sweep
from .torch_models import LayeredModel


@takes(of_run, describe=True)
def run(
    *,
    config: Place | None = None,
    data: Data | None = None,
    model: str | Tensors | Any | None = None,
    train: Train | None = None,
    evaluate: Evaluate | str | None = None,
    examples: int | Sequence[int] | None = None,
    workers: int = 1,
    on_round: OnRound | None = None,
    progress: bool | None = None,
    verbose: bool = False,
    **settings: Value | Part | Rows | Callable[..., Any],
) -> Run:
    """Trains a federation on the calling thread and returns its opened folder (`Run`).

    settings: listed below with their valid values and [defaults]: `dataset="cifar10"`, `local_epochs=2`. Values are bool, int,
        float, str, paths, NumPy scalars and lists of these (joined with commas). None means not given: seed=None is the default
        seed, so every such run is the same. A part may be an object with its settings:
        `partition=fedstride.Dirichlet(alpha=0.3)`.
    config: a TOML file with the settings' names as keys; keywords override it, defaults do not.
    data: your own data: a file or folder (docs/data.md), or arrays: (x, y), (x, y, client), or a dict with the keys x, y, client,
        x_test, y_test, client_test, classes, vocabulary (`inputs` and `label` specify other keys). The same arrays in an .npz
        file give the same run. Images uint8 (rows, channels, height, width), gray images uint8 (rows, height, width), and float32
        (rows, columns) whose values are not all multiples of 1/255 are used in place and must not change during the run;
        everything else is converted. Without x_test, a sixth of the rows is held out for testing and both parts are copied.
        Data may also be a data set with rows or columns, (train, test), or a dict of both, from PyTorch, torchvision, pandas
        or Hugging Face; `inputs`, `label` and `client_column` specify columns.
    model: a name or a line of layers (docs/models.md), or the result of from_torch for a PyTorch module; or the initial weights
        of any other model, which needs `train`: a dict of arrays, a PyTorch state dict or a module. Tensors that are not floating
        point never change; all others are averaged, including the statistics of batch normalization.
    train: a function that trains a client: train(weights, task) receives a dict of tensors (read-only NumPy views, or PyTorch copies
        if the model is PyTorch's) and a fedstride.Task, and returns the trained weights or fedstride.Trained. If it raises, or
        its answer cannot be used, the client is left out of the round; the run's notes count such clients. A round in which all
        clients fail ends the run with Error, raised from the first exception (accept_failures="all": the run continues). Each
        distinct traceback is logged once; under dp none is logged, because it may hold rows.
    evaluate: evaluate(weights) returns an accuracy, or a dict with any of accuracy, loss and examples. Without it, fedstride evaluates
        only models of layers. A string is the setting `evaluate`: "private" (docs/privacy.md).
    examples: the number of examples of each client, if only `train` knows them: a list, or one number for all.
    workers: number of processes that call `train`, each for one client at a time; results do not depend on it.
    partition, cohort, aggregation, server_optimizer: a name, an object, or a function (docs/python.md).
    partition: also a list of row numbers for each client, such as the result of `fedstride.partition`. Rows in no list are not used.
    on_round: called after each round with the round's dict, a line of rounds.jsonl. If it returns False, the run stops and is returned;
        an exception it raises stops the run and is raised again. Ctrl-C stops a run in the same way and raises KeyboardInterrupt, which
        names the folder. `resume` continues a stopped run.
    progress: show a progress bar: on standard error, or as HTML in a notebook. None: only on a terminal or in a notebook.
    verbose: instead, print what the command line prints.

    The GIL is released while C++ computes, and several threads may run at the same time. Ctrl-C stops runs on the main thread. Raises
    UsageError for invalid settings, Error for failures; finished rounds stay on disk.
    """
    path, arrays = split_data(data, settings, config)
    settings = {**spread(settings), "data": path}
    if arrays is not None and settings.get("dataset") is None:
        settings["dataset"] = "file"  # a file of settings may name another
    if examples is not None:
        settings = {"partition": "outside", **settings, "client_examples": examples if isinstance(examples, (list, tuple)) else [examples]}
    with contextlib.ExitStack() as until_done:
        settings, keep_rows = until_done.enter_context(partition_file(settings))
        code = OwnCode(settings, train, evaluate, workers)
        form: dict[str, Any] = {}
        keep_weights = None
        if model is None or isinstance(model, str):
            code.settings["model"] = model
        elif isinstance(model, LayeredModel):
            if code.settings.get("init") is not None:
                raise UsageError("init is given with a model that has its own initial weights; it must be left out")
            code.settings["model"] = model.line
            code.settings["init"], keep_weights = until_done.enter_context(first_weights(model.tensors))
            code.functions["check"] = model.check
        else:
            if train is None:
                raise UsageError("model is a set of tensors without layers; it needs train, a function that trains it, or from_torch(model) if "
                                 "it is a PyTorch module of known layers")
            tensors, form = tensors_of(model)
            code.settings["model"] = tensor_line(tensors)
            code.settings["init"], keep_weights = until_done.enter_context(first_weights(tensors, form))
            if not any(code.settings.get(key) is not None for key in ("partition", "dataset", "data")) and config is None:
                code.settings["partition"] = "outside"
        has_data = config is not None or any(code.settings.get(key) is not None for key in ("dataset", "data"))
        if train is not None and not has_data and code.settings.get("partition") not in ("outside", "own"):
            raise UsageError("train is given without data; give data= (arrays, a file or a folder) or dataset= (\"synthetic\" is built in), "
                             "or examples= if only train knows its examples")

        def begun(folder: str) -> None:
            for keep in (keep_rows, keep_weights):
                if keep is not None:
                    keep(folder)

        watcher = until_done.enter_context(watching(on_round, progress, verbose, begun))
        functions = code.begin(**form, arrays=arrays)
        outcome = _core.run({**code.settings, "code": code.code}, _place(config), "", watcher, verbose, arrays, functions)
    return _finished(outcome, functions)


@takes(of_resume)
def resume(
    folder: Place,
    *,
    data: Data | None = None,
    model: Tensors | Any | None = None,
    train: Train | None = None,
    evaluate: Evaluate | str | None = None,
    workers: int = 1,
    on_round: OnRound | None = None,
    progress: bool | None = None,
    verbose: bool = False,
    **settings: Value | Callable[..., Any],
) -> Run:
    """Resumes the run in `folder` from its last checkpoint. The results are bit-identical to those of an uninterrupted run.

    settings: any that may change: `rounds` (not fewer than finished), `threads`, `evaluate_every` and others.
    data: for a run on arrays, the same arrays; other contents raise Error.
    model: not needed; if it is given, its tensors' names and types must be the run's (values do not matter).
    train, evaluate, workers, partition, cohort, aggregation, server_optimizer: as for `run`; the functions must have the same names
        and versions.
    on_round, progress, verbose: as for `run`.
    """
    kept = _kept(folder)
    path, arrays = split_data(data, kept)
    code = OwnCode({**spread(settings), "data": path}, train, evaluate, workers)
    begun = kept.get("code", "")
    if kept and "?" not in begun and (code.code or "") != begun:
        raise UsageError(f"the run in '{os.fspath(folder)}' was started with the code '{begun}', not '{code.code or ''}'; it must be the same")
    form = kept_form(kept if train else {}) if model is None else tensors_of(model)[1]
    given = {key: value for key, value in code.settings.items() if key not in code.functions}
    functions = code.begin(**form, arrays=arrays)
    with watching(on_round, progress, verbose) as watcher:
        outcome = _core.run(given, "", _place(folder), watcher, verbose, arrays, functions)
    return _finished(outcome, functions)


@overload
def sweep(file: Place | Mapping[str, Any], *, dry_run: Literal[True], **flags: Value | Part) -> dict[str, Any]: ...
@overload
def sweep(file: Place | Mapping[str, Any], *, dry_run: Literal[False] = False, **flags: Value | Part) -> Sweep: ...
@takes(of_command("sweep"))
def sweep(file: Place | Mapping[str, Any], *, dry_run: bool = False, **flags: Value | Part) -> Sweep | dict[str, Any]:
    """Runs every unfinished cell of an experiment file (docs/sweeps.md) and returns the `Sweep`, which has the cells as runs, the
    tables and the claims. With `dry_run=True`, returns a dict of the cells and their estimated time; with `accounted=True`,
    returns the statement about the winner, whose run is in `out`/winner.

    file: the path, or its contents as a dict, in which functions, parts and models may be values, as in `run` (docs/python.md). Then
        `jobs` cells run at a time in processes of their own if no run has begun in this one before, otherwise in threads.

    Keywords are `out`, `jobs`, `threads`, `shard`, `scale`, `report` and those of `run`, which fix a setting. Raises Error if a cell
    failed, after finishing the others; `Sweep(folder)` opens the results so far. Ctrl-C stops it, and the same call resumes.
    """
    if isinstance(file, Mapping):
        from ._own_sweep import experiment_file

        with experiment_file(file, flags.get("out"), int(flags.get("jobs") or 1)) as path:
            return sweep(path, dry_run=dry_run, **flags)
    told = _told_of_cells("sweep", file, dry_run, flags)
    return told if dry_run or flags.get("accounted") else Sweep(told["folder"], told=told)


@overload
def tune(file: Place, *, dry_run: Literal[True], **flags: Value | Part) -> dict[str, Any]: ...
@overload
def tune(file: Place, *, dry_run: Literal[False] = False, **flags: Value | Part) -> Sweep: ...
@takes(of_command("tune"))
def tune(file: Place, *, dry_run: bool = False, **flags: Value | Part) -> Sweep | dict[str, Any]:
    """Chooses among the configurations of an experiment file on validation rows, by successive halving or Hyperband (docs/sweeps.md), and
    returns the `Sweep`, whose tuned["winner"] and tuned["rungs"] have scores with their noise. With `dry_run=True`, returns a
    dict of the rungs.

    Keywords are `out`, `hyperband`, `eta`, `min_rounds`, `configurations`, `draw_seed`, `jobs`, `threads`, `scale` and those of `run`,
    which fix a setting. Raises Error if a cell failed. Ctrl-C stops it, and the same call resumes.
    """
    told = _told_of_cells("tune", file, dry_run, flags)
    return told if dry_run else Sweep(told["folder"], told=told)


def _told_of_cells(command, file, dry_run, flags):
    """Returns what `sweep` or `tune` prints. A KeyboardInterrupt says how to continue."""
    try:
        return asked(command, file, dry_run=dry_run, **spread(flags))
    except KeyboardInterrupt as error:
        if not error.args:
            place = f" in '{_place(flags['out'])}'" if flags.get("out") else ""
            error.args = (f"the {command} of '{_place(file)}'{place} was stopped; the same call continues it",)
        raise


@takes(of_command("report"), describe=True)
def report(*folders: Place, **flags: Value) -> str:
    """Writes a page about sweeps or runs and returns its path."""
    return asked("report", *folders, **flags)["page"]


def _finished(outcome, functions):
    """Returns the run, opened. If the last round failed, raises Error from that round's first exception."""
    if outcome["failed"]:
        training = functions.get("training")
        raise Error(outcome["failed"]) from (training and training.cause)
    return Run(outcome["folder"])


def _kept(folder):
    """Returns the settings of the run in a folder, which specify its data's columns; empty if there is no run, as C++ reports."""
    return Run(folder).settings if (pathlib.Path(folder) / "config.toml").is_file() else {}


def _place(path):
    return "" if path is None else os.fspath(path)
