"""Figures of a sweep's page (python/fedstride_report/figures.py, drawing.py): each number in its place, and what captions say.

Takes 20 s of processor time: matplotlib draws a hundred files.
"""

import itertools
import math
import re
from collections import Counter

import numpy as np
import pytest
from conftest import SOURCE, names
from fedstride_report import drawing, figures
from fedstride_report.text import number_text
from made_pages import figure, made, misfit, shown, svg
from made_results import cell, sweep



def kinds(one):
    return [found.kind for found in figures.figures_of(one)]


def line_names(found, panel=0):
    return [line.name for line in found.panels[panel].lines]


def small(private=False, **more):
    return made(**{"fractions": (0, 1), "seeds": 2, "rounds": 4, "clients": 2, "private": private, **more})


def check_places(found):
    """Both axes are straight in what they show, so that a reader with a ruler finds the same numbers."""
    points = shown(found)
    at = 0
    for panel in found.panels:
        heights = []
        for line in panel.lines:  # lines stand a few points beside each other: x is straight within each
            own = points[at:at + len(line.points)]
            at += len(own)
            assert misfit([float(one["x"]) for one in own], [one["px"] for one in own], found.log_x) < 0.02
            heights += [(float(one["y"]), one["py"]) for one in own]
        assert misfit(*zip(*heights), found.log_y) < 0.02
        if len({y for y, _ in heights}) > 1:  # and not by being all in one place
            assert np.ptp([place for _, place in heights]) > 5
    assert at == len(points)
    return points


def test_every_kind_that_an_experiment_file_may_ask_for_is_drawn_and_no_other():
    listed = re.search(r"kFigureKinds\[\] = {(.*?)}", (SOURCE / "sweep/file/experiment.hpp").read_text(), re.DOTALL)[1]
    assert set(re.findall(r'"([\w-]+)"', listed)) == set(figures._DRAW)


def test_without_a_request_there_is_a_figure_of_everything_that_varies():
    assert kinds(made()) == ["accuracy-by-round", "loss-by-round", "accuracy-by-key", "accuracy-by-rate", "step-sizes",
                             "rejected-share", "partition"]
    assert kinds(made(fractions=(0,), rates=(0.01,), rounds=1, clients=1)) == []
    private = Counter(kinds(made(private=True)))
    assert private["epsilon-by-round"] == private["accuracy-by-epsilon"] == 1


def test_a_command_s_numbers_are_drawn_against_what_varies():
    cells = [cell({"steps": str(steps)}, {"epsilon": 0.1 * steps, "delta": 1e-5}) for steps in (10, 100)]
    found = figures.figures_of(sweep(cells, command="privacy epsilon", axes=[]))
    assert [(one.kind, one.title) for one in found] == [("lines", "Delta by steps"), ("lines", "Epsilon by steps")]
    assert [(point.x, point.y) for point in found[1].panels[0].lines[0].points] == [(10, 1), (100, 10)]


def test_where_results_have_r2_the_same_figures_show_it_without_the_bounds_of_a_share():
    usual = kinds(made())
    one = made()
    one.summary["metric"] = one.summary["metric"].replace("test_accuracy", "test_r2")
    assert kinds(one) == usual
    assert not any("ccuracy" in found.title for found in figures.figures_of(one))
    found = figure(one, "accuracy-by-round")
    assert found.title == "Test R2 by round" and found.most == math.inf and len(line_names(found)) == 2


def test_rates_that_were_swept_and_not_tuned_have_one_figure():
    one = made(tuning={"keys": [], "on": "validation", "metric": "accuracy", "why": ""})
    found = figures.figures_of(one)
    (by_rate,) = [other for other in found if other.kind == "accuracy-by-rate"]
    assert [other.title for other in found].count(by_rate.title) == 1  # not by key, too


def test_what_never_varies_has_no_figure_unless_asked_for():
    one = made()
    one.summary.loc[one.summary["metric"] == "rejected_share", "mean"] = 1.0
    assert "rejected-share" not in kinds(one)
    assert "Nothing to draw" in figure(one, "rejected-share").caption
    asked = figure(one, "rejected-share", where={"random-fraction": "0", "optimizer": "adadp"})
    assert {point.y for point in asked.panels[0].all_points()} == {1.0}


def test_figures_by_round_are_drawn_against_virtual_seconds_or_megabytes_if_asked_to():
    def change(one):
        one.rounds["virtual_seconds"] = [10, np.nan, 30]  # unknown: not drawn
        one.rounds["megabytes"] = [3, 6, 9]

    one = made(fractions=(0,), rates=(0.01,), seeds=1, change=change)

    def xs(found):
        return [point.x for point in found.panels[0].lines[0].points]

    assert xs(figure(one, "accuracy-by-round")) == [1, 2, 3]
    assert xs(figure(one, "accuracy-by-round", by="time")) == [10, 30]
    one.experiment["by"] = "bytes"
    by_bytes = figure(one, "loss-by-round")
    assert xs(by_bytes) == [3, 6, 9] and by_bytes.title == "Test loss by megabytes"
    assert xs(figure(one, "accuracy-by-round", by="rounds")) == [1, 2, 3]


def test_of_a_tuned_grid_the_best_is_drawn_or_the_ranks_asked_for():
    one = made(fractions=(0,))
    best = figure(one, "accuracy-by-round")
    assert line_names(best) == ["adadp", "sgd"] and "learning-rate 0.01" in best.panels[0].lines[1].points[0].text
    second = figure(one, "accuracy-by-round", ranks=[1, 2])
    assert sorted(line_names(second)) == ["adadp", "sgd, best", "sgd, second best"]
    assert line_names(figure(one, "accuracy-by-rate")) == ["adadp", "sgd"]


def test_a_configuration_without_the_key_is_a_level_beside_those_with_it():
    found = figure(made(fractions=(0,)), "accuracy-by-rate")
    level, line = found.panels[0].lines
    assert level.is_reference and len(level.points) == 1 and not line.is_reference and found.log_x
    assert [point.x for point in line.points] == [0.00316, 0.01, 0.0316]


def test_more_lines_than_can_be_told_apart_make_several_panels_with_one_scale():
    found = figure(made(), "accuracy-by-round")
    assert [len(panel.lines) for panel in found.panels] == [2, 2, 2, 2]
    assert found.panels[1].title == "random-fraction 0.33"
    heights = [(float(one["y"]), one["py"]) for one in shown(found)]
    first, second = (np.polyfit(*zip(*heights[at:at + 6]), 1) for at in (0, 6))
    assert first == pytest.approx(second, rel=1e-2)


def test_conditions_pick_configurations_as_numbers_where_they_are_numbers():
    found = figure(made(), "accuracy-by-round", where={"random-fraction": "1.0"})
    assert all(point.text.startswith("random-fraction 1,") for line in found.panels[0].lines for point in line.points)
    nothing = figure(made(), "accuracy-by-round", where={"optimizer": "adam"})
    assert not nothing.panels and names(nothing.caption, "Nothing to draw", "test_accuracy")


def test_keys_that_were_asked_for_name_the_lines_and_others_only_where_they_must():
    one = made(fractions=(0, 1))
    both = ["random-fraction 0, adadp", "random-fraction 0, sgd", "random-fraction 1, adadp", "random-fraction 1, sgd"]
    assert line_names(figure(one, "accuracy-by-round", lines=["random-fraction", "optimizer"])) == both
    assert len(line_names(figure(one, "accuracy-by-round", lines=["optimizer"]))) == 4


def test_captions_say_how_many_seeds_which_interval_and_what_was_chosen_on_what():
    caption = figure(made(), "accuracy-by-key").caption
    assert names(caption, "3", "95 %", "learning-rate", "test accuracy", "logit") and not names(figure(made(), "loss-by-round").caption, "logit")
    assert not names(figure(made(seeds=1), "accuracy-by-round").caption, "95 %")
    assert names(figure(made(private=True), "accuracy-by-epsilon").caption, "delta", "1e-05", "seed")
    secret = made(private=True, change=lambda one: one.texts.update(randomness="secret"))
    assert not names(figure(secret, "accuracy-by-epsilon").caption, "secret seed")


def test_a_figure_of_one_of_several_variants_names_it_and_one_of_all_does_not():
    one = small(private=True)
    assert figure(one, "step-sizes").caption.startswith("Shows only adadp. ")  # the rates of sgd never change
    sgd = figure(one, "accuracy-by-round", where={"optimizer": "sgd", "random-fraction": "1"}).caption
    assert sgd.startswith("Shows only random-fraction 1, sgd, learning-rate 0.01. ")
    assert figure(one, "partition", where={"random-fraction": "0"}).caption.startswith("Shows only random-fraction 0. ")
    for kind in ("accuracy-by-round", "accuracy-by-rate", "partition", "epsilon-by-round"):  # the last draws equal spending once
        assert "Shows only" not in figure(one, kind).caption


def test_captions_have_at_most_three_lines():
    one = made(private=True, seeds=2, clients=20, rates=(0.001, 0.002, 0.004, 0.008, 0.01, 0.02, 0.04, 0.08), rounds=2)
    one.summary["low"], one.summary["high"] = -3.0, 4.0  # which reach the edges of every axis
    found = figures.figures_of(one) + [figure(one, "accuracy-by-epsilon", where={"optimizer": "sgd", "random-fraction": "1"})]
    assert len(found) == 10 and max(len(each.caption) for each in found) <= 330, [each.caption for each in found if len(each.caption) > 330]


# Two shares; adadp and three rates of sgd, of which one is best; four rounds; two clients.
CASES = [
    ("accuracy-by-round", {}, "test_accuracy", 2 * 2 * 4),
    ("accuracy-by-round", {"ranks": [1, 2]}, "test_accuracy", 2 * 3 * 4),
    ("loss-by-round", {}, "test_loss", 2 * 2 * 4),
    ("accuracy-by-key", {"x": "random-fraction"}, "test_accuracy", 2 * 2),
    ("accuracy-by-key", {"x": "optimizer"}, "test_accuracy", 2 * 2),
    ("accuracy-by-rate", {}, "test_accuracy", 2 * (3 + 1)),
    ("step-sizes", {}, "learning_rate", 2 * 2 * 4),
    ("rejected-share", {}, "rejected_share", 2 * 2 * 2 * 4),
    ("accuracy-by-epsilon", {}, "test_accuracy", 2 * 2 * 4),
    ("lines", {"x": "random-fraction", "y": "test_loss"}, "test_loss", 2 * 2),
    ("lines", {"x": "round", "y": "epsilon_spent"}, "epsilon_spent", 2 * 2 * 4),
]


@pytest.mark.parametrize("kind, more, metric, count", CASES, ids=lambda value: str(value).replace(" ", ""))
def test_every_number_of_a_figure_stands_in_its_svg_in_words_and_in_its_place(kind, more, metric, count):
    one = small(private=True)
    left = Counter(tuple(map(number_text, (row.mean, row.low, row.high)))
                   for row in one.summary.itertuples() if row.metric == metric)
    points = check_places(figure(one, kind, **more))
    for point in points:
        assert left[point["y"], point["low"], point["high"]] > 0
        left[point["y"], point["low"], point["high"]] -= 1
        assert f": {point['y']}\n95 %: {point['low']} to {point['high']}, n = 2" in point["title"]
    assert len(points) == count


def test_each_accountant_s_epsilon_is_a_line_and_configurations_that_spend_the_same_are_drawn_once():
    found = figure(small(private=True), "epsilon-by-round")
    assert sorted(line_names(found)) == ["rdp", "strong", "tight"] and "drawn once" in found.caption
    points = check_places(found)
    assert len(points) == 3 * 4
    shares = {"tight": 0.27, "rdp": 0.3, "strong": 0.9}
    for point in points:
        (share,) = [share for name, share in shares.items() if f"by {name}" in point["title"]]
        assert float(point["y"]) == pytest.approx(share * math.sqrt(float(point["x"])))


def test_a_name_that_is_drawn_in_one_panel_alone_is_in_the_legend():
    def change(one):
        level = "client_" if one.point["random-fraction"] == "1" else ""
        one.rounds = one.rounds.rename(columns={f"epsilon_by_{name}": f"{level}epsilon_by_{name}" for name in ("tight", "rdp", "strong")})

    found = figure(small(private=True, change=change), "epsilon-by-round")
    for line in (line for panel in found.panels for line in panel.lines):
        assert f">{line.name}</text>" in svg(found)


def test_a_partition_s_squares_say_whose_rows_they_are_and_how_many():
    # At random-fraction 0 client k holds classes 2k and 2k + 1 alone; at 1 all hold the same.
    found = figure(small(), "partition")
    assert [panel.title for panel in found.panels] == ["random-fraction 0", "random-fraction 1"]
    points = shown(found)[:20]
    for point in points:
        client, label = int(point["x"]), int(point["y"])
        assert f"client {client}\n" in point["title"] and f"class {label}:" in point["title"]
        assert (": 5000" if label // 2 == client else ": 0") in point["title"]
    assert misfit([float(one["x"]) for one in points], [one["px"] for one in points]) < 0.02


def test_classes_go_by_their_names_where_the_data_have_them():
    found = figure(small(change=lambda one: one.class_names.extend(["airplane", "automobile", "bird"])), "partition")
    assert found.panels[0].y_names == ["airplane", "automobile", "bird", *"3456789"]
    assert shown(found)[0]["title"].startswith("airplane\n")


def test_many_clients_have_a_map_of_the_first_and_say_so():
    found = figure(made(fractions=(0,), rates=(0.01,), seeds=1, rounds=1, clients=130), "partition")
    assert len(found.x_names) == 100 and names(found.caption, "first 100 of 130 clients")


@pytest.mark.parametrize("kind, more", [("accuracy-by-round", {}), ("accuracy-by-key", {"x": "random-fraction"}),
                                        ("accuracy-by-key", {"x": "optimizer"})])
def test_numbers_of_several_lines_at_one_x_stand_beside_each_other(kind, more):
    found = figure(small(), kind, **more)
    points, at = shown(found), 0
    for panel in found.panels:
        count = sum(len(line.points) for line in panel.lines)
        places = {}
        for point in points[at:at + count]:
            places.setdefault(point["x"], []).append(point["px"])
        at += count
        for all in places.values():
            assert len(all) == len(panel.lines)
            assert all == sorted(all) and min((b - a for a, b in zip(all, all[1:])), default=9) > 2 and all[-1] - all[0] < 40
    assert "side by side" in found.caption


def intervals(found):
    """The places of the intervals' ends: x, and y of the lower and of the upper end."""
    lines = re.findall(r'<path d="M ([\d.]+) ([\d.]+)\s*L ([\d.]+) ([\d.]+)" [^>]*stroke: var\(--l\d+\); stroke-width: 0.9', svg(found))
    return [(float(x), float(low), float(high)) for x, low, other, high in lines if x == other]


def test_lines_of_many_points_have_their_intervals_at_different_rounds_and_no_point_is_moved():
    found = figure(small(rounds=60, fractions=(0,)), "accuracy-by-round", ranks=[1, 2, 3])
    points = check_places(found)
    assert misfit([float(one["x"]) for one in points], [one["px"] for one in points]) < 0.02  # over all lines
    places = [x for x, _, _ in intervals(found)]
    assert len(places) > 4 * 3 and len(set(places)) == len(places)


def test_each_interval_is_drawn_at_its_number_and_its_ends_lie_where_the_axis_has_them():
    one = small()
    one.summary["low"], one.summary["high"] = one.summary["mean"] - 0.01, one.summary["mean"] + 0.02
    found = figure(one, "accuracy-by-key", x="random-fraction")
    points, ends = shown(found), intervals(found)
    assert len(ends) == len(points) == 4
    heights = [(float(point["y"]), point["py"]) for point in points]
    for point, (x, low, high) in zip(points, ends):
        assert x == pytest.approx(point["px"], abs=0.02)
        heights += [(float(point["low"]), low), (float(point["high"]), high)]
    assert misfit(*zip(*heights)) < 0.03


def test_an_interval_is_drawn_no_further_than_a_share_goes_and_its_numbers_are_not_touched():
    one = small()
    one.summary["low"], one.summary["high"] = -3.0, 4.0
    found = figure(one, "accuracy-by-key", x="random-fraction")
    assert {(point["low"], point["high"]) for point in shown(found)} == {("-3", "4")}
    assert found.y_limits[0] >= -0.02 and found.y_limits[1] <= 1.02 and "reach an edge" in found.caption
    one.summary["low"], one.summary["high"] = one.summary["mean"] - 0.01, one.summary["mean"] + 0.01
    assert "reach an edge" not in figure(one, "accuracy-by-key", x="random-fraction").caption


@pytest.mark.parametrize("is_log", [False, True])
def test_round_numbers_stand_at_the_axes_each_where_its_value_is(is_log):
    rounds = [{"train_loss": 0.02 * number} for number in range(1, 41)]
    found = figure(sweep([cell({}, {}, rounds)]), "lines", x="round", y="train_loss", log_x=is_log, log_y=is_log)
    points = check_places(found)
    for anchor, value, place, at in (("middle", "x", "px", "x"), ("end", "y", "py", "y")):
        texts = re.findall(rf'<text [^>]*text-anchor: {anchor}"[^>]* {at}="([\d.]+)"[^>]*>([\d.e-]+)</text>', svg(found))
        assert len(texts) >= 4
        values = [float(one[value]) for one in points] + [float(text) for _, text in texts]
        shift = 3.27 if anchor == "end" else 0  # from a text's base line to its middle
        assert misfit(values, [one[place] for one in points] + [float(x) - shift for x, _ in texts], is_log) < 0.1


def test_an_axis_is_logarithmic_where_values_span_decades_unless_asked_otherwise():
    losses = [{"train_loss": loss} for loss in (2.0, 200.0, 2e6)]
    assert figure(sweep([cell({}, {}, losses)]), "lines", y="train_loss").log_y
    assert not figure(sweep([cell({}, {}, losses)]), "lines", y="train_loss", log_y=False).log_y
    assert not figure(sweep([cell({}, {}, losses[:1] * 3)]), "lines", y="train_loss").log_y
    assert not figure(sweep([cell({}, {}, [{"test_accuracy": share} for share in (0.001, 0.9)])]), "accuracy-by-round").log_y


def test_numbers_that_a_log_axis_cannot_show_are_left_out():
    one = made(fractions=(0,), rates=(0.01,))
    one.summary.loc[(one.summary["metric"] == "test_loss") & (one.summary["round"] == 2), "mean"] = 0.0
    found = figure(one, "loss-by-round", log_y=True)
    assert [len(line.points) for line in found.panels[0].lines] == [2, 2] and len(shown(found)) == 4
    one.summary["mean"] = 0.0
    assert names(figure(one, "loss-by-round", log_y=True).caption, "Nothing to draw", "logarithmic")


def test_of_a_long_line_at_most_two_hundred_points_are_drawn_the_last_among_them():
    found = figure(made(rounds=1001, fractions=(0,), rates=(0.01,), seeds=1, clients=1), "accuracy-by-round")
    for line in found.panels[0].lines:
        assert 100 <= len(line.points) <= 200 and line.points[-1].x == 1001


def test_hundreds_of_configurations_fill_some_panels_and_the_rest_is_counted():
    cells = [cell({"name": f"method {number}"}, {}, [{"test_accuracy": 0.1 + 0.001 * number}] * 2) for number in range(400)]
    found = figure(sweep(cells), "accuracy-by-round")
    assert len(found.panels) == 12 and all(len(panel.lines) == 7 for panel in found.panels)
    assert found.panels[1].title == "method 7 to method 13"
    names_at = re.findall(r'x="([\d.]+)" y="[\d.]+"[^>]*>method \d+</text>', svg(found))
    assert len(names_at) == 12 * 7 and min(map(float, names_at)) > 30  # after the swatches of the legend
    assert names(found.caption, f"Not drawn: {400 - 12 * 7} more lines")


def test_cells_that_diverged_or_failed_have_no_points():
    def change(one):
        if one.point.get("learning-rate") == "0.0316":
            one.numbers, one.rounds = {}, one.rounds.assign(test_accuracy=np.nan, test_loss=np.nan)
        if one.point["seed"] == "3":
            one.status = "failed"

    found = figure(made(fractions=(0,), change=change), "accuracy-by-rate")
    assert [point.x for point in found.panels[0].lines[1].points] == [0.00316, 0.01]
    assert {point["title"].rsplit("n = ")[-1] for point in shown(found)} == {"2"}


def test_the_level_of_chance_is_drawn_and_named_where_numbers_leave_room():
    def at(chance):
        return figure(made(fractions=(0,), change=lambda one: one.numbers.update(chance_accuracy=chance)), "accuracy-by-round")

    assert "chance: the commonest class" in svg(at(0.1)) and "chance" not in svg(at(-20))


# Text and files.

HOSTILE = "<b>&\"'`touch trap` {x}_1^2 %s $x$ % id='q' </text><script>x</script>"


@pytest.mark.parametrize("style", ["curves", "points", "map"])
def test_every_text_of_a_figure_may_be_hostile(style):
    points = [figures.Point(0, 0.5, 0.4, 0.6, HOSTILE, 1), figures.Point(1, 0.7, text=HOSTILE, value=2)]
    found = figures.Figure("lines", HOSTILE, x_label=HOSTILE, y_label=HOSTILE[:20], style=style, y_limits=(0, 1))
    found.x_names = [HOSTILE, "% d"] if style != "curves" else []
    line = figures.Line(HOSTILE, points, False, frozenset())
    found.panels = [figures.Panel(HOSTILE, points=points, y_names=[HOSTILE, "$"]) if style == "map" else figures.Panel(HOSTILE, [line])]
    element = svg(found)
    assert "<script" not in element and "<b>" not in element
    assert [point["title"] for point in shown(found)] == [HOSTILE] * 2
    assert "&lt;b&gt;&amp;\"'`touch trap` {x}_1^2 %s $x$" in element.replace("&quot;", '"').replace("&#x27;", "'")


def test_very_long_names_are_cut_and_stay_in_the_figure():
    cells = [cell({"name": f"{number}{'very long ' * 30}"}, {"test_accuracy": 0.1 * number}) for number in (1, 2)]
    found = figure(sweep(cells), "accuracy-by-key", x="name")
    assert re.search(r'rotate\(-330 [^>]*>1very long [a-z ]*…</text>', svg(found)) and "very long " * 29 in shown(found)[0]["title"]


def test_files_are_what_their_names_say_have_no_dates_and_are_the_same_again(monkeypatch):
    found = figure(small(), "accuracy-by-round")
    files = drawing.drawn(found, "a label", "figure1")[1]
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    page, again = drawing.drawn(found, "a label", "figure1")
    assert again == files and svg(found) in page
    assert files["png"].startswith(b"\x89PNG") and files["pdf"].startswith(b"%PDF-") and files["svg"].startswith(b"<?xml")
    assert b"CreationDate" not in files["pdf"] and b"<dc:date>" not in files["svg"] and b"<text" in files["svg"]
    assert b"var(--" not in files["svg"]


def test_figures_of_a_page_share_no_ids_and_have_no_colors_but_the_page_s():
    found = figure(small(), "accuracy-by-round")
    pages = [drawing.drawn(found, "a label", name)[0] for name in ("figure1", "figure2")]
    ids = re.findall(r' id="([^"]*)"', "".join(pages))
    assert len(ids) == len(set(ids)) > 4 and all(f'#{one}"' in "".join(pages) or f"#{one})" in "".join(pages) for one in ids)
    assert not re.search(r"#[0-9a-f]{6}[;\"]", pages[0]) and not re.search("rgb|white|black", pages[0])
    assert set(re.findall(r"var\(--(\w+)\)", pages[0])) <= set(drawing.COLORS)


def test_on_a_phone_a_figure_has_one_column_and_no_pointer():
    element = svg(figure(made(), "accuracy-by-round"), "narrow")
    assert 'viewBox="0 0 252 ' in element and "<circle" not in element
    titles = re.findall(r'x="([\d.]+)" y="([\d.]+)"[^>]*>random-fraction', element)
    assert len(titles) == 4 and len({x for x, _ in titles}) == 1


# Looks.


def panel_of(*things):
    return figures.Panel(lines=[figures.Line(str(thing), [], False, frozenset(thing.items())) for thing in things])


def test_a_thing_keeps_its_look_in_every_later_panel_and_no_other_has_it_while_there_are_enough():
    looks = figures.Looks()
    first, second = panel_of({"o": "adadp"}, {"o": "sgd"}, {"o": "adam"}), panel_of({"o": "sgd"})
    third, clients = panel_of({"o": "momentum"}, {"o": "adam"}, {"o": "adadp"}), panel_of({"client": "0"}, {"client": "1"})
    for panel in (first, second, third, clients):
        looks.assign(panel)
    assert second.lines[0].look == first.lines[1].look
    assert [line.look for line in third.lines[1:]] == [first.lines[2].look, first.lines[0].look]
    others = {line.look for line in first.lines}
    assert third.lines[0].look not in others and all(line.look >= 7 for line in clients.lines)


def test_a_thing_that_says_more_than_a_known_one_is_that_one_and_looks_never_repeat_within_a_panel():
    looks = figures.Looks()
    panel, one = panel_of({"o": "adadp"}, {"o": "sgd"}), panel_of({"share": "0", "o": "sgd"})
    many = [panel_of(*({"o": f"{number}"} for number in range(at, at + 7))) for at in range(0, 35, 7)]
    for each in (panel, one, *many):
        looks.assign(each)
    assert one.lines[0].look == panel.lines[1].look
    assert all(len({line.look for line in each.lines}) == 7 for each in many)


# Machado, Oliveira & Fernandes 2009, severity 1, on linear RGB.
SIGHTS = [np.eye(3), [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
          [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
          [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]]
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color):
    rgb = np.array([int(color[at:at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    low, high = sorted((TO_XYZ @ linear(color))[1] for color in (a, b))
    return (high + 0.05) / (low + 0.05)


def lab(color, sight):
    """CIELAB under D65."""
    t = TO_XYZ @ np.clip(sight @ linear(color), 0, 1) / [0.95047, 1, 1.08883]
    x, y, z = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("dark", [0, 1])
def test_colors_of_a_kind_are_told_apart_with_any_sight_and_stand_out_from_the_page(dark):
    colors = [drawing.COLORS[f"l{look}"][dark] for look in range(14)]
    assert all(contrast(color, drawing.COLORS["paper"][dark]) > (3.5 if dark else 2.2) for color in colors)
    for kind in (colors[:7], colors[7:]):
        for a, b in itertools.combinations(kind, 2):
            for sight in SIGHTS:  # a just noticeable difference is about 2.3
                assert np.linalg.norm(lab(a, np.asarray(sight)) - lab(b, np.asarray(sight))) > 10
    assert all(contrast(drawing.COLORS[text][dark], drawing.COLORS["paper"][dark]) > 7 for text in ("ink", "soft"))


def test_lines_differ_without_color_by_dash_and_by_marker():
    for kind in (drawing.LOOKS[:7], drawing.LOOKS[7:]):
        assert len({dashes for _, dashes, _, _ in kind}) == 7
        assert len({(marker, bool(is_filled)) for _, _, marker, is_filled in kind}) == 7
