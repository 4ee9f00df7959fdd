"""Implements `fedstride join --train FILE.py`: a client that trains with the file's `train` function. Started by the program."""

import json
import runpy
import sys
import traceback
from datetime import datetime

from ._core import BusyError, Error, RefusedError, TemporaryError, UsageError
from .client import Client


def main():
    file, options = sys.argv[1], json.loads(sys.argv[2])
    as_json = options.pop("json")
    global _in_log
    _in_log = options["log"] == "json"
    try:
        names = runpy.run_path(file)
    except Exception:
        traceback.print_exc()
        return _complain(f"cannot run '{file}': it raised the exception above", 1)
    if not callable(names.get("train")):
        return _complain(f"'{file}' has no function train(weights, task)", 2)
    member = None
    try:
        member = Client(**options)
        told = member.serve(names["train"], evaluate=names.get("evaluate"), model=names.get("model"))
    except Error as error:
        return _complain(str(error), next((code for kind, code in _CODES if isinstance(error, kind)), 1))
    except KeyboardInterrupt:
        return _complain("stopped; resume with the same command", 130)
    if not told["finished"]:
        return _complain("stopped; resume with the same command", 130)
    if as_json:
        print(json.dumps(told, indent=2))
    elif not options["quiet"]:
        text = (f"the federation finished after round {told['rounds']}, model {told['model_hash'][:16]}; updates sent: "
                f"{told['updates_sent']}")
        if _in_log:
            _log("info", text)
        else:
            print(text)
    return 0


_CODES = ((UsageError, 2), (RefusedError, 3), (BusyError, 4), (TemporaryError, 5))  # as 'fedstride help exit-codes'
_in_log = False  # --log json: everything said is a line of the log


def _log(level, text):
    line = {"time": datetime.now().astimezone().isoformat(timespec="seconds"), "level": level, "message": text}
    print(json.dumps(line), file=sys.stderr)


def _complain(text, code):
    if _in_log:
        _log("info" if code == 130 else "error", text)
    else:
        print(f"fedstride: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
