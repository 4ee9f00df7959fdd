"""Tables of results as text: methods against conditions, with intervals and paired tests, and sentences about the winners."""

import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import groupby

from .comparison import MIN_PAIRS, compare, compared_metrics, method_table
from .labels import named, number_of, title_of_metric
from .model import EVALUATIONS_IN_A_ROW
from .statistics import bounds_of, interval_method
from .text import counted, is_bound, number_text, rounded_up

_SIGNIFICANT = 0.05
_MAX_SENTENCES = 12
# The sentences of a note that its caption has, by their beginnings, and their short forms.
_IN_CAPTIONS = {"One seed": "", "Mean over": "", "Each at": "",
                "Bold:": "Bold: the best, if the interval of its lead excludes 0.",
                "*:": "*: differs from it (p < 0.05, Holm)."}


@dataclass
class GridCell:
    """A cell of a table. All cells of a column have the same number of decimals, so they align."""

    mean: str = ""  # "0.920"; empty: no number
    half: str = ""  # "0.025", half the width of the 95 % interval; empty: fewer than two seeds, or `ends`
    ends: str = ""  # "0.613 to 0.998", the interval, if the mean ± half its width would leave the metric's bounds
    is_best: bool = False  # to be marked as the best in its column
    is_worse: bool = False  # differs from the best (p < 0.05)
    detail: str = ""  # the exact numbers


@dataclass
class Grid:
    """A table of results as text.

    If both methods and conditions vary, there is a grid for each metric, with a row for each method and a column for each
    condition; otherwise, each row is a method or a condition, and each column a metric.
    """

    metric: str  # empty: each column has its own metric
    row_keys: list  # headings of the row labels
    rows: list  # row labels: a list of texts for each row
    heads: list  # names of header lines: keys of conditions; a single "" for metrics
    columns: list  # each column's text in each header line
    cells: list  # [column][row]
    note: str  # how to read the grid; "Bold:" explains the mark of the best

    @property
    def caption(self):
        """The note in at most three lines."""
        said = [(one, start) for one in note_sentences([self]) for start in _IN_CAPTIONS if one.startswith(start)]
        return " ".join(_IN_CAPTIONS[start] or one for one, start in said)

    def is_numeric(self, key):
        """Whether all row labels for this key (an index) are numbers."""
        return all(not row[key] or number_of(row[key]) is not None for row in self.rows)

    def header(self, first=0, end=None):
        """The header lines above the columns from `first` to `end`: lists of (text, number of columns it spans)."""
        columns = self.columns[first:end]
        lines = []
        for line, head in enumerate(self.heads[:-1]):
            spans = groupby(columns, lambda column: column[: line + 1])  # noqa: B023
            lines.append([(f"{head} {values[line] or '–'}", len(list(some))) for values, some in spans])
        return lines + ([[(self.heads[-1], len(columns))]] if self.heads[-1] else [])


def note_sentences(grids):
    """The sentences on how to read the grids, each once."""
    return list(dict.fromkeys(one for grid in grids for one in re.split(r"(?<=\.) (?=[A-Z*])", grid.note)))


class Format:
    """A column's number format: two significant digits of the median half-interval or, without intervals, four of the median
    absolute mean."""

    def __init__(self, statistics, metric=""):
        self.is_bound = is_bound(metric)
        known = [one for one in statistics if one.n > 0]
        halves = sorted((one.high - one.low) / 2 for one in known if one.high > one.low)
        sizes = sorted(abs(one.mean) for one in known if one.mean != 0)
        middle = (halves or sizes or [1])[len(halves or sizes) // 2]
        places = (1 if halves else 3) - math.floor(math.log10(middle))
        is_plain = places <= 6 and not (sizes and sizes[-1] >= 1e9)
        self.format = "{:.0f}" if not sizes else f"{{:.{max(places, 0)}f}}" if is_plain else "{:.1e}"

    def __call__(self, value):
        return rounded_up(value, self.format) if self.is_bound and math.isfinite(value) else self.format.format(value)


def _p_text(p):
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def half_and_ends(one, metric, text):
    """A mean's interval as GridCell has it."""
    if one.n < 2:
        return "", ""
    mean, half = text(one.mean), text((one.high - one.low) / 2)
    least, most = bounds_of(metric)
    fits = least <= float(mean) - float(half) and float(mean) + float(half) <= most
    return (half, "") if fits else ("", f"{text(one.low)} to {text(one.high)}")


def _is_led(column):
    """Whether, for every other method, the interval of the best method's lead excludes 0."""
    return all(entry.is_best or entry.statistics.n == 0 or (entry.lead.n > 1 and (entry.lead.low > 0 or entry.lead.high < 0))
               for entry in column)


def _cell(entry, metric, text, is_compared, leads):
    one = entry.statistics
    if entry.never > 0:
        return GridCell("never", detail=counted(entry.never, "seed") + " never reached the target")
    if one.n == 0:
        return GridCell()
    detail = number_text(one.mean)
    if one.n > 1:
        detail += f"; 95 %: {number_text(one.low)} to {number_text(one.high)}"
    detail += "; " + counted(one.n, "seed")
    if is_compared and not math.isnan(entry.p):
        detail += f"; {_p_text(entry.p)} against the best"
    return GridCell(text(one.mean), *half_and_ends(one, metric, text), is_compared and entry.is_best and leads,
                    is_compared and entry.p < _SIGNIFICANT, detail)


def _cells(column, comparison):
    """The cells of a column. Its best may be marked if intervals justify it or, with single seeds, there are no intervals."""
    leads = _is_led(column) or not any(entry.statistics.n > 1 for entry in column)
    text = Format([entry.statistics for entry in column], comparison.metric)
    return [_cell(entry, comparison.metric, text, comparison.is_compared, leads) for entry in column]


def _note(sweep, comparisons, cells):
    """How to read a grid."""
    entries = [entry for one in comparisons for column in one.entries for entry in column]
    seeds = [entry.statistics.n for entry in entries if entry.statistics.n > 0] or [0]
    least, most = min(seeds), max(seeds)
    pairs = max((entry.lead.n for entry in entries), default=0)
    is_compared = any(one.is_compared for one in comparisons)
    is_run, metrics = sweep.experiment["command"] == "run", [one.metric for one in comparisons]
    tuning, target = sweep.experiment["tuning"], sweep.experiment["target"]
    said = ["After the last round."] if is_run else []
    if most > 1:
        number = f"{most}" if least == most else f"{least} to {most}"
        ends = ", or its ends in parentheses" if any(cell.ends for column in cells for cell in column) else ""
        said.append(f"Mean over {number} seeds ± half the width of its 95 % interval{ends} ({interval_method(metrics)}).")
    elif is_run:
        said.append("One seed, so there is no interval.")
    if tuning["keys"]:
        said.append(f"Each at the best {', '.join(tuning['keys'])}, chosen by {tuning['metric']} on the {tuning['on']} set.")
    if sweep.chance_accuracy is not None and any(one.metric == "test_accuracy" for one in comparisons):
        said.append("Always predicting the commonest class has a test accuracy of "
                    f"{number_text(round(sweep.chance_accuracy, 4))}.")
    if target:
        metric = "R2" if target["metric"] == "r2" else target["metric"]
        side = "at or below" if target["metric"] == "loss" else "at or above"
        never = "; never: at least one seed did not reach it." if any(entry.never > 0 for entry in entries) else "."
        said.append(f"Target: the first of {EVALUATIONS_IN_A_ROW} evaluations in a row with {metric} {side} "
                    f"{number_text(target['at'])}{never}")
    if is_compared:
        said.append("Bold: the best mean of its column, if the interval of its lead over each of the others excludes 0."
                    if most > 1 else "Bold: the best of its column.")
    if any(cell.is_worse for column in cells for cell in column):
        said.append("*: differs from the best (p < 0.05; two-sided paired t-test over common seeds, Holm's correction within "
                    "the column; the best was chosen from the same numbers).")
    elif is_compared and pairs >= MIN_PAIRS:
        said.append("None differs from the best of its column at p < 0.05 (two-sided paired t-test over common seeds, Holm's "
                    "correction).")
    elif is_compared and pairs > 1:
        said.append(f"Fewer than {MIN_PAIRS} seeds are too few for a test.")
    return " ".join(said)


def result_grids(sweep):
    """The tables of a sweep's results, a list of Grid; empty if no cell is finished."""
    table = method_table(sweep)
    if not table.methods:
        return []
    comparisons = [compare(table, metric) for metric in compared_metrics(sweep)]
    if len(table.methods) > 1 and len(table.conditions) > 1:
        return [Grid(one.metric, table.method_keys, table.methods, table.condition_keys, table.conditions,
                     cells := [_cells(column, one) for column in one.entries], _note(sweep, [one], cells))
                for one in comparisons]
    keys, rows = (table.method_keys, table.methods) if len(table.conditions) == 1 else (table.condition_keys, table.conditions)
    if not keys:
        keys, rows = ["run"], [[sweep.experiment["name"]]]
    cells = [_cells(sum(one.entries, []), one) for one in comparisons]
    return [Grid("", keys, rows, [""], [[title_of_metric(one.metric)] for one in comparisons], cells,
                 _note(sweep, comparisons, cells))]


def _with_interval(one):
    text = Format([one])
    if one.n < 2:
        return text(one.mean) + " (one seed)"
    return f"{text(one.mean)} (95 % interval {text(one.low)} to {text(one.high)}, {one.n} seeds)"


def _winner(before, metric, column, methods, comparison):
    """A sentence on a column's best method and its lead over the next, or on there being no clear one; `before` stands before it."""
    best = next(number for number, entry in enumerate(column) if entry.is_best)
    others = [(entry.statistics.mean, method, entry) for number, (method, entry) in enumerate(zip(methods, column))
              if number != best and entry.statistics.n > 0]
    has, highest = _with_interval(column[best].statistics), comparison.highest
    if not others:
        return f"{before}{methods[best]} alone has a {metric}, {has}."
    _, method, other = (max if highest else min)(others, key=lambda one: one[0])
    lead, extreme = other.lead, "highest" if highest else "lowest"
    if not _is_led(column):
        text = f"{before}{'no' if before else 'No'} method has clearly the {extreme} mean {metric}: {methods[best]} has {has}"
    else:
        text = f"{before}{methods[best]} has the {extreme} mean {metric}, {has}"
    if lead.n == 0:
        return f"{text}; the next, {method}, has no seed in common with it."
    number = Format([lead])
    distance, *ends = (lead.mean, lead.low, lead.high) if highest else (-lead.mean, -lead.high, -lead.low)
    text += f"; {number(distance)} {'above' if highest else 'below'} {method}"
    if lead.n < 2:
        return text + ", on one seed, which cannot rule out chance."
    text += f" (paired 95 % interval {number(ends[0])} to {number(ends[1])})."
    if lead.n < MIN_PAIRS:
        return f"{text} {lead.n} seeds are too few for a test."
    if math.isnan(other.p):
        return text
    return f"{text} The difference is {'' if other.p < _SIGNIFICANT else 'not '}significant ({_p_text(other.p)})."


def _without_methods(metric, table, comparison):
    """Without competing methods: a sentence on the only number, or on the highest and lowest."""
    known = [(entry.statistics, _condition(table, number)) for number, column in enumerate(comparison.entries)
             for entry in column if entry.statistics.n > 0]
    if len(known) < 2:
        return [f"{metric} after the last round: {_with_interval(one)}." for one, _ in known]
    low, high = min(known, key=lambda pair: pair[0].mean), max(reversed(known), key=lambda pair: pair[0].mean)
    words = [("highest", *high), ("lowest", *low)]
    (first, one, at), (second, other, end) = words if comparison.highest else words[::-1]
    return [f"{metric} is {first} at {at}, {_with_interval(one)}, and {second} at {end}, {_with_interval(other)}."]


def _condition(table, number):
    pairs = zip(table.condition_keys, table.conditions[number])
    return ", ".join(f"{key} {value}" for key, value in pairs if value) or "the default"


def result_sentences(sweep):
    """A sentence for each condition, with intervals ("Adam has the highest mean test accuracy, 0.93 (...)"), preceded by an
    overview if there are several conditions. Empty for commands other than run."""
    metrics, table = compared_metrics(sweep), method_table(sweep)
    if sweep.experiment["command"] != "run" or not metrics or not table.methods:
        return []
    comparison = compare(table, metrics[0])
    title = title_of_metric(metrics[0])
    metric = title[0].lower() + title[1:]
    if not comparison.is_compared:
        return _without_methods(title, table, comparison)
    methods = [named(zip(table.method_keys, values)) or "the default" for values in table.methods]
    contests = [(number, column) for number, column in enumerate(comparison.entries) if any(one.is_best for one in column)]
    sentences = []
    for number, column in contests:
        before = "" if len(table.conditions) == 1 else _condition(table, number) + ": "
        sentences.append(_winner(before, metric, column, methods, comparison))
    if len(contests) < 2:
        return sentences
    extreme = "highest" if comparison.highest else "lowest"
    wins = Counter(next(method for method, entry in zip(methods, column) if entry.is_best) for _, column in contests if _is_led(column))
    overview = f"No method has clearly the {extreme} mean {metric} in any of {len(contests)} conditions."
    if wins:
        (first, most), *others = sorted(wins.items(), key=lambda item: (-item[1], methods.index(item[0])))
        overview = f"{first} has clearly the {extreme} mean {metric} in {most} of {len(contests)} conditions"
        overview += "".join(f", {method} in {count}" for method, count in others) + "."
    return [overview] + (sentences if len(sentences) <= _MAX_SENTENCES else [])
