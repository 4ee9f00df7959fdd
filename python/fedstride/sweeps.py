"""The results of a sweep: `Sweep`."""

from __future__ import annotations

import csv
import json
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ._core import Error
from ._types import Place
from .folder import Run, html_table, pandas_module

if TYPE_CHECKING:
    import pandas

TABLES = ("cells", "rounds", "clients", "summary", "expectations")
_TEXTS = ("cell", "configuration", "model_hash", "data_hash", "partition_hash", "commit")


class Cell(Run):
    """A run of a sweep. point: the settings that the sweep varies, with this cell's values; status: "finished", "unfinished" or
    "failed"."""

    def __init__(self, folder: Place, point: dict[str, Any], status: str) -> None:
        super().__init__(folder)
        self.point, self.status = point, status

    def _standing(self) -> list[tuple[str, str]]:
        return [*((key.replace("_", " "), f"{key}={value}") for key, value in self.point.items()), *super()._standing()]


class Sweep:
    """A sweep's folder, as `fedstride.sweep` returns it; `Sweep(folder)` opens one. The tables are read on access (docs/results.md).

    folder: its path. cells, frame(), tables, claims: its results. A sweep also has the keys that the program prints: sweep["finished"].
    """

    def __init__(self, folder: Place, *, told: Mapping[str, Any] | None = None) -> None:
        self.folder = pathlib.Path(os.fspath(folder))
        if not (self.folder / "experiment.toml").is_file():
            raise Error(f"'{self.folder}' holds no sweep; the folder of a sweep has an experiment.toml")
        self._told = dict(told or {})

    def __fspath__(self) -> str:
        return str(self.folder)

    def __getitem__(self, key: str) -> Any:
        return self._told[key]

    @property
    def cells(self) -> list[Cell]:
        """The cells that have begun, as runs, in the order of the table; none if the sweep is over a command other than `run`."""
        header, rows = self._rows("cells")
        swept = header[2 : header.index("status")]
        found = []
        for row in rows:
            folder = self.folder / "cells" / row["cell"]
            if (folder / "config.toml").is_file():
                found.append(Cell(folder, {key: _value(row[key]) for key in swept if row[key] != ""}, row["status"]))
        return found

    @property
    def claims(self) -> list[dict[str, str]]:
        """The claims of the experiment file with outcomes: dicts with claim, status ("holds", "fails", "not run"), text, ..."""
        return self._rows("expectations")[1]

    @property
    def tables(self) -> Mapping[str, pandas.DataFrame]:
        """The tables "cells", "rounds", "clients", "summary" and "expectations", each read on request."""
        return _Tables(self)

    def frame(self, table: str = "cells") -> pandas.DataFrame:
        """A table as a pandas DataFrame; "cells" has a row for each cell. Raises ImportError without pandas."""
        return self.tables[table]

    def __len__(self) -> int:
        return len(self._rows("cells")[1])

    def __repr__(self) -> str:
        try:
            return f"<fedstride.Sweep '{self.folder}': {'; '.join(text for _, text in self._standing())}>"
        except Error as error:
            return f"<fedstride.Sweep '{self.folder}': {error}>"

    def _repr_html_(self) -> str:
        try:
            claims = [(one["status"], f"{one['claim']} ({one['text']})") for one in self.claims]
            return html_table([*self._standing(), ("folder", str(self.folder)), *claims])
        except Error as error:
            return html_table([("folder", str(self.folder)), ("error", str(error))])

    def _standing(self) -> list[tuple[str, str]]:
        states = [row["status"] for row in self._rows("cells")[1]]
        texts = [("cells", f"{states.count('finished')} of {len(states)} cells finished")]
        if failed := states.count("failed"):
            texts.append(("failed", f"{failed} failed"))
        if claims := [one["status"] for one in self.claims]:
            texts.append(("claims", f"{claims.count('holds')} of {len(claims)} claims hold"))
        return texts

    def _path(self, table: str) -> pathlib.Path:
        if table not in TABLES:
            raise KeyError(f"{table!r} is not a table; valid: {', '.join(TABLES)}")
        path = self.folder / f"{table}.csv"
        if not path.is_file():
            raise Error(f"'{self.folder}' has no {path.name}: the sweep has not written it yet (it does so when it ends)")
        return path

    def _rows(self, table: str) -> tuple[list[str], list[dict[str, str]]]:
        with self._path(table).open(encoding="utf-8", newline="") as lines:
            reader = csv.DictReader(lines)
            rows = list(reader)
        return list(reader.fieldnames or []), rows


class _Tables(Mapping[str, Any]):
    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep

    def __getitem__(self, table: str) -> Any:
        return pandas_module().read_csv(self._sweep._path(table), dtype={name: "string" for name in _TEXTS})

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    def __len__(self) -> int:
        return len(TABLES)


def _value(text: str) -> Any:
    """Converts a swept value from the table's text to a number or bool, if it is one."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return value if isinstance(value, (int, float, bool)) else text
