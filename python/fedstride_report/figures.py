"""What the figures of a sweep's page show: kinds, lines, panels and captions. drawing.py draws them."""

import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache

from .claims import same_value
from .labels import SPREAD, is_never_negative, is_share, key_label, metric_label, named, number_of, title_of_metric
from .model import BY, grouped
from .statistics import interval_method
from .text import counted, number_text

MAX_LINES = 7  # that dash, marker and color can distinguish in one panel
_MAX_PANELS = 12
_MAX_POINTS = 200  # of a line
_MAX_MAPS, _MAX_MAP_CLIENTS = 6, 100
_PARTS = ("client", "accountant")  # keys of a line that shows only a part of a run


@dataclass
class Point:
    """A point of a line, or a square of a map (y: the class; value: number of rows), made of a row of the summary."""

    x: float
    y: float
    low: float = math.nan  # ends of the interval; NaN: none
    high: float = math.nan
    text: str = ""  # shown when the pointer is over it
    value: float = math.nan
    row: object = None
    slot: object = ""  # round, or value of the key; a line has one point a slot
    identity: dict = field(default_factory=dict)  # distinguishes the point's line from others
    is_reference: bool = False  # its configuration lacks the key

    @property
    def has_interval(self):
        return self.low < self.high


@dataclass
class Line:
    """A line of a panel. Lines with the same `thing` look the same throughout a page."""

    name: str
    points: list
    is_reference: bool  # a level, drawn across the whole panel without markers
    thing: frozenset  # pairs of key and value that describe the line, except those of its panel and tuned keys
    look: int = 0  # index in drawing.LOOKS

    @property
    def is_part(self):
        return any(key in _PARTS for key, _ in self.thing)


@dataclass
class Panel:
    """One plot of a figure. Curves and points have `lines`, maps have `points`."""

    title: str = ""
    lines: list = field(default_factory=list)
    points: list = field(default_factory=list)
    y_names: list = field(default_factory=list)

    def all_points(self):
        return self.points + [point for line in self.lines for point in line.points]


@dataclass
class Figure:
    """A figure on the page. Without panels, the caption says why."""

    kind: str
    title: str
    caption: str = ""
    style: str = "curves"  # or "points", "map"
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
    y_limits: tuple = ()  # which the panels share, so that they can be compared


class Data:
    """A sweep's summary by metric. In its rows, round 0 is after the last round, and client -1 is the federation."""

    def __init__(self, sweep):
        self.sweep, self.experiment = sweep, sweep.experiment
        rounds, clients = sweep.summary["round"].fillna(0).astype(int), sweep.summary["client"].fillna(-1).astype(int)
        summary = sweep.summary.assign(round=rounds, client=clients)
        frames = dict(tuple(summary.groupby("metric")))
        self.metrics = sorted(frames)
        # A metric's rows; a large sweep has more rows than it draws.
        self.rows = cache(lambda metric: list(frames[metric].itertuples()) if metric in frames else [])
        self.keys = [key for key in sweep.swept_keys if key != "seed"]
        self.tuned = self.experiment["tuning"]["keys"]
        finished = [seeds[0] for seeds in sweep.groups if any(cell.status == "finished" for cell in seeds)]
        self.values = {key: list(dict.fromkeys(cell.point[key] for cell in finished if key in cell.point)) for key in self.keys}
        self.numeric = [key for key, all in self.values.items() if len(all) > 1 and None not in map(number_of, all)]
        usual = ("test_accuracy", "test_r2", "validation_accuracy", "validation_r2")
        self.main = next(filter(self.has, usual), usual[0])

    def has(self, metric):
        return metric in self.metrics

    def point(self, row):
        """The row's swept values by key, without the seed."""
        return self.sweep.point_of[row.configuration]

    def varies(self, key):
        return len(self.values.get(key, ())) > 1

    def competes(self, row):
        """Whether the row's configuration competes with others that differ only in tuned keys."""
        return row.rank > 0 and any(key in self.point(row) for key in self.tuned)

    def wanted(self, metric, request, all_ranks=False):
        """The metric's rows that meet the request's conditions and have one of its ranks."""
        where = request["where"].items()
        return [row for row in self.rows(metric) if (all_ranks or row.rank in (0, *request["ranks"]))
                and all(same_value(self.point(row).get(key, ""), value) for key, value in where)]

    def identity(self, row, request, left_out=()):
        """What distinguishes a configuration's line: its point without `left_out`, and its rank if several are drawn."""
        identity = dict(_without(self.point(row), left_out))
        if len(request["ranks"]) > 1 and self.competes(row):
            identity["rank"] = {1: "best", 2: "second best"}.get(row.rank, f"rank {row.rank}")
        return identity

    def point_of(self, row, x, slot, identity, shown="", is_reference=False):
        """A row's point; its text has `shown`, the x in words."""
        return Point(x, row.mean, row.low, row.high, self.text(row, shown), row=row, slot=slot, identity=identity,
                     is_reference=is_reference)

    def text(self, row, x=""):
        """The text shown when the pointer is over a point."""
        point = [f"{key} {value}" for key, value in self.point(row).items()] + [f"client {row.client}"] * (row.client >= 0)
        lines = [", ".join(point), x, f"{metric_label(row.metric)}: {number_text(row.mean)}"]
        if row.n > 1:
            lines.append(f"95 %: {number_text(row.low)} to {number_text(row.high)}, n = {row.n}")
        return "\n".join(filter(None, lines))


def _spans_decades(values):
    """Whether all values are positive and a linear axis would hide the small ones."""
    return bool(values) and min(values) > 0 and max(values) / min(values) >= 30


def _y_limits(figure):
    """The ends of the y axis."""
    to, back = (math.log10, lambda value: 10**value) if figure.log_y else (float, float)
    points = [point for panel in figure.panels for point in panel.all_points()]
    numbers = [to(point.y) for point in points]
    low, high = min(numbers), max(numbers)
    intervals = [point for point in points if figure.shows_intervals and point.has_interval]
    bottom = min([low, *(to(max(point.low, point.y / 10 if figure.log_y else figure.least)) for point in intervals)])
    top = max([high, *(to(min(point.high, figure.most)) for point in intervals)])
    span = high - low
    if span > 0:
        # Intervals from two seeds can be many times longer than the range of the lines, so they extend the axis by at most that
        # range on each side.
        bottom, top = max(bottom, low - span), min(top, high + span)
    # A level is shown if at least a quarter of the axis is left for the numbers.
    if not figure.log_y and max(low - figure.level, figure.level - high) <= 3 * span:
        bottom, top = min(bottom, figure.level), max(top, figure.level)
    room = 0.05 * (top - bottom) or (0.3 if figure.log_y else max(0.1 * abs(low), 1e-9))
    if figure.log_y:
        return back(bottom - room), back(top + room)
    # Fractions need no room below 0 or above 1.
    return max(bottom - room, min(low, figure.least) - room / 5), min(top + room, max(high, figure.most) + room / 5)


def _only(point, keys, are_kept=True):
    return tuple((key, value) for key, value in dict(point).items() if (key in keys) == are_kept)


def _without(point, keys):
    return _only(point, keys, False)


def _names(points, tuned):
    """Names of points that differ: without tuned values if these are not needed to tell them apart."""
    names = [named(_without(point, tuned)) for point in points]
    return names if len(set(names)) == len(points) and all(names) else [named(point) for point in points]


def _naming_keys(samples, chosen):
    """The keys whose values name the lines: the chosen keys, and as many others as are needed to distinguish the lines."""
    keys = dict.fromkeys(key for sample in samples for key in sample.identity)
    varying = [key for key in keys if len({sample.identity.get(key) for sample in samples}) > 1]
    naming = [key for key in varying if key in chosen or not chosen]
    for key in varying:
        if len({(_only(sample.identity, naming), sample.slot) for sample in samples}) == len(samples):
            break
        naming += [key] * (key not in naming)
    return naming


def _splitting_keys(identities, keys):
    """The key whose values make the fewest panels without overfilling any, in a list; empty if there is none.

    Prefers keys that every line has, and numeric keys, since named values are better compared within a panel.
    """
    costs = {}
    for key in keys:
        sizes = Counter(dict(identity).get(key, "") for identity in identities)
        is_number = all(not value or number_of(value) is not None for value in sizes)
        cost = len(sizes) + (0 if is_number else _MAX_PANELS // 2) + (_MAX_PANELS if "" in sizes else 0)
        if len(sizes) > 1 and max(sizes.values()) <= MAX_LINES and cost < 3 * _MAX_PANELS:
            costs[key] = cost
    return [min(costs, key=costs.get)] if costs else []


def _thing(data, group, panel):
    """What all samples of a line share, without its panel's keys, tuned keys and keys that never vary."""
    shared = set.intersection(*(set(sample.identity.items()) for sample in group))
    thing = {(key, value) for key, value in shared if value and key not in dict(panel) and key not in data.tuned
             and (key in (*_PARTS, "rank") or data.varies(key))}
    return frozenset(_only(thing, _PARTS) or thing)  # a client has one look in all configurations


def _fill(figure, data, request, samples, panel_keys):
    """Draws the samples as lines, named by the keys that vary. Splits the figure into panels by `panel_keys`, or by another key
    if there are more than MAX_LINES lines."""
    keys = _naming_keys(samples, request["lines"])
    groups = defaultdict(list)
    for one in samples:
        groups[_only(one.identity, keys)].append(one)
    splitting = [key for key in keys if key in panel_keys]
    if not splitting and len(groups) > MAX_LINES:
        splitting = _splitting_keys(groups, keys)
    panels = defaultdict(list)
    for identity in groups:
        panels[_only(identity, splitting)].append(identity)
    left_out = 0
    for title, (panel, identities) in zip(_names(panels, data.tuned), panels.items()):
        names = _names([_without(identity, splitting) for identity in identities], data.tuned)
        for first in range(0, len(identities), MAX_LINES):
            lines = list(zip(names, identities))[first:first + MAX_LINES]
            if len(figure.panels) == _MAX_PANELS:
                left_out += len(lines)
                continue
            part = f"{lines[0][0]} to {lines[-1][0]}" if len(identities) > MAX_LINES else ""
            figure.panels.append(Panel(", ".join(filter(None, [title, part]))))
            for name, identity in lines:
                group = groups[identity]
                # A long line keeps evenly spaced points, including the last.
                kept = group[::-1][::1 + (len(group) - 1) // _MAX_POINTS][::-1]
                is_reference = all(one.is_reference for one in group)
                figure.panels[-1].lines.append(Line(name, kept, is_reference, _thing(data, group, panel)))
    if left_out:
        figure.caption += (f" Not drawn: {counted(left_out, 'more line')}; select some with 'where' in a [[figure]], or see "
                           "summary.csv.")


def _shared(data, rows):
    """Names the swept values that all rows share, but not all configurations: "Shows only adadp. "."""
    points = data.sweep.point_of
    shared, usual = (set.intersection(*(set(points[configuration].items()) for configuration in configurations))
                     for configurations in ({row.configuration for row in rows}, points))
    name = named(pair for pair in data.point(rows[0]).items() if pair in shared - usual)
    return f"Shows only {name}. " if name else ""


def _caption(data, figure, samples, is_chosen):
    """How to read the figure: "Mean of 3 seeds; bars: 95 % intervals (Student's t). At the best learning-rate, ..."."""
    counts = {sample.row.n for sample in samples}
    least, most = min(counts), max(counts)
    tuning = data.experiment["tuning"]
    text = "One seed, so there is no interval." if data.experiment["command"] == "run" else ""
    if most > 1:
        intervals = "bars: 95 % intervals" if figure.shows_intervals else "summary.csv has 95 % intervals"
        method = interval_method(sample.row.metric for sample in samples)
        text = f"Mean of {most if least == most else f'{least} to {most}'} seeds; {intervals} ({method})."
    if is_chosen and any(data.competes(sample.row) for sample in samples):
        text += f" At the best {', '.join(data.tuned)} by {tuning['on']} {tuning['metric']}."
    return text


def _figure_of(data, request, figure, samples, missing, panel_keys=(), is_chosen=True, before="", after="", shown=()):
    """Completes a figure from its samples. `missing`: what all cells lack if there are none. `is_chosen`: whether the samples
    are limited to the best tuned values. `before`, `after`: around the standard caption. `shown`: the rows that the figure stands
    for, if it does not draw all of them."""
    if request["log_y"] is None and not figure.most == 1:
        figure.log_y = _spans_decades([sample.y for sample in samples])
    drawn = [one for one in samples if (not figure.log_y or one.y > 0) and (not figure.log_x or one.x > 0 or one.is_reference)]
    if not drawn:
        on_log = ", above 0, as a logarithmic axis needs it" if samples else ""
        figure.caption = f"Nothing to draw yet: no matching finished cell has {missing}{on_log}."
        return figure
    if drawn[0].row.metric == "test_accuracy" and data.sweep.chance_accuracy is not None:
        figure.level = data.sweep.chance_accuracy
    shared = _shared(data, shown or [one.row for one in drawn])
    figure.caption = shared + before + _caption(data, figure, samples, is_chosen) + after
    _fill(figure, data, request, drawn, panel_keys)
    figure.y_limits = low, high = _y_limits(figure)
    if figure.shows_intervals:
        of_panels = [[[one for one in line.points if one.has_interval] for line in panel.lines] for panel in figure.panels]
        if any(sum(map(bool, lines)) > 1 for lines in of_panels):
            figure.caption += " Overlapping points are drawn side by side."
        if any(one.low < low or one.high > high for lines in of_panels for points in lines for one in points):
            figure.caption += " Intervals that reach an edge extend beyond it."
    return figure


def _start(request, title, metric, x_label, **more):
    """A figure of a metric, with labels and bounds, whose panels are still missing."""
    return Figure(request["kind"], request["title"] or title, x_label=x_label, y_label=metric_label(metric),
                  log_x=bool(request["log_x"]), log_y=bool(request["log_y"]), most=1 if is_share(metric) else math.inf,
                  least=0 if is_never_negative(metric) else -math.inf, **more)


def _accountant(metric):
    """The accountant of an epsilon: "tight" of epsilon_by_tight, "rdp (client level)" of client_epsilon_by_rdp, or ""."""
    found = re.fullmatch("(client_)?epsilon_by_(.*)", metric)
    return found[2].replace("_", "-") + (" (client level)" if found[1] else "") if found else ""


def _epsilon_caveats(data):
    rows = [row for level in ("", "client_") for row in data.rows(level + "delta_spent") if row.client < 0]
    deltas = {number_text(row.mean) for row in rows}
    is_seeded = any(cell.status == "finished" and cell.text("randomness") != "secret" for cell in data.sweep.cells)
    delta = f" (delta {deltas.pop()})" if len(deltas) == 1 else ""
    return f" Epsilon{delta} {'assumes a secret seed and ' if is_seeded else ''}excludes choices made on the data."


def _spent(data):
    usual = ["epsilon_spent", "client_epsilon_spent", *filter(_accountant, data.metrics)]
    return next(filter(data.has, usual), "epsilon_spent")


def _over_rounds(data, request):
    """A figure over rounds, or over what a run had cost by then: metrics of the model, of clients, and epsilon."""
    kind, metric, panel_keys, after = request["kind"], request["y"] or data.main, (), ""
    by = BY[request["by"] or data.experiment["by"]]
    costs = {(row.configuration, row.round): row.mean for row in data.rows(by.metric) if row.client < 0}
    of_clients = kind in ("step-sizes", "rejected-share")
    parts = {}  # metrics, and what they add to the identities of their lines
    if of_clients:
        metric = request["y"] or ("learning_rate" if kind == "step-sizes" else "rejected_share")
        title, panel_keys = f"{title_of_metric(metric)} of each client by {by.title}", [*data.keys, "rank"]
    elif kind == "client-spread":
        metric = "own_r2" if data.has("own_r2_p50") else "own_accuracy"
        title, panel_keys = f"{title_of_metric(metric)} by {by.title}", [*data.keys, "rank"]
        parts = {metric + end: {"statistic": name} for end, name in SPREAD.items()}
    elif kind == "epsilon-by-round":
        metric = request["y"] or _spent(data)
        parts = {one: {"accountant": _accountant(one)} for one in data.metrics if _accountant(one) and not request["y"]}
        title, after, panel_keys = f"Epsilon by {by.title}, by accountant", _epsilon_caveats(data), data.keys if parts else ()
    else:
        if kind == "loss-by-round" and metric == data.main:
            metric = "validation_loss" if data.has("validation_loss") and not data.has("test_loss") else "test_loss"
        title = f"{title_of_metric(metric)} by {by.title}"
    samples, left_out = [], set()
    for one, more in (parts or {metric: {}}).items():
        for row in data.wanted(one, request):
            x = costs.get((row.configuration, row.round)) if by.metric else row.round
            if not row.round or (row.client >= 0) != of_clients or x is None:
                continue
            if row.client >= MAX_LINES:
                left_out.add(row.client)
                continue
            shown = f"{by.axis}: {number_text(x)}" + (f" (round {row.round})" if by.metric else "")
            identity = data.identity(row, request) | more | ({"client": str(row.client)} if of_clients else {})
            samples.append(data.point_of(row, x, row.round, identity, shown))
    of = grouped(samples, lambda one: one.row.configuration)
    if of_clients and not request["where"]:  # clients whose values never change are drawn only on request
        of = [points for points in of if len({one.y for one in points}) > 1]
    shown = [one.row for some in of for one in some]
    if kind == "epsilon-by-round":
        same = grouped(of, lambda points: tuple((one.x, one.y) for one in points))
        after += " Configurations with equal spending are drawn once." if len(same) < len(of) else ""
        of = [first for first, *_ in same]
    samples = [one for some in of for one in sorted(some, key=lambda one: one.row.client)]
    figure = _start(request, title, metric, by.axis, shows_intervals=not of_clients and kind != "client-spread")
    figure.y_label = "epsilon" if kind == "epsilon-by-round" else figure.y_label
    if left_out:
        after += f" Clients 0 to {MAX_LINES - 1}; {len(left_out)} more are in clients.csv."
    return _figure_of(data, request, figure, samples, f"{metric} by {by.title}", panel_keys, after=after, shown=shown)


def _by_epsilon(data, request):
    y, x = request["y"] or data.main, request["x"] or _spent(data)
    spent = {(row.configuration, row.round): row.mean for row in data.rows(x) if row.client < 0}
    samples = []
    for row in data.wanted(y, request):
        if row.client < 0 and (at := spent.get((row.configuration, row.round))) is not None:
            shown = f"{metric_label(x)}: {number_text(at)}"
            samples.append(data.point_of(row, at, row.round, data.identity(row, request), shown))
            samples[-1].text += f"\nround {row.round}" if row.round else ""
    by_rounds = [sample for sample in samples if sample.row.round]
    before = "Lines follow runs by round. " if by_rounds else "After the last round. "
    figure = _start(request, title_of_metric(y) + " by epsilon", y, metric_label(x))
    return _figure_of(data, request, figure, by_rounds or samples, f"{y} and {x}", before=before, after=_epsilon_caveats(data))


def _metric_by_key(data, request, key, metric):
    """A metric after the last round against a swept key."""
    all_ranks = request["kind"] == "accuracy-by-rate" or key in data.tuned
    # Only the best tuned configuration is drawn at each x; its text names it.
    left_out = [key] + ([] if all_ranks or len(request["ranks"]) > 1 else data.tuned)
    names = data.values.get(key, [])
    numbers = [number_of(name) for name in names]
    is_numeric = None not in numbers
    places = dict(zip(names, numbers if is_numeric else range(len(names))))
    samples = []
    for row in data.wanted(metric, request, all_ranks):
        value = data.point(row).get(key, "")
        # A reference level has no x and is drawn only together with lines over a numeric key.
        if not row.round and row.client < 0 and (value or (is_numeric and numbers)):
            x = places[value] if value else numbers[0]
            samples.append(data.point_of(row, x, value, data.identity(row, request, left_out), "", not value))
    samples.sort(key=lambda sample: sample.x)
    figure = _start(request, f"{title_of_metric(metric)} by {key_label(key).split(' (')[0]}", metric, key_label(key),
                    style="points", x_names=[] if is_numeric else names)
    is_log = request["kind"] == "accuracy-by-rate" or (is_numeric and _spans_decades(numbers))
    figure.log_x = is_numeric and bool(is_log if request["log_x"] is None else request["log_x"])
    after = " After the last round." if data.experiment["command"] == "run" else ""
    if all(sample.is_reference for sample in samples):
        samples = []
    return _figure_of(data, request, figure, samples, f"{metric} and {key}", is_chosen=not all_ranks, after=after)


def _by_key(data, request):
    rates = [key for key in data.numeric if key in ("learning-rate", *data.tuned)]
    rates.sort(key=lambda key: key != "learning-rate")
    others = sorted(data.numeric, key=lambda key: key in data.tuned)
    usual = [*rates, "learning-rate"] if request["kind"] == "accuracy-by-rate" else [*others, ""]
    return _metric_by_key(data, request, request["x"] or usual[0], request["y"] or data.main)


def _lines(data, request):
    x = request["x"]
    if x in ("", "round"):
        return _over_rounds(data, request)
    if x not in data.keys and data.has(x):
        return _by_epsilon(data, request)
    usual = data.main if data.main.startswith("test_") and data.has(data.main) else (data.metrics or [data.main])[0]
    return _metric_by_key(data, request, x, request["y"] or usual)


def _partition(data, request):
    figure = Figure(request["kind"], request["title"] or "Classes held by each client", style="map", x_label="client",
                    y_label="class")

    def label(metric):
        return int(metric.removeprefix("rows_of_class_"))

    held = sorted((metric for metric in data.metrics if re.fullmatch(r"rows_of_class_\d+", metric)), key=label)
    rows = [row for metric in held for row in data.wanted(metric, request)]
    of = grouped((row for row in rows if row.client < _MAX_MAP_CLIENTS), lambda row: row.configuration)
    same = grouped(of, lambda some: tuple(row.mean for row in some))  # the same partition
    clients, classes = max((row.client + 1 for row in rows), default=0), label(held[-1]) + 1 if held else 0
    class_names = {cell.configuration: cell.class_names for cell in data.sweep.cells}
    figure.x_names = [str(client) for client in range(min(clients, _MAX_MAP_CLIENTS))]
    for some in same[:_MAX_MAPS]:
        points = [data.point(group[0]).items() for group in some]
        shared = [pair for pair in points[0] if data.varies(pair[0]) and all(pair in point for point in points)]
        names = class_names[some[0][0].configuration]
        panel = Panel(named(shared) if len(same) > 1 else "")
        panel.y_names = (names + [str(number) for number in range(classes)][len(names):])[:classes]
        for row in some[0]:
            text = panel.y_names[label(row.metric)] + "\n" if names else ""
            panel.points.append(Point(row.client, label(row.metric), value=row.mean, text=text + data.text(row)))
        figure.panels.append(panel)
    figure.caption = "Rows of each class held by each client, mean over seeds: the stronger the color, the more rows."
    if not same:
        figure.caption = "Nothing to draw yet: no matching finished cell has published its partition."
    else:
        figure.caption = _shared(data, rows) + figure.caption
    if len(same) < len(of):
        figure.caption += " Configurations with the same partition are drawn once."
    if len(same) > _MAX_MAPS:
        figure.caption += f" Not drawn: {counted(len(same) - _MAX_MAPS, 'partition')}; see summary.csv."
    if clients > _MAX_MAP_CLIENTS:
        figure.caption += f" Shows the first {_MAX_MAP_CLIENTS} of {clients} clients."
    return figure


_DRAW = {"accuracy-by-key": _by_key, "accuracy-by-rate": _by_key, "accuracy-by-epsilon": _by_epsilon, "lines": _lines,
         "partition": _partition, **dict.fromkeys(("accuracy-by-round", "loss-by-round", "step-sizes", "client-spread",
                                                   "rejected-share", "epsilon-by-round"), _over_rounds)}


def _usual(data):
    """The figures tried if the experiment file requests none, in the page's order: pairs of a kind and of its x and y."""
    by_key = [key for key in data.numeric if key not in ("learning-rate", *data.tuned)]
    # Of commands other than run, every metric against every key, up to 6 figures.
    pairs = [(key, metric) for key in data.numeric for metric in data.metrics if key != metric]
    lines = [("lines", {"x": key, "y": metric}) for key, metric in pairs[:6] if data.experiment["command"] != "run"]
    kinds = ("accuracy-by-rate", "step-sizes", "client-spread", "rejected-share", "epsilon-by-round", "accuracy-by-epsilon")
    return [("accuracy-by-round", {}), ("loss-by-round", {}), *(("accuracy-by-key", {"x": key}) for key in by_key),
            *((kind, {}) for kind in kinds), *lines, ("partition", {})]


def figures_of(sweep):
    """The figures that the experiment file requests, or else the usual figures of whatever varies."""
    data = Data(sweep)
    if sweep.experiment["figures"]:
        return [_DRAW[request["kind"]](data, request) for request in sweep.experiment["figures"]]
    empty = {"title": "", "x": "", "y": "", "lines": [], "where": {}, "ranks": [1], "log_x": None, "log_y": None, "by": None}
    figures = [_DRAW[kind](data, {**empty, "kind": kind, **more}) for kind, more in _usual(data)]
    return [figure for figure in figures if len({point.x for panel in figure.panels for point in panel.all_points()}) > 1]


class Looks:
    """Gives each thing one look throughout a page. A thing that extends a known thing, or is extended by it ("adadp" in a panel
    of share 0, later "share 0, adadp"), takes its look unless several match. Looks that run out are reused, but not within a
    panel."""

    def __init__(self):
        self.known = {}

    def assign(self, panel):
        """Sets the looks of a panel's lines."""
        taken = set()
        for line in sorted(panel.lines, key=lambda line: line.thing not in self.known):
            first, uses = MAX_LINES if line.is_part else 0, Counter(self.known.values())
            free = [look for look in range(first, first + MAX_LINES) if look not in taken]
            alike = {look for thing, look in self.known.items() if thing <= line.thing or line.thing <= thing}
            wanted = self.known.get(line.thing, alike.pop() if len(alike) == 1 else None)
            line.look = wanted if wanted in free else min(free, key=lambda look: uses[look])  # noqa: B023
            taken.add(line.look)
            self.known.setdefault(line.thing, line.look)
