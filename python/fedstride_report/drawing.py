"""Draws figures with matplotlib: SVG for the page, and SVG, PNG and PDF files beside it. The same figure gives the same bytes."""

import io
import math
import re
import textwrap
import warnings
from html import escape

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation

from .labels import one_line, shortened
from .text import number_text

# Colors on light pages and in files, and on dark pages.
COLORS = {
    "ink": ("#111111", "#e6e6e6"),
    "paper": ("#ffffff", "#15181c"),
    "soft": ("#444444", "#b4b9c0"),
    "grid": ("#d9d9d9", "#353a41"),
    "panel": ("#f4f4f4", "#1f2329"),
    "bar": ("#8a8f98", "#7d848e"),
    "most": ("#003b5c", "#9fd0f5"),
    # Of lines: Okabe & Ito 2008, without its yellow, which is invisible on white paper.
    "l0": ("#0072b2", "#3b9be0"),
    "l1": ("#d55e00", "#e8702a"),
    "l2": ("#009e73", "#1fb58a"),
    "l3": ("#cc79a7", "#de9cc2"),
    "l4": ("#000000", "#f2f2f2"),
    "l5": ("#e69f00", "#f0c040"),
    "l6": ("#56b4e9", "#9ad4f7"),
    # Of parts of a run.
    "l7": ("#ec13b6", "#d147af"),
    "l8": ("#428a54", "#4b9b5f"),
    "l9": ("#0f3bbd", "#99ace6"),
    "l10": ("#a38529", "#f2cc5a"),
    "l11": ("#5e0833", "#c587a6"),
    "l12": ("#2c0b8e", "#8b70db"),
    "l13": ("#331452", "#d9cbe6"),
}
_LIGHT = {name: light for name, (light, _) in COLORS.items()}
_VARIABLES = {light: f"var(--{name})" for name, light in _LIGHT.items()}

# How lines look: dashes in line widths, marker, and whether it is filled. Within the first seven, of runs, and the last seven,
# of parts of a run, any two are distinguishable with every kind of color vision, and by dash and marker on paper without color.
_DASHES = [(), (4, 2), (1, 1.25), (4.5, 1.5, 1, 1.5), (2.25, 1.25), (6, 1.5, 1, 1.5, 1, 1.5), (1, 1.5, 1, 3.5)]
LOOKS = [(dashes, marker, filled) for dashes, marker, filled in zip(
    _DASHES * 2, ["o", "s", "^", "D", "s", "v", "o", "o", "^", "v", "D", "p", "x", "s"], [True] * 4 + [False, True] + [False] * 8)]

_WIDTH, _PHONE = 7.0, 3.5  # inches
_LETTER = 0.066  # inches, typical width of a letter
_MAX_LETTERS = 56  # of a name on an axis or in the legend
_STYLE = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Verdana"], "font.size": 8.6, "svg.fonttype": "none", "pdf.fonttype": 42,
    "axes.titlesize": 8.6, "axes.labelsize": 8.6, "axes.edgecolor": _LIGHT["ink"], "axes.linewidth": 0.7,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True, "axes.titlecolor": _LIGHT["ink"],
    "text.color": _LIGHT["ink"], "axes.labelcolor": _LIGHT["ink"], "xtick.color": _LIGHT["ink"], "ytick.color": _LIGHT["ink"],
    "grid.color": _LIGHT["grid"], "grid.linewidth": 0.7, "lines.linewidth": 1.4, "lines.scale_dashes": True,
    "legend.frameon": False, "legend.handlelength": 3, "figure.facecolor": _LIGHT["paper"], "axes.facecolor": "none",
}
_LEVEL = {"color": _LIGHT["soft"], "linewidth": 0.9, "linestyle": (0, (1, 3)), "zorder": 1}


def _words(text, most=_MAX_LETTERS):
    """Text for matplotlib, which would read text between dollars as formulas."""
    return shortened(one_line(text), most).replace("$", r"\$")


def _number(value, _=None):
    return f"{value:.10g}"


def _end(text, letters):
    """The end of a long text, which contains the keys that vary fastest."""
    return text if len(text) <= letters else "…" + text[1 - letters:]


class _Canvas:
    """A figure being drawn, `width` inches wide."""

    def __init__(self, figure, width):
        self.figure, self.width = figure, width
        panels = len(figure.panels)
        is_table = figure.style in ("bars", "map")
        # Bars of different quantities are stacked.
        self.columns = 1 if panels == 1 or figure.style == "bars" or width < _WIDTH else 2 if panels <= 4 else 3
        self.rows = -(-panels // self.columns)
        names = max((len(name) for panel in figure.panels for name in panel.y_names), default=0)
        self.panel_width = (width - 0.5 - min(width / 2, _LETTER * names)) / self.columns
        share = 0.5 if width < _WIDTH else {1: 0.38, 2: 0.27, 3: 0.21}[self.columns]
        heights = [share * width] * self.rows
        if is_table:
            row = 0.2 if figure.style == "bars" else 0.22 if self.columns == 1 else 0.14
            counts = [len(panel.y_names) for panel in figure.panels]
            heights = [row * min(max(*counts[at:at + self.columns], 3), 40) for at in range(0, panels, self.columns)]
        entries = self._legend_entries()
        longest = max((len(name) for _, name in entries), default=0)
        ncol = max(1, min(len(entries), int(width / (0.55 + _LETTER * longest)))) if entries else 1
        below = 0.2 * -(-len(entries) // ncol) + 0.06 if entries else 0
        height = sum(heights) + 0.42 * self.rows + (0.25 if figure.style == "bars" else 0.35) + below
        self.drawing = Drawing((width, height), layout="constrained")
        FigureCanvasAgg(self.drawing)
        self.drawing.get_layout_engine().set(rect=(0, below / height, 1, 1 - below / height), w_pad=0.06, h_pad=0.05)
        axes = self.drawing.subplots(self.rows, self.columns, squeeze=False, height_ratios=heights).ravel()
        self.marks = []
        for number, (panel, ax) in enumerate(zip(figure.panels, axes)):
            is_last = number + self.columns >= panels
            ax.set_title(_words(_end(panel.title, int(self.panel_width / _LETTER))))
            (self._bars if figure.style == "bars" else self._map if figure.style == "map" else self._curves)(ax, panel)
            if not is_table:
                ax.tick_params(labelleft=number % self.columns == 0, labelbottom=is_last)
            self.marks += [(ax, shift, point) for shift, points in self._points(panel) for point in points]
        for ax in axes[panels:]:
            ax.remove()
        of_y = figure.y_label if _LETTER * len(figure.y_label) < sum(heights) else figure.y_label.split(" (")[0]
        x_label, y_label = self.drawing.supxlabel(_words(figure.x_label), fontsize="medium"), self.drawing.supylabel(_words(of_y), fontsize="medium")
        if entries:
            self.drawing.legend(*zip(*entries), loc="lower center", ncol=ncol, borderaxespad=0.2)
        self.drawing.draw_without_rendering()
        self.drawing.set_layout_engine("none")
        # Labels in the middle of the panels, above the legend.
        boxes = [ax.get_position() for ax in self.drawing.axes]
        x_label.set_position(((min(box.x0 for box in boxes) + max(box.x1 for box in boxes)) / 2, (below + 0.05) / height))
        y_label.set_y((min(box.y0 for box in boxes) + max(box.y1 for box in boxes)) / 2)

    def _points(self, panel):
        if panel.points:
            return [(0, panel.points)]
        return [(shift, line.points) for line, shift in zip(panel.lines, self._shifts(panel))]

    def _legend_entries(self):
        """Pairs of an artist and its name. A line whose name differs between panels ("sgd, learning-rate 0.01") is listed under
        the common part of its name."""
        entries = {}
        for panel in self.figure.panels:
            for line in panel.lines:
                name, _ = entries.get(line.look, (line.name, line))
                if line.name:
                    entries[line.look] = (name if name == line.name else line.short or name, line)
        handles = [(self._plot(None, [], [], line), _words(name)) for name, line in entries.values()]
        if self.figure.y_limits and self.figure.y_limits[0] <= self.figure.level <= self.figure.y_limits[1]:
            handles.append((Line2D([], [], **_LEVEL), "chance: the commonest class"))
        return handles

    def _plot(self, ax, x, y, line, **more):
        """A line with its look, on the axes or, if there are none, alone for the legend."""
        dashes, marker, filled = LOOKS[line.look]
        color = _LIGHT[f"l{line.look}"]
        drawn = Line2D(
            x, y, color=color, marker="" if line.is_reference else marker, markersize=4.6 if marker == "D" else 5.2,
            markerfacecolor=color if filled else _LIGHT["paper"], markeredgewidth=1, linestyle=(0, dashes) if dashes else "-", **more)
        return drawn if ax is None else ax.add_line(drawn)

    def _span(self):
        """The ends of the x axis, which the panels share, and a function from x to inches along it."""
        figure = self.figure
        to = np.log10 if figure.log_x else float
        values = [to(point.x) for panel in figure.panels for line in panel.lines for point in line.points]
        low, high = (-0.6, len(figure.x_names) - 0.4) if figure.x_names else (min(values), max(values))
        if not figure.x_names:
            # Points drawn side by side must stay within the axis.
            room = max(0.02 if figure.style == "curves" else 0.06, 0.3 / self.panel_width)
            room *= (high - low) or (0.6 if figure.log_x else max(0.2 * abs(low), 1e-9)) / room / 2
            low, high = low - room, high + room
        back = (lambda value: 10**value) if figure.log_x else float
        return back(low), back(high), lambda x: self.panel_width * (to(x) - low) / (high - low)

    def _shifts(self, panel):
        """Offsets of the lines in points: those with few points are drawn side by side, so that intervals do not overlap."""
        lines = [line for line in panel.lines if not line.is_reference]
        has_intervals = [self.figure.shows_intervals and any(point.has_interval for point in line.points) for line in lines]
        if sum(has_intervals) < 2 or self._steps(panel)[1]:
            return [0] * len(panel.lines)
        place = self._span()[2]
        xs = sorted({place(point.x) for line in lines for point in line.points})
        gap = min((b - a for a, b in zip(xs, xs[1:]) if b > a), default=self.panel_width)
        between = min(5, 0.8 * 72 * gap / len(lines))
        return [0 if line.is_reference else between * (lines.index(line) - (len(lines) - 1) / 2) for line in panel.lines]

    def _steps(self, panel):
        """One point in how many is marked, and how far the marked points of one line are from those of the next."""
        if self.figure.style != "curves":
            return 1, 0
        lines = [line for line in panel.lines if not line.is_reference]
        longest = max((len(line.points) for line in lines), default=1)
        most = min(max(int(self.panel_width / 0.42), 3), 12)
        step = max(1, -(-longest // most))
        if len(lines) > 1 and longest > most and longest >= 2 * len(lines):
            step = max(step, len(lines))
            return step, step // len(lines)
        return step, 0

    def _curves(self, ax, panel):
        figure = self.figure
        low, high, place = self._span()
        ax.set(xscale="log" if figure.log_x else "linear", yscale="log" if figure.log_y else "linear")
        ax.set(xlim=(low, high), ylim=figure.y_limits)
        ax.grid(axis="y")
        self._ticks(ax.yaxis, figure.y_limits, figure.log_y)
        self._x_ticks(ax, panel, low, high, place)
        bottom, top = figure.y_limits
        ax.axhline(figure.level, **_LEVEL)
        step, phase = self._steps(panel)
        for number, (line, shift) in enumerate(zip(panel.lines, self._shifts(panel))):
            moved = ax.transData + ScaledTranslation(shift / 72, 0, ax.get_figure().dpi_scale_trans)
            if line.is_reference:
                self._plot(ax, [0, 1], [line.points[0].y] * 2, line, transform=ax.get_yaxis_transform())
                continue
            first = (len(line.points) - 1 - number * phase) % step
            marked = line.points[first::step]
            if figure.shows_intervals:
                bars = [point for point in marked if point.has_interval]
                ax.vlines([point.x for point in bars], [max(point.low, bottom) for point in bars], [min(point.high, top) for point in bars],
                          color=_LIGHT[f"l{line.look}"], linewidth=0.9, transform=moved)
            self._plot(ax, [point.x for point in line.points], [point.y for point in line.points], line,
                       transform=moved, markevery=(first, step), zorder=3)

    def _ticks(self, axis, limits, is_log):
        """Ticks at round numbers; on a log axis at 1, 2 and 5 times powers of ten, or only at the powers if it is long."""
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(_number))
        decades = math.log10(limits[1] / limits[0]) if is_log else 0
        locator = LogLocator(subs=(1, 2, 5) if decades < 2.2 else (1,), numticks=9)
        if is_log and sum(limits[0] <= tick <= limits[1] for tick in locator.tick_values(*limits)) >= 2:
            axis.set_major_locator(locator)
        else:
            axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))

    def _x_ticks(self, ax, panel, low, high, place):
        figure = self.figure
        if figure.x_names:
            self._name_ticks(ax.xaxis, figure.x_names, self.panel_width)
            return
        self._ticks(ax.xaxis, (low, high), figure.log_x)
        # The values themselves are labelled if they are few, short and far enough apart.
        values = sorted({point.x for line in panel.lines if not line.is_reference for point in line.points})
        far = all(place(b) - place(a) > 0.36 for a, b in zip(values, values[1:]))
        if 0 < len(values) <= 12 and far and all(len(number_text(value)) <= 8 for value in values):
            ax.xaxis.set_major_locator(FixedLocator(values))

    def _name_ticks(self, axis, names, width):
        """Ticks with names at 0, 1, ...; long names slant, and some are left out if they would touch."""
        longest = max(map(len, names))
        slants = longest > 4 and _LETTER * longest + 0.08 > width / len(names)
        step = -(-len(names) // max(1, int(width / (0.15 if slants else _LETTER * longest + 0.06))))
        axis.set_ticks(range(0, len(names), step), [_words(name) for name in names[::step]])
        if slants:
            axis.set_tick_params(labelrotation=-30)
            for label in axis.get_ticklabels():
                label.set(ha="left", rotation_mode="anchor")

    def _bars(self, ax, panel):
        values = [point.x for point in panel.points]
        ax.barh([point.y for point in panel.points], values, height=0.7, color=_LIGHT["bar"])
        ax.set(xlim=(0, 1.25 * max(values) if max(values) > 0 else 1), ylim=(len(values) - 0.4, -0.6))
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        ax.xaxis.set_major_formatter(FuncFormatter(_number))
        ax.set_yticks(range(len(values)), [_words(name, int(self.width / 2 / _LETTER)) for name in panel.y_names])
        for point in panel.points:
            ax.annotate(f"{point.x:.0f}" if point.x >= 1000 else f"{point.x:.4g}", (point.x, point.y), (4, 0), textcoords="offset points",
                        va="center")

    def _map(self, ax, panel):
        """Squares shaded from the page's color for 0 to the strongest for the largest value."""
        most = max(point.value for point in panel.points)
        columns, rows = len(self.figure.x_names), len(panel.y_names)
        has_numbers = all(_LETTER * len(f"{point.value:.4g}") < self.panel_width / columns for point in panel.points) and rows <= 40
        for point in panel.points:
            share = max(point.value / most, 0.05) if point.value > 0 else 0  # small values stay visible
            ax.add_patch(Rectangle((point.x - 0.5, point.y - 0.5), 1, 1, facecolor=_LIGHT["most"], alpha=share, linewidth=0))
            if has_numbers and point.value:
                ax.text(point.x, point.y, f"{point.value:.4g}", ha="center", va="center", fontsize=7.2,
                        color=_LIGHT["paper" if share > 0.45 else "ink"])
        ax.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
        self._name_ticks(ax.xaxis, self.figure.x_names, self.panel_width)
        step = -(-rows // 40)
        ax.set_yticks(range(0, rows, step), [_words(name, int(self.width / 3 / _LETTER)) for name in panel.y_names[::step]])

    def saved(self, kind, salt):
        """The bytes of a file of this kind: svg, png or pdf."""
        data = io.BytesIO()
        metadata = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}[kind]
        with matplotlib.rc_context({"svg.hashsalt": salt}):
            self.drawing.savefig(data, format=kind, metadata=metadata, dpi=217)
        return data.getvalue()

    def hover_targets(self):
        """Transparent circles over the points of the SVG, with their texts as titles."""
        width, height = 72 * self.drawing.get_size_inches()
        for ax, shift, point in self.marks:
            x, y = self.drawing.transFigure.inverted().transform(ax.transData.transform((point.x, point.y)))
            numbers = {"x": point.x, "y": point.y, "low": point.low, "high": point.high}
            attributes = "".join(f' data-{name}="{number_text(value)}"' for name, value in numbers.items() if math.isfinite(value))
            yield (f'<circle class="v" cx="{x * width + shift:.2f}" cy="{(1 - y) * height:.2f}" r="4"{attributes}>'
                   f"<title>{escape(point.text)}</title></circle>\n")


def _for_page(svg, label, kind, marks=""):
    """An SVG file as an element of a page: without ids of groups, and with colors that are the page's variables."""
    text = svg.decode()
    text = text[text.index("<svg"):].replace("</svg>", "").rstrip()
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*">', "<g>", text)
    text = re.sub(r"#[0-9a-f]{6}(?=[;\"])", lambda color: _VARIABLES[color[0]], text)
    text = re.sub(r"font: [^;\"]*?([\d.]+px)[^;\"]*", r"font-size: \1", text)
    text = re.sub(r"(\.\d\d)\d+|\s*\n\s*(?=<)|\s+(?=L |z|\")", r"\1", text)
    box = re.search(r'viewBox="[^"]*"', text)[0]
    start = f'<svg class="{kind}" role="img" aria-label="{escape(label)}" {box} xmlns:xlink="http://www.w3.org/1999/xlink">'
    return start + text[text.index(">") + 1:] + marks + "</svg>\n"


def drawn(figure, label, name):
    """Draws a figure that has panels. Returns its SVG elements for the page, one for phones, and {"svg", "png", "pdf": bytes} for
    the files. `label` describes it for people who cannot see it; `name` makes its ids unique."""
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # letters that the font lacks
        broad, narrow = (_Canvas(figure, width) for width in (_WIDTH, _PHONE))
        files = {kind: broad.saved(kind, name) for kind in ("svg", "png", "pdf")}
        page = _for_page(files["svg"], label, "broad", "".join(broad.hover_targets()))
        return page + _for_page(narrow.saved("svg", name + "-narrow"), label, "narrow"), files
