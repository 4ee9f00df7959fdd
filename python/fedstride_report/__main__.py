"""`python3 -m fedstride_report`: carries out a task, JSON in the file that the argument names (sweep/results/task.cpp), and
prints the outcome as JSON. An error is one line instead; the exit code is 1, 2 for an invalid request, 3 if a package is missing, or 5 if there is no space."""

import fcntl
import json
import os
import sys
from pathlib import Path

from .text import Failure, UsageFailure, write_file


def _renew_tables(sweep):
    """Writes a sweep's tables, one process at a time (core/folder_lock.hpp)."""
    from .tables import write_tables

    folder = os.open(sweep.folder, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        write_tables(sweep)
    finally:
        os.close(folder)


def tables(task, sweeps):
    """Writes a sweep's tables and, if `out` names it, the page; returns the claims' outcomes and the errors of failed cells."""
    (sweep,) = sweeps
    _renew_tables(sweep)
    if task["out"]:
        from .page import write_page

        sweep.measure_by(task["by"])
        write_page(sweeps, Path(task["out"]))
    return {"failed": {cell.key: cell.error for cell in sweep.cells if cell.status == "failed"},
            "claims": [{key: one[key] for key in ("claim", "status", "text", "reason")} for one in sweep.claims]}


def report(task, sweeps):
    """Writes the page and what else is asked for. A killed sweep leaves old tables or none, so they are written again."""
    from .latex import latex_tables
    from .page import write_page
    from .record import results_record
    from .settings import joined_runs

    for sweep in sweeps:
        if not sweep.is_run and os.access(sweep.folder, os.W_OK):
            _renew_tables(sweep)
        sweep.measure_by(task["by"])
    # Runs share their axes; each sweep has its own section.
    runs = [sweep for sweep in sweeps if sweep.is_run]
    if len(runs) > 1:
        sweeps = [joined_runs(runs), *(sweep for sweep in sweeps if not sweep.is_run)]
    if task["record"] and len(sweeps) > 1:
        raise UsageFailure(f"record is '{task['record']}', but a record describes one sweep; {len(sweeps)} were given")
    write_page(sweeps, Path(task["out"]))
    if task["latex"]:
        write_file(task["latex"], latex_tables(sweeps))
    if task["record"]:
        write_file(task["record"], results_record(sweeps[0]))
    return {}


def export(task, sweeps):
    """Writes TensorBoard's event files; returns what was written."""
    from .tensorboard import export as write_events

    return write_events(sweeps[0], Path(task["out"]), task["adds"], task["follow"])


def audit(task, _):
    """Writes the page of an audit."""
    from .audit_page import write_audit

    write_audit(task["audit"], task["run"], task["out"])
    return {}


def main():
    task = json.loads(Path(sys.argv[1]).read_text())
    try:
        sweeps = []
        if task["do"] != "audit":
            from .model import read

            sweeps = [read(told, task["fields"], task["defaults"]) for told in task["sweeps"]]
        outcome = {"report": report, "tables": tables, "export": export, "audit": audit}[task["do"]](task, sweeps)
    except Failure as error:
        print(error)
        sys.exit(error.code)
    except ModuleNotFoundError as error:
        print(f"the Python package '{error.name}' is not installed")
        sys.exit(3)
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
