"""fedstride: a federated-learning simulator, exact, adaptive, fast on a CPU.

    import fedstride
    run = fedstride.run(dataset="synthetic", rounds=5, out="runs/first")
    print(run.summary["test_accuracy"])

Everything computed is computed in C++, with the GIL released. Errors are exceptions with one line that names the value and
what would be valid: `Error`, and `UsageError` (a `ValueError` too) for requests that make no sense.
"""

from ._load import _core
from ._version import __version__

if _core.version != __version__:
    raise ImportError(
        f"fedstride: the package's files are of version {__version__}, its module _core of {_core.version}; "
        "install both of one build")

from . import privacy
from ._core import Error, UsageError
from .client import Client
from .code import Lot, Task, Trained, named, uses_clipped_sum
from ._program import program
from .data import load_dataset, partition
from .folder import Run, open
from .running import report, resume, run, sweep
from .tensors import load_tensors, save_tensors

_core.set_program(program() or "")

__all__ = ["Client", "Error", "Lot", "Run", "Task", "Trained", "UsageError", "__version__", "load_dataset", "load_tensors", "named", "open",
           "partition", "privacy", "program", "report", "resume", "run", "save_tensors", "sweep", "uses_clipped_sum"]
