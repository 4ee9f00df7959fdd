"""One self-contained page about sweeps or runs: the main table, figures and claims with outcomes; the rest is folded.

Each function below that begins with an underscore and has no other purpose yields a part of the page as blocks, pairs of a kind
and its content, which page_template.py shows: "h1" to "h3", "p", "note", "winner" and "pre" with a text, "list" with texts,
"settings" with pairs, "links", "table" with a Table, "figure", and "folded" with a title and blocks.
"""

import math
import os
from collections import namedtuple
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from . import drawing
from .figures import Looks, figures_of
from .grids import Format, half_and_ends, note_sentences, result_grids, result_sentences
from .labels import metric_label, number_of, title_of_metric
from .model import grouped
from .page_template import PAGE
from .settings import fixed_settings, settings_of_methods, varying_keys
from .statistics import best_lowest, interval_method
from .text import Failure, counted, is_bound, number_text, point_text, rounded_up, short_number, write_file

_MAX_LISTED = 500  # rows of a table, commands of a list
_MAX_VALUES = 12  # of a swept key
_MAX_COLUMNS = 10  # of the configurations of commands other than run
_MAIN_COLUMNS = (
    "test_accuracy test_r2 test_loss validation_accuracy validation_r2 validation_loss worst_client_accuracy own_accuracy "
    "own_accuracy_worst_tenth own_r2 own_r2_worst_tenth personal_accuracy personal_accuracy_worst_tenth personal_r2 "
    "personal_r2_worst_tenth backdoor_success rejected_share epsilon_spent delta_spent client_epsilon_spent client_delta_spent "
    "rounds_done").split()
_DIGIT = "\u2007"  # a space as wide as a digit

Cell = namedtuple("Cell", "text kind title span", defaults=("", "", 1))


Table = namedtuple("Table", "heads rows")  # lists of lines of Cells


def _texts(*texts):
    return [Cell(text) for text in texts]


def _numeric(text):
    """The class of a text's cell."""
    return "n" if number_of(text) is not None else ""


def _rest(all, what, where):
    if len(all) > _MAX_LISTED:
        yield "note", f"The first {_MAX_LISTED} of {len(all)} {what}; see {where} for all."


def _interval(half, ends):
    """An interval as GridCell has it, after its mean."""
    return f" ± {half}" if half else f" ({ends})" if ends else ""


def _folded(title, blocks):
    if blocks := list(blocks):
        yield "folded", (title, blocks)


def _folded_table(title, table):
    return _folded(title, [("table", table)] if table.rows else [])


def _title(sweep):
    return sweep.experiment["title"] or sweep.experiment["name"]


def _heading(sweep, level):
    experiment, statuses = sweep.experiment, [cell.status for cell in sweep.cells]
    yield level, _title(sweep)
    for name, start in (("source", "Source: "), ("claim", "Claim: "), ("note", "")):
        if experiment[name]:
            yield "p", start + experiment[name]
    state = f"{statuses.count('finished')} of {counted(len(statuses), 'cell')} {'is' if len(statuses) == 1 else 'are'} finished"
    for status, word in (("unfinished", "unfinished"), ("failed", "failed"), ("missing", "not run")):
        state += f", {statuses.count(status)} {word}" if status in statuses else ""
    yield "p", state + (f"; scale: {experiment['scale']}." if experiment["scale"] else ".")
    if experiment["scale"] == "quick":
        yield "note", "Small settings that show that everything works; they are not those of the source."


def _grid(grid):
    """A table of results."""
    left = len(grid.row_keys)
    table = Table([[*_texts("") * left, *(Cell(text, "n", "", span) for text, span in line)] for line in grid.header()], [])
    table.heads.append([*_texts(*grid.row_keys), *(Cell(column[-1] or "–", "n") for column in grid.columns)])
    for number, row in enumerate(grid.rows[:_MAX_LISTED]):
        line = [Cell(text, _numeric(text)) for text in row]
        for column in grid.cells:
            cell = column[number]
            star = "*" if cell.is_worse else _DIGIT if any(one.is_worse for one in column) else ""
            shown = f"{cell.mean or '–'}{_interval(cell.half, cell.ends)}{star}"
            line.append(Cell(shown, "n best" if cell.is_best else "n", cell.detail))
        table.rows.append(line)
    return table


def _titled(grid):
    if grid.metric:
        yield "h3", title_of_metric(grid.metric)
    yield "table", _grid(grid)
    yield from _rest(grid.rows, "rows", "summary.csv")
    if grid.caption:
        yield "note", grid.caption


def _results(sweep, grids):
    """Who won, and the main metric's table."""
    sentences = result_sentences(sweep)
    if not grids:
        return
    yield "h2", "Results"
    yield from (("winner", sentence) for sentence in sentences[:1])
    if sentences[1:]:
        yield "list", sentences[1:]
    yield from _titled(grids[0])


def _more_results(sweep, grids):
    """How to read the tables, the other metrics' tables, and what methods and conditions resolve to."""
    if grids:
        yield from _folded("How to read the tables", [("list", note_sentences(grids))])
    yield from _folded("Other metrics", [block for grid in grids[1:] for block in _titled(grid)])
    yield from _folded("Settings of methods and conditions", [
        ("table", Table([_texts(*heads)], [[Cell(text, _numeric(text)) for text in row] for row in rows]))
        for heads, *rows in settings_of_methods(sweep)])


def _remarks(sweep):
    """On rounds in which no step was kept, with advice."""
    idle = [cell for cell in sweep.cells if cell.numbers.get("idle_rounds", 0) > 0]
    if idle:
        rounds = counted(int(idle[0].numbers.get("rounds_done", 0)), "round")
        first = f"{point_text(idle[0].point)}: {number_text(idle[0].numbers['idle_rounds'])} of {rounds}"
        yield "note", (f"In {counted(len(idle), 'cell')} no client kept a step in some rounds ({first}; see idle_rounds in "
                       "cells.csv). Lower --learning-rate, or use an optimizer that never undoes steps (--optimizer sgd).")


def _claims(sweep):
    table = Table([_texts("expectation", "result", "numbers", "reason")], [])
    for one in sweep.claims:
        result = Cell(f"{ {'holds': '✓', 'fails': '✗'}.get(one['status'], '–')} {one['status']}", "status")
        reason = one["reason"] if one["status"] == "fails" else ""
        table.rows.append([Cell(one["claim"]), result, *_texts(one["text"], reason)])
    if table.rows:
        yield from (("h2", "Expectations"), ("table", table))


def _configurations(sweep):
    """Every configuration's results after the last round, with the best and second best of tuned configurations marked."""
    rows = sweep.summary[sweep.summary["round"].isna() & sweep.summary["client"].isna()]
    known = set(rows["metric"])
    if not rows.loc[rows["metric"] == "rejected_share", "mean"].any():  # no optimizer here undoes steps
        known.discard("rejected_share")
    main = [name for name in _MAIN_COLUMNS if name in known and sweep.experiment["command"] == "run"]
    columns = main or sorted(known)[:_MAX_COLUMNS]
    groups = {key: {row.metric: row for row in some.itertuples()} for key, some in rows.groupby("configuration", sort=False)}
    keys, tuned = [key for key in sweep.swept_keys if key != "seed"], sweep.experiment["tuning"]["keys"]
    heads = [Cell(name, "n", metric_label(name)) for name in columns]
    forms = {metric: Format(list(some.itertuples()), metric) for metric, some in rows.groupby("metric")}
    table = Table([[*_texts(*keys), *heads, Cell("n", "n"), Cell("rank" if tuned else "")]], [])
    for configuration, metrics in list(groups.items())[:_MAX_LISTED]:
        point = sweep.point_of[configuration]
        rank = next(iter(metrics.values())).rank if any(key in point for key in tuned) else 0
        mark = {1: " best", 2: " second"}.get(rank, "")
        line = [Cell(point.get(key, ""), _numeric(point.get(key, "")) + mark) for key in keys]
        for name in columns:
            one, text = metrics.get(name), forms[name]
            if one and one.high > one.low:
                shown = text(one.mean) + _interval(*half_and_ends(one, name, text))
            else:
                shown = short_number(one.mean, name) + (" ± 0" if one.n > 1 else "") if one else ""
            line.append(Cell(shown, "n" + mark, number_text(one.mean) if one else ""))
        seeds = max(one.n for one in metrics.values())
        table.rows.append([*line, Cell(seeds, "n"), Cell({0: "", 1: "best", 2: "second best"}.get(rank, rank))])
    note = f"Mean over n seeds ± half the width of its 95 % interval, or its ends in parentheses ({interval_method(columns)})."
    blocks = [("table", table), ("note", note), *_tuning(sweep), *_rest(groups, "configurations", "summary.csv")]
    yield from _folded("Configurations", blocks if groups else [])


def _spent(cell):
    """Yields the level ("example", "user" or "client"), epsilon and delta of each kind of privacy that the run has spent, even
    if it is unfinished or its statement has no epsilon."""
    for kind, prefix in (("example", ""), ("client", "client_")):
        if f"privacy_{kind}" in cell.texts or prefix + "epsilon_spent" in cell.numbers:
            numbers = (cell.numbers.get(prefix + name, math.inf) for name in ("epsilon_spent", "delta_spent"))
            yield cell.text(f"privacy_{kind}_level") or kind, *numbers


def _cost_of_looking(sweep):
    """The total privacy cost of reading the results of all private runs, by basic composition."""
    text = ""
    of_level = grouped((spent for cell in sweep.cells for spent in _spent(cell)), lambda spent: spent[0])
    for runs in sorted(of_level, key=lambda runs: ("example", "user", "client").index(runs[0][0])):
        level, epsilon, delta = runs[0][0], *(sum(numbers) for numbers in list(zip(*runs))[1:])
        who = "the private run" if len(runs) == 1 else f"all {len(runs)} private runs together"
        bound = "no proven epsilon"
        if epsilon < math.inf and delta < 1:
            bound = f"an epsilon of at most {rounded_up(epsilon)} at delta {rounded_up(delta)}"
        text += f" The results of {who} have {bound} at {level} level."
    return text


def _tuning(sweep):
    """On the marks of tuned configurations."""
    tuning = sweep.experiment["tuning"]
    if tuning["keys"]:
        extreme = "lowest" if best_lowest(tuning["metric"]) else "highest"
        why = "; " + tuning["why"] if tuning["why"] else ""
        keys = ", ".join(tuning["keys"])
        yield "note", (f"Best and second best {keys}: by the {extreme} {tuning['metric']} on the {tuning['on']} set after the "
                       f"last round, mean over seeds{why}. A result reported on the data that it was chosen on is optimistic, "
                       "the more so the more candidates there were.")


def _notes(sweep):
    """On the meaning of epsilon."""
    if cost := _cost_of_looking(sweep):
        yield "note", (f"No epsilon on this page includes the cost of choices made on private data.{cost} fedstride sweep "
                       "--accounted shows only the winner, with a statement that covers the choice.")
    finished = [cell for cell in sweep.cells if cell.status == "finished"]
    if any(cell.text("randomness") != "secret" for cell in finished if any(_spent(cell))):
        yield "note", ("These runs drew their noise from a published seed: every epsilon is that of the mechanism with a "
                       "secret seed.")
    for plain, assumptions in list(dict.fromkeys(one for cell in finished for one in cell.statements))[:10]:
        yield "note", f"Privacy: {plain}"
        yield "folded", ("What this assumes, and what is not covered", [("list", assumptions)])
    if sweep.left_out:
        yield "note", sweep.left_out


def _unfinished(sweep):
    rows = []
    for cell in sweep.cells:
        if cell.status != "finished":
            status = Cell("not run" if cell.status == "missing" else cell.status, "status")
            rows.append([Cell(point_text(cell.point)), status, Cell(cell.error)])
    table = Table([_texts("cell", "status", "reason")], rows[:_MAX_LISTED])
    yield from _folded("Cells without results", [("table", table), *_rest(rows, "cells", "cells.csv")] if rows else [])


def _settings(sweep):
    """The settings that vary, and the settings that all configurations share, with defaults apart."""
    varied = []
    for key in sweep.swept_keys:
        if values := list(dict.fromkeys(cell.point[key] for cell in sweep.cells if key in cell.point)):
            more = f" and {len(values) - _MAX_VALUES} more" if len(values) > _MAX_VALUES else ""
            varied.append((key, ", ".join(values[:_MAX_VALUES]) + more))
    fixed = [one for one in fixed_settings(sweep) if not any(one.key in cell.point for cell in sweep.cells)]
    shared, defaults = ([one[:2] for one in fixed if one.is_default == is_default] for is_default in (False, True))
    for title, pairs in (("Varied settings", varied), ("Settings that all cells share, but not the defaults", shared),
                         ("Defaults", defaults)):
        yield from _folded(title, [("settings", pairs)] if pairs else [])
    if "run" in sweep.swept_keys:  # runs that are named by folder
        own = [told.get("settings") or {} for told in sweep.told["cells"]]
        keys = sorted(varying_keys(own))
        rows = [_texts(cell.value("run"), *(one.get(key, "") for key in keys)) for cell, one in zip(sweep.cells, own) if keys]
        yield from _folded_table("Settings that differ", Table([_texts("run", *keys)], rows))


def _machine(sweep):
    """Each cell's own build, the machine of the last process that wrote to the sweep, and the time of all cells on it."""
    facts = dict(sorted(sweep.machine.items()))
    for key in ("version", "commit", "compiler", "instruction_set", "numerics_version", "data_hash"):
        if values := sorted({cell.texts[key] for cell in sweep.cells if key in cell.texts})[:5]:
            facts[key] = ", ".join(values)
    for key, name in (("seconds", "training and averaging"), ("evaluation_seconds", "evaluation")):
        if seconds := [cell.numbers[key] for cell in sweep.cells if key in cell.numbers]:
            facts[name] = f"{sum(seconds):.4g} s, over {counted(len(seconds), 'cell')}"
    rows = [_texts(name.replace("_", " "), value) for name, value in facts.items()]
    yield from _folded_table("Machine and program", Table([], rows))


def _files(sweep, folder):
    """The commands, the experiment file (or a run's configuration), and links to the CSV files from a page in `folder`."""
    commands = [cell.command for cell in sweep.cells if cell.command]
    if commands:
        listed = [("pre", "\n".join(commands[:_MAX_LISTED])), *_rest(commands, "commands", "cells.csv")]
        yield from _folded("Commands that reproduce each cell", listed)
    if not sweep.folder.name:  # runs joined
        return
    file = sweep.folder / ("config.toml" if sweep.is_run else "experiment.toml")
    if file.exists():
        yield from _folded("Experiment file", [("pre", file.read_text(errors="replace"))])
    names = ("cells.csv", "rounds.csv", "clients.csv", "summary.csv", "expectations.csv")
    links = {name: _link(sweep.folder.absolute() / name, folder) for name in names if (sweep.folder / name).exists()}
    yield from _folded("Tables as CSV files", [("links", links)] if links else [])


def _link(path, folder):
    """A link target to a path from a page in a folder."""
    return quote(os.path.relpath(path, folder), safe="/~")


def _figure(figure, name, files, folder):
    """A figure's block; writes its files to the folder `files` unless it is None."""
    shown = {"title": figure.title, "caption": figure.caption, "svg": "", "links": {}}
    if figure.panels:
        panels = "".join(f" {panel.title}." for panel in figure.panels if panel.title)
        svg, contents = drawing.drawn(figure, f"{figure.title}.{panels} {figure.caption}", name)
        shown["svg"] = Markup(svg)
        for kind, content in contents.items() if files else ():
            files.mkdir(parents=True, exist_ok=True)
            write_file(files / f"{name}.{kind}", content)
            shown["links"][f"{name}.{kind}"] = _link(files / f"{name}.{kind}", folder)
    return "figure", shown


def _colors():
    """CSS rules that define all colors as variables for light pages and paper, and for dark pages."""
    light, dark = (" ".join(f"--{name}: {pair[dark]};" for name, pair in drawing.COLORS.items()) for dark in (0, 1))
    # Dark colors are only for screens: paper is always white.
    return (f":root {{ color-scheme: light dark; {light} }}\n"
            f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}")


def write_page(sweeps, out):
    """Writes the page to `out`; it embeds its figures as SVG. A folder beside it has them as SVG, PNG and PDF files
    (results-figures/ for results.html), unless `out` is not a regular file. Raises Failure."""
    page = out.absolute()
    if page.is_dir() or not page.parent.is_dir():
        raise Failure(f"cannot write '{out}': {'it is a folder' if page.is_dir() else 'its folder does not exist'}")
    files = page.parent / f"{page.stem}-figures" if page.is_file() or not page.exists() else None
    looks, sections = Looks(), []  # one look for a thing throughout the page
    for number, sweep in enumerate(sweeps, 1):
        figures = figures_of(sweep)
        for panel in (panel for figure in figures for panel in figure.panels):
            looks.assign(panel)
        start = f"sweep{number}-figure" if len(sweeps) > 1 else "figure"
        drawn = [_figure(figure, f"{start}{place}", files, page.parent) for place, figure in enumerate(figures, 1)]
        grids = result_grids(sweep)
        sections.append((_title(sweep), [
            *_heading(sweep, "h2" if len(sweeps) > 1 else "h1"), *_results(sweep, grids), *_remarks(sweep),
            *[("h2", "Figures")] * bool(drawn), *drawn, *_claims(sweep), *_notes(sweep), *_more_results(sweep, grids),
            *_configurations(sweep), *_unfinished(sweep), *_settings(sweep), *_machine(sweep), *_files(sweep, page.parent)]))
    title = "; ".join(name for name, _ in sections) if len(sections) <= 3 else f"{len(sections)} sweeps"
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    write_file(page, environment.from_string(PAGE).render(title=title, colors=_colors(), sections=sections))
