"""The folder of a run, read: `open`."""

from __future__ import annotations

import json
import os
import pathlib
import tomllib
from typing import TYPE_CHECKING, Any

from . import _core
from ._commands import asked, words_of
from ._core import Error, UsageError
from .data import split_data
from ._types import Data, Place, Value
from .tensors import load_tensors

if TYPE_CHECKING:
    import numpy
    import pandas
    from numpy.typing import NDArray


def open(folder: Place) -> Run:  # noqa: A001: fedstride.open
    """Opens the folder of a run, finished or not. Raises Error if it holds none."""
    return Run(folder)


class Run:
    """A run's folder. Files are read when they are asked for, so a run that goes on may be looked at; what is damaged or not there
    yet raises Error, in one line."""

    def __init__(self, folder: Place) -> None:
        self.folder = pathlib.Path(os.fspath(folder))
        if not (self.folder / "config.toml").is_file():
            raise Error(f"'{self.folder}' holds no run; the folder of a run has a config.toml")

    def __repr__(self):
        return f"fedstride.open({str(self.folder)!r})"

    def __fspath__(self):
        return str(self.folder)

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of the run (config.toml) as keywords of `run`: a dict. Texts that are empty, for nothing, are left out."""
        try:
            table = tomllib.loads(self._text("config.toml"))
        except tomllib.TOMLDecodeError as error:
            raise Error(f"'{self.folder / 'config.toml'}' is damaged: {error}") from None
        return {key.replace("-", "_"): value for key, value in table.items() if value != ""}

    @property
    def summary(self) -> dict[str, Any]:
        """summary.json as a dict. Raises Error while the run has written none."""
        try:
            return json.loads(self._text("summary.json"))
        except json.JSONDecodeError as error:
            raise Error(f"'{self.folder / 'summary.json'}' is damaged: {error}") from None

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """The finished rounds: a list of dicts, the lines of rounds.jsonl. A last line that is being written is left out."""
        lines = self._text("rounds.jsonl").split("\n")
        lines.pop()  # behind the last line break: nothing, or what is not whole yet
        rounds = []
        for number, line in enumerate(lines, 1):
            try:
                rounds.append(json.loads(line))
            except json.JSONDecodeError:
                raise Error(f"'{self.folder / 'rounds.jsonl'}', line {number} is no JSON: the file is damaged") from None
        return rounds

    @property
    def clients(self) -> list[dict[str, Any]]:
        """Each client's report in each round: a list of dicts with "round" and "client" among their keys."""
        return [{"round": record["round"], **client} for record in self.rounds for client in record.get("clients", [])]

    def frame(self) -> pandas.DataFrame:
        """The rounds as a pandas DataFrame, a row each, without their clients. Raises ImportError without pandas."""
        return _pandas().DataFrame([{key: value for key, value in record.items() if key != "clients"} for record in self.rounds])

    def clients_frame(self) -> pandas.DataFrame:
        """`clients` as a pandas DataFrame, a row for each client and round. Raises ImportError without pandas."""
        return _pandas().DataFrame(self.clients)

    def model(self) -> dict[str, NDArray[numpy.float32]]:
        """The model's parameters under PyTorch's names and in its layouts: a dict of float32 arrays (load_tensors)."""
        return load_tensors(self.folder / "model.safetensors")

    def evaluate(
        self, *, data: Data | None = None, part: str = "test", threads: int = 0, **flags: Value
    ) -> dict[str, Any]:
        """Accuracy and loss of the run's model: a dict. Keywords are the flags of `fedstride evaluate`: `part="train"`,
        `per_client=True`, `fine_tune=1`, `threads=2`, `dataset`. data: a file or arrays, as for `run`; with arrays `part` and
        `threads` alone."""
        path, arrays = split_data(data)
        if arrays is None:
            return asked("evaluate", self.folder, *words_of({"data": path, "part": part, "threads": threads, **flags}))
        if flags:
            raise UsageError(f"{next(iter(flags))} does not go with data that are arrays; part and threads do")
        if part not in ("test", "train"):
            raise UsageError(f"part '{part}' is unknown; valid: test, train")
        return json.loads(_core.evaluate_on(os.fspath(self), arrays, part == "train", threads))

    def _text(self, name):
        path = self.folder / name
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise Error(f"'{self.folder}' has no {name}: the run has not written it yet, or it was removed") from None
        except (OSError, UnicodeDecodeError) as error:
            raise Error(f"cannot read '{path}': {error}") from None


def _pandas():
    try:
        import pandas
    except ImportError:
        raise ImportError("a DataFrame needs pandas (Debian's python3-pandas); without it rounds and clients are lists of dicts") from None
    return pandas
