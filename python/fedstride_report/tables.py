"""cells.csv, rounds.csv, clients.csv, summary.csv and expectations.csv (docs/results.md describes every column): RFC 4180, quoted
only if needed, numbers as the shortest text that reads back exactly. The same results give the same bytes, except for timings."""

import contextlib
import functools
import math
import re

from .model import _TEXTS, summarize
from .statistics import TIMINGS
from .text import new_file, number_text

# The metrics that come first in a table, in this order; others follow, sorted by name.
FIRST = ("rounds_done test_accuracy test_r2 test_loss validation_accuracy validation_r2 validation_loss train_loss rows loss accuracy "
         "examples steps rejected_steps accepted rejected rejected_share idle_rounds learning_rate worst_client_accuracy "
         "best_client_accuracy failed_updates epsilon_spent delta_spent client_epsilon_spent client_delta_spent").split()


def _field(text):
    return '"' + text.replace('"', '""') + '"' if re.search('[,"\r\n]', text) else text


@functools.lru_cache(1 << 16, typed=True)
def _value(value):
    """The field of a text, a whole number, or a number that may be missing."""
    if type(value) is float:
        return number_text(value + 0.0) if math.isfinite(value) else ""  # -0.0 is 0
    return _field(value) if isinstance(value, str) else str(value)


class _Table:
    """The rows of an open CSV file with these columns; a name that is taken gets "_result" appended."""

    def __init__(self, file, *columns):
        self.file, self.names = file, []
        for name in sum(map(list, columns), []):
            while name in self.names:
                name += "_result"
            self.names.append(name)
        self.rows([self.names])

    def rows(self, rows):
        self.file.write("".join(",".join(map(_value, row)) + "\n" for row in rows).encode())


def _in_order(found):
    """The metrics' columns, without timings."""
    return [name for name in FIRST if name in found] + sorted(set(found) - set(FIRST) - set(TIMINGS))


def _lists(frame, columns):
    """The frame's rows as lists, with NaN for missing columns."""
    return frame.reindex(columns=columns).to_numpy(float).tolist()


def _columns(keys):
    return [key.replace("-", "_") for key in keys]


def _write_cells(sweep):
    metrics = _in_order(set().union(*(cell.numbers for cell in sweep.cells)))
    texts = _TEXTS if sweep.experiment["command"] == "run" else ()
    with new_file(sweep.folder / "cells.csv") as file:
        table = _Table(file, ["cell", "configuration"], _columns(sweep.swept_keys), ["status"], metrics, texts, TIMINGS,
                       ["error", "command"])
        table.rows([cell.key, cell.configuration, *map(cell.value, sweep.swept_keys), cell.status, *map(cell.number, metrics),
                    *map(cell.text, texts), *map(cell.number, TIMINGS), cell.error, cell.command] for cell in sweep.cells)


def _write_rounds(sweep):
    """Writes the tables that need the cells' rounds; holds one configuration in memory at a time."""
    keys, seedless = sweep.swept_keys, [key for key in sweep.swept_keys if key != "seed"]
    start, timings = ["cell", "configuration", *_columns(keys), "round"], TIMINGS[:3]
    round_metrics, client_metrics = _in_order(sweep.round_metrics), _in_order(sweep.client_metrics)
    statistics = ["n", "mean", "standard_deviation", "low", "high"]
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(new_file(sweep.folder / f"{name}.csv")) for name in ("rounds", "clients", "summary")]
        rounds = _Table(files[0], start, round_metrics, ["model_hash"], timings)
        clients = _Table(files[1], start, ["client"], client_metrics)
        summary = _Table(files[2], ["configuration"], _columns(seedless), ["metric", "round", "client", *statistics, "rank"])
        for seeds in sweep.read_groups():
            for cell in seeds:
                point = [cell.key, cell.configuration, *map(cell.value, keys)]
                rounds.rows([*point, number, *values, model, *times] for number, values, model, times in zip(
                    cell.rounds.index, _lists(cell.rounds, round_metrics), cell.round_hashes, _lists(cell.rounds, timings)))
                if len(cell.clients):
                    clients.rows([*point, number, client, *values] for number, client, values in zip(
                        cell.clients["round"].tolist(), cell.clients["client"].tolist(), _lists(cell.clients, client_metrics)))
            rows = summarize(seeds)
            if not len(rows):
                continue
            rows = rows[rows["round"].isna() | rows["client"].isna() | (rows["n"] > 1)]  # clients.csv has the others
            point = [seeds[0].configuration, *map(seeds[0].value, seedless)]
            rank = sweep.ranks.get(seeds[0].configuration, "")
            texts = [rows["metric"].tolist(), *(rows[name].to_numpy(object, na_value="").tolist() for name in ("round", "client"))]
            summary.rows([*point, *text, int(n), *numbers, rank] for *text, (n, *numbers) in zip(*texts, _lists(rows, statistics)))


def _write_claims(sweep):
    with new_file(sweep.folder / "expectations.csv") as file:
        table = _Table(file, "claim status value relation other within text reason".split())
        table.rows([one[name] for name in table.names] for one in sweep.claims)


def write_tables(sweep):
    """Writes the five files to the sweep's folder, each replaced atomically. Raises Failure."""
    _write_cells(sweep)
    _write_rounds(sweep)
    _write_claims(sweep)
