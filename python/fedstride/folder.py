"""The results of a run: `open_run`."""

from __future__ import annotations

import fcntl
import html
import json
import math
import os
import pathlib
import re
import tomllib
from typing import TYPE_CHECKING, Any

from . import _core, _hints
from ._commands import asked
from ._core import Error, UsageError
from ._settings import families, of_command, takes
from .data import _plain, split_data
from ._types import Data, Place, Value
from .tensors import load_tensors

if TYPE_CHECKING:
    import numpy
    import pandas
    from numpy.typing import NDArray


def open_run(folder: Place) -> Run:
    """Opens the folder of a run, finished or not. Raises Error if it holds no run."""
    return Run(folder)


class Run:
    """A run's folder. Files are read on access, so it can be used while the run continues. A damaged or missing file raises
    Error."""

    def __init__(self, folder: Place) -> None:
        self.folder = pathlib.Path(os.fspath(folder))
        if not (self.folder / "config.toml").is_file():
            raise Error(f"'{self.folder}' holds no run; the folder of a run has a config.toml")

    def __repr__(self) -> str:
        try:
            return f"<fedstride.{type(self).__name__} '{self.folder}': {', '.join(text for _, text in self._standing())}>"
        except Error as error:
            return f"<fedstride.{type(self).__name__} '{self.folder}': {error}>"

    def _repr_html_(self) -> str:
        try:
            rows = [*self._standing(), *self._choices(), ("folder", str(self.folder))]
        except Error as error:
            rows = [("folder", str(self.folder)), ("error", str(error))]
        return html_table(rows)

    def __fspath__(self) -> str:
        return str(self.folder)

    if not TYPE_CHECKING:  # otherwise a type checker would accept every name

        def __getattr__(self, name):
            hint = _hints.of_run(name)
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'" + (f"; {hint}" if hint else ""))

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of the run (config.toml) as a dict of keywords of `run`, without empty ones. If your own code trained the
        clients, `optimizer` is its name ("own code: NAME VERSION"), and there are no settings of an optimizer."""
        try:
            table = tomllib.loads(self._text("config.toml"))
        except tomllib.TOMLDecodeError as error:
            raise Error(f"'{self.folder / 'config.toml'}' is damaged: {error}") from None
        trained = re.search(r"(?:^|; )train=([^;]*)", table.get("code", ""))
        if trained:
            unused = {one["name"] for part in families()["optimizer"]["parts"] for one in part["settings"]}
            table = {key: value for key, value in table.items() if key.replace("-", "_") not in unused}
            table["optimizer"] = f"own code: {trained[1]}"
        return {key.replace("-", "_"): value for key, value in table.items() if value != ""}

    @property
    def summary(self) -> dict[str, Any]:
        """summary.json as a dict. Raises Error if the run has not written it yet."""
        try:
            return json.loads(self._text("summary.json"))
        except json.JSONDecodeError as error:
            raise Error(f"'{self.folder / 'summary.json'}' is damaged: {error}") from None

    @property
    def schema(self) -> dict[str, Any]:
        """How the rows of a file become inputs and answers of the run's model (schema.json); also used to read other data. Keys:
        "form", "columns", "classes", "missing", "mean", "deviation" and more. Raises Error if the run has not written it yet."""
        try:
            return json.loads(self._text("schema.json"))
        except json.JSONDecodeError as error:
            raise Error(f"'{self.folder / 'schema.json'}' is damaged: {error}") from None

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """The finished rounds: a list of dicts, the lines of rounds.jsonl, without a line that is still being written."""
        lines = self._text("rounds.jsonl").split("\n")
        lines.pop()  # after the last line break: nothing, or an incomplete line
        rounds = []
        for number, line in enumerate(lines, 1):
            try:
                rounds.append(json.loads(line))
            except json.JSONDecodeError:
                raise Error(f"line {number} of '{self.folder / 'rounds.jsonl'}' is not JSON: the file is damaged") from None
        return rounds

    @property
    def clients(self) -> list[dict[str, Any]]:
        """Each client's report in each round: a list of dicts with "round" and "client" among the keys."""
        return [{"round": record["round"], **client} for record in self.rounds for client in record.get("clients", [])]

    @property
    def state(self) -> str:
        """"running" (by any process), "finished", "halted" (by a privacy budget; `summary["halted"]` says why) or "stopped" (by a
        signal, `on_round` or a crash: `resume` continues it)."""
        return self._state(len(self.rounds) if (self.folder / "rounds.jsonl").is_file() else 0)

    def frame(self) -> pandas.DataFrame:
        """The rounds as a pandas DataFrame, without their clients; NaN where nothing was measured. Privacy spent is in `epsilon_spent`,
        `delta_spent`, `client_epsilon_spent` and `client_delta_spent`. Raises ImportError without pandas."""
        return pandas_module().DataFrame([_flat(record) for record in self.rounds])

    def clients_frame(self) -> pandas.DataFrame:
        """`clients` as a pandas DataFrame with a row for each client and round; NaN where nothing was measured. Raises ImportError
        without pandas."""
        return pandas_module().DataFrame([_flat(client) for client in self.clients])

    def plot(self, *metrics: str, ax: Any = None, **style: Any) -> Any:
        """Draws columns of `frame` over the rounds, by default the test accuracy or R2, into `ax` or a new figure, and returns the
        matplotlib Axes. Rounds without the metric are left out. style: keywords of Axes.plot. Raises ImportError without
        matplotlib, UsageError for a column that no round has."""
        rows = [_flat(record) for record in self.rounds]
        known = {key for row in rows for key, value in row.items() if _is_number(value)} - {"round"}
        wanted = metrics or (_measure(known),)
        for metric in wanted:
            if metric not in known:
                raise UsageError(f"no round of '{self.folder}' has the metric '{metric}'; valid: {', '.join(sorted(known)) or 'none'}")
        if ax is None:
            ax = _pyplot().subplots()[1]
        for metric in wanted:
            points = [(row["round"], row[metric]) for row in rows if _is_number(row.get(metric))]
            name = metric.replace("_", " ")
            ax.plot(*zip(*points), **{"label": name, "marker": "." if len(points) < 50 else "", **style})
        ax.set_xlabel("round")
        if len(wanted) == 1:
            ax.set_ylabel(wanted[0].replace("_", " "))
        else:
            ax.legend()
        return ax

    def model(self) -> dict[str, NDArray[numpy.float32]]:
        """The model's parameters, with PyTorch's names and layouts: a dict of float32 arrays (load_tensors)."""
        return load_tensors(self.folder / "model.safetensors")

    @takes(of_command("evaluate"))
    def evaluate(
        self, *, data: Data | None = None, part: str = "test", threads: int = 0, **flags: Value
    ) -> dict[str, Any]:
        """Returns a dict with the accuracy and loss of the run's model. Keywords are the flags of `fedstride evaluate`:
        `part="train"`, `per_client=True`, `fine_tune=1`, `threads=2`, `dataset`. data: a file or arrays, as for `run`; with
        arrays only `part` and `threads` are valid."""
        settings = self.settings
        answers = self.schema.get("columns", {}).get("answers", []) if (self.folder / "schema.json").is_file() else []
        if len(answers) == 1:
            settings.setdefault("label", answers[0])
        path, arrays = split_data(data, settings if data is not None else None)
        if arrays is None:
            return asked("evaluate", self.folder, data=path, part=part, threads=threads, **flags)
        if flags:
            raise UsageError(f"{next(iter(flags))} cannot be combined with arrays; valid: part, threads")
        if part not in ("test", "train"):
            raise UsageError(f"part '{part}' is unknown; valid: test, train")
        return json.loads(_core.evaluate_on(os.fspath(self), arrays, part == "train", threads))

    def predict(self, data: Any, *, client: int | None = None, threads: int = 0) -> dict[str, Any]:
        """Returns the model's predictions for the rows of a file, a DataFrame (columns are found by name) or an array of inputs, in
        their order; labels are not needed. For classes a dict of `class` (a list of names), `probabilities` (float64, rows x
        classes) and `names`; for flags the latter two; for numbers `values` and `names`. client: predict with this client's
        personal model. Raises UsageError as `fedstride predict` does."""
        import numpy

        columns, arrays = self.schema.get("columns", {}), None
        if hasattr(data, "to_csv") and not columns.get("named"):
            data = data.to_numpy()
        path = ""
        if isinstance(data, (str, os.PathLike)):
            path = os.fspath(data)
        elif hasattr(data, "to_csv"):
            _, arrays = split_data(data)
        else:
            inputs = _plain("x", data)
            if inputs.ndim < 2:
                raise UsageError(f"the inputs have {inputs.ndim} dimension; valid: one row for each example, as in x[None] for one")
            has_floats = not self.schema["form"].get("vocabulary") and inputs.dtype.kind in "iu" and inputs.dtype.itemsize > 1
            arrays = {"x": inputs.astype(numpy.float64) if has_floats else inputs}
        kind, names, flat = _core.predict(os.fspath(self), path, arrays, client, threads)
        numbers = numpy.array(flat).reshape(-1, len(names))
        if kind == "values":
            return {"values": numbers, "names": names}
        found = {"probabilities": numbers, "names": names}
        return found if kind == "flags" else {"class": [names[best] for best in numbers.argmax(1)], **found}

    def _text(self, name: str) -> str:
        path = self.folder / name
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise Error(f"'{self.folder}' has no {name}: the run has not written it yet, or it was removed") from None
        except (OSError, UnicodeDecodeError) as error:
            raise Error(f"cannot read '{path}': {error}") from None

    def _state(self, rounds_done: int) -> str:
        if _is_locked(self.folder):
            return "running"
        if not (self.folder / "summary.json").is_file():
            return "stopped"
        summary = self.summary
        if not summary["finished"] or summary["rounds"] < rounds_done:
            return "stopped"
        if summary.get("halted"):
            return "halted"
        return "finished" if summary["rounds"] >= self.settings["rounds"] else "stopped"

    def _standing(self) -> list[tuple[str, str]]:
        """Returns the state, rounds, results and privacy so far, as (heading, text)."""
        records = self.rounds if (self.folder / "rounds.jsonl").is_file() else []
        state = self._state(len(records))
        has_summary = state != "running" and (self.folder / "summary.json").is_file() and self.summary["rounds"] == len(records)
        summary = self.summary if has_summary else {}
        rounds = [("state", state), ("rounds", f"{len(records)} of {self.settings['rounds']} rounds")]
        if summary.get("halted"):
            rounds.append(("halted", summary["halted"]))
        measured = next((one for one in (summary, *reversed(records)) if _is_number(one.get(_measure(one)))), None)
        result, name = "not evaluated", "accuracy"
        if measured is not None:
            measure = _measure(measured)
            name = "R2" if measure == "test_r2" else "accuracy"
            result = f"test {name} {measured[measure]:.4f}"
        last = records[-1] if records else {}
        spent = summary.get("privacy") or [{**last[key], "level": level} for key, level in (("example_privacy", "example"), ("client_privacy", "client"))
                                           if last.get(key)]
        return [*rounds, (name, result), *(("privacy", _statement(one)) for one in spent)]

    def _choices(self) -> list[tuple[str, str]]:
        settings = self.settings
        return [(key.replace("_", " "), str(settings[key])) for key in ("dataset", "clients", "partition", "model", "optimizer", "local_objective",
                                                                        "aggregation", "dp") if settings.get(key) not in (None, "", "none")]


def html_table(rows: list[tuple[str, str]]) -> str:
    """Headings and texts as an HTML table."""
    lines = (f"<tr><th style='text-align:left'>{html.escape(heading)}</th><td style='text-align:left'>{html.escape(text)}</td></tr>"
             for heading, text in rows)
    return f"<table>{''.join(lines)}</table>"


def _statement(spent: dict[str, Any]) -> str:
    """"epsilon 1.63 at delta 1e-05 (example level)"; epsilon is rounded up, so it remains a bound."""
    epsilon = spent["epsilon"]
    bound = f"epsilon {_core.rounded_up(epsilon)}" if _is_number(epsilon) else "no finite epsilon"
    return f"{bound} at delta {spent['delta']:g} ({spent['level']} level)"


def _measure(names: Any) -> str:
    """Returns the key of the test result among these: R2 for numeric targets, accuracy for classes."""
    return "test_r2" if "test_r2" in names else "test_accuracy"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


_SPENT = (("example_privacy", ""), ("client_privacy", "client_"))


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """A row of a table, without lists, and with NaN for numbers that were not measured."""
    row = {key: math.nan if value is None else value for key, value in record.items() if not isinstance(value, (dict, list))}
    for key, before in _SPENT:
        if key in record:
            for name, value in record[key].items():
                row[f"{before}{name}_spent"] = math.nan if value is None else value
    return row


def _is_locked(folder: pathlib.Path) -> bool:
    """True if a process is working in the folder: its exclusive lock (core/folder_lock.hpp) excludes shared ones."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def pandas_module() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("a DataFrame needs pandas (Debian: python3-pandas); the properties rounds and clients work without it") from None
    return pandas


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib (Debian: python3-matplotlib); frame() has the numbers") from None
    return pyplot
