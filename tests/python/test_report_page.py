"""The page of sweeps and runs, its tables and sentences, and LaTeX tables (python/fedstride_report/page.py, grids.py, latex.py).

Takes 30 s of processor time: pages are drawn whole.
"""

import html
import random
import re
from html.parser import HTMLParser

import pytest
from conftest import SMALL, flags, names, program
from fedstride import _core
from fedstride_report import page, text
from fedstride_report.grids import result_grids, result_sentences
from fedstride_report.labels import key_label, metric_label, title_of_metric
from fedstride_report.latex import latex_tables, latex_text
from fedstride_report.text import Failure
from made_pages import TUNING, made, request
from made_results import axis, cell, claim, quantity, sweep

NOTE = '<p class="note">'
UNTUNED = {**TUNING, "keys": []}


def small(**more):
    return made(**{"fractions": (0, 1), "seeds": 2, "clients": 2, "figures": [request("accuracy-by-rate")], **more})


def without_figures(one):
    """The sweep, whose page has one figure that is not drawn, so that it is quick."""
    one.experiment["figures"] = [request("lines", y="no such metric")]
    return one


@pytest.fixture
def page_of(tmp_path):
    def write(*sweeps):
        page.write_page(list(sweeps), tmp_path / "page.html")
        return (tmp_path / "page.html").read_text()
    return write


def has_line(text, *parts):
    """Whether a paragraph or cell of the page names all of these."""
    texts = (html.unescape(re.sub("<[^>]*>", "", one)) for one in re.split("</(?:p|td|li|figcaption)>", text))
    return any(names(" ".join(one.split()), *parts) for one in texts)


def has_sentence(text, *parts):
    return has_line(text.replace(". ", "</p>"), *parts)


# The page.


def test_a_page_needs_no_script_and_no_network_and_its_pictures_lie_beside_it(page_of, tmp_path):
    text = page_of(small())
    for never in ("<script", "<link", "<iframe", "<img", "@import", "javascript:", "onmouse", "onclick", "<?xml", "src="):
        assert never not in text
    # Addresses name the languages of the page and are not fetched; references stay within it.
    assert all(address.startswith("http://www.w3.org/") for address in re.findall("http[^\"]*", text))
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)", text) + re.findall('xlink:href="([^"]*)', text))
    for kind in ("svg", "png", "pdf"):
        assert f'href="page-figures/figure1.{kind}"' in text and (tmp_path / f"page-figures/figure1.{kind}").stat().st_size > 0
    assert not list(tmp_path.glob("*.fedstride-*"))


class Nesting(HTMLParser):
    """Checks that every element ends within the one that it begins in, and counts cells of tables."""

    def __init__(self, text):
        super().__init__()
        self.open, self.cells = [], {"th": 0, "td": 0}
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, _):
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag in self.cells:
            self.cells[tag] += 1

    def handle_startendtag(self, tag, _):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed(page_of):
    claims = [claim(quantity("no_such"), "above", 1, claim="c")]
    one = small(private=True, expectations=claims, figures=[request("accuracy-by-round"), request("partition")])
    one.cells[0].status = "failed"
    one.told["cells"] = [{"configuration": "a", "settings": {"rounds": "3", "dataset": "synthetic"}, "defaults": {}}]
    one.defaults, one.machine = {"dataset": "synthetic"}, {"processor": "one"}
    cells = Nesting(page_of(one, one)).cells
    # Two results' tables, claims, configurations, cells without results, machine: each sweep has the same.
    assert cells["th"] > 20 and cells["td"] > 80 and cells["th"] % 2 == cells["td"] % 2 == 0


def test_the_page_is_the_same_again_and_goes_into_a_pipe_without_files(page_of, tmp_path):
    first = page_of(small())
    assert page_of(small()) == first
    (tmp_path / "pipe").symlink_to("/dev/null")
    page.write_page([without_figures(small())], tmp_path / "pipe")
    assert not (tmp_path / "pipe-figures").exists()


def test_a_thing_has_one_color_in_all_figures_of_a_page(page_of):
    one = small()
    # In the second sgd alone is drawn, in the third it is a line over rates.
    one.experiment["figures"] = [request("accuracy-by-round"), request("loss-by-round", where={"optimizer": "sgd"}),
                                 request("accuracy-by-rate")]
    text = page_of(one)
    figures = re.findall(r'<svg class="broad".*?</svg>', text, re.DOTALL)
    markers = [set(re.findall(r"<use [^>]*stroke: var\(--(l\d+)\)", figure)) for figure in figures]
    assert markers[0] == {"l0", "l1", "l2", "l3"}
    # sgd, whatever the lines are called there; adadp is a level without markers.
    assert markers[1] == markers[2] == {"l1", "l3"}
    assert "@media screen and (prefers-color-scheme: dark) { :root { --ink:" in text and "@media print {" in text


def test_no_color_of_a_page_is_fixed_but_in_the_two_lists_of_variables(page_of):
    text = page_of(made(fractions=(0, 1), seeds=2, clients=2, private=True))
    assert text.count("<figure>") >= 8
    body = re.sub(r":root {[^}]*}", "", text)
    for paint in re.findall(r"(?:fill|stroke): ([^;\"]*)", body):
        assert paint in ("none", "transparent") or re.fullmatch(r"var\(--\w+\)", paint), paint
    assert not re.findall(r"(?:rgb|hsl)a?\(|: white|: black|[:=]\s*\"?#[0-9a-f]{3,6}[;\"]", body)
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids)) > 8


def test_the_question_table_figures_and_claims_come_first_and_everything_else_is_folded_after_them(page_of):
    one = small(expectations=[claim(quantity("no_such"), "above", 1, claim="c")], private=True)
    one.told["cells"] = [{"configuration": "a", "settings": {"rounds": "3", "dataset": "synthetic"}, "defaults": {}}]
    one.defaults = {"dataset": "synthetic"}
    text, before = page_of(one), 0
    for part in ("<title>A made sweep</title>", "<h1>A made sweep</h1>", "Source: nobody, nowhere", "Claim: ADADP keeps",
                 '<p class="winner">', "<h3>Test accuracy</h3>", "<table>", "<figure>", "<h2>Expectations</h2>", NOTE + "No epsilon",
                 "<summary>How to read the tables</summary>", "<summary>Other metrics</summary>", "<h3>Test loss</h3>",
                 "<summary>Configurations</summary>", NOTE + "Best and second best", "<summary>Varied settings</summary>",
                 "<span>random-fraction</span> 0, 1", "<span>rounds</span> 3", "<summary>Defaults</summary>",
                 "<span>dataset</span> synthetic", "<summary>Commands that reproduce each cell</summary>"):
        assert part in text[before:], part
        before = text.index(part, before)
    shown = re.sub("<details>.*?</details>", "", text, flags=re.DOTALL)
    assert re.findall("<h[123]>(.*?)</h", shown)[:3] == ["A made sweep", "Results", "Test accuracy"] and shown.count("<table>") == 2
    assert has_line(shown, "epsilon", "published seed") and "dataset" not in shown and "fedstride run" not in shown
    assert "details:not([open]) { display: none; }" in text  # in print


def test_expectations_stand_there_with_what_became_of_them_and_why_one_fails(page_of):
    accuracy = quantity("test_accuracy", {"random-fraction": "1", "optimizer": "adadp"})
    claims = [claim(accuracy, "above", 0.1, claim="a < b", reason="unsaid"), claim(accuracy, "below", 0.1, claim="b < a", reason="they are not"),
              claim(quantity("no_such"), "above", 1, claim="c")]
    text = page_of(without_figures(small(expectations=claims)))
    rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>.*?</tr>", text[text.index("Expectations"):])[1:4]]
    assert [row[0] for row in rows] == ["a &lt; b", "b &lt; a", "c"] and [row[1] for row in rows] == ["✓ holds", "✗ fails", "– not run"]
    assert [row[3] for row in rows] == ["", "they are not", ""] and names(html.unescape(rows[0][2]), "0.1")


def test_the_table_has_every_configuration_and_marks_the_best_and_the_second_best(page_of):
    text = page_of(without_figures(small()))
    table = text[text.index("<summary>Configurations"):]
    rows = re.findall("<tr>.*?</tr>", table)[1:9]
    assert len(rows) == 8 and sum("n best" in row for row in rows) == 2 and sum("n second" in row for row in rows) == 2
    # Means of two seeds: 12.706 times their deviation / sqrt 2 is half the interval, shown with two digits at the median.
    assert re.search(r'<td class="n best" title="0.\d+">0\.\d{2,3} ± 0\.\d{2,3}</td>', rows[0] + rows[2])
    assert sum("<td>second best</td>" in row for row in rows) == 2 and "<td>adadp</td>" in rows[0]
    assert has_line(text, "learning-rate", "accuracy", "test", "as in the paper, which names no validation set", "optimistic")
    assert not has_line(text, "epsilon")


def test_hundreds_of_configurations_are_folded_and_cut_and_every_cell_is_in_the_csv(page_of):
    cells = [cell({"name": f"method {number}"}, {"test_accuracy": 0.001 * number}) for number in range(600)]
    text = page_of(sweep(cells, axes=[axis("name")], figures=[request("lines", y="none")]))
    assert "<summary>Configurations</summary>" in text and has_line(text, "500", "600", "summary.csv")
    assert has_line(text, "500", "600", "cells.csv") and "method 499<" in text and "method 500<" not in text
    assert "<span>name</span> method 0, method 1" in text and "and 588 more" in text


def test_of_private_runs_the_page_says_whose_epsilon_it_is_and_what_it_leaves_out(page_of):
    text = page_of(without_figures(small(private=True)))
    assert has_line(text, "epsilon", "published seed")
    text = page_of(without_figures(small(private=True, change=lambda one: (one.texts.update(randomness="secret"), one.statements.append(("every row", ("no seed is known",)))))))
    assert has_line(text, "epsilon", "private") and not has_line(text, "published seed") and has_line(text, "Privacy", "every row") and has_line(text, "no seed is known")


def test_a_page_says_what_looking_at_all_private_runs_of_it_costs(page_of):
    numbers = iter(range(16))

    def change(one):  # 0.5 + 0.25 i, which add up to 38
        one.numbers |= {"epsilon_spent": 0.5 + 0.25 * next(numbers), "delta_spent": 2.0**-20}

    one = without_figures(small(private=True, change=change))
    text = page_of(one)
    assert has_sentence(text, "16", "epsilon", "38", "1.526e-05", "example level") and not has_sentence(text, "epsilon", "client level")
    # A killed run has rounds in the tables, one that failed has none; of users or clients.
    one.cells[0].status = "unfinished"
    one.cells[1].status, one.cells[1].numbers, one.cells[1].texts = "failed", {}, {}
    one.cells[2].texts |= {"privacy_example": "every user of a client", "privacy_example_level": "user"}
    one.cells[3].numbers |= {"client_epsilon_spent": 2.0, "client_delta_spent": 1e-5}
    text = page_of(one)
    assert has_sentence(text, "14", "epsilon", "36.25", "1.336e-05", "example level")
    assert has_sentence(text, "epsilon", "1", "9.537e-07", "user level") and has_sentence(text, "epsilon", "2", "1e-05", "client level")
    # A statement without a number proves none, nor does a delta of 1.
    del one.cells[2].numbers["epsilon_spent"]
    one.cells[3].numbers["client_delta_spent"] = 1.0
    text = page_of(one)
    assert has_sentence(text, "no proven epsilon", "user level") and has_sentence(text, "no proven epsilon", "client level")


def test_a_bound_is_rounded_up_as_the_program_does():
    assert text.rounded_up(38.0) == "38" and text.rounded_up(1.23401) == "1.235" and text.rounded_up(9.99961) == "10"
    assert text.rounded_up(2.0**-20 * 16) == "1.526e-05" and text.rounded_up(2.99841, "{:.3f}") == "2.999"
    assert text.short_number(2.9984101, "epsilon_spent") == "2.99842" and text.short_number(2.9984101, "test_loss") == "2.99841"
    draw = random.Random(1)
    for value in [draw.random() * 10.0 ** draw.randrange(-12, 9) for _ in range(1000)]:
        assert value <= float(text.rounded_up(value)) <= value * 1.0011
        assert float(_core.rounded_up(value)) == float(text.rounded_up(value))


def test_cells_without_a_result_are_named_with_their_error(page_of):
    one = without_figures(small())
    one.cells[0].status, one.cells[0].error = "failed", "no <room> left"
    one.cells[1].status = "missing"
    text = page_of(one)
    assert has_line(text, "14", "16", "1 failed", "1 not run", "full")
    assert re.search(r"<td>random-fraction 0, optimizer adadp, seed 1</td><td class=\"status\">failed</td><td>no &lt;room&gt; left</td>", text)
    assert text.count("fedstride run") >= 16


def test_rounds_in_which_no_step_was_kept_are_remarked_with_advice(page_of):
    def change(one):
        one.numbers |= {"idle_rounds": 2.0 if one.point["optimizer"] == "adadp" else 0.0, "rounds_done": 3.0}

    text = page_of(without_figures(small(change=change)))
    assert has_line(text, "4 cells", "optimizer adadp", "seed 1: 2 of 3 rounds", "--learning-rate", "--optimizer sgd", "cells.csv")
    assert "no client kept a step" not in page_of(without_figures(small()))


def test_times_are_sums_over_all_cells(page_of):
    text = page_of(without_figures(small(change=lambda one: one.numbers.update(seconds=0.25, evaluation_seconds=0.125))))
    assert "<td>training and averaging</td><td>4 s, over 16 cells</td>" in text and "<td>evaluation</td><td>2 s, over 16 cells</td>" in text


def test_a_page_names_the_commits_that_the_cells_were_computed_by_not_that_of_who_looked_last(page_of):
    one = without_figures(small())
    one.machine = {"commit": "cccccccccccc", "processor": "a processor"}
    for number, each in enumerate(one.cells):
        each.texts["commit"] = "ab"[number % 2] * 12
    text = page_of(one)
    assert "<td>commit</td><td>aaaaaaaaaaaa, bbbbbbbbbbbb</td>" in text and "a processor" in text and "cccccccccccc" not in text


def test_a_sweep_without_any_run_cell_has_a_page_too(page_of):
    text = page_of(made(fractions=(0, 1), seeds=2, figures=[request("accuracy-by-round")], change=lambda one: setattr(one, "status", "missing")))
    assert has_line(text, "0 of", "16 not run", "full") and has_line(text, "Nothing to draw", "test_accuracy") and "<svg" not in text
    assert has_line(page_of(sweep([])), "0 of 0 cells", "full")


def test_a_page_of_one_run_and_one_of_runs_joined(page_of):
    text = page_of(sweep([cell({}, {"test_accuracy": 0.5})], title="run", figures=[request("lines", y="none")]))
    assert has_line(text, "Test accuracy", "0.5000", "one seed") and "1 of 1 cell is finished" in text
    cells = [cell({"run": name}, {"test_accuracy": 0.5}) for name in ("a", "b")]
    joined = sweep(cells, axes=[axis("run", "a", "b")], figures=[request("lines", y="none")])
    joined.told["cells"] = [{"configuration": "", "settings": {"rate": rate, "same": "1"}, "defaults": {}} for rate in ("1", "")]
    text = page_of(joined)
    table = text[text.index("<summary>Settings that differ"):].split("</table>")[0]
    assert "<tr><th>run</th><th>rate</th></tr>" in table and "<tr><td>b</td><td></td></tr>" in table


def test_no_text_of_an_experiment_file_gets_into_the_page_as_anything_but_text(page_of, tmp_path):
    hostile = "</pre><script>alert(1)</script>\"'&`id`{{ 7 * 7 }}{% if %}"
    one = small(**dict.fromkeys(("title", "source", "claim", "note"), hostile), tuning={**TUNING, "why": hostile}, private=True,
                expectations=[claim(quantity("no_such"), "above", 1, claim=hostile)],
                change=lambda one: (one.point.update(optimizer=one.point["optimizer"] + hostile), setattr(one, "command", hostile),
                                    one.statements.append((hostile, (hostile,))), one.numbers.update({hostile: 1.0})))
    one.cells[0].status, one.cells[0].error, one.machine = "failed", hostile, {hostile: hostile}
    one.experiment["figures"] = [request("accuracy-by-rate", title=hostile)]
    one.folder = tmp_path
    (tmp_path / "experiment.toml").write_text(hostile)
    text = page_of(one)
    escaped = "&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&amp;`id`{{ 7 * 7 }}{% if %}"
    assert "<script" not in text and "{{ 7 * 7 }}" in text and f"<pre>{escaped}</pre>" in text and text.count(escaped) > 20


def test_several_sweeps_share_a_page_with_a_list_of_them_and_tables_are_linked(page_of, tmp_path):
    one, other = without_figures(small()), without_figures(small(title="Another"))
    other.folder = tmp_path / "a b"
    other.folder.mkdir()
    (other.folder / "cells.csv").write_text("")
    text = page_of(one, other)
    assert '<a href="#sweep2">Another</a>' in text and re.search(r'<section id="sweep2">\s*<h2>Another</h2>', text)
    assert '<a href="a%20b/cells.csv">cells.csv</a>' in text and "summary.csv</a>" not in text


def test_what_cannot_be_written_is_said_before_anything_is_drawn(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder.html").mkdir()
    for out, why in ((tmp_path / "file/page.html", "does not exist"), (tmp_path / "folder.html", "is a folder")):
        with pytest.raises(Failure, match=f"cannot write '{out}': .*{why}"):
            page.write_page([small()], out)
    assert not list((tmp_path / "folder.html").iterdir()) and sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.html"]


def test_the_program_writes_the_page_and_the_tables_of_a_run(tmp_path):
    program("run", *flags(SMALL), "--out", tmp_path / "run", "--quiet")
    told = program("report", tmp_path / "run", "--latex")
    assert told.splitlines()[-2:] == [str(tmp_path / "run/report.html"), str(tmp_path / "run/report.tex")]
    text = (tmp_path / "run/report.html").read_text()
    assert text.count("<figure>") >= 3 and '<a href="report-figures/figure1.pdf">' in text and "<summary>Experiment file</summary>" in text
    assert "\\begin{tabular}" in (tmp_path / "run/report.tex").read_text()


# Tables and sentences.


def contest(seeds, fractions=(0, 1), **more):
    """adadp leads sgd by 0.1 or so at share 0 and is as far behind at 1."""
    def change(one):
        leads = (one.point["optimizer"] == "adadp") == (one.point["random-fraction"] == "0")
        one.numbers["test_accuracy"] = 0.8 + 0.01 * float(one.point["seed"]) if leads else 0.7 + 0.012 * float(one.point["seed"])

    return made(fractions=fractions, rates=(0.01,), seeds=seeds, **{"change": change, "tuning": UNTUNED, **more})


def test_a_column_has_one_number_of_decimals_two_digits_of_its_usual_interval():
    def change(one):
        seed = float(one.point["seed"])
        one.numbers = {"test_accuracy": 0.5 if one.point["optimizer"] == "sgd" else 0.25 + 0.01 * seed, "delta_spent": 1e-5 * (1 + 0.1 * seed)}

    grid = result_grids(contest(5, change=change))[0]
    first, second = grid.cells[0]
    assert grid.metric == "test_accuracy" and (first.mean, first.half, second.mean) == ("0.280", "0.020", "0.500")  # t 2.776 x 0.0158
    assert names(first.detail, "95 %", "5 seeds")

    def tiny(one):
        one.numbers = {"delta_spent": 1e-5 * (1 + 0.1 * float(one.point["seed"]))}

    assert result_grids(contest(5, change=tiny, command="privacy delta"))[0].cells[0][0].mean == "1.4e-05"  # a bound


def test_who_won_is_said_with_intervals_over_all_conditions_first_then_in_each():
    overview, first, second = result_sentences(contest(5))
    assert names(overview, "adadp", "sgd", "test accuracy", "1", "2")
    # 0.83 against 0.736; the lead falls by 0.002 a seed.
    assert names(first, "random-fraction 0", "adadp", "0.830", "95 %", "0.809 to 0.849", "5 seeds", "0.0940 above sgd",
                 "0.0901 to 0.0979", "p < 0.001")
    assert names(second, "random-fraction 1", "sgd") and not names(first, "not")


def test_an_interval_of_a_share_is_shown_by_its_ends_where_the_mean_and_half_its_width_would_leave_0_to_1(page_of):
    def change(one):
        one.numbers["test_accuracy"] = dict(sgd=(0.93, 0.95), adadp=(0.9, 0.91))[one.point["optimizer"]][int(one.point["seed"]) - 1]

    one = without_figures(contest(2, change=change))
    grid, (row, *_) = result_grids(one)[0], [row for row in one.summary.itertuples() if row.metric == "test_accuracy" and "sgd" in row.configuration]
    within, beyond = grid.cells[0]
    assert (within.half, within.ends) == ("0.07", "") and (beyond.mean, beyond.half, beyond.ends) == ("0.94", "", "0.62 to 0.99")
    assert (text.number_text(row.low), text.number_text(row.high)) == tuple(re.findall("95 %: (.*) to (.*);", beyond.detail)[0])  # summary.csv
    assert row.high < 1 and names(grid.note, "ends in parentheses", "logit")
    page = page_of(one)
    assert page.count("0.94 (0.62 to 0.99)") == 4 and "0.91 ± 0.07" in page  # of results and of configurations
    assert r"$0.94$ & ${} \; (0.62\mathrm{~to~}0.99)$" in latex_tables([one])
    assert names(result_sentences(one)[1], "sgd has 0.94 (95 % interval 0.62 to 0.99, 2 seeds)")


def test_a_share_of_rejected_steps_that_is_always_0_has_no_column(page_of):
    def columns(*shares):
        cells = [cell({"optimizer": name}, {"test_accuracy": 0.5, "rejected_share": share}) for name, share in zip("ab", shares)]
        return re.findall('<th class="n"[^>]*>([a-z_]+)', page_of(sweep(cells, axes=[axis("optimizer", "a", "b")], figures=[request("lines", y="none")])))

    assert columns(0.0, 0.0) == ["test_accuracy", "n"] and columns(0.0, 0.1) == ["test_accuracy", "rejected_share", "n"]


def test_a_table_without_intervals_of_another_command_has_no_empty_caption(page_of):
    text = page_of(sweep([cell({"steps": steps}, {"delta": 1e-5}) for steps in "12"], command="privacy delta", axes=[axis("steps", "1", "2")]))
    assert "<h2>Results</h2>" in text and NOTE + "</p>" not in text


def test_wide_tables_scroll_within_their_own_box(page_of):
    text = page_of(without_figures(small(expectations=[claim(quantity("no_such"), "above", 1, claim="c")])))
    assert text.count('<div class="wide" tabindex="0"><table>') == text.count("<table>") == text.count("</table></div>") > 3
    assert re.search(r"\.wide {[^}]*overflow-x: auto", text) and re.search(r"max-width: calc\(50vw \+ 23rem\)", text)


def test_captions_of_tables_have_at_most_three_lines_and_leave_the_rest_to_a_list(page_of):
    one = without_figures(contest(5, tuning=TUNING, target={"metric": "accuracy", "at": 0.5}))
    grid = result_grids(one)[0]
    assert len(grid.caption) <= 330 < len(grid.note) and names(grid.caption, "95 %", "Bold", "Holm", "learning-rate")
    page = page_of(one)
    assert has_line(page, *grid.caption.split()) and has_line(page, "two-sided paired t-test", "the best was chosen from the same numbers")


def test_few_seeds_are_said_to_be_too_few_one_to_say_nothing_and_a_tie_is_not_called_significant():
    three, one = result_sentences(contest(3)), result_sentences(contest(1))
    assert any(names(text, "adadp", "95 %", "3 seeds", "test") for text in three) and not any("significant" in text for text in three)
    assert any(names(text, "adadp", "one seed") for text in one) and not any("95 %" in text for text in one)

    def close(one):
        seed = int(one.point["seed"])
        one.numbers["test_accuracy"] = 0.8 + 0.01 * seed if one.point["optimizer"] == "adadp" else 0.82 + 0.05 * (-1) ** seed

    (sentence,) = result_sentences(contest(5, (0,), change=close))
    assert names(sentence, "adadp", "sgd", "not significant")


def test_of_one_method_the_conditions_between_which_it_lies_are_named_of_one_configuration_its_number():
    def only_adadp(seeds, fractions=(0, 1)):
        return made(fractions=fractions, rates=(), seeds=seeds, tuning=UNTUNED,
                    change=lambda one: one.numbers.update(test_accuracy=0.81 - 0.1 * float(one.point["random-fraction"])))

    (sentence,) = result_sentences(only_adadp(3))
    assert names(sentence, "highest at random-fraction 0", "0.8100", "lowest at random-fraction 1", "0.7100")
    assert names(*result_sentences(only_adadp(1, (0,))), "0.8100", "one seed")
    none = only_adadp(1, (0,))
    none.cells[0].status = "failed"
    assert result_sentences(none) == [] and result_grids(none) == []


def test_a_target_that_was_not_reached_is_never_and_has_no_mean():
    def change(one):
        reached = one.point["optimizer"] == "adadp" or one.point["seed"] == "1"
        one.numbers |= {"test_target_reached": float(reached)} | ({"test_rounds_to_target": 2.0 + int(one.point["seed"])} if reached else {})

    one = contest(3, change=change, target={"metric": "accuracy", "at": 0.5})
    first, second = result_grids(one)[0].cells[0]
    assert (first.mean, second.mean) == ("4.0", "never") and names(result_grids(one)[0].note, "never", "3 evaluations", "at or above 0.5")
    assert "sgd & never & & never & \\\\\n" in latex_tables([one])


def test_labels_have_units_and_titles_have_none():
    expected = {"test_accuracy": "test accuracy (share of examples)", "validation_r2": "validation R2 (share of the variance explained)",
                "train_loss": "training loss (nats per example)", "own_accuracy": "clients' accuracy on their own rows (mean)",
                "own_accuracy_worst_tenth": "clients' accuracy on their own rows (mean of the worst tenth)",
                "personal_accuracy_p10": "personal models' accuracy on clients' own rows (10th percentile)",
                "own_loss": "clients' loss on their own rows (mean)", "test_rounds_to_target": "rounds to the target",
                "validation_seconds_to_target": "virtual seconds to the target (validation rows)", "update_norm": "norm of the update (as received)",
                "some_other-thing": "some other thing"}
    assert {metric: metric_label(metric) for metric in expected} == expected
    assert title_of_metric("test_r2") == "Test R2" and key_label("noise-multiplier").startswith("noise multiplier (")


# LaTeX.


def captions(tex):
    return re.findall(r"\\caption{(.*)}\n", tex)


def test_a_row_is_a_method_a_column_is_a_condition_and_each_condition_has_its_best_and_its_tests():
    # At share 1 adadp leads sgd by 0.1, 0.2, ..., 0.5; at 0 sgd leads by 0.01 on average, not always.
    def change(one):
        seed, is_adadp = float(one.point["seed"]), one.point["optimizer"] == "adadp"
        at_0, at_1 = 0.3 + (0 if is_adadp else 0.03 * (seed - 3) + 0.01), 0.9 - (0 if is_adadp else 0.1 * seed)
        one.numbers["test_accuracy"] = at_1 if one.point["random-fraction"] == "1" else at_0

    tex = latex_tables([made(fractions=(0, 1), rates=(0.01,), seeds=5, change=change)])
    assert "\\usepackage{booktabs}" in tex and tex.count("\\begin{table}") == 3 and tex.count("\\begin{") == tex.count("\\end{")
    first = tex.split("\\end{table}")[0]
    assert "\\begin{tabular}{@{}lr@{}lr@{}l@{}}\n\\toprule\n" in first and "\\midrule\n" in first and "\\bottomrule\n" in first
    assert "& \\multicolumn{4}{c}{random-fraction} \\\\\n\\cmidrule(l){2-5}\n" in first
    assert "optimizer & \\multicolumn{2}{c}{0} & \\multicolumn{2}{c}{1} \\\\\n" in first
    assert "adadp & $0.300$ & ${} \\pm 0.000$ & $\\mathbf{0.90}$ & ${} \\pm 0.00$ \\\\\n" in first
    assert "sgd & $0.310$ & ${} \\pm 0.059$ & $0.60$ & ${} \\pm 0.19^{*}$ \\\\\n" in first
    assert names(captions(first)[0], "5", "95 \\%", "$\\pm$", "Bold", "Holm", "learning-rate")
    assert all(line.count("&") == 4 for line in first.splitlines() if " & $" in line)


@pytest.mark.parametrize("seeds", [4, 5])
def test_below_five_seeds_nothing_has_a_star(seeds):
    def change(one):
        one.numbers["test_accuracy"] = 0.9 if one.point["optimizer"] == "adadp" else 0.5 + 0.0001 * float(one.point["seed"])

    tex = latex_tables([made(fractions=(0, 1), rates=(0.01,), seeds=seeds, change=change)])
    assert ("^{*}" in tex) == (seeds == 5) == names(captions(tex)[0], "Holm") == ("Holm's correction" in tex)
    assert ("Fewer than 5 seeds" in tex) == (seeds == 4)
    assert all(len(caption) < 300 for caption in captions(tex))  # three lines


def test_with_one_condition_each_metric_is_a_column_and_with_many_conditions_a_table_has_several_parts():
    def sure(one):
        one.numbers |= dict.fromkeys(("test_accuracy", "test_loss"), 0.9 if one.point["optimizer"] == "adadp" else 0.5)

    one = latex_tables([made(fractions=(0,), rates=(0.01,), change=sure)])
    assert one.count("\\begin{table}") == 2 and one.count("\\mathbf{") == 2
    assert "optimizer & \\multicolumn{2}{c}{Test accuracy} & \\multicolumn{2}{c}{Test loss} \\\\\n" in one
    many = latex_tables([made(fractions=(0, 0.1, 0.2, 0.3, 0.4, 0.5))])
    assert many.count("\\begin{table}") == 3 and many.split("% For an appendix")[0].count("\\begin{tabular}") == 4


def test_two_keys_of_conditions_have_heads_that_span_equal_neighbours():
    cells = [cell({"partition": partition, "clients": clients, "optimizer": optimizer}, {"test_accuracy": 0.5})
             for partition in ("iid", "natural") for clients in ("5", "10") for optimizer in ("sgd", "adam")]
    tex = latex_tables([sweep(cells, conditions=["partition", "clients"], axes=[axis(key) for key in ("partition", "clients", "optimizer")])])
    assert ("& \\multicolumn{4}{c}{partition iid} & \\multicolumn{4}{c}{partition natural} \\\\\n\\cmidrule(l){2-5}\\cmidrule(l){6-9}\n"
            "& \\multicolumn{8}{c}{clients} \\\\\n\\cmidrule(l){2-9}\n") in tex


def test_one_seed_has_no_interval_and_no_test_and_a_sweep_without_results_no_table():
    tex = latex_tables([made(fractions=(0,), rates=(0.01,), seeds=1)])
    assert captions(tex) and "95" not in captions(tex)[0] and "\\pm" not in tex and "^{*}" not in tex
    none = latex_tables([made(fractions=(0,), rates=(0.01,), change=lambda one: setattr(one, "status", "missing"))])
    assert "\n% made: no finished cell\n" in none and "\\begin{" not in none


def test_no_text_of_an_experiment_is_a_command_of_latex():
    assert latex_text("a_b 5% $x$ {y} #1 & ~ ^ \\input{x} <\n>") == (
        "a\\_b 5\\% \\$x\\$ \\{y\\} \\#1 \\& \\textasciitilde{} \\textasciicircum{} \\textbackslash{}input\\{x\\} \\textless{} \\textgreater{}")
    tex = latex_tables([made(fractions=(0, 1), title="100% \\input{/etc/passwd}",
                             change=lambda one: one.point.update(optimizer=one.point["optimizer"] + "_%&#\\input{x}"))])
    assert "\\input{/" not in tex and "\\input{x" not in tex and "sgd\\_\\%\\&\\#\\textbackslash{}input" in tex


def test_a_tiny_number_has_a_power_of_ten():
    cells = [cell({"steps": steps, "seed": seed}, {"delta": 1e-9 * (1 + 0.1 * int(seed))}) for steps in "12" for seed in "12"]
    tex = latex_tables([sweep(cells, command="privacy delta", axes=[axis("steps"), axis("seed")])])
    assert "$1.1 \\times 10^{-9}$ & ${} \\pm 6.4 \\times 10^{-10}$" in tex or "$1.2 \\times 10^{-9}$ & ${} \\pm 6.4 \\times 10^{-10}$" in tex
