"""Draws figures with matplotlib: SVG for the page, and SVG, PNG and PDF files. The same figure always gives the same bytes."""

import io
import itertools
import math
import re
import warnings
from html import escape

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation

from .labels import one_line
from .text import number_text

# Colors on light pages and in files, and on dark pages.
COLORS = {
    "ink": ("#111111", "#e6e6e6"),
    "paper": ("#ffffff", "#15181c"),
    "soft": ("#444444", "#b4b9c0"),
    "grid": ("#d9d9d9", "#353a41"),
    "panel": ("#f4f4f4", "#1f2329"),
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

# How lines look: color, dashes in line widths, marker, and whether it is filled. Within the first seven, of runs, and the last
# seven, of parts of a run, any two are distinguishable with every kind of color vision, and without color by dash and marker.
_DASHES = [(), (4, 2), (1, 1.25), (4.5, 1.5, 1, 1.5), (2.25, 1.25), (6, 1.5, 1, 1.5, 1, 1.5), (1, 1.5, 1, 3.5)]
LOOKS = list(zip((_LIGHT[f"l{look}"] for look in range(14)), _DASHES * 2, "os^Dsvoo^vDpxs", [1, 1, 1, 1, 0, 1] + [0] * 8))

_WIDTH, _PHONE = 7.0, 3.5  # inches
_LETTER = 0.066  # inches, typical width of a letter
_STYLE = {
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Verdana"], "font.size": 8.6, "svg.fonttype": "none",
    "axes.titlesize": 8.6, "axes.edgecolor": _LIGHT["ink"], "axes.linewidth": 0.7, "axes.spines.top": False,
    "axes.spines.right": False, "axes.axisbelow": True, "axes.facecolor": "none", "pdf.fonttype": 42, "legend.frameon": False,
    "legend.handlelength": 3, "text.color": _LIGHT["ink"], "xtick.color": _LIGHT["ink"], "ytick.color": _LIGHT["ink"],
    "grid.color": _LIGHT["grid"], "grid.linewidth": 0.7, "lines.linewidth": 1.4,
}
_LEVEL = {"color": _LIGHT["soft"], "linewidth": 0.9, "linestyle": (0, (1, 3)), "zorder": 1}


def _words(text, width=56 * _LETTER):
    """Text for matplotlib, which would read text between dollars as formulas; cut to fit the width, in inches."""
    text, most = one_line(text), max(int(width / _LETTER), 4)
    return (text if len(text) <= most else text[:most - 1] + "…").replace("$", r"\$")


def _longest(names):
    """The width of the longest name, in inches."""
    return _LETTER * max(map(len, names), default=0)


def _line2d(x, y, line, **more):
    color, dashes, marker, is_filled = LOOKS[line.look]
    return Line2D(x, y, color=color, linestyle=(0, dashes) if dashes else "-", marker="" if line.is_reference else marker,
                  markersize=4.6, markeredgewidth=1, markerfacecolor=color if is_filled else _LIGHT["paper"], **more)


class _Canvas:
    """A figure being drawn, `width` inches wide."""

    def __init__(self, figure, width):
        self.figure, self.width = figure, width
        panels, is_wide = len(figure.panels), width == _WIDTH
        columns = 1 if panels == 1 or not is_wide else 2 if panels <= 4 else 3
        names = max(_longest(panel.y_names) for panel in figure.panels)
        self.panel_width = (width - 0.5) / columns - min(width / 2, names)
        heights = [(0.5 if not is_wide else (0.38, 0.27, 0.21)[columns - 1]) * width] * -(-panels // columns)
        if figure.style == "map":
            rows = [max(len(panel.y_names) for panel in figure.panels[at:at + columns]) for at in range(0, panels, columns)]
            heights = [(0.2 if columns == 1 else 0.14) * min(max(count, 3), 40) for count in rows]
        legend = self._legend()
        ncol = max(1, min(len(legend), int(width / (0.72 + _longest(name for _, name in legend)))))
        below = 0.2 * -(-len(legend) // ncol) + 0.06
        slanted = min(_longest(figure.x_names), self.panel_width) / 2
        height = sum(heights) + 0.42 * len(heights) + 0.35 + slanted + below
        self.drawing = Drawing((width, height), layout="constrained")
        FigureCanvasAgg(self.drawing)
        self.drawing.get_layout_engine().set(rect=(0, below / height, 1, 1 - below / height), w_pad=0.06, h_pad=0.05)
        axes = self.drawing.subplots(len(heights), columns, squeeze=False, height_ratios=heights).ravel()
        self.marks = []  # axes, offset in points, and Point
        for number, (panel, ax) in enumerate(zip(figure.panels, axes)):
            # The end of a long title has the keys that vary fastest.
            most = int((width / columns - 0.3) / _LETTER)
            title = panel.title if len(panel.title) <= most else "…" + panel.title[1 - most:]
            ax.set_title(_words(title, width), loc="center" if _LETTER * len(title) < self.panel_width else "right")
            (self._curves if panel.lines else self._map)(ax, panel)
            if panel.lines:
                ax.tick_params(labelleft=number % columns == 0, labelbottom=number + columns >= panels)
        for ax in axes[panels:]:
            ax.remove()
        label = figure.y_label if _LETTER * len(figure.y_label) < sum(heights) else figure.y_label.split(" (")[0]
        x_label = self.drawing.supxlabel(_words(figure.x_label, width), fontsize="medium")
        y_label = self.drawing.supylabel(_words(label), fontsize="medium")
        if legend:
            self.drawing.legend(*zip(*legend), loc="lower center", ncol=ncol, borderaxespad=0.2)
        self.drawing.draw_without_rendering()
        self.drawing.set_layout_engine("none")
        # Labels in the middle of the panels, above the legend.
        boxes = [ax.get_position() for ax in axes[:panels]]
        x_label.set_position(((min(box.x0 for box in boxes) + max(box.x1 for box in boxes)) / 2, (below + 0.05) / height))
        y_label.set_y((min(box.y0 for box in boxes) + max(box.y1 for box in boxes)) / 2)

    def _legend(self):
        """Pairs of an artist and its name."""
        lines = {(line.look, line.name): line for panel in self.figure.panels for line in panel.lines if line.name}
        legend = [(_line2d([], [], line), _words(line.name, self.width - 0.7)) for line in lines.values()]
        if self.figure.y_limits and self.figure.y_limits[0] <= self.figure.level <= self.figure.y_limits[1]:
            legend.append((Line2D([], [], **_LEVEL), "chance: the commonest class"))
        return legend

    def _place(self, x):
        """x on the axis, in inches."""
        (low, high), to = self.x_limits, math.log10 if self.figure.log_x else float
        return self.panel_width * (to(x) - to(low)) / (to(high) - to(low))

    def _set_x_limits(self):
        """Sets the ends of the x axis, which the panels share."""
        figure = self.figure
        to, back = (math.log10, lambda value: 10**value) if figure.log_x else (float, float)
        values = [to(point.x) for panel in figure.panels for point in panel.all_points()]
        low, high = min(values), max(values)
        # Points drawn side by side must stay within the axis.
        room = 0.3 / self.panel_width * (high - low) or (0.3 if figure.log_x else max(0.1 * abs(low), 1e-9))
        self.x_limits = (-0.6, len(figure.x_names) - 0.4) if figure.x_names else (back(low - room), back(high + room))

    def _spacing(self, lines):
        """Keeps markers and intervals of a panel's lines apart. Returns one point in how many is marked, how many points
        further the next line's marks are, and by how much (in 1/72 inch) lines with few points are moved aside."""
        longest, count = max(len(line.points) for line in lines), len(lines)
        most = min(max(int(self.panel_width / 0.42), 3), 12)
        step = max(1, -(-longest // most)) if self.figure.style == "curves" else 1
        if step > 1 and longest >= 2 * count > 2:
            return max(step, count), max(step, count) // count, 0
        has_intervals = [any(point.has_interval for point in line.points) for line in lines]
        places = sorted({self._place(point.x) for line in lines for point in line.points})
        gap = min((after - before for before, after in zip(places, places[1:])), default=self.panel_width)
        return step, 0, min(5, 58 * gap / count) if self.figure.shows_intervals and sum(has_intervals) > 1 else 0

    def _curves(self, ax, panel):
        figure, (bottom, top) = self.figure, self.figure.y_limits
        self._set_x_limits()
        ax.set(xscale="log" if figure.log_x else "linear", yscale="log" if figure.log_y else "linear")
        ax.set(xlim=self.x_limits, ylim=figure.y_limits)
        ax.grid(axis="y")
        ax.axhline(figure.level, **_LEVEL)
        self._number_ticks(ax.yaxis, figure.y_limits, figure.log_y, 5)
        lines = [line for line in panel.lines if not line.is_reference]
        if figure.x_names:
            self._name_ticks(ax.xaxis, figure.x_names)
        else:
            self._number_ticks(ax.xaxis, self.x_limits, figure.log_x, int(self.panel_width / 0.5))
            # The values themselves are labelled if they are few and far enough apart.
            values = sorted({point.x for line in lines for point in line.points})
            if all(self._place(after) - self._place(before) > 0.4 for before, after in zip(values, values[1:])) and values:
                ax.xaxis.set_major_locator(FixedLocator(values))
        step, phase, between = self._spacing(lines) if lines else (1, 0, 0)
        numbers = itertools.count()
        for line in panel.lines:
            if line.is_reference:
                ax.add_line(_line2d([0, 1], [line.points[0].y] * 2, line, transform=ax.get_yaxis_transform()))
                self.marks += [(ax, 0, point) for point in line.points]
                continue
            number = next(numbers)
            first, shift = (len(line.points) - 1 - number * phase) % step, between * (number - (len(lines) - 1) / 2)
            moved = ax.transData + ScaledTranslation(shift / 72, 0, ax.get_figure().dpi_scale_trans)
            bars = [point for point in line.points[first::step] if figure.shows_intervals and point.has_interval]
            low, high = [max(point.low, bottom) for point in bars], [min(point.high, top) for point in bars]
            ax.vlines([point.x for point in bars], low, high, LOOKS[line.look][0], linewidth=0.9, transform=moved)
            ax.add_line(_line2d([point.x for point in line.points], [point.y for point in line.points], line, zorder=3,
                                transform=moved, markevery=(first, step)))
            self.marks += [(ax, shift, point) for point in line.points]

    @staticmethod
    def _number_ticks(axis, limits, is_log, most):
        """Up to `most` ticks at round numbers; on a log axis at 1, 2, 5 times powers of ten or, if it is long, at the powers."""
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
        is_long = is_log and limits[1] > 150 * limits[0]
        locator = LogLocator(subs=(1,) if is_long else (1, 2, 5), numticks=9)
        has_ticks = is_log and sum(limits[0] <= tick <= limits[1] for tick in locator.tick_values(*limits)) > 1
        axis.set_major_locator(locator if has_ticks else MaxNLocator(min(max(most, 1), 6), steps=[1, 2, 5, 10]))

    def _name_ticks(self, axis, names):
        """Ticks with names at 0, 1, ...; long names slant, and some are left out if they would touch."""
        width, longest = self.panel_width, _longest(names)
        slants = longest > 4 * _LETTER and longest + 0.08 > width / len(names)
        step = -(-len(names) // max(1, int(width / (0.15 if slants else longest + 0.06))))
        axis.set_ticks(range(0, len(names), step), [_words(name, max(width / 2, 0.7)) for name in names[::step]])
        for label in axis.get_ticklabels() if slants else []:
            label.set(rotation=-30, ha="left", rotation_mode="anchor")

    def _map(self, ax, panel):
        """Squares shaded from the page's color for 0 to the strongest for the largest value."""
        most, columns = max(point.value for point in panel.points), self.figure.x_names
        texts = [f"{point.value:.4g}" if point.value else "" for point in panel.points]
        fits = _longest(texts) < self.panel_width / len(columns) and len(panel.y_names) <= 40
        for point, text in zip(panel.points, texts):
            if not text:
                continue
            share = max(point.value / most, 0.05)  # small values stay visible
            ax.add_patch(Rectangle((point.x - 0.5, point.y - 0.5), 1, 1, facecolor=_LIGHT["most"], alpha=share, linewidth=0))
            if fits:
                color = _LIGHT["paper" if share > 0.45 else "ink"]
                ax.text(point.x, point.y, text, ha="center", va="center", fontsize=7.2, color=color)
        self.marks += [(ax, 0, point) for point in panel.points]
        rows, step = len(panel.y_names), -(-len(panel.y_names) // 40)
        ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(rows - 0.5, -0.5))
        ax.set_yticks(range(0, rows, step), [_words(name, self.width / 2) for name in panel.y_names[::step]])
        self._name_ticks(ax.xaxis, columns)

    def saved(self, kind, salt):
        """The bytes of a file of this kind: svg, png or pdf. `salt` makes the ids of an SVG its own."""
        data = io.BytesIO()
        metadata = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}[kind]
        self.drawing.dpi = 217 if kind == "png" else 72
        canvas = {"svg": FigureCanvasSVG, "png": FigureCanvasAgg, "pdf": FigureCanvasPdf}[kind](self.drawing)
        with matplotlib.rc_context({"svg.hashsalt": salt}):
            getattr(canvas, f"print_{kind}")(data, metadata=metadata)  # savefig would draw twice
        return data.getvalue()

    def hover_targets(self):
        """Transparent circles over the points of the SVG, with their numbers, and their texts as titles."""
        width, height = 72 * self.drawing.get_size_inches()
        for ax, shift, point in self.marks:
            x, y = self.drawing.transFigure.inverted().transform(ax.transData.transform((point.x, point.y)))
            numbers = {"x": point.x, "y": point.y, "low": point.low, "high": point.high}
            data = "".join(f' data-{name}="{number_text(value)}"' for name, value in numbers.items() if math.isfinite(value))
            yield (f'<circle class="v" cx="{x * width + shift:.2f}" cy="{(1 - y) * height:.2f}" r="4"{data}>'
                   f"<title>{escape(point.text)}</title></circle>\n")


def _for_page(svg, label, kind, marks=""):
    """An SVG file as an element of a page: without ids of groups, and with colors that are the page's variables."""
    text = svg.decode()
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", text[text.index("<svg"):], flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*(?=<)", "", text)

    def tag(found):
        tag = re.sub(r'^<g id="[^"]*"', "<g", found[0])
        tag = re.sub(r"#[0-9a-f]{6}(?=[;\"])", lambda color: _VARIABLES[color[0]], tag)
        tag = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", tag)
        return re.sub(r"(\.\d\d)\d+|\s+(?=L |z|\")", r"\1", tag)  # shorter, and looks the same

    text = re.sub(r"<[^>]*>", tag, text)
    box = re.search(r'viewBox="[^"]*"', text)[0]
    start = f'<svg class="{kind}" role="img" aria-label="{escape(label)}" {box} xmlns:xlink="http://www.w3.org/1999/xlink">'
    return start + text[text.index(">") + 1:].removesuffix("</svg>\n").removesuffix("</svg>") + marks + "</svg>\n"


def drawn(figure, label, name):
    """Draws a figure that has panels. Returns its SVG elements for the page, one of them for phones, and its files, {"svg",
    "png", "pdf": bytes}. `label` describes it for people who cannot see it; `name` makes its ids unique."""
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # letters that the font lacks
        broad, narrow = (_Canvas(figure, width) for width in (_WIDTH, _PHONE))
        files = {kind: broad.saved(kind, name) for kind in ("svg", "png", "pdf")}
        page = _for_page(files["svg"], label, "broad", "".join(broad.hover_targets()))
        return page + _for_page(narrow.saved("svg", name + "-narrow"), label, "narrow"), files
