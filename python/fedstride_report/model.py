"""The results of a sweep or of a run: `read(task)` reads its folder."""

import json
import math
import os
from collections import namedtuple
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from .statistics import statistics_of_frames
from .text import Failure, UsageFailure, number_text, point_text

By = namedtuple("By", "metric axis title to_target")
By.__doc__ = """A measure of cost: the metric with the cost after each round ("": the round's number), an axis's label, "by TITLE" of
a figure, and the metric that counts it up to the target, without test_ or validation_."""
BY = {"rounds": By("", "round", "round", "rounds_to_target"),
      "time": By("virtual_seconds", "virtual seconds", "virtual time", "seconds_to_target"),
      "bytes": By("megabytes", "megabytes sent and received", "megabytes", "megabytes_to_target")}

MAX_FOR_CLIENTS = 256 << 20  # bytes of a rounds.jsonl whose clients are read
HELD_BYTES = 64 << 20  # bytes of all rounds.jsonl whose rounds are kept in memory
HELD_ROWS = 500_000  # rows of the summary kept in memory, of each kind
LONG_RUN = 1000  # rounds; of longer runs, only evaluated rounds are kept in memory
EVALUATIONS_IN_A_ROW = 3  # at or beyond the target

_TEXTS = ("model_hash", "data_hash", "partition_hash", "numerics_version", "version", "commit", "compiler", "instruction_set",
          "randomness", "halted")
_SUMS = ("examples", "uplink_bytes", "downlink_bytes", "wasted_bytes", "failed_updates", "seconds", "evaluation_seconds",
         "late_clients", "lost_clients", "dropped_updates")
_LAST = ("test_accuracy", "test_r2", "test_loss", "examples", "uplink_bytes", "downlink_bytes", "wasted_bytes", "evaluated_rows",
         "chance_accuracy", "seconds", "evaluation_seconds", "examples_per_second", "mean_staleness", "largest_staleness")


def _nothing():
    return pd.DataFrame()


@dataclass
class Cell:
    """A cell's folder. Numbers are finite; a missing number is NaN in frames."""

    key: str
    configuration: str
    point: dict  # swept keys and values as text, in the axes' order
    command: str  # repeats the cell
    folder: Path
    status: str = "missing"  # "finished", "unfinished", "failed" or "missing"
    error: str = ""
    numbers: dict = field(default_factory=dict)  # after the last round; for other commands, all in their output
    texts: dict = field(default_factory=dict)  # hashes, version, privacy notes
    rounds: pd.DataFrame = field(default_factory=_nothing)  # index: the round, from 1; columns: metrics
    round_hashes: list = field(default_factory=list)  # model_hash of each round
    clients: pd.DataFrame = field(default_factory=_nothing)  # columns round, client, metrics; sorted by both
    rows_per_class: list = field(default_factory=list)  # [client][class]; empty if not published
    class_names: list = field(default_factory=list)
    statements: list = field(default_factory=list)  # of privacy: a paragraph, and what it assumes, a line each

    def value(self, key):
        return self.point.get(key, "")

    def text(self, name):
        return self.texts.get(name, "")

    def number(self, name):
        return self.numbers.get(name, math.nan)


def _numbers(entry):
    """The finite numbers of a JSON object."""
    return {name: float(value) for name, value in entry.items() if type(value) in (int, float) and math.isfinite(value)}


def _refused(constant):
    raise ValueError(f"{constant} is not JSON")


def _parsed(text):
    return json.loads(text, parse_constant=_refused)


def _read_object(path):
    try:
        value = _parsed(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise Failure(f"cannot read '{path}': {error}") from None
    if not isinstance(value, dict):
        raise Failure(f"'{path}' is not a JSON object; remove the cell's folder to run it again")
    return value


def _error_of(folder):
    path = folder / "error.txt"
    return path.read_text(errors="replace")[: 1 << 16].split("\n")[0].strip() if path.exists() else ""


def _totals(clients, fields):
    """Sums and means over a round's clients, of the fields [name, name of the round, whether summed], and the share of rejected
    steps. Sums differences from the first number, so that the mean of equal numbers is exact."""
    totals = {}
    for name, of_round, is_sum in fields:
        if values := [client[name] for client in clients if name in client]:
            over_first = sum(value - values[0] for value in values)
            totals[of_round] = values[0] * len(values) + over_first if is_sum else values[0] + over_first / len(values)
    if totals.get("steps", 0) > 0 and "rejected_steps" in totals:
        totals["rejected_share"] = totals["rejected_steps"] / totals["steps"]
    return totals


def _round_of(line):
    """The numbers of a line of rounds.jsonl, and its clients'."""
    numbers = _numbers(line)
    if "failed_clients" in numbers:
        numbers["failed_updates"] = numbers.pop("failed_clients")
    for place, prefix in (("example_privacy", ""), ("client_privacy", "client_")):
        numbers |= {f"{prefix}{name}_spent": value for name, value in _numbers(line.get(place) or {}).items()}
    return numbers, [_numbers(one) for one in line.get("clients") or []]


def read_rounds(path, fields, with_clients=True):
    """Reads a rounds.jsonl: frames of the rounds and of clients, and the model hashes. Ignores an incomplete last line, whose
    round was still being written. Raises Failure, naming the line, for an invalid one."""
    rounds, hashes, frames, entries = [], [], [_nothing()], []
    with open(path, "rb") as lines:
        for number, text in enumerate(lines, 1):
            if not text.endswith(b"\n"):
                break
            try:
                line = _parsed(text)
                numbers, clients = _round_of(line)
                is_valid = numbers.pop("round", None) == number
            except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
                is_valid = False
            if not is_valid:
                raise Failure(f"line {number} of '{path}' is not a valid line for round {number}; remove the cell's folder to run "
                              "it again")
            if "participants" not in numbers:  # a line without its clients' entries already has these totals
                numbers |= _totals(clients, fields)
            rounds.append(numbers)
            hashes.append(str(line.get("model_hash") or ""))
            if with_clients:
                entries += [{"round": number} | client for client in clients if 0 <= client.get("client", -1) < 1 << 32]
            if len(entries) > 20_000:
                frames.append(pd.DataFrame(entries))
                entries = []
    clients = pd.concat([*frames, pd.DataFrame(entries)], ignore_index=True)
    if len(clients):
        clients = clients.astype({"round": int, "client": int}).sort_values(["round", "client"], kind="stable", ignore_index=True)
    if {"rejected", "steps"} <= set(clients):
        clients["rejected_share"] = (clients["rejected"] / clients["steps"]).where(clients["steps"] > 0)
    return pd.DataFrame(rounds, index=pd.RangeIndex(1, len(rounds) + 1), dtype=float), clients, hashes


def _take_rounds(cell, fields):
    """Sets the numbers that the rounds so far give; summary.json may replace them later."""
    rounds = cell.rounds
    if {"uplink_bytes", "downlink_bytes"} <= set(rounds):
        rounds["megabytes"] = ((rounds["uplink_bytes"] + rounds["downlink_bytes"]) / 1e6).cumsum(skipna=False)
    cell.numbers["rounds_done"] = float(len(rounds))
    if not len(rounds):
        return
    numbers = rounds.iloc[-1].copy()
    sums = [name for name in (*_SUMS, *(of_round for _, of_round, is_sum in fields if is_sum)) if name in rounds]
    numbers[sums] = rounds[sums].cumsum(skipna=False).iloc[-1]  # in the rounds' order
    for ratio, over, under in (("rejected_share", "rejected_steps", "steps"), ("examples_per_second", "examples", "seconds")):
        is_known = numbers.get(over, -1) >= 0 and numbers.get(under, 0) > 0
        numbers[ratio] = numbers[over] / numbers[under] if is_known else math.nan
    if "test_accuracy" in rounds:
        numbers["best_test_accuracy"] = rounds["test_accuracy"].max()
    if "rejected_share" in rounds and rounds["rejected_share"].notna().all():
        numbers["idle_rounds"] = (rounds["rejected_share"] == 1).sum()
    cell.numbers |= numbers.dropna().to_dict()


def _take_statements(summary, told, cell):
    """The statements that the program computed from the ledger; what summary.json says of them is numbers for tables only."""
    cell.statements = [(one["plain"], tuple(one["assumptions"])) for one in told]
    for one in summary.get("privacy") or []:
        level = one.get("level") if one.get("level") in ("client", "user") else "example"
        name = "privacy_client" if level == "client" else "privacy_example"
        cell.texts |= {name: str(one.get("who")), name + "_level": level}
        spent = _numbers({key: one.get(key) for key in ("epsilon", "delta")})
        cell.numbers |= {("client_" if level == "client" else "") + key + "_spent": value for key, value in spent.items()}


def _rows_per_class(path):
    partition = _read_object(path)
    if partition.get("format") == "fedstride partition 2":  # a large partition keeps its lists in another file
        return []
    rows = partition.get("rows_per_class")
    if not isinstance(rows, list) or not all(isinstance(row, list) and all(type(n) is int and n >= 0 for n in row) for row in rows):
        raise Failure(f"'{path}' has no valid rows_per_class; remove the cell's folder to run it again")
    return rows


def _read_run(cell, told, fields):
    folder = cell.folder
    summary = _read_object(folder / "summary.json") if (folder / "summary.json").exists() else {}
    finished = summary.get("finished") is True
    if not finished and (error := _error_of(folder)):
        raise Failure(error)
    if not (folder / "config.toml").exists():
        if finished:
            raise Failure(f"'{folder}' has a summary.json but no config.toml; remove it to run the cell again")
        return
    cell.status = "finished" if finished else "unfinished"
    size = rounds_bytes(folder)
    if finished or size:
        cell.rounds, cell.clients, cell.round_hashes = read_rounds(folder / "rounds.jsonl", fields, size <= MAX_FOR_CLIENTS)
    accounts = {int(number): of for number, of in told.get("accounts", {}).items() if finished}
    accounts = pd.DataFrame.from_dict(accounts, "index", float).reindex(cell.rounds.index)
    cell.rounds = cell.rounds.combine_first(accounts)
    _take_rounds(cell, fields)
    if (folder / "partition.json").exists():
        cell.rows_per_class = _rows_per_class(folder / "partition.json")
    for name in _TEXTS:
        if type(value := summary.get(name)) in (str, int):
            cell.texts[name] = str(value)
    cell.class_names = list(map(str, summary.get("class_names") or []))
    cell.numbers |= _numbers({name: summary.get(name) for name in ("peak_memory_bytes", *(_LAST if finished else ()))})
    if finished:
        if summary.get("rounds") != len(cell.rounds):
            raise Failure(f"'{folder}' is damaged: summary.json has {summary.get('rounds', 0)} rounds, but rounds.jsonl has "
                          f"{len(cell.rounds)}; remove it to run the cell again")
        _take_statements(summary, told.get("statements", []), cell)


def _take_all(value, path, depth, numbers, texts):
    """Reads all numbers (true and false as 1 and 0) and strings of a JSON value, each named by its path joined with '_', and '-'
    becomes '_': {"a": {"b-c": 1}} gives a_b_c. A list's entry is named by its "name", "accountant", "level" or "who", or its index.
    Skips lists of more than 100 entries, and numbers after the first 10,000."""
    if depth > 16 or len(numbers) >= 10_000:
        return
    if isinstance(value, list):
        if len(value) > 100:
            return
        labels = [[one[key] for key in ("name", "accountant", "level", "who") if isinstance(one, dict) and isinstance(one.get(key), str)]
                  for one in value]
        value = {label[0] if label else str(i): one for i, (label, one) in enumerate(zip(labels, value))}
    if isinstance(value, dict):
        for name, one in value.items():
            name = name.replace("-", "_")
            _take_all(one, f"{path}_{name}" if path else name, depth + 1, numbers, texts)
    elif isinstance(value, bool):
        numbers[path] = float(value)
    elif isinstance(value, str):
        texts[path] = value
    else:
        numbers |= _numbers({path: value})


def _read_command(cell):
    path = cell.folder / "result.json"
    if not path.exists():
        if error := _error_of(cell.folder):
            raise Failure(error)
        return
    _take_all(_read_object(path), "", 0, cell.numbers, cell.texts)
    cell.status = "finished"
    for key, text in cell.point.items():  # values that the command merely echoes are not results
        name = key.replace("-", "_")
        if name in cell.numbers and number_text(cell.numbers[name]) == text:
            del cell.numbers[name]


def add_to_target(target, cell):
    """Adds test_target_reached (1 or 0) to a cell's numbers and, if it is 1, test_rounds_to_target, test_seconds_to_target and
    test_megabytes_to_target, if known; also validation_... if rounds were evaluated on validation rows. The target is reached at
    the first of EVALUATIONS_IN_A_ROW evaluations at or beyond it; one whose metric is not finite does not meet it."""
    for split in ("test_", "validation_") if target else ():
        evaluated = cell.rounds.reindex(columns=[split + name for name in ("accuracy", "r2", "loss")]).dropna(how="all")
        if not len(evaluated):
            continue
        values = evaluated[split + target["metric"]]
        meets = values <= target["at"] if target["metric"] == "loss" else values >= target["at"]
        reached = meets.rolling(EVALUATIONS_IN_A_ROW).sum() == EVALUATIONS_IN_A_ROW
        cell.numbers[split + "target_reached"] = float(reached.any())
        if not reached.any():
            continue
        at = evaluated.index[reached.to_numpy().argmax() - EVALUATIONS_IN_A_ROW + 1]
        for by in BY.values():
            value = float(at) if not by.metric else cell.rounds.get(by.metric, {}).get(at, math.nan)
            if not math.isnan(value):
                cell.numbers[split + by.to_target] = float(value)


def rounds_bytes(folder):
    """The size of the folder's rounds.jsonl; 0 if missing."""
    path = folder / "rounds.jsonl"
    return os.path.getsize(path) if os.path.isfile(path) else 0


def read_cell(told, experiment, fields):
    """Reads a cell's folder, as the task describes it. A damaged cell has failed, with its error; never raises."""
    blank = Cell(told["key"], told["configuration"], told["point"], told["command"], Path(told["folder"]))
    cell = replace(blank, numbers={}, texts={})
    try:
        if experiment["command"] == "run":
            _read_run(cell, told, fields)
        else:
            _read_command(cell)
        if cell.status == "finished" and told.get("error"):
            raise Failure(told["error"])
        if cell.status == "finished" and told.get("state") == "unfinished":
            cell.status = "unfinished"
        add_to_target(experiment["target"], cell)
    except (Failure, OSError) as error:
        return replace(blank, status="failed", error=str(error).split("\n")[0].strip())
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError) as error:
        return replace(blank, status="failed", error=f"'{cell.folder}' is damaged: {error}".split("\n")[0].strip())
    return cell


class Sweep:
    """The results of a sweep, or of one run as a sweep of one cell. If its rounds are too large for memory, cells have no rounds,
    clients or rows_per_class, and the summary lacks rows by round; read_groups() reads them again, a configuration at a time.

    folder, experiment (the file's parts), cells (in the grid's order), groups (cells of each configuration), machine, is_run
    summary: a frame of means over finished seeds: configuration, metric, round, client (NA: after the last round; the federation),
        n, mean, standard_deviation, low, high, rank (0: nothing is tuned)
    claims: dicts with claim, status ("holds", "fails", "not run"), value, relation, other, within, text, reason
    left_out: one line that names the rows found only in summary.csv
    """

    def __init__(self, told, fields=(), defaults=None):
        self.told, self.fields, self.defaults = told, fields, defaults or {}
        self.folder, self.is_run = Path(told["folder"]), told["is_run"]
        self.experiment, self.machine = told["experiment"], told["machine"]
        self.cells, self.summary, self.claims, self.left_out = [], _nothing(), [], ""
        self.rounds_left_out = sum(rounds_bytes(Path(one["folder"])) for one in told["cells"]) > HELD_BYTES
        self.round_metrics, self.client_metrics = set(), set()

    def read(self):
        held, cells = _HeldSummary(self.experiment), {}
        for group in self._told_groups():
            seeds = [read_cell(one, self.experiment, self.fields) for one in group]
            held.add(seeds)
            for one, cell in zip(group, seeds):
                self.round_metrics |= set(cell.rounds)
                self.client_metrics |= set(cell.clients) - {"round", "client"}
                if self.rounds_left_out:
                    cell = replace(cell, rounds=_nothing(), clients=_nothing(), round_hashes=[], rows_per_class=[], class_names=[])
                cells[id(one)] = cell
        return self.conclude([cells[id(one)] for one in self.told["cells"]], held)

    def conclude(self, cells, held=None):
        """Sets the cells, and what follows from them: ranks, summary, claims."""
        from . import claims, comparison

        self.cells = cells
        if held is None:
            held = _HeldSummary(self.experiment)
            for seeds in self.groups:
                held.add(seeds)
        tuning = self.experiment["tuning"]
        # Models of numbers have no accuracy.
        if tuning["metric"] == "accuracy" and not self.has(tuning["on"] + "_accuracy") and self.has(tuning["on"] + "_r2"):
            tuning["metric"] = "r2"
        self.ranks = comparison.places(self)
        self.summary, self.left_out = held.finish(self.ranks)
        self.claims = claims.check(self)
        return self

    def has(self, metric):
        return any(metric in cell.numbers for cell in self.cells)

    def _told_groups(self):
        return grouped(self.told["cells"], lambda told: told["configuration"])

    @cached_property
    def groups(self):
        """The cells by configuration, one per seed, in order of first appearance."""
        return grouped(self.cells, lambda cell: cell.configuration)

    def read_groups(self):
        """Yields the groups with rounds and clients."""
        if not self.rounds_left_out:
            yield from self.groups
            return
        for known, told in zip(self.groups, self._told_groups()):
            seeds = [read_cell(one, self.experiment, self.fields) for one in told]
            yield [cell if cell.status == before.status else before for cell, before in zip(seeds, known)]  # the folder may change

    @property
    def swept_keys(self):
        """The swept keys in the order of the axes, without repetition."""
        return list(dict.fromkeys([key for axis in self.experiment["axes"] for key in axis["keys"]] +
                                  [key for cell in self.cells for key in cell.point]))

    @cached_property
    def point_of(self):
        """Each configuration's point without the seed."""
        return {seeds[0].configuration: without_seed(seeds[0].point) for seeds in self.groups}

    @property
    def chance_accuracy(self):
        """The accuracy of always predicting the test rows' most common class, if it is the same in all cells that have one."""
        seen = {cell.numbers["chance_accuracy"] for cell in self.cells if "chance_accuracy" in cell.numbers}
        return seen.pop() if len(seen) == 1 else None

    def measure_by(self, by):
        """Chooses the measure of progress; does nothing for "". Raises UsageFailure if no finished cell has its numbers."""
        if not by:
            return
        metric = BY[by].metric
        if metric and not any(cell.status == "finished" and metric in cell.numbers for cell in self.cells):
            devices = " (--devices)" if by == "time" else ""
            raise UsageFailure(f"by is '{by}'; no finished cell of '{self.folder}' has {metric}{devices}")
        self.experiment["by"] = by


def quantities(expectations):
    """All quantities that occur in these expectations."""
    found = [side for one in expectations for side in (one["value"], one["other"]) if isinstance(side, dict)]
    for quantity in found:
        found += quantity["minus"] + quantity["over"]
    return found


def grouped(all, key):
    """Lists of the things that have the same key, in order of first appearance."""
    groups = {}
    for one in all:
        groups.setdefault(key(one), []).append(one)
    return list(groups.values())


def without_seed(point):
    return {key: value for key, value in point.items() if key != "seed"}


def summarize(seeds):
    """The summary's rows of one configuration, over its finished seeds: after the last round (the federation, clients, rows of
    each class), then by round (the federation, clients)."""
    seeds = [cell for cell in seeds if cell.status == "finished"]
    if not seeds:
        return _nothing()
    clients = [cell.clients.set_index(["round", "client"]) for cell in seeds if len(cell.clients)]
    last = [cell.clients[cell.clients["round"] == len(cell.rounds)].drop(columns="round").set_index("client")
            for cell in seeds if len(cell.clients)]
    held = [pd.DataFrame(cell.rows_per_class).stack().to_frame("rows_of_class_") for cell in seeds if cell.rows_per_class]
    tables = []
    for frames, names in (([pd.DataFrame([cell.numbers], dtype=float) for cell in seeds], ["once"]), (last, ["client"]),
                          (held, ["client", "class"]), ([cell.rounds for cell in seeds], ["round"]), (clients, ["round", "client"])):
        table = statistics_of_frames(frames)
        if len(table):
            table.index.names = names
            tables.append(table.reset_index())
            if "class" in names:
                tables[-1]["metric"] += tables[-1]["class"].astype(str)
    rows = pd.concat(tables, ignore_index=True)
    for name in ("round", "client"):
        rows[name] = rows[name].astype("Int64") if name in rows else pd.array([pd.NA] * len(rows), dtype="Int64")
    rounds = rows["round"].fillna(0)
    order = pd.DataFrame({"round": rounds, "client": rows["client"].fillna(-1).where(rounds > 0, 0)})
    rows = rows.loc[order.sort_values(["round", "client"], kind="stable").index].reset_index(drop=True)
    rows.insert(0, "configuration", seeds[0].configuration)
    return rows[["configuration", "metric", "round", "client", "n", "mean", "standard_deviation", "low", "high"]]


class _HeldSummary:
    """Collects the summary's rows. Drops all rows of a kind (such as clients by round) once it has more than HELD_ROWS."""

    KINDS = ("the federation after the last round", "the federation by round", "clients after the last round", "clients by round")

    def __init__(self, experiment):
        self.frames, self.counts, self.left_out = [], [0] * 4, []
        self.named = {one["round"] for one in quantities(experiment["expectations"])} - {None}

    def add(self, seeds):
        rows = summarize(seeds)
        if not len(rows):
            return
        named = rows["round"].isin(self.named)
        if all(len(cell.rounds) > LONG_RUN for cell in seeds):
            evaluations = [cell.rounds.filter(regex="^(test|validation)_").dropna(how="all") for cell in seeds]
            if evaluated := set().union(*(frame.index for frame in evaluations)):
                rows = rows[rows["round"].isna() | named | rows["round"].isin(evaluated)]
        kind = rows["round"].notna() + 2 * rows["client"].notna()
        rows = rows.assign(kind=kind.where(~(named & (kind == 1)), 0))
        self.frames.append(rows[~rows["kind"].isin(self.left_out)])
        for which in (3, 2, 1):
            self.counts[which] += (rows["kind"] == which).sum()
            if self.counts[which] > HELD_ROWS and which not in self.left_out:
                self.frames = [frame[frame["kind"] != which] for frame in self.frames]
                self.left_out.append(which)

    def finish(self, ranks):
        """The frame, with the configurations' ranks, and the line on what is left out."""
        if not self.frames:
            names = ["configuration", "metric", "round", "client", "n", "mean", "standard_deviation", "low", "high", "rank"]
            return pd.DataFrame(columns=names), ""
        rows = pd.concat(self.frames, ignore_index=True).drop(columns="kind")
        rows["rank"] = rows["configuration"].map(ranks).fillna(0).astype(int)
        left_out = "; ".join(self.KINDS[which] for which in self.left_out)
        return rows, left_out and f"only in summary.csv, because there are more than {HELD_ROWS} rows of each: {left_out}"


def read(told, fields=(), defaults=None):
    """Reads the folder of a sweep, or of a run, that a task describes (sweep/results/task.cpp)."""
    return Sweep(told, fields, defaults).read()
