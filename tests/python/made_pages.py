"""A sweep as Koskela & Honkela's Figure 1(a) asks for, with numbers that are made up, and a reader of its figures."""

import html
import math
import re

import matplotlib
import numpy as np
from fedstride_report import drawing, figures
from fedstride_report.text import number_text
from made_results import axis, cell, sweep

TUNING = {"keys": ["learning-rate"], "on": "test", "metric": "accuracy", "why": "as in the paper, which names no validation set"}


def noise(*address):
    """A number between 0 and 1 that looks like noise: the same for the same address."""
    x = math.sin(sum(a * b for a, b in zip(address, (12.9898, 78.233, 37.719)))) * 43758.5453
    return x - math.floor(x)


def made_cell(number, fraction, optimizer, rate, seed, rounds, clients, private):
    point = {"random-fraction": number_text(fraction), "optimizer": optimizer}
    point |= {"learning-rate": number_text(rate)} if optimizer == "sgd" else {}
    slow = 0.05 + 0.1 * abs(math.log10(rate / 0.01)) if optimizer == "sgd" else 0
    reach, lines, of_clients = 0.45 + 0.25 * fraction - slow, [], []
    for round_ in range(1, rounds + 1):
        jitter = 0.02 * (noise(number, round_) - 0.5)
        lines.append({"test_accuracy": 0.1 + (reach - 0.1) * (1 - math.exp(-0.15 * round_)) + jitter,
                      "test_loss": 2.3 * math.exp(-0.03 * round_ * reach) + jitter})
        if private:
            epsilons = {"epsilon_spent": 0.3, "epsilon_by_tight": 0.27, "epsilon_by_rdp": 0.3, "epsilon_by_strong": 0.9}
            lines[-1] |= {name: share * math.sqrt(round_) for name, share in epsilons.items()} | {"delta_spent": 1e-5}
        for client in range(clients):
            step = 0.01 * math.exp(-0.1 * round_) * (1 + client) * (0.8 + 0.4 * noise(client, number, round_))
            of_clients.append({"round": round_, "client": client, "learning_rate": rate if optimizer == "sgd" else step,
                               "rejected_share": 0.3 + 0.05 * noise(client, round_, number)})
    seconds = 20 + 5 * noise(number, 7)
    texts = {"randomness": "seeded", "version": "0.1.0", "compiler": "GCC 12.2.0"}
    held = [[int(1000 * fraction) + (int(5000 * (1 - fraction)) if label // 2 == client else 0) for label in range(10)]
            for client in range(clients)]
    return cell({**point, "seed": str(seed)}, {**lines[-1], "seconds": seconds, "examples_per_second": 1e5 / seconds}, lines, of_clients,
                texts=texts, rows_per_class=held)


def made(fractions=(0, 0.33, 0.67, 1), rates=(0.00316, 0.01, 0.0316), seeds=3, rounds=3, clients=5, private=False, change=None,
         **experiment):
    """The sweep; `change` is called with each cell before means are taken, `experiment` replaces parts of the experiment."""
    cells = []
    for fraction in fractions:
        for optimizer, rate in [("adadp", 0), *(("sgd", rate) for rate in rates)]:
            for seed in range(1, seeds + 1):
                cells.append(made_cell(len(cells) + 1, fraction, optimizer, rate, seed, rounds, clients, private))
                if change:
                    change(cells[-1])
    axes = [axis("random-fraction", *map(number_text, fractions)), axis("optimizer", "adadp", "sgd"),
            axis("learning-rate", *map(number_text, rates)), axis("seed", *map(str, range(1, seeds + 1)))]
    return sweep(cells, **{"title": "A made sweep", "source": "nobody, nowhere", "claim": "ADADP keeps its accuracy.", "axes": axes,
                           "conditions": ["random-fraction"], "tuning": TUNING, **experiment})


def request(kind, **more):
    return {"kind": kind, "title": "", "x": "", "y": "", "lines": [], "where": {}, "ranks": [1], "log_x": None, "log_y": None,
            "by": None, **more}


def figure(one, kind, **more):
    """The figure of a sweep that is asked for, with looks."""
    one.experiment["figures"] = [request(kind, **more)]
    (found,) = figures.figures_of(one)
    looks = figures.Looks()
    for panel in found.panels:
        looks.assign(panel)
    return found


def svg(found, kind="broad"):
    """The figure's SVG element for the page, or the one for phones ("narrow")."""
    if kind == "narrow":
        return re.search('<svg class="narrow".*?</svg>', drawing.drawn(found, "a label", "figure1")[0], re.DOTALL)[0]
    if not hasattr(found, "broad"):  # as drawn() has it, without the time that the other elements and files take
        with matplotlib.rc_context(drawing._STYLE):
            canvas = drawing._Canvas(found, drawing._WIDTH)
            found.broad = drawing._for_page(canvas.saved("svg", "figure1"), "a label", kind, "".join(canvas.hover_targets()))
    return found.broad


def shown(found):
    """The numbers of a figure as its SVG has them: dicts with the texts x, y, low, high and title, and the numbers px and py."""
    points = []
    for attributes, title in re.findall("<circle ([^>]*)><title>(.*?)</title>", svg(found), re.DOTALL):
        texts = {name.removeprefix("data-"): text for name, text in re.findall(r'([\w-]+)="([^"]*)"', attributes)}
        points.append({"low": "nan", "high": "nan", **texts, "title": html.unescape(title), "px": float(texts["cx"]),
                       "py": float(texts["cy"])})
    return points


def misfit(values, places, is_log=False):
    """The largest distance of a place from the straight line through all, in places' units."""
    values, places = np.asarray(values, float), np.asarray(places, float)
    values = np.log(values) if is_log else values
    if np.ptp(values) == 0:
        return np.ptp(places)
    return np.abs(np.polyval(np.polyfit(values, places, 1), values) - places).max()
