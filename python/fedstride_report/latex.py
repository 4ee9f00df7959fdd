"""LaTeX tables of results (booktabs): means, 95 % intervals, and paired tests against the best."""

import re

from .grids import note_sentences, result_grids
from .labels import one_line, title_of_metric
from .settings import fixed_settings, settings_of_methods

_MAX_COLUMNS = 5  # that fit side by side on a page
_ALWAYS_SAID = ("batch", "classes-per-client", "clients", "local-epochs", "partition", "rounds")  # which a reader of the paper needs even at their defaults

_HEAD = (r"% Made by fedstride report --latex. In the preamble: \usepackage{booktabs}; here: \input{FILE}." + "\n"
         r"% Figures: \includegraphics[width=\linewidth]{FIGURE.pdf}, from the folder beside the page." + "\n")
_CODES = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
          ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", **{sign: "\\" + sign for sign in "{}$&#_%"}}


def latex_text(text):
    """The text escaped for LaTeX. Non-ASCII letters stay unchanged (UTF-8 through inputenc)."""
    return "".join(_CODES.get(sign, sign) for sign in one_line(text))


def _number(text):
    """A number for math mode: 1.0e-05 becomes 1.0 \\times 10^{-5}."""
    return re.sub(r"e([-+]\d+)", lambda power: rf" \times 10^{{{int(power[1])}}}", text)


def _cell(cell):
    """A cell fills two LaTeX columns, so that all means end, and all intervals begin, at the same position."""
    if not cell.mean or cell.mean == "never":
        return (cell.mean or "--") + " &"
    mean, star = _number(cell.mean), "^{*}" if cell.is_worse else ""
    text = rf"$\mathbf{{{mean}}}$ &" if cell.is_best else f"${mean}$ &"
    if cell.half:
        return rf"{text} ${{}} \pm {_number(cell.half)}{star}$"
    if cell.ends:
        ends = _number(cell.ends).replace(" to ", r"\mathrm{~to~}")
        return rf"{text} ${{}} \; ({ends}){star}$"
    return f"{text} ${star}$" if star else text


def _spanning(columns, text):
    return rf"\multicolumn{{{2 * columns}}}{{c}}{{{latex_text(text).replace('–', '--')}}}"


def _tabular(grid, first):
    """A table of the grid's columns from `first` on, as many as fit."""
    columns, cells = (all[first:first + _MAX_COLUMNS] for all in (grid.columns, grid.cells))
    left = len(grid.row_keys)
    lines = []
    for spans in grid.header(first, first + _MAX_COLUMNS):
        lines.append("& " * left + " & ".join(_spanning(columns, text) for text, columns in spans) + r" \\")
        rules, at = "", left + 1
        for _, spanned in spans:
            rules += rf"\cmidrule(l){{{at}-{at + 2 * spanned - 1}}}"
            at += 2 * spanned
        lines.append(rules)
    lines.append("".join(latex_text(key) + " & " for key in grid.row_keys)
                 + " & ".join(_spanning(1, column[-1] or "–") for column in columns) + r" \\")
    lines.append(r"\midrule")
    for number, row in enumerate(grid.rows):
        texts = [latex_text(text) for text in row] + [_cell(column[number]) for column in cells]
        lines.append(" & ".join(texts) + r" \\")
    form = "".join("r" if grid.is_numeric(key) else "l" for key in range(left)) + "r@{}l" * len(columns)
    return "\n".join([rf"\begin{{tabular}}{{@{{}}{form}@{{}}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}", ""])


def _caption(sweep, grid):
    """At most three lines; the appendix has the rest."""
    title = sweep.experiment["title"] or sweep.experiment["name"]
    title += f": {title_of_metric(grid.metric)}" if grid.metric else ""
    title += "" if title.endswith(".") or not title else "."
    return latex_text(" ".join(filter(None, (title, grid.caption)))).replace("±", r"$\pm$")


def _broken(text):
    """A cell's text, which may break after the signs that join words of code and paths."""
    text = re.sub(r"(?=\w*\d)[a-zA-Z\d]{6}(?=[a-zA-Z\d]{6})", "\\g<0>\ue000", text)  # TeX does not hyphenate words with digits
    text = re.sub(r"(\\_|[-=,/:;.])(?=\w)", "\\1\ue000", latex_text(text))
    return r"\raggedright\hspace{0pt}" + text.replace("\ue000", r"\allowbreak{}")


def _listed(heads, rows):
    """A plain table whose cells may break over lines."""
    lines = [" & ".join(map(_broken, line)) + r" \tabularnewline" for line in (heads, *rows)]
    width = rf"p{{\dimexpr(\linewidth-{2 * (len(heads) - 1)}\tabcolsep)/{len(heads)}\relax}}"
    return "\n".join([rf"\begin{{tabular}}{{@{{}}{width * len(heads)}@{{}}}}", r"\toprule", lines[0], r"\midrule", *lines[1:],
                      r"\bottomrule", r"\end{tabular}", ""])


def _appendix(sweep, grids, number):
    """What the captions leave out: how to read the tables, what methods and conditions resolve to, and the settings that all share."""
    text = "\n% For an appendix.\n\\begin{table}\n\\centering\\footnotesize\n"
    text += f"\\caption{{Settings of Table~\\ref{{tab:fedstride-{_label(grids[0], number)}}}.}}\n"
    text += f"\\label{{tab:fedstride-{number}-settings}}\n\\vspace{{1ex}}\n"
    text += "".join(_listed(heads, rows) + "\\\\[1ex]\n" for heads, *rows in settings_of_methods(sweep))
    shared = [(one.key, one.value) for one in fixed_settings(sweep) if not one.is_default or one.key in _ALWAYS_SAID]
    text += _listed(("in all cells", ""), shared) + "\\\\[1ex]\n" if shared else ""
    note = latex_text(" ".join(note_sentences(grids))).replace("±", r"$\pm$")
    return text + f"\\parbox{{\\linewidth}}{{{note}}}\n\\end{{table}}\n"


def _label(grid, number):
    return f"{number}-{grid.metric.replace('_', '-')}" if grid.metric else f"{number}"


def latex_tables(sweeps):
    """LaTeX tables, to be included with \\input: one for each grid of a sweep (grids.py), with a row for each method and a
    column for each condition."""
    text = _HEAD
    for number, sweep in enumerate(sweeps, 1):
        grids = result_grids(sweep)
        if not grids:
            text += f"\n% {latex_text(sweep.experiment['name'])}: no finished cell\n"
        for grid in grids:
            text += "\n\\begin{table}\n\\centering\\footnotesize\\setlength{\\tabcolsep}{4pt}\n"
            text += f"\\caption{{{_caption(sweep, grid)}}}\n\\label{{tab:fedstride-{_label(grid, number)}}}\n\\vspace{{1ex}}\n"
            parts = [_tabular(grid, first) for first in range(0, len(grid.columns), _MAX_COLUMNS)]
            text += "\\\\[1ex]\n".join(parts) + "\\end{table}\n"
        text += _appendix(sweep, grids, number) if grids else ""
    return text
