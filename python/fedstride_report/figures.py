"""What the figures of a sweep's page show: kinds, lines, panels and captions. drawing.py draws them."""

import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from .claims import same_value
from .labels import is_never_negative, is_share, key_label, metric_label, named, number_of, title_of_metric, value_label
from .model import BY
from .text import counted, number_text

MAX_LINES = 7  # that dash, marker and color can distinguish in one panel
_MAX_PANELS = 12
_MAX_POINTS = 200  # of a line
_MAX_MAPS, _MAX_MAP_CLIENTS, _MAX_BARS = 6, 100, 40
_RUN = ("client", "accountant")  # keys of a line that shows only a part of a run


@dataclass
class Point:
    """A point of a line, a bar (x: its length, y: its row), or a square of a map (value: number of rows)."""

    x: float
    y: float
    low: float = math.nan  # ends of the interval; NaN: none
    high: float = math.nan
    text: str = ""  # shown when the pointer is over it
    value: float = math.nan

    @property
    def has_interval(self):
        return self.low < self.high


@dataclass
class Line:
    """A line of a panel. Lines with the same `part` and `thing` look the same throughout a page."""

    name: str
    points: list
    is_reference: bool = False  # a level, drawn across the whole panel without markers
    short: str = ""  # the name without its tuned values ("sgd" for "sgd, learning-rate 0.01")
    thing: frozenset = frozenset()  # pairs of key and value that describe the line, except those of its panel
    is_part: bool = False  # shows part of a run (a client, an accountant)
    look: int = 0  # index in drawing.LOOKS


@dataclass
class Panel:
    """One plot of a figure. Curves and points have `lines`, bars and maps have `points`."""

    title: str = ""
    lines: list = field(default_factory=list)
    points: list = field(default_factory=list)
    y_names: list = field(default_factory=list)


@dataclass
class Figure:
    """A figure on the page. Without panels, the caption says why."""

    kind: str
    title: str
    caption: str = ""
    style: str = "curves"  # or "points", "bars", "map"
    panels: list = field(default_factory=list)
    x_label: str = ""
    y_label: str = ""
    log_x: bool = False
    log_y: bool = False
    x_names: list = field(default_factory=list)  # categories instead of numbers: x is 0, 1, ...
    least: float = -math.inf  # intervals are cut off below this y, and above `most`
    most: float = math.inf
    shows_intervals: bool = True
    level: float = math.nan  # drawn across the panels if the y axis includes it
    y_limits: tuple = ()


@dataclass
class _Sample:
    """A row of the summary to draw."""

    row: object
    x: float
    slot: str  # round, or value of the key; a line has one sample a slot
    identity: dict  # distinguishes the sample's line from others
    text: str
    is_reference: bool = False  # its configuration lacks the key


class Data:
    """A sweep's summary by metric."""

    def __init__(self, sweep):
        self.sweep, self.experiment = sweep, sweep.experiment
        summary = sweep.summary
        numbers = summary.assign(round=summary["round"].fillna(0).astype(int), client=summary["client"].fillna(-1).astype(int))
        self._of = {metric: list(rows.itertuples()) for metric, rows in numbers.groupby("metric")}
        self.metrics = sorted(self._of)
        self.keys = [key for key in sweep.swept_keys if key != "seed"]
        self.tuned = self.experiment["tuning"]["keys"]
        finished = {cell.configuration: cell for cell in reversed(sweep.cells) if cell.status == "finished"}
        order = [cell for cell in sweep.cells if finished.get(cell.configuration) is cell]
        self.values = {key: list(dict.fromkeys(filter(None, (cell.value(key) for cell in order)))) for key in self.keys}
        self.numeric = [key for key, all in self.values.items() if len(all) > 1 and None not in map(number_of, all)]
        usual = ("test_accuracy", "test_r2", "validation_accuracy", "validation_r2")
        self.main = next((metric for metric in usual if metric in self._of), usual[0])

    def rows(self, metric):
        """The metric's rows; round 0: after the last round; client -1: the federation."""
        return self._of.get(metric, [])

    def point(self, row):
        """The row's swept values by key, without the seed."""
        return self.sweep.point_of[row.configuration]

    def competes(self, row):
        """Whether the row's configuration competes with others that differ only in tuned keys."""
        return row.rank > 0 and any(self.point(row).get(key) for key in self.tuned)

    def has_rounds(self, *metrics):
        """Whether a configuration has one of the metrics after two or more rounds."""
        rounds = {(row.configuration, metric): set() for metric in metrics for row in self.rows(metric)}
        for metric in metrics:
            for row in self.rows(metric):
                if row.round and row.client < 0:
                    rounds[row.configuration, metric].add(row.round)
        return any(len(seen) > 1 for seen in rounds.values())

    def of_clients(self, metric):
        """The metric's rows by round and client."""
        return [row for row in self.rows(metric) if row.round and row.client >= 0]

    def wanted(self, metric, request, all_ranks=False):
        """The metric's rows that meet the request's conditions and have one of its ranks."""
        for row in self.rows(metric):
            point = self.point(row)
            if all(same_value(point.get(key, ""), value) for key, value in request["where"].items()):
                if all_ranks or row.rank in (0, *request["ranks"]):
                    yield row

    def identity(self, row, request, left_out=()):
        """What distinguishes a configuration's line: its point without `left_out`, and its rank if several are drawn."""
        identity = {key: value for key, value in self.point(row).items() if key not in left_out}
        if len(request["ranks"]) > 1 and self.competes(row):
            identity["rank"] = {1: "best", 2: "second best"}.get(row.rank, f"rank {row.rank}")
        return identity

    def text(self, row, x=""):
        """The text shown when the pointer is over a point."""
        point = [f"{key} {value}" for key, value in self.point(row).items()]
        lines = [", ".join(point + ([f"client {row.client}"] if row.client >= 0 else [])), x]
        lines.append(f"{metric_label(row.metric)}: {number_text(row.mean)}")
        if row.n > 1:
            lines.append(f"95 %: {number_text(row.low)} to {number_text(row.high)}, n = {row.n}")
        return "\n".join(filter(None, lines))


def _spans_decades(values):
    """Whether all values are positive and a linear axis would hide the small ones."""
    return min(values) > 0 and max(values) / min(values) >= 30


def _y_limits(figure):
    """The ends of the y axis, which the panels share, so that they can be compared."""
    def to(value):
        return math.log10(value) if figure.log_y else value

    points = [point for panel in figure.panels for line in panel.lines for point in line.points]
    numbers = [to(point.y) for point in points]
    low, high = min(numbers), max(numbers)
    ends = [low, high]
    for point in points:
        if figure.shows_intervals and point.has_interval:
            ends.append(to(max(point.low, point.y / 10 if figure.log_y else figure.least)))
            ends.append(to(min(point.high, figure.most)))
    span = high - low
    # Intervals from two seeds can be many times longer than the range of the lines, so they extend the axis by at most that
    # range on each side.
    bottom, top = (max(min(ends), low - span), min(max(ends), high + span)) if span > 0 else (min(ends), max(ends))
    # A level is shown if at least a quarter of the axis is left for the numbers.
    if not figure.log_y and max(low - figure.level, figure.level - high) <= 3 * span:
        bottom, top = min(bottom, figure.level), max(top, figure.level)
    room = 0.05 * (top - bottom) or (0.3 if figure.log_y else max(0.1 * abs(low), 1e-9))
    bottom, top = bottom - room, top + room
    if figure.log_y:
        return 10**bottom, 10**top
    # Fractions need no room below 0 or above 1.
    hair = 0.01 * (top - bottom)
    return min(max(bottom, figure.least - hair), low), max(min(top, figure.most + hair), high)


def _only(identity, keys):
    return tuple((key, value) for key, value in identity.items() if key in keys)


def _without(identity, keys):
    return tuple((key, value) for key, value in dict(identity).items() if key not in keys)


def _naming_keys(samples, chosen):
    """The keys whose values name the lines: the chosen keys, and as many others as are needed to distinguish the lines."""
    keys = list(dict.fromkeys(key for sample in samples for key in sample.identity))
    varying = [key for key in keys if len({sample.identity.get(key) for sample in samples}) > 1]
    if not chosen:
        return varying
    named = [key for key in varying if key in chosen]
    for key in varying:
        if len({(_only(sample.identity, named), sample.slot) for sample in samples}) == len(samples):
            break
        if key not in named:
            named.append(key)
    return named


def _splitting_key(identities, keys):
    """The key whose values make the fewest panels without overfilling any, in a list; empty if there is none.

    Prefers keys that every line has, and numeric keys, since named values are better compared within a panel.
    """
    costs = {}
    for key in keys:
        sizes = Counter(dict(identity).get(key, "") for identity in identities)
        if len(sizes) > 1 and max(sizes.values()) <= MAX_LINES:
            is_number = all(not value or number_of(value) is not None for value in sizes)
            costs[key] = len(sizes) + (0 if is_number else _MAX_PANELS // 2) + (_MAX_PANELS if "" in sizes else 0)
    best = min(costs, key=costs.get, default="")
    return [best] if best and costs[best] < 3 * _MAX_PANELS else []


def _thing(data, group, panel):
    """What all samples of a line share, without its panel's keys, tuned keys and keys that never vary."""
    shared = set.intersection(*({(key, value) for key, value in sample.identity.items() if value} for sample in group))
    thing = {(key, value) for key, value in shared
             if key not in dict(panel) and key not in data.tuned
             and (key in (*_RUN, "rank") or len(data.values.get(key, ())) > 1)}
    of_part = {pair for pair in thing if pair[0] in _RUN}  # a client has one look in all configurations
    return frozenset(of_part or thing)


def _line(group, name):
    """The samples as a line, of which at most _MAX_POINTS evenly spaced points are kept, including the last."""
    step = 1 + (len(group) - 1) // _MAX_POINTS
    kept = group[::-1][::step][::-1]
    points = [Point(one.x, one.row.mean, one.row.low, one.row.high, one.text) for one in kept]
    return Line(name, points, all(one.is_reference for one in group))


def _fill(figure, data, request, samples, panel_keys):
    """Draws the samples as lines, named by the keys that vary. Splits the figure into panels by `panel_keys`, or by another key
    if there are more than MAX_LINES lines."""
    samples = [one for one in samples if (not figure.log_y or one.row.mean > 0)
               and (not figure.log_x or one.x > 0 or one.is_reference)]
    keys = _naming_keys(samples, request["lines"])
    groups = defaultdict(list)
    for one in samples:
        groups[_only(one.identity, keys)].append(one)
    panels = [key for key in keys if key in panel_keys]
    if not panels and len(groups) > MAX_LINES:
        panels = _splitting_key(groups, keys)
    last, points, left_out = {}, [], 0
    for identity, group in groups.items():
        panel, rest = _only(dict(identity), panels), _without(identity, panels)
        current = last.get(panel)
        if current is None or len(current.lines) == MAX_LINES:
            if len(figure.panels) == _MAX_PANELS:
                left_out += 1
                continue
            more = [] if current is None else ["more lines"]
            current = last[panel] = Panel(", ".join(filter(None, [named(panel), *more])))
            figure.panels.append(current)
            points.append(panel if not more else None)
        line = _line(group, named(rest))
        line.short = named(_without(rest, data.tuned))
        line.is_part = any(key in _RUN and value for key, value in rest)
        line.thing = _thing(data, group, panel)
        current.lines.append(line)
    for panel in figure.panels:  # lines that differ only in tuned keys
        shorts, things = (Counter(getattr(line, what) for line in panel.lines) for what in ("short", "thing"))
        for line in panel.lines:
            line.short = line.name if shorts[line.short] > 1 else line.short
            line.thing = line.thing if line.thing and things[line.thing] == 1 else frozenset({("", line.name)})
    # Omits tuned keys from panels' titles if the remaining keys identify the panels.
    names = [named(_without(panel, data.tuned)) for panel in points if panel is not None]
    if len(set(names)) == len(points) and all(names):
        for panel, name in zip(figure.panels, names):
            panel.title = name
    if left_out:
        figure.caption += f" Not drawn: {counted(left_out, 'more line')}; select some with 'where' in a [[figure]], or see summary.csv."


def _caption(data, figure, samples, is_chosen):
    """How to read the figure: "Mean of 3 seeds; bars: 95 % intervals (Student's t). Drawn at the best learning-rate, ..."."""
    counts = {sample.row.n for sample in samples}
    least, most = min(counts), max(counts)
    tuning = data.experiment["tuning"]
    text = ""
    if most > 1:
        intervals = "bars: 95 % intervals (Student's t)." if figure.shows_intervals else "summary.csv has 95 % intervals (Student's t)."
        text = f"Mean of {most if least == most else f'{least} to {most}'} seeds; {intervals}"
    elif data.experiment["command"] == "run":
        text = "One seed, so there is no interval."
    if is_chosen and any(data.competes(sample.row) for sample in samples):
        why = f" ({tuning['why']})" if tuning["why"] else ""
        text += f" Drawn at the best {', '.join(data.tuned)}, chosen by {tuning['metric']} on the {tuning['on']} set{why}."
    return text


def _figure_of(data, request, figure, samples, missing, panel_keys=(), is_chosen=True, before="", after=""):
    """Completes a figure from its samples. `missing`: what all cells lack if there are none. `is_chosen`: whether the samples
    are limited to the best tuned values. `before`, `after`: around the standard caption."""
    if not samples:
        figure.caption = f"Nothing to draw yet: no matching finished cell has {missing}."
        return figure
    if samples[0].row.metric == "test_accuracy" and data.sweep.chance_accuracy is not None:
        figure.level = data.sweep.chance_accuracy
    figure.caption = before + _caption(data, figure, samples, is_chosen) + after
    _fill(figure, data, request, samples, panel_keys)
    if not figure.panels:
        figure.caption += " Nothing to draw: a logarithmic axis has no place for values of 0 or below."
        return figure
    figure.y_limits = low, high = _y_limits(figure)
    of_panels = [[[point for point in line.points if point.has_interval] for line in panel.lines] for panel in figure.panels]
    if figure.shows_intervals and any(sum(map(bool, lines)) > 1 for lines in of_panels):
        figure.caption += " Markers and bars that would overlap are drawn side by side; their values are exact."
    intervals = [point for lines in of_panels for points in lines for point in points]
    if figure.shows_intervals and any(point.low < low or point.high > high for point in intervals):
        figure.caption += " Intervals that reach an edge extend beyond it; summary.csv has their ends."
    return figure


def _start(request, title, metric, x_label, **more):
    """A figure of a metric, with labels and bounds, whose panels are still missing."""
    figure = Figure(request["kind"], request["title"] or title, x_label=x_label, y_label=metric_label(metric), **more)
    figure.log_x, figure.log_y = bool(request["log_x"]), bool(request["log_y"])
    figure.least = 0 if is_never_negative(metric) else -math.inf
    figure.most = 1 if is_share(metric) else math.inf
    return figure


class _Rounds:
    """The x axis of figures over rounds: the round, or what the run had cost by then."""

    def __init__(self, data, request):
        self.data, self.request = data, request
        self.by = BY[request["by"] or data.experiment["by"]]
        self.at = {(row.configuration, row.round): row.mean for row in data.rows(self.by.metric) if row.round and row.client < 0}
        settings = {**dict.fromkeys(("clients", "local-epochs"), ""), "local-epochs": "1", **data.experiment["settings"]}
        is_epoch = all(key not in data.keys and settings[key] == "1" for key in ("clients", "local-epochs"))
        self.label = "round (one epoch each)" if is_epoch and not self.by.metric else self.by.axis

    def title(self, of):
        return f"{of} by {self.by.title}"

    def samples(self, rows, **identity):
        """The rows' samples, except where the cost up to the round is unknown. `identity` is added to that of their lines."""
        for row in rows:
            x = self.at.get((row.configuration, row.round)) if self.by.metric else row.round
            if x is not None:
                text = f"{number_text(x)} (round {row.round})" if self.by.metric else row.round
                own = {key: str(value(row) if callable(value) else value) for key, value in identity.items()}
                yield _Sample(row, x, row.round, {**self.data.identity(row, self.request), **own},
                              self.data.text(row, f"{self.label}: {text}"))


def _by_round(data, request):
    metric = request["y"] or data.main
    if request["kind"] == "loss-by-round" and metric == data.main:
        metric = "validation_loss" if data.rows("validation_loss") and not data.rows("test_loss") else "test_loss"
    axis = _Rounds(data, request)
    figure = _start(request, axis.title(title_of_metric(metric)), metric, axis.label)
    rows = [row for row in data.wanted(metric, request) if row.round and row.client < 0]
    return _figure_of(data, request, figure, list(axis.samples(rows)), f"{metric} by round")


def _clients(data, request):
    is_rate = request["kind"] == "step-sizes"
    metric = request["y"] or ("learning_rate" if is_rate else "rejected_share")
    axis = _Rounds(data, request)
    figure = _start(request, axis.title(title_of_metric(metric) + " of each client"), metric, axis.label, shows_intervals=False)
    rows = [row for row in data.wanted(metric, request) if row.round and row.client >= 0]
    values = defaultdict(set)
    for row in rows:
        values[row.configuration].add(row.mean)
    # Configurations whose values never change are drawn only on request.
    drawn = [row for row in rows if row.client < MAX_LINES and (request["where"] or len(values[row.configuration]) > 1)]
    order = list(values)
    drawn.sort(key=lambda row: (order.index(row.configuration), row.client))
    samples = list(axis.samples(drawn, client=lambda row: row.client))
    if is_rate and request["log_y"] is None and samples:
        figure.log_y = _spans_decades([sample.row.mean for sample in samples])
    left_out = {row.client for row in rows if row.client >= MAX_LINES}
    after = f" Clients 0 to {MAX_LINES - 1}; {len(left_out)} more are in clients.csv." if left_out else ""
    return _figure_of(data, request, figure, samples, f"{metric} that varies by client or round", [*data.keys, "rank"], after=after)


def _client_spread(data, request):
    parts = {"_p90": "90th percentile", "_p50": "median", "_p10": "10th percentile", "_worst_tenth": "mean of the worst tenth"}
    own, what = ("own_r2", "R2") if data.rows("own_r2_p50") else ("own_accuracy", "accuracy")
    axis = _Rounds(data, request)
    figure = _start(request, axis.title(f"Clients' {what} on their own rows"), own, axis.label, shows_intervals=False)
    samples = []
    for end, name in parts.items():
        rows = [row for row in data.wanted(own + end, request) if row.round and row.client < 0]
        samples += axis.samples(rows, statistic=name)
    return _figure_of(data, request, figure, samples, "accuracy of clients on their own rows", [*data.keys, "rank"])


def _accountant(metric):
    """ "tight" for "epsilon_by_tight", "rdp (client level)" for "client_epsilon_by_rdp", otherwise ""."""
    found = re.fullmatch("(client_)?epsilon_by_(.*)", metric)
    return found[2].replace("_", "-") + (" (client level)" if found[1] else "") if found else ""


def _epsilon_caveats(data):
    deltas = {number_text(row.mean) for level in ("", "client_") for row in data.rows(level + "delta_spent") if row.client < 0}
    is_seeded = any(cell.status == "finished" and cell.text("randomness") != "secret" for cell in data.sweep.cells)
    return ((f" At delta {deltas.pop()}." if len(deltas) == 1 else "")
            + (" Epsilon is that of the mechanism with a secret seed." if is_seeded else "")
            + " The cost of choices made on the data is not included.")


def _spent(data):
    usual = ["epsilon_spent", "client_epsilon_spent", *filter(_accountant, data.metrics)]
    return next((metric for metric in usual if data.rows(metric)), "epsilon_spent")


def _epsilon(data, request):
    axis = _Rounds(data, request)
    metrics = [request["y"]] if request["y"] else [metric for metric in data.metrics if _accountant(metric)] or [_spent(data)]
    of = defaultdict(list)
    for metric in metrics:
        rows = [row for row in data.wanted(metric, request) if row.round and row.client < 0]
        for sample in axis.samples(rows, accountant=_accountant(metric)):
            of[sample.row.configuration].append(sample)
    # Configurations with equal spending are drawn once.
    curves = {tuple((one.x, one.row.mean) for one in samples): samples for samples in reversed(of.values())}
    samples = [sample for curve in reversed(curves.values()) for sample in curve]
    figure = _start(request, axis.title("Epsilon") + ", by accountant", metrics[0], axis.label)
    figure.y_label = "epsilon"
    if samples and request["log_y"] is None:
        figure.log_y = _spans_decades([sample.row.mean for sample in samples])
    after = _epsilon_caveats(data) + (" Configurations with equal spending are drawn once." if len(curves) < len(of) else "")
    return _figure_of(data, request, figure, samples, "an epsilon by round", data.keys if len(metrics) > 1 else (), after=after)


def _by_epsilon(data, request):
    y, x = request["y"] or data.main, request["x"] or _spent(data)
    spent = {(row.configuration, row.round): row.mean for row in data.rows(x) if row.client < 0}
    samples = []
    for row in data.wanted(y, request):
        at = spent.get((row.configuration, row.round))
        if at is not None and row.client < 0:
            text = data.text(row, f"{metric_label(x)}: {number_text(at)}") + (f"\nround {row.round}" if row.round else "")
            samples.append(_Sample(row, at, row.round, data.identity(row, request), text))
    by_rounds = [sample for sample in samples if sample.row.round]
    before = "Each line follows a run over its rounds. " if by_rounds else "After the last round. "
    figure = _start(request, title_of_metric(y) + " by epsilon", y, metric_label(x))
    return _figure_of(data, request, figure, by_rounds or samples, f"{y} and {x}", before=before, after=_epsilon_caveats(data))


def _metric_by_key(data, request, key, metric):
    """A metric after the last round against a swept key."""
    words = key_label(key).split(" (")[0]
    all_ranks = request["kind"] == "accuracy-by-rate" or key in data.tuned
    # Only the best tuned configuration is drawn at each x; its text names it.
    left_out = [key] + ([] if all_ranks or len(request["ranks"]) > 1 else data.tuned)
    names = data.values.get(key, [])
    numbers = [number_of(name) for name in names]
    is_numeric = None not in numbers
    samples = []
    for row in data.wanted(metric, request, all_ranks):
        if not row.round and row.client < 0:
            value = data.point(row).get(key, "")
            x = math.nan if not value else number_of(value) if is_numeric else names.index(value)
            samples.append(_Sample(row, x, value, data.identity(row, request, left_out), data.text(row), not value))
    # A reference level has no x and is drawn only together with lines over a numeric key.
    first = min((sample.x for sample in samples if not sample.is_reference), default=None)
    if first is None or not is_numeric:
        samples = [sample for sample in samples if not sample.is_reference]
    for sample in samples:
        sample.x = first if sample.is_reference else sample.x
    samples.sort(key=lambda sample: sample.x)
    figure = _start(request, f"{title_of_metric(metric)} by {words}", metric, key_label(key), style="points",
                    x_names=[] if is_numeric else names)
    is_log = request["kind"] == "accuracy-by-rate" or (numbers and is_numeric and _spans_decades(numbers))
    figure.log_x = bool(samples and is_numeric and (is_log if request["log_x"] is None else request["log_x"]))
    after = " After the last round." if data.experiment["command"] == "run" else ""
    return _figure_of(data, request, figure, samples, f"{metric} and {key}", is_chosen=not all_ranks, after=after)


def _by_key(data, request):
    rates = [key for key in data.numeric if key == "learning-rate"] + [key for key in data.numeric if key in data.tuned]
    others = [key for key in data.numeric if key not in data.tuned] + data.numeric
    usual = [*rates, "learning-rate"] if request["kind"] == "accuracy-by-rate" else [*others, ""]
    return _metric_by_key(data, request, request["x"] or usual[0], request["y"] or data.main)


def _lines(data, request):
    x = request["x"]
    if x in ("", "round"):
        return _by_round(data, request)
    if x not in data.keys and data.rows(x):
        return _by_epsilon(data, request)
    usual = data.main if data.main.startswith("test_") and data.rows(data.main) else (data.metrics or [data.main])[0]
    return _metric_by_key(data, request, x, request["y"] or usual)


def _name(data, point):
    """A configuration's name, of its values for the keys that vary."""
    pairs = [(key, value) for key, value in point.items() if len(data.values.get(key, ())) > 1 or len(data.keys) == 1]
    return named(pairs) or "the only configuration"


def _partition(data, request):
    figure = Figure(request["kind"], request["title"] or "Classes held by each client", style="map", x_label="client", y_label="class")
    # Sorted by class number: sorted by name, rows_of_class_10 would precede rows_of_class_2.
    found = (re.fullmatch(r"rows_of_class_(\d+)", metric) for metric in data.metrics)
    classes = sorted((int(match[1]), match[0]) for match in found if match)
    of, clients = defaultdict(list), 0
    for label, metric in classes:
        for row in data.wanted(metric, request):
            if row.client >= 0 and not row.round:
                clients = max(clients, row.client + 1)
                if row.client < _MAX_MAP_CLIENTS:
                    of[row.configuration].append((label, row))
    same = defaultdict(list)  # configurations with the same partition
    for configuration, rows in of.items():
        same[tuple(row.mean for _, row in rows)].append(configuration)
    class_names = {cell.configuration: cell.class_names for cell in reversed(data.sweep.cells) if cell.class_names}
    figure.x_names = [str(client) for client in range(min(clients, _MAX_MAP_CLIENTS))]
    for configurations in list(same.values())[:_MAX_MAPS]:
        names = class_names.get(configurations[0], [])
        shared = set.intersection(*({*data.sweep.point_of[configuration].items()} for configuration in configurations))
        point = {key: value for key, value in data.sweep.point_of[configurations[0]].items() if (key, value) in shared}
        panel = Panel(_name(data, point) if len(same) > 1 else "")
        panel.y_names = [names[label] if label < len(names) else str(label) for label in range(classes[-1][0] + 1)]
        for label, row in of[configurations[0]]:
            text = (panel.y_names[label] + "\n" if names else "") + data.text(row)
            panel.points.append(Point(row.client, label, text=text, value=row.mean))
        figure.panels.append(panel)
    figure.caption = ("Rows of each class held by each client, mean over seeds: the stronger the color, the more rows."
                      if same else "Nothing to draw yet: no matching finished cell has published its partition.")
    if len(same) > 1 or len(same) < len(of):
        figure.caption += " Configurations with the same partition are drawn once."
    if len(same) > _MAX_MAPS:
        figure.caption += f" Not drawn: {counted(len(same) - _MAX_MAPS, 'partition')}; see summary.csv."
    if clients > _MAX_MAP_CLIENTS:
        figure.caption += f" Shows the first {_MAX_MAP_CLIENTS} of {clients} clients."
    return figure


def _time(data, request):
    figure = Figure(request["kind"], request["title"] or "Time and speed on this machine", style="bars")
    most = 0
    for metric in ("seconds", "evaluation_seconds", "examples_per_second"):
        of = defaultdict(list)
        for cell in data.sweep.cells:
            if cell.status == "finished" and metric in cell.numbers:
                if all(same_value(cell.value(key), value) for key, value in request["where"].items()):
                    of[cell.configuration].append(cell)
        if not of:
            continue
        most = max(most, len(of))
        panel = Panel(metric_label(metric).replace(", on this machine", ""))  # which the figure's title says
        for cells in list(of.values())[:_MAX_BARS]:
            name = _name(data, {key: value for key, value in cells[0].point.items() if key != "seed"})
            mean = sum(cell.numbers[metric] for cell in cells) / len(cells)
            text = f"{name}\n{metric_label(metric)}: {number_text(mean)}\nmean of {counted(len(cells), 'run')}"
            panel.points.append(Point(mean, len(panel.y_names), text=text))
            panel.y_names.append(name)
        figure.panels.append(panel)
    figure.caption = ("Mean over a configuration's runs, from cells.csv. Run time includes training and averaging; evaluation is "
                      "shown separately, and neither includes reading data, saving or drawing. Runs that shared cores with "
                      "others were slower." if figure.panels else
                      "Nothing to draw yet: no finished cell has recorded its time.")
    if most > _MAX_BARS:
        figure.caption += f" Shows the first {_MAX_BARS} of {most} configurations."
    return figure


_DRAW = {"accuracy-by-round": _by_round, "loss-by-round": _by_round, "accuracy-by-key": _by_key, "accuracy-by-rate": _by_key,
         "step-sizes": _clients, "client-spread": _client_spread, "rejected-share": _clients, "epsilon-by-round": _epsilon,
         "accuracy-by-epsilon": _by_epsilon, "lines": _lines, "partition": _partition, "time": _time}


def _usual(data):
    """The kinds drawn if the experiment file requests no figures, in the page's order: pairs of a kind and of its x and y."""
    def evaluated(number):
        return data.has_rounds("test_" + number, "validation_" + number)

    if evaluated("accuracy") or evaluated("r2"):
        yield "accuracy-by-round", {}
    if evaluated("loss"):
        yield "loss-by-round", {}
    has_rates = data.main.startswith("test_") and data.rows(data.main)  # accuracy-by-rate then draws the learning rates
    for key in data.numeric if data.rows(data.main) else []:
        if key not in data.tuned and not (has_rates and key == "learning-rate"):
            yield "accuracy-by-key", {"x": key}
    if has_rates and any(key in data.tuned or key == "learning-rate" for key in data.numeric):
        yield "accuracy-by-rate", {}
    rates = defaultdict(set)
    for row in data.of_clients("learning_rate"):
        rates[row.configuration].add(row.mean)
    if any(len(values) > 1 for values in rates.values()):
        yield "step-sizes", {}
    if data.has_rounds("own_accuracy_p50", "own_r2_p50"):
        yield "client-spread", {}
    rejected = data.of_clients("rejected_share")
    if any(row.mean > 0 for row in rejected) and len({(row.round, row.client) for row in rejected}) > 1:
        yield "rejected-share", {}
    if any(metric in ("epsilon_spent", "client_epsilon_spent") or _accountant(metric) for metric in data.metrics):
        yield "epsilon-by-round", {}
        yield "accuracy-by-epsilon", {}
    if data.experiment["command"] != "run":  # every metric against every key, up to 6 figures
        pairs = [(key, metric) for key in data.numeric for metric in data.metrics if metric != key]
        yield from (("lines", {"x": key, "y": metric}) for key, metric in pairs[:6])
    if any(row.client > 0 for row in data.rows("rows_of_class_0")):
        yield "partition", {}
    if any("seconds" in cell.numbers for cell in data.sweep.cells):
        yield "time", {}


def figures_of(sweep):
    """The figures that the experiment file requests, or else the usual figures of what the sweep has."""
    data = Data(sweep)
    empty = {"title": "", "x": "", "y": "", "lines": [], "where": {}, "ranks": [1], "log_x": None, "log_y": None, "by": None}
    requests = sweep.experiment["figures"] or [{**empty, "kind": kind, **more} for kind, more in _usual(data)]
    return [_DRAW[request["kind"]](data, request) for request in requests]


class Looks:
    """Gives each thing one look throughout a page. A thing that extends a known thing, or is extended by it ("adadp" in a panel
    of share 0, later "share 0, adadp"), takes its look unless several match. Looks that run out are reused, but not within a
    panel."""

    def __init__(self):
        self.known = {}

    def assign(self, panel):
        """Sets the looks of a panel's lines."""
        taken = set()

        def give(line, look):
            line.look = look
            taken.add(look)
            self.known.setdefault((line.is_part, line.thing), look)

        left = []
        for line in panel.lines:
            look = self.known.get((line.is_part, line.thing))
            if look is None or look in taken:
                left.append(line)
            else:
                give(line, look)
        meant = defaultdict(list)
        for line in left:
            alike = {look for (is_part, thing), look in self.known.items()
                     if is_part == line.is_part and (thing <= line.thing or line.thing <= thing)}
            if len(alike) == 1 and not alike & taken:
                meant[alike.pop()].append(line)
        for look, lines in meant.items():
            if len(lines) == 1:
                give(lines[0], look)
                left.remove(lines[0])
        for line in left:
            first = MAX_LINES if line.is_part else 0
            uses = Counter(self.known.values())
            free = [look for look in range(first, first + MAX_LINES) if look not in taken] or [first]
            give(line, min(free, key=lambda look: uses[look]))
