"""Running experiments: `run` and `resume`."""

import os

from . import _core
from .folder import Run


def run(*, config=None, on_round=None, verbose=False, **settings):
    """Trains a federation on the calling thread and returns its folder, opened.

    settings: the flags of `fedstride run` with underscores for dashes: `dataset="cifar10"`, `local_epochs=2`. Values are
        bool, int, float, str, paths, NumPy scalars and lists of these; None is as if it were not given.
    config: a TOML file with the flags' names as keys; keywords win over it.
    on_round: called after each round with the round's dict, a line of rounds.jsonl. What it raises stops the run, which
        can go on with `resume`, and is raised again. Ctrl-C does the same, and raises KeyboardInterrupt.
    verbose: prints what the command line prints.

    Raises UsageError for settings that are not valid, Error if something fails; finished rounds stay on the disk.
    """
    outcome = _core.run(settings, _place(config), "", on_round, verbose)
    return Run(outcome["folder"])


def resume(folder, *, on_round=None, verbose=False, **settings):
    """Goes on with the run in `folder` from its last checkpoint: the same bits as without the interruption.

    settings: those that may change: `rounds` (not fewer than are done), `threads`, `evaluate_every` and the like.
    on_round, verbose, errors: as for `run`.
    """
    outcome = _core.run(settings, "", _place(folder), on_round, verbose)
    return Run(outcome["folder"])


def _place(path):
    return "" if path is None else os.fspath(path)
