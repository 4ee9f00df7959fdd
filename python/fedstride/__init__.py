"""fedstride: a federated-learning simulator with reproducible results.

    import fedstride
    run = fedstride.run(dataset="synthetic", rounds=5, out="runs/first")
    print(run.summary["test_accuracy"])

All computation runs in C++ with the GIL released. Errors are exceptions whose one-line message names the value and says what
would be valid: `Error`, and its subclasses `UsageError` (also a `ValueError`) for invalid requests, and `RefusedError`, `BusyError` and
`TemporaryError`, which say whether to try again.
"""

import dis
import os
import sys

from ._load import _core
from ._version import __version__

if _core.version.replace("-dev", ".dev0") != __version__:
    raise ImportError(
        f"fedstride: the package's files have version {__version__}, but its module _core has {_core.version}; "
        "install both from the same build")

from . import _hints, parts, privacy
from ._core import BusyError, Error, RefusedError, TemporaryError, UsageError
from .client import Client
from .code import Lot, Step, Task, Trained, named, tracker, uses_clipped_sum
from ._program import program
from .data import load_dataset, partition
from .folder import Run, open_run
from .parts import *
from .re_execution import certify, replay, verify
from .running import report, resume, run, sweep, tune
from .sweeps import Sweep
from .tensors import load_tensors, save_tensors
from .torch_models import LayeredModel, from_torch

_core.set_program(program() or "")
os.environ.setdefault("FEDSTRIDE_PYTHON", sys.executable)  # for tables and reports, whose packages are installed here

# Without the classes of parts, whose names are common words.
__all__ = ["BusyError", "Client", "Error", "LayeredModel", "Lot", "RefusedError", "Run", "Step", "Sweep", "Task", "TemporaryError", "Trained", "UsageError", "__version__", "certify", "from_torch",
           "load_dataset", "load_tensors", "named", "open_run", "parts", "partition", "privacy", "program", "replay", "report", "resume", "run", "save_tensors", "sweep",
           "tracker", "tune", "uses_clipped_sum", "verify"]


def __getattr__(name):
    caller = sys._getframe(1)
    # `from fedstride import NAME` replaces an AttributeError with its own message, which lacks the hint.
    error = ImportError if dis.opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM" else AttributeError
    raise error(f"module 'fedstride' has no attribute '{name}'; {_hints.of_module(name, __all__)}dir(fedstride) lists what it has")


def __dir__():
    return sorted({*__all__, *parts.__all__})
