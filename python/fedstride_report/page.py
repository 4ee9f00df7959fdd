"""One self-contained page about sweeps or runs: claims with outcomes, figures, tables, settings, machine and commands."""

import math
import os
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from . import drawing
from .figures import Looks, figures_of
from .grids import result_grids, result_sentences
from .labels import metric_label, number_of, title_of_metric
from .page_template import PAGE
from .settings import fixed_settings
from .statistics import best_lowest
from .text import Failure, counted, number_text, point_text, write_file

MAX_LISTED = 500  # rows of a table, commands of a list
_MAX_REMARKS = 20
_MAX_VALUES = 12  # of a swept key
_MAX_COLUMNS = 10  # of the configurations of commands other than run
_OPEN_ROWS = 12  # a longer table of configurations is folded: the table of results already has the main numbers
_MAIN_COLUMNS = (
    "test_accuracy test_r2 test_loss validation_accuracy validation_r2 validation_loss worst_client_accuracy own_accuracy "
    "own_accuracy_worst_tenth own_r2 own_r2_worst_tenth personal_accuracy personal_accuracy_worst_tenth personal_r2 "
    "personal_r2_worst_tenth backdoor_success rejected_share epsilon_spent delta_spent client_epsilon_spent client_delta_spent "
    "rounds_done").split()


def number_for_people(value):
    """Text such as "0.4421": four digits, or all of a whole number."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e15 and value == int(value) else f"{value:.4g}"


def spread_for_people(mean, spread):
    """Text such as "0.4421 ± 0.0032", with as many digits as the spread justifies: two. A NaN spread is omitted."""
    if not math.isfinite(spread):
        return number_for_people(mean)
    if spread == 0:
        return number_for_people(mean) + " ± 0"
    place = math.floor(math.log10(spread)) - 1
    if place < -6 or (place >= 0 and abs(mean) >= 1e15):
        return f"{mean:.4g} ± {spread:.2g}"
    return f"{mean:.{max(-place, 0)}f} ± {spread:.{max(-place, 0)}f}"


def title_of(sweep):
    """The title of a sweep's section."""
    return sweep.experiment["title"] or sweep.experiment["name"]


def _states(sweep):
    """ "14 of 16 cells are finished, 1 failed, 1 not run; scale: full."."""
    statuses = [cell.status for cell in sweep.cells]
    text = f"{statuses.count('finished')} of {counted(len(statuses), 'cell')} {'is' if len(statuses) == 1 else 'are'} finished"
    for status, word in (("unfinished", "unfinished"), ("failed", "failed"), ("missing", "not run")):
        if status in statuses:
            text += f", {statuses.count(status)} {word}"
    scale = sweep.experiment["scale"]
    return text + (f"; scale: {scale}." if scale else ".")


def _aligned(column):
    """The texts of a table's column, padded with spaces as wide as a digit, so that decimals align."""
    means, halves = (max(len(text) for text in texts) for texts in zip(*((cell.mean, cell.half) for cell in column)))
    for cell in column:
        half = f" ± {cell.half:\u2007>{halves}}" if cell.half else "\u2007" * (halves + 3 if halves else 0)
        yield f"{cell.mean:\u2007>{means}}{half}" if cell.mean else "–"


def _results(sweep):
    """Tables of results. A single configuration is already in the table of configurations."""
    grids = result_grids(sweep)
    is_one = len(grids) == 1 and len(grids[0].rows) == 1 and not grids[0].metric
    tables = []
    for grid in grids:
        tables.append({
            "grid": grid,
            "title": title_of_metric(grid.metric) if grid.metric else "",
            "texts": [list(_aligned(column)) for column in grid.cells],
            "stars": [any(cell.is_worse for cell in column) for column in grid.cells],
            "numeric": [grid.is_numeric(key) for key in range(len(grid.row_keys))],
        })
    # Tables with the same note have it once.
    for one, following in zip(tables, tables[1:]):
        one["hides_note"] = one["grid"].note == following["grid"].note
    return {"tables": [] if is_one else tables, "notes": [tables[-1]["grid"].note, grids[0].settings] if grids else []}


def _remarks(sweep):
    """Remarks on rounds in which no step was kept, with advice."""
    idle = [cell for cell in sweep.cells if cell.numbers.get("idle_rounds", 0) > 0] if sweep.experiment["command"] == "run" else []
    settings = {told["configuration"]: told["settings"] for told in sweep.told["cells"] if told.get("settings")}
    remarks = []
    for cell in idle[:_MAX_REMARKS]:
        where = point_text(cell.point) + ": " if cell.point else ""
        rounds = counted(int(cell.numbers["rounds_done"]), "round")
        rate = settings.get(cell.configuration, {}).get("learning-rate", "")
        lower = f"start with a --learning-rate below {rate}, or " if rate else ""
        remarks.append(f"{where}in {number_text(cell.numbers['idle_rounds'])} of {rounds} no client kept a step; {lower}use an "
                       "optimizer that never undoes steps (--optimizer sgd).")
    if len(idle) > _MAX_REMARKS:
        remarks.append(f"The same holds for {counted(len(idle) - _MAX_REMARKS, 'more cell')}; see idle_rounds in cells.csv.")
    return remarks


def _times(sweep):
    """A sentence on the training and evaluation time of all cells."""
    timed = [(cell.numbers["seconds"], cell.numbers["evaluation_seconds"]) for cell in sweep.cells
             if "seconds" in cell.numbers and "evaluation_seconds" in cell.numbers]
    if not timed:
        return ""
    training, evaluation = (f"{total:.2f} s" if total < 10 else f"{total:.0f} s" for total in map(sum, zip(*timed)))
    return f"Training and averaging took {training}, evaluation {evaluation}{', over all cells' if len(sweep.cells) > 1 else ''}."


def _configurations(sweep):
    """Every configuration's results after the last round, with the best and second best of tuned configurations marked."""
    rows = sweep.summary[sweep.summary["round"].isna() & sweep.summary["client"].isna()]
    if not len(rows):
        return None
    known = set(rows["metric"])
    columns = [name for name in _MAIN_COLUMNS if name in known] if sweep.experiment["command"] == "run" else []
    columns = columns or sorted(known)[:_MAX_COLUMNS]
    groups = {configuration: {row.metric: row for row in some.itertuples()}
              for configuration, some in rows.groupby("configuration", sort=False)}
    keys = list(dict.fromkeys(key for configuration in groups for key in sweep.point_of[configuration]))
    tuned, lines = sweep.experiment["tuning"]["keys"], []
    for configuration, metrics in list(groups.items())[:MAX_LISTED]:
        point = sweep.point_of[configuration]
        rank = next(iter(metrics.values())).rank if any(point.get(key) for key in tuned) else 0
        cells = [metrics.get(name) for name in columns]
        lines.append({
            "class": {1: "first", 2: "second"}.get(rank, ""),
            "rank": {0: "", 1: "best", 2: "second best"}.get(rank, rank),
            "point": [(point.get(key, ""), number_of(point.get(key, "")) is not None) for key in keys],
            "cells": [(spread_for_people(one.mean, (one.high - one.low) / 2), number_text(one.mean)) if one else None for one in cells],
            "n": max((one.n for one in cells if one), default=0)})
    return {"keys": keys, "columns": [(name, metric_label(name)) for name in columns], "lines": lines, "all": len(groups),
            "is_tuned": any(line["rank"] for line in lines), "is_open": len(groups) <= _OPEN_ROWS}


def _level(cell, kind):
    """The level at which the run has spent privacy of this kind, "example" or "client", even if it is unfinished or its statement
    has no epsilon; "" if none."""
    has_spent = f"privacy_{kind}" in cell.texts or ("client_" if kind == "client" else "") + "epsilon_spent" in cell.numbers
    return (cell.text(f"privacy_{kind}_level") or kind) if has_spent else ""


def _rounded_up(value):
    """A number of at most four digits that is not below the value, so that a bound stays one."""
    text = f"{value:.4g}"
    return text if float(text) >= value else f"{float(text) + 10.0 ** (math.floor(math.log10(value)) - 3):.4g}"


def _cost_of_looking(sweep):
    """The total privacy cost of reading the results of all private runs, by basic composition."""
    text = ""
    for level in ("example", "user", "client"):
        kind, prefix = ("client", "client_") if level == "client" else ("example", "")
        runs = [cell for cell in sweep.cells if _level(cell, kind) == level]
        if not runs:
            continue
        epsilon, delta = (sum(cell.numbers.get(prefix + what, math.inf) for cell in runs) for what in ("epsilon_spent", "delta_spent"))
        who = "the private run" if len(runs) == 1 else f"all {len(runs)} private runs together"
        bound = f"an epsilon of at most {_rounded_up(epsilon)} at delta {_rounded_up(delta)}"
        proven = bound if epsilon < math.inf and delta < 1 else "no proven epsilon"
        text += f" The results of {who} have {proven} at {level} level."
    return text


def _notes(sweep):
    """Notes on tuning, and on the meaning of epsilon."""
    tuning = sweep.experiment["tuning"]
    notes = []
    if tuning["keys"]:
        extreme = "lowest" if best_lowest(tuning["metric"]) else "highest"
        notes.append(f"Best and second best {', '.join(tuning['keys'])}: by the {extreme} {tuning['metric']} on the {tuning['on']} set "
                     f"after the last round, mean over seeds{'; ' + tuning['why'] if tuning['why'] else ''}. A result reported on the "
                     "data that it was chosen on is optimistic, the more so the more candidates there were.")
    if cost := _cost_of_looking(sweep):
        notes.append(f"No epsilon on this page includes the cost of choices made on private data.{cost} fedstride sweep --accounted "
                     "shows only the winner, with a statement that covers the choice.")
    finished = [cell for cell in sweep.cells if cell.status == "finished"]
    private = [cell for cell in finished if _level(cell, "example") or _level(cell, "client")]
    if any(cell.text("randomness") != "secret" for cell in private):
        notes.append("These runs drew their noise from a published seed: every epsilon is that of the mechanism with a secret seed.")
    statements = dict.fromkeys(cell.texts[key] for cell in finished for key in ("privacy_example", "privacy_client") if key in cell.texts)
    notes += [f"Privacy: {statement}" for statement in sorted(list(statements)[:10])]
    return notes + [sweep.left_out] * bool(sweep.left_out)


def _settings(sweep):
    """The settings that vary, and the settings that all configurations share, with defaults apart: pairs of key and value."""
    varied = []
    for key in sweep.swept_keys:
        values = list(dict.fromkeys(cell.point[key] for cell in sweep.cells if key in cell.point))
        more = f" and {len(values) - _MAX_VALUES} more" if len(values) > _MAX_VALUES else ""
        varied.append((key, ", ".join(values[:_MAX_VALUES]) + more))
    fixed = [one for one in fixed_settings(sweep) if not any(one.key in cell.point for cell in sweep.cells)]
    shared, defaults = ([one[:2] for one in fixed if one.is_default == is_default] for is_default in (False, True))
    return {"Varied": [pair for pair in varied if pair[1]], "The same in all cells, but not the defaults": shared, "Defaults": defaults}


def _differing(sweep):
    """A table of the settings that differ between runs that are named by folder (axis "run"): keys, and lists of run and values."""
    if "run" not in sweep.swept_keys:
        return [], []
    settings = [one.get("settings") or {} for one in sweep.told["cells"]]
    keys = sorted(key for key in set().union(*settings) if len({own.get(key, "") for own in settings}) > 1)
    return keys, [[cell.value("run"), *(own.get(key, "") for key in keys)] for cell, own in zip(sweep.cells, settings)]


def _machine(sweep):
    """Each cell's own build, and the machine of the last process that wrote to the sweep."""
    own = {}
    for key in ("version", "commit", "compiler", "instruction_set", "numerics_version", "data_hash"):
        values = dict.fromkeys(cell.texts[key] for cell in sweep.cells if key in cell.texts)
        if values:
            own[key] = ", ".join(sorted(list(values)[:5]))
    told = {name: value for name, value in sorted(sweep.machine.items()) if name not in own}
    return {name.replace("_", " "): value for name, value in {**told, **dict(sorted(own.items()))}.items()}


def _file(sweep):
    """The experiment file, or a run's configuration."""
    path = sweep.folder / ("config.toml" if sweep.is_run else "experiment.toml")
    return path.read_text(errors="replace") if sweep.folder.name and path.exists() else ""


def _tables(sweep, folder):
    """Names of a sweep's CSV files and links to them from a page in `folder`."""
    if not sweep.folder.name:
        return {}
    names = ("cells.csv", "rounds.csv", "clients.csv", "summary.csv", "expectations.csv")
    return {name: _link(sweep.folder.absolute() / name, folder) for name in names if (sweep.folder / name).exists()}


def _link(path, folder):
    """A link target to a path from a page in a folder."""
    return quote(os.path.relpath(path, folder), safe="/~")


def _figure(figure, name, files, folder):
    """A figure for the template; writes its files to the folder `files` unless it is None."""
    panels = "".join(f" {panel.title}." for panel in figure.panels if panel.title)
    shown = {"title": figure.title, "caption": figure.caption, "svg": "", "links": {}}
    if figure.panels:
        svg, contents = drawing.drawn(figure, f"{figure.title}.{panels} {figure.caption}", name)
        shown["svg"] = Markup(svg)
        for kind, content in contents.items() if files else ():
            files.mkdir(parents=True, exist_ok=True)
            write_file(files / f"{name}.{kind}", content)
            shown["links"][f"{name}.{kind}"] = _link(files / f"{name}.{kind}", folder)
    return shown


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
    is_file = not page.exists() or page.is_file()
    if page.is_dir():
        raise Failure(f"cannot write '{out}': it is a folder")
    files = page.parent / f"{page.stem}-figures" if is_file else None
    looks, sections = Looks(), []  # one look for a thing throughout the page
    for number, sweep in enumerate(sweeps, 1):
        figures = figures_of(sweep)
        for figure in figures:
            for panel in figure.panels:
                looks.assign(panel)
        shown, aside = [], []
        for place, figure in enumerate(figures, 1):
            name = f"sweep{number}-figure{place}" if len(sweeps) > 1 else f"figure{place}"
            # Unless requested, times are put aside: they describe the machine, not the sweep.
            is_aside = figure.kind == "time" and not sweep.experiment["figures"]
            (aside if is_aside else shown).append(_figure(figure, name, files, page.parent))
        cells = [cell for cell in sweep.cells if cell.status != "finished"]
        sections.append({
            "id": f"sweep{number}", "title": title_of(sweep), "experiment": sweep.experiment, "states": _states(sweep),
            "sentences": result_sentences(sweep), "results": _results(sweep), "remarks": _remarks(sweep), "claims": sweep.claims,
            "figures": shown, "times": _times(sweep), "figures_of_time": aside, "configurations": _configurations(sweep),
            "notes": _notes(sweep), "unfinished": [(point_text(cell.point), cell) for cell in cells], "settings": _settings(sweep),
            "differing": _differing(sweep), "machine": _machine(sweep), "tables": _tables(sweep, page.parent),
            "file": _file(sweep),
            "commands": [cell.command for cell in sweep.cells if cell.command]})
    titles = [section["title"] for section in sections]
    title = "; ".join(titles) if len(titles) <= 3 else f"{len(titles)} sweeps"
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(PAGE)
    write_file(page, template.render(title=title, colors=_colors(), sections=sections, most=MAX_LISTED))
