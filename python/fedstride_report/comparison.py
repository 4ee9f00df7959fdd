"""Which configuration is best: ranks in a tuned grid, and methods compared under conditions."""

import math
from dataclasses import dataclass, field

from .model import BY, grouped
from .statistics import (DIFFERENCE_OF_SHARES, SHARE, TIMINGS, UNBOUNDED, Statistics, best_lowest, bounds_of, holm, is_to_target,
                         paired_p, statistics)

MIN_PAIRS = 5  # common seeds for a test; with fewer, the spread of the differences would be too uncertain
MAX_OTHER_METRICS = 6


def metric_name(tuning):
    """The tuning metric's name in the results, such as "test_accuracy"."""
    return f"{tuning['on']}_{tuning['metric']}"


def ordered(tuning, groups):
    """Indices of groups of cells from best to worst, by the mean over finished seeds of the tuning metric after the last round.
    Those that lack the metric for some seed (for example, because the loss is not finite) come last; those that lack it for all
    seeds are omitted. Ties keep the given order."""
    metric, standings = metric_name(tuning), []
    for place, seeds in enumerate(groups):
        finished = [cell for cell in seeds if cell.status == "finished"]
        values = [cell.numbers[metric] for cell in finished if metric in cell.numbers]
        if values:
            mean = statistics(values).mean
            standings.append((len(finished) - len(values), mean if best_lowest(tuning["metric"]) else -mean, place))
    return [place for *_, place in sorted(standings)]


def places(sweep):
    """Each configuration's rank among those that differ only in tuned keys; 1: best. Empty if nothing is tuned."""
    tuning = sweep.experiment["tuning"]
    contests = grouped(sweep.groups if tuning["keys"] else (),
                       lambda seeds: tuple(pair for pair in seeds[0].point.items() if pair[0] not in ("seed", *tuning["keys"])))
    return {groups[place][0].configuration: rank
            for groups in contests for rank, place in enumerate(ordered(tuning, groups), 1)}


@dataclass
class MethodTable:
    """The finished configurations, grouped for comparison: methods compete within a condition, never across conditions. Of those
    that differ only in tuned keys, only the best is kept. Values are "" where a configuration lacks the key."""

    method_keys: list  # only keys with several values, like condition_keys
    condition_keys: list
    methods: list = field(default_factory=list)  # tuples of values, one for each key
    conditions: list = field(default_factory=list)
    seeds: list = field(default_factory=list)  # [condition][method]: cells; empty: no finished cell


def _is_method(experiment, key):
    """A key belongs where [table] lists it. If [table] has only one list, all other keys belong to the other. Otherwise its kind
    decides: settings of training and aggregation are methods; data, clients, model, privacy, attack, cohort and rounds are
    conditions. Keys tied by zip stay together. Variants are methods unless they set only conditions."""
    rows, columns = experiment["table"]["rows"], experiment["table"]["columns"]
    if key in rows or key in columns:
        return key in rows
    if bool(rows) != bool(columns):
        return not rows
    if experiment["command"] != "run":
        return True
    axes, conditions = experiment["axes"], experiment["conditions"]
    if key == "variant":
        keys = [one for axis in axes if "variant" in axis["keys"] or "variant" in axis["when"] for one in axis["settings"]]
        return not keys or any(one not in conditions for one in keys)
    tied = next((axis["keys"] for axis in axes if key in axis["keys"]), [key])
    return all(one not in conditions for one in tied)


def method_table(sweep):
    """The sweep's MethodTable."""
    finished = [seeds for seeds in sweep.groups if any(cell.status == "finished" for cell in seeds)]
    table = MethodTable([], [])
    for key in sweep.swept_keys:
        values = {seeds[0].value(key) for seeds in finished} - {""}  # those without the key also differ in another
        if key != "seed" and len(values) > 1 and key not in sweep.experiment["tuning"]["keys"]:
            (table.method_keys if _is_method(sweep.experiment, key) else table.condition_keys).append(key)
    kept = {}
    for seeds in finished:
        condition = tuple(seeds[0].value(key) for key in table.condition_keys)
        method = tuple(seeds[0].value(key) for key in table.method_keys)
        before = kept.get((condition, method))
        if before is None or sweep.ranks.get(seeds[0].configuration, math.inf) < sweep.ranks.get(before[0].configuration, math.inf):
            kept[condition, method] = seeds
    table.conditions = list(dict.fromkeys(condition for condition, _ in kept))
    table.methods = list(dict.fromkeys(method for _, method in kept))
    table.seeds = [[kept.get((condition, method), []) for method in table.methods] for condition in table.conditions]
    return table


@dataclass
class Compared:
    """A configuration compared with others by one metric after the last round."""

    statistics: Statistics  # n = 0: no finished seed has the metric, or a seed never reached the target
    never: int = 0  # for a metric such as rounds_to_target: seeds that never reached the target
    is_best: bool = False  # alone has the best mean among two or more configurations
    lead: Statistics = statistics([])  # of the best over this one, seed by seed; n: seeds in common
    p: float = math.nan  # against the best, with Holm's correction; NaN: no test


def compared(groups, metric, highest):
    """Compares groups of cells; one Compared for each. The test is Student's two-sided paired t-test over common seeds, at least
    MIN_PAIRS. The best is chosen from the same numbers, so the p-values are only a guide."""
    numbers, entries, bounds = [], [], bounds_of(metric)
    for seeds in groups:
        finished = [cell for cell in seeds if cell.status == "finished"]
        found = {cell.value("seed"): cell.numbers[metric] for cell in finished if metric in cell.numbers}
        never = sum(cell.value("seed") not in found for cell in finished) if is_to_target(metric) else 0
        numbers.append({} if never else dict(sorted(found.items())))  # the mean over the other seeds would be too low
        entries.append(Compared(statistics(list(numbers[-1].values()), bounds), never))
    means = [entry.statistics.mean for entry in entries if entry.statistics.n]
    if len(means) < 2:
        return entries
    best_mean = max(means) if highest else min(means)
    if means.count(best_mean) > 1:  # ties have no best
        return entries
    best = next(i for i, entry in enumerate(entries) if entry.statistics.mean == best_mean)
    for entry, own in zip(entries, numbers):
        entry.is_best = entry.statistics.mean == best_mean
        differences = [numbers[best][seed] - value for seed, value in own.items() if seed in numbers[best]]
        if entry is not entries[best] and differences:
            entry.lead = statistics(differences, DIFFERENCE_OF_SHARES if bounds == SHARE else UNBOUNDED)
            entry.p = paired_p(differences) if len(differences) >= MIN_PAIRS else math.nan
    for entry, p in zip(entries, holm([entry.p for entry in entries])):
        entry.p = p
    return entries


@dataclass
class Comparison:
    """All methods compared by one metric after the last round."""

    metric: str
    highest: bool  # the highest value is best
    entries: list  # [condition][method] of Compared; p-values are corrected within each condition
    is_compared: bool  # the metric has a best direction, and methods compete


def compare(table, metric):
    """The Comparison of a MethodTable by a metric."""
    highest = not best_lowest(metric)
    entries = [compared(column, metric, highest) for column in table.seeds]
    is_ranked = metric.endswith(("accuracy", "r2")) or not highest
    return Comparison(metric, highest, entries, is_ranked and any(entry.is_best for column in entries for entry in column))


def compared_metrics(sweep):
    """The metrics shown in tables of results, the main metric first."""
    known = set().union(*(cell.numbers for cell in sweep.cells if cell.status == "finished"))
    metrics = []
    for split in ("test_", "validation_") if sweep.experiment["target"] else ():
        if not metrics and split + "target_reached" in known:
            metrics.append(split + BY[sweep.experiment["by"]].to_target)
    for name in ("test_accuracy", "test_r2", "validation_accuracy", "validation_r2", "test_loss", "validation_loss", "epsilon_spent",
                 "client_epsilon_spent"):
        is_second = name.startswith("validation_") and name.replace("validation_", "test_") in known
        if name in known and not is_second:
            metrics.append(name)
    if not metrics or sweep.experiment["command"] != "run":
        return sorted(known - set(TIMINGS))[:MAX_OTHER_METRICS]
    return metrics
