"""Tables, means, tests and claims of sweeps (python/fedstride_report): known answers, hand-worked numbers and damaged folders."""

import csv
import json
import math
import os
import re
import shutil
import subprocess

import made_results
import pandas as pd
import pytest
from conftest import PROGRAM, SMALL, SOURCE, names, program
from fedstride_report import model, tables
from fedstride_report.comparison import compare, compared, compared_metrics, method_table, ordered
from fedstride_report.record import results_record
from fedstride_report.labels import is_share
from fedstride_report.settings import fixed_settings, joined_runs
from fedstride_report.statistics import DIFFERENCE_OF_SHARES, SHARE, holm, paired_p, statistics
from fedstride_report.text import Failure, new_file, number_text, write_file
from made_results import axis, cell, claim, quantity, sweep

TABLES = ("cells", "rounds", "clients", "summary", "expectations")


def rows(path):
    with open(path, encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def same(ours, theirs):
    """Equal text, or numbers equal to 1e-9."""
    try:
        return ours == theirs or math.isclose(float(ours), float(theirs), rel_tol=1e-9)
    except ValueError:
        return False


# Known answers: tables that the program wrote in C++ before Python did, whose intervals were Student's t for all metrics.


def with_new_interval(row):
    """A row of summary.csv or of a record (a dict), whose interval of a share is Student's on the logit scale."""
    if is_share(row["metric"]) and row["low"] not in ("", None) and 0 < (mean := float(row["mean"])) < 1:
        half = (float(row["high"]) - float(row["low"])) / 2
        odds, factor = mean / (1 - mean), math.exp(half / mean / (1 - mean))
        row |= {"low": odds / factor / (1 + odds / factor), "high": odds * factor / (1 + odds * factor)} if half > 0 else {}
    return row


@pytest.mark.parametrize("name", ["tuned", "private", "target", "command"])
def test_tables_are_those_of_the_program_before(name, tmp_path):
    known = made_results.known_sweep(name, tmp_path)
    folder = tmp_path / name
    expected = {table: rows(folder / f"{table}.csv") for table in TABLES}
    names_, *old = expected["summary"]
    expected["summary"] = [names_, *(list(map(str, with_new_interval(dict(zip(names_, row))).values())) for row in old)]
    bytes_before = {table: (folder / f"{table}.csv").read_bytes() for table in TABLES}
    tables.write_tables(known)
    for table in TABLES:
        ours = rows(folder / f"{table}.csv")
        assert ours[0] == expected[table][0] and len(ours) == len(expected[table])
        for ours_row, row in zip(ours, expected[table]):
            assert all(map(same, ours_row, row)), (table, [pair for pair in zip(ours_row, row) if not same(*pair)])
        if table != "summary":  # these compute nothing, or sums in the same order
            assert (folder / f"{table}.csv").read_bytes() == bytes_before[table]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [*(f"{table}.csv" for table in TABLES), "cells", "task.json", *(["record.json"] if (folder / "record.json").exists() else [])])


@pytest.mark.parametrize("name", ["private", "target", "command"])
def test_records_are_those_of_the_program_before(name, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    known = made_results.known_sweep(name, tmp_path)
    expected = json.loads((tmp_path / name / "record.json").read_text())
    known.told["data"] = expected["data"]["sets"]  # told by the program, which knows the published files
    text = results_record(known)
    record = json.loads(text)
    assert len(record["values"]) == len(expected["values"]) == text.count('"deviation"') and text.endswith("\n  ]\n}\n")
    for ours, row in zip(record.pop("values"), expected.pop("values")):
        assert ours.keys() == with_new_interval(row).keys()
        assert all(same(str(ours[key]), str(row[key])) for key in row), (ours, row)
    assert record == expected


def test_an_unfinished_sweep_is_not_recorded(tmp_path):
    known = made_results.known_sweep("tuned", tmp_path)
    with pytest.raises(Failure) as raised:
        results_record(known)
    assert names(str(raised.value), "failed", "finished")


def test_read_one_configuration_at_a_time_the_bytes_are_the_same(tmp_path, monkeypatch):
    tables.write_tables(made_results.known_sweep("target", tmp_path / "held"))
    monkeypatch.setattr(model, "HELD_BYTES", 0)
    monkeypatch.setattr(model, "HELD_ROWS", 30)
    lean = made_results.known_sweep("target", tmp_path / "lean")
    assert lean.rounds_left_out and not any(len(one.rounds) for one in lean.cells)
    assert names(lean.left_out, "30", "summary.csv", "clients by round", "the federation by round")
    assert lean.summary[["round", "client"]].isna().all().all()
    tables.write_tables(lean)
    for table in TABLES:
        assert (tmp_path / f"held/target/{table}.csv").read_bytes() == (tmp_path / f"lean/target/{table}.csv").read_bytes()


def test_every_column_and_metric_is_documented(tmp_path):
    documented = set()
    for line in (SOURCE / "docs/results.md").read_text().splitlines():
        if line.startswith("| `"):
            documented |= set(re.findall("`([^`]*)`", line[2:].split(" |")[0]))
    for name in ("tuned", "private", "target"):
        known = made_results.known_sweep(name, tmp_path)
        found = {column for table in TABLES for column in rows(tmp_path / name / f"{table}.csv")[0]} | set(known.summary["metric"])
        for column in found - {key.replace("-", "_") for key in known.swept_keys}:
            plain = re.sub("_p(50|90)$", "_p10", re.sub("by_.*", "by_NAME", re.sub("class_.*", "class_C", column.removesuffix("_result"))))
            assert plain in documented, column


def test_the_package_needs_no_compiled_module():
    code = "import sys, fedstride_report.model, fedstride_report.tables; sys.exit('fedstride' in sys.modules)"
    assert subprocess.run(["/usr/bin/python3", "-c", code], env={**os.environ, "PYTHONPATH": str(SOURCE / "python")}).returncode == 0


# The program writes the tables through Python.


@pytest.fixture(scope="module")
def small_sweep(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    (folder / "small.toml").write_text(
        "\n".join(f"{key} = {json.dumps(value)}" for key, value in SMALL.items()) +
        "\noptimizer = 'sgd'\n[experiment]\ntitle = 'Small'\n[sweep]\nlearning-rate = [0.1, 0.2]\nseed = [1, 2]\n"
        "[[expect]]\nclaim = 'learns, \"well\"'\nvalue = { metric = 'test_accuracy', where = { learning-rate = 0.2 } }\nabove = 0.05\n")
    program("sweep", folder / "small.toml", "--out", folder / "s")
    return folder / "s"


def swept(folder, *words, **environment):
    return subprocess.run([PROGRAM, "sweep", str(folder.parent / "small.toml"), "--out", str(folder), *words], capture_output=True, text=True,
                          env={**os.environ, **environment})


def damaged(small_sweep, tmp_path, file, content):
    """A copy of the sweep with a damaged first cell, and this cell's row after another sweep."""
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", small_sweep, copy], check=True)
    first = rows(copy / "cells.csv")[1][0]
    (copy / "cells" / first / file).write_text(content)
    program("report", copy)
    header, *others = rows(copy / "cells.csv")
    return copy, [dict(zip(header, row)) for row in others]


def test_a_damaged_cell_has_failed_with_its_error_and_is_in_no_mean(small_sweep, tmp_path):
    copy, cells = damaged(small_sweep, tmp_path, "rounds.jsonl", "{}\n{}\n{}\n")
    assert [one["status"] for one in cells] == ["failed", "finished", "finished", "finished"]
    assert names(cells[0]["error"], "line 1", "rounds.jsonl") and cells[0]["test_accuracy"] == ""
    summary = pd.read_csv(copy / "summary.csv")
    last = summary[(summary.metric == "test_accuracy") & summary["round"].isna()]
    assert list(last.n) == [1, 2] and math.isnan(last.standard_deviation.iloc[0])


def test_a_cell_with_another_run_has_failed_and_one_that_is_not_there_is_missing(small_sweep, tmp_path):
    copy, cells = damaged(small_sweep, tmp_path, "config.toml", "dataset = 'synthetic'\n")
    assert cells[0]["status"] == "failed" and names(cells[0]["error"], "config.toml", "another run")
    subprocess.run(["rm", "-r", copy / "cells" / cells[0]["cell"]], check=True)
    program("report", copy)
    assert rows(copy / "cells.csv")[1][4] == "missing"
    claims = rows(copy / "expectations.csv")
    assert claims[1][:2] == ['learns, "well"', "holds"]  # of other cells


def test_a_sweep_says_which_cells_cannot_be_read_and_which_tables_not_written(small_sweep, tmp_path):
    copy = tmp_path / "s"
    subprocess.run(["cp", "-r", small_sweep, copy], check=True)
    (tmp_path / "small.toml").write_text((small_sweep / "experiment.toml").read_text())
    first = copy / "cells" / rows(copy / "cells.csv")[1][0] / "rounds.jsonl"
    before, text = first.read_text(), first.read_text().splitlines(keepends=True)
    first.write_text(text[0] + "x" * len(text[1][:-1]) + "\n" + "".join(text[2:]))  # as many lines as before
    done = swept(copy)
    assert done.returncode == 1 and "3 of 4 cells finished, 1 failed" in done.stdout and names(done.stderr, "line 2", "rounds.jsonl")
    first.write_text(before)
    (copy / "cells.csv").unlink()
    (copy / "cells.csv" / "occupied").mkdir(parents=True)
    done = swept(copy)
    assert done.returncode == 1 and "4 of 4 cells finished\n" in done.stdout and names(done.stderr, "cells.csv")


@pytest.mark.parametrize("place, part", [("fedstride", "python"), ("bin/fedstride", "lib/fedstride/python"),
                                         ("lib/fedstride/x86-64-v3/fedstride", "lib/fedstride/python")])
def test_the_python_part_is_found_beside_the_program(place, part, tmp_path, small_sweep):
    """In the build folder, an installed program's prefix, and an archive or a package."""
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(PROGRAM, tmp_path / place)
    shutil.copytree(SOURCE / "python" / "fedstride_report", tmp_path / part / "fedstride_report")
    (tmp_path / part / "fedstride_report" / "__main__.py").write_text("print('this one')\nraise SystemExit(1)\n")
    done = subprocess.run([tmp_path / place, "export", small_sweep, "--tensorboard", tmp_path / "board"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "fedstride: this one\n")


def test_without_python_or_a_package_a_sweep_ends_well_and_one_line_says_what_to_install(small_sweep, tmp_path):
    (tmp_path / "python").write_text("#!/bin/sh\nexec /usr/bin/python3 -S \"$@\"\n")  # without installed packages
    (tmp_path / "python").chmod(0o755)
    before = (small_sweep / "cells.csv").read_bytes()
    for interpreter in (tmp_path / "python", "no-such-python"):
        done = swept(small_sweep, FEDSTRIDE_PYTHON=str(interpreter))
        assert done.returncode == 0 and "4 of 4 cells finished\n" in done.stdout
        assert names(done.stderr, "note", "sudo apt install", "python3-pandas", "python3-scipy", "python3-matplotlib", "python3-jinja2")
        report = subprocess.run([PROGRAM, "report", small_sweep], capture_output=True, text=True,
                                env={**os.environ, "FEDSTRIDE_PYTHON": str(interpreter)})
        assert report.returncode == 1 and names(report.stderr, "sudo apt install")
    assert (small_sweep / "cells.csv").read_bytes() == before


# Reading a run's folder.

ROUND_ONE = ('{"round":1,"test_accuracy":null,"validation_loss":1.5,"train_loss":2.25,"examples":10,"seconds":0.5,"model_hash":"aa",'
             '"failed_clients":1,"clients":[{"client":1,"rows":6,"loss":2.5,"learning_rate":0.125,"steps":4,"rejected":1,"new_number":3,'
             '"gradient_norm":3},{"client":0,"rows":4,"loss":null,"learning_rate":0.375,"steps":6,"rejected":2,"gradient_norm":5,'
             '"clipped_share":null,"failure":"diverged"}],"example_privacy":{"epsilon":0.75,"delta":1e-05},'
             '"later":{"deep":[{"round":7}]},"not_covered":["a","clients.b"]}\n')
ROUND_TWO = ('{"round":2,"test_accuracy":0.5,"train_loss":1.25,"examples":30,"seconds":1.5,"model_hash":"bb","failed_clients":0,'
             '"worst_client_accuracy":0.25,"clients":[{"client":0,"learning_rate":0.5,"steps":10,"rejected":0}]}\n')
SUMMARY = ('{"rounds":2,"finished":true,"test_accuracy":0.5,"test_loss":1.125,"examples":40,"seconds":2,"model_hash":"bb",'
           '"numerics_version":1,"peak_memory_bytes":1000}')
FIELDS = [["learning_rate", "learning_rate", False], ["steps", "steps", True], ["rejected", "rejected_steps", True],
          ["gradient_norm", "gradient_norm", False], ["clipped_share", "clipped_share", False]]


def run_of(folder, rounds, summary="", **files):
    """The only cell of a run's folder with these files."""
    folder.mkdir(exist_ok=True)
    for name, text in {"config.toml": "", "rounds.jsonl": rounds, "summary.json": summary, **files}.items():
        if text or name != "summary.json":
            (folder / name.replace("__", ".")).write_text(text)
    told = {"key": "r", "configuration": "r", "point": {}, "command": "fedstride run", "folder": str(folder)}
    return model.read_cell(told, made_results.EXPERIMENT, FIELDS)


def test_a_line_of_rounds_jsonl_gives_the_rounds_numbers_and_its_clients(tmp_path):
    run = run_of(tmp_path / "run", ROUND_ONE + ROUND_TWO, SUMMARY)
    assert (run.status, run.error, run.round_hashes) == ("finished", "", ["aa", "bb"])
    assert run.rounds.loc[1].dropna().to_dict() == {
        "validation_loss": 1.5, "train_loss": 2.25, "examples": 10, "seconds": 0.5, "failed_updates": 1, "steps": 10, "rejected_steps": 3,
        "rejected_share": 0.3, "learning_rate": 0.25, "gradient_norm": 4, "epsilon_spent": 0.75, "delta_spent": 1e-5}
    clients = [row.dropna().to_dict() for _, row in run.clients.iterrows()]
    assert clients[0] == {"round": 1, "client": 0, "rows": 4, "learning_rate": 0.375, "steps": 6, "rejected": 2,
                          "rejected_share": 2 / 6, "gradient_norm": 5}
    assert clients[1]["new_number"] == 3 and clients[2]["round"] == 2
    # After the last round: sums over the rounds, the last round's measures, what the summary says.
    assert run.numbers == {"rounds_done": 2, "test_accuracy": 0.5, "best_test_accuracy": 0.5, "test_loss": 1.125, "train_loss": 1.25,
                           "examples": 40, "idle_rounds": 0, "seconds": 2, "examples_per_second": 20, "failed_updates": 1, "steps": 20,
                           "rejected_steps": 3, "rejected_share": 0.15, "learning_rate": 0.5, "worst_client_accuracy": 0.25,
                           "peak_memory_bytes": 1000}
    assert (run.texts["model_hash"], run.texts["numerics_version"]) == ("bb", "1")


def test_a_run_that_was_broken_off_is_unfinished_up_to_its_last_complete_line(tmp_path):
    run = run_of(tmp_path / "a", ROUND_ONE + ROUND_TWO[:40])
    assert run.status == "unfinished" and len(run.rounds) == 1 and run.numbers["rounds_done"] == 1
    assert run_of(tmp_path / "b", ROUND_ONE, '{"rounds":1,"finished":false,"test_accuracy":0.1}').status == "unfinished"
    assert run_of(tmp_path / "c", "").status == "unfinished"


@pytest.mark.parametrize("rounds, summary, files, parts", [
    (ROUND_TWO + ROUND_TWO, SUMMARY, {}, ["line 1", "rounds.jsonl"]),
    (ROUND_ONE + "garbage\n", SUMMARY, {}, ["line 2", "rounds.jsonl"]),
    (ROUND_ONE + "[1]\n", SUMMARY, {}, ["line 2", "rounds.jsonl"]),
    (ROUND_ONE + '{"round":2,"x":NaN}\n', SUMMARY, {}, ["line 2", "rounds.jsonl"]),
    (ROUND_ONE + '{"round":2,"clients":[{"client":' + "[" * 20000 + "\n", SUMMARY, {}, ["line 2", "rounds.jsonl"]),
    (ROUND_ONE, SUMMARY, {}, ["summary.json", "2", "rounds.jsonl", "1"]),
    (ROUND_ONE, '{"rounds":', {}, ["summary.json"]),
    (ROUND_ONE, "[]", {}, ["summary.json", "JSON object"]),
    (ROUND_ONE, "", {"partition__json": '{"rows_per_class": [[1, 2], [-3]], "clients": []}'}, ["partition.json", "rows_per_class"]),
    (ROUND_ONE, "", {"error__txt": "the disk is full\nmore\n"}, ["the disk is full"])])
def test_what_is_damaged_makes_the_cell_failed_in_one_line(tmp_path, rounds, summary, files, parts):
    run = run_of(tmp_path / "run", rounds, summary, **files)
    assert run.status == "failed" and not run.numbers and not len(run.rounds)
    assert names(run.error, *parts), run.error


def test_classes_are_read_where_the_data_have_them(tmp_path):
    partition = '{"rows_per_class": [[1, 2], [], [3]], "clients": []}'
    run = run_of(tmp_path / "run", ROUND_ONE, '{"rounds":1,"finished":true,"class_names":["cat","dog"]}', partition__json=partition)
    assert run.class_names == ["cat", "dog"] and run.rows_per_class == [[1, 2], [], [3]]
    large = run_of(tmp_path / "large", ROUND_ONE, '{"rounds":1,"finished":true}', partition__json='{"format": "fedstride partition 2"}')
    assert large.status == "finished" and large.rows_per_class == [] and large.class_names == []


def test_numbers_of_other_commands_are_named_by_their_path(tmp_path):
    (tmp_path / "result.json").write_text('{"a":{"b-c":1,"on":true},"list":[{"name":"x","y":2},3],"text":"t","noise-multiplier":2,"no":null}')
    told = {"key": "r", "configuration": "r", "point": {"noise-multiplier": "2"}, "command": "", "folder": str(tmp_path)}
    run = model.read_cell(told, made_results.EXPERIMENT | {"command": "privacy epsilon"}, [])
    assert run.numbers == {"a_b_c": 1, "a_on": 1, "list_x_y": 2, "list_1": 3} and run.texts == {"list_x_name": "x", "text": "t"}


# Text and files.


@pytest.mark.parametrize("number, text", [(0, "0"), (-0.0, "-0"), (10, "10"), (0.1, "0.1"), (1e-5, "1e-05"), (100000, "1e+05"), (123000, "123000"),
                                          (1e4, "10000"), (1e5 + 1, "100001"), (0.001, "0.001"), (0.0001, "1e-04"), (-2.5e-7, "-2.5e-07"), (1e22, "1e+22"),
                                          (0.00012345, "0.00012345"), (1.5e300, "1.5e+300"), (1 / 3, "0.3333333333333333"),
                                          (2.0 ** 60, "1152921504606846976")])
def test_numbers_have_the_shortest_text_that_reads_back(number, text):
    assert number_text(number) == text and float(text) == number


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a"
    write_file(path, "old")
    with pytest.raises(RuntimeError), new_file(path) as file:
        file.write(b"new")
        raise RuntimeError
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    with new_file(path) as file:
        tables._Table(file, ["x", "x"]).rows([['new, "text"\n', math.nan], ["a\rb", 3]])
    assert path.read_bytes() == b'x,x_result\n"new, ""text""\n",\n"a\rb",3\n'
    with pytest.raises(Failure) as raised:
        write_file(tmp_path / "none" / "a", "")
    assert names(str(raised.value), "cannot write", "No such file or directory")


def test_names_that_meet_are_told_apart_and_cells_without_a_key_leave_its_column_empty(tmp_path):
    made = sweep([cell({"model": "x", "rank": "1"}, {"rank": 5, "status": 2, "cell": 3}), cell({"model": 'a, "b"'}, {"model": 1})], tmp_path,
                 axes=[axis("model", "x"), axis("rank", "1", "2")], command="evaluate")
    tables.write_tables(made)
    header, first, second = rows(tmp_path / "cells.csv")
    assert header == ("cell configuration model rank status cell_result model_result rank_result status_result seconds "
                      "evaluation_seconds examples_per_second peak_memory_bytes error command").split()
    assert first[6:8] == ["", "5"] and second[2:4] == ['a, "b"', ""]
    assert len(rows(tmp_path / "rounds.csv")) == len(rows(tmp_path / "clients.csv")) == 1
    assert rows(tmp_path / "summary.csv")[0] == ("configuration model rank metric round client n mean standard_deviation low high "
                                                 "rank_result").split()


# Means and tests, against closed forms of Student's distribution.


def with_four_degrees(t):
    """The two-sided p-value with four degrees of freedom."""
    square = t * t + 4
    return 1 - t / math.sqrt(square) * (1 + 2 / square)


def test_means_deviations_and_intervals():
    three = statistics([1, 2, 3])
    assert three[:3] == (3, 2, 1) and three.low == pytest.approx(4 - three.high, rel=1e-12)
    assert three.high - 2 == pytest.approx(0.95 / math.sqrt(2 * 0.975 * 0.025) / math.sqrt(3), rel=1e-12)
    assert statistics([0.4, 0.6]).high == pytest.approx(0.5 + math.tan(math.pi * 0.475) * 0.1, rel=1e-12)  # Cauchy
    assert statistics([0.7]).mean == 0.7 and math.isnan(statistics([0.7]).deviation) and math.isnan(statistics([0.7]).low)
    assert statistics([0.2] * 3) == (3, 0.2, 0, 0.2, 0.2)  # 0.2 + 0.2 + 0.2 is not 0.6
    assert statistics([0.25] * 2000)[1:] == (0.25, 0, 0.25, 0.25) and statistics([]).n == 0


def test_the_interval_of_shares_is_students_on_the_logit_scale_and_lies_within_0_and_1():
    two = statistics([0.4, 0.6], SHARE)  # half the interval is tan(0.475 pi) / 10, at a slope of 1 / (0.5 * 0.5)
    assert two.high == pytest.approx(1 / (1 + math.exp(-0.4 * math.tan(math.pi * 0.475))), rel=1e-12) and two.low == pytest.approx(1 - two.high)
    for values in ([0, 1], [0.99, 1, 1], [0, 0, 1e-9], [0.2, 0.9, 0.8]):
        mean, low, high = (getattr(statistics(values, SHARE), name) for name in ("mean", "low", "high"))
        assert 0 <= low < mean < high <= 1
    close, plain = (statistics([0.8, 0.8001, 0.8002], *bounds) for bounds in ((SHARE,), ()))
    assert (close.low, close.high) == pytest.approx((plain.low, plain.high), abs=1e-6) and close.low != plain.low
    assert statistics([1, 1], SHARE) == (2, 1, 0, 1, 1) and statistics([0.2] * 3, SHARE) == (3, 0.2, 0, 0.2, 0.2)
    assert math.isnan(statistics([0.7], SHARE).low)
    lead = statistics([0.9, -0.1], DIFFERENCE_OF_SHARES)
    assert -1 <= lead.low < 0 < lead.mean < lead.high <= 1


@pytest.mark.parametrize("metric", "test_accuracy balanced_accuracy macro_f1 auc rejected_share participation own_accuracy_p10 "
                                   "backdoor_success test_target_reached".split())
def test_means_and_leads_of_shares_have_intervals_within_their_bounds_and_those_of_losses_may_not(metric):
    cells = [cell({"optimizer": name, "seed": seed}, {metric: value, "test_loss": value})
             for name, values in (("a", (0.3, 1.0)), ("b", (0.05, 0.4))) for seed, value in zip("12", values)]
    made = sweep(cells, axes=[axis("optimizer", "a", "b"), axis("seed", "1", "2")])
    share, loss = row_of(made, metric, "optimizera"), row_of(made, "test_loss", "optimizera")
    assert 0 <= share["low"] < share["mean"] < share["high"] <= 1 and loss["low"] < 0 and loss["high"] > 1
    a, b = compare(method_table(made), metric).entries[0]
    assert (a.statistics.low, a.statistics.high) == (share["low"], share["high"]) and -1 <= b.lead.low < b.lead.high <= 1


def test_the_paired_test_is_students_on_the_differences():
    assert paired_p([1, 2, 3]) == paired_p([-1, -2, -3]) == pytest.approx(1 - 2 * math.sqrt(3) / math.sqrt(14), rel=1e-12)
    assert paired_p([1, 2]) == pytest.approx(1 - 2 / math.pi * math.atan(3), rel=1e-12)
    assert math.isnan(paired_p([1])) and math.isnan(paired_p([1, 1])) and paired_p([0, 0]) == 1
    assert paired_p([1, 1.1, 0.9, 1.2, 0.8]) == pytest.approx(with_four_degrees(1 / math.sqrt(0.025 / 5)), rel=1e-9)


def test_holm_multiplies_the_smallest_by_the_number_of_tests_and_never_turns_the_order_round():
    assert holm([0.04, math.nan, 0.01, 0.03])[2:] == [0.03, 0.06] and holm([0.04, 0.01, 0.03])[0] == 0.06
    assert holm([0.9, 0.8]) == [1.0, 1.0] and math.isnan(holm([math.nan])[0])


def test_seeds_are_paired_by_their_number_and_the_best_is_not_tested():
    def some(name, values, seeds="12345", **others):
        return [cell({"optimizer": name, "seed": seed}, {"test_accuracy": value}, **others) for seed, value in zip(seeds, values)]

    groups = [some("a", [0.9, 0.8, 0.7, 0.6, 0.5]), some("b", [0.0, 0.2, 0.4, 0.6, 0.8], "54321"), some("c", [0.1] * 5, "12349"),
              some("d", [0.2], "7", status="failed")]
    a, b, c, d = compared(groups, "test_accuracy", True)
    assert a.is_best and math.isnan(a.p) and not b.is_best and b.lead.n == 5 and b.lead.mean == pytest.approx(0.3)
    assert b.p == pytest.approx(with_four_degrees(0.3 / math.sqrt(0.025 / 5)), rel=1e-9)
    assert c.lead.n == 4 and math.isnan(c.p) and d.statistics.n == 0  # four are too few for a test
    assert compared(groups, "test_accuracy", False)[2].is_best
    assert not compared(groups[:1], "test_accuracy", True)[0].is_best  # nobody wins alone


def row_of(made, metric, configuration="optimizersgd", round_=None, client=None):
    summary = made.summary
    found = summary[(summary["configuration"] == configuration) & (summary["metric"] == metric)]
    for name, value in (("round", round_), ("client", client)):
        found = found[found[name].isna() if value is None else (found[name] == value).fillna(False)]
    return found.iloc[0] if len(found) == 1 else None


def test_seeds_are_summarized_by_configuration_metric_round_and_client():
    cells = []
    for optimizer in ("sgd", "adadp"):
        for seed in (1, 2, 3):
            rounds = [{"train_loss": seed + 10 * at, "seconds": 1} | ({"validation_loss": 7} if seed == 2 else {}) for at in (1, 2)]
            clients = [{"round": at, "client": one, "loss": seed + 100 * at + one} for at in (1, 2) for one in (0, 1) if seed != 3 or one]
            cells.append(cell({"optimizer": optimizer, "seed": str(seed)}, {"test_accuracy": 0.1 * seed, "seconds": 4}, rounds, clients,
                              rows_per_class=[[seed, 5], [7]]))
    made = sweep(cells, axes=[axis("optimizer", "sgd", "adadp"), axis("seed", "1", "2", "3")])
    final = row_of(made, "test_accuracy")
    assert (final["n"], final["rank"]) == (3, 0) and final["mean"] == pytest.approx(0.2)
    assert row_of(made, "train_loss", "optimizeradadp", 2)["mean"] == 22
    assert row_of(made, "validation_loss", round_=1)["n"] == 1
    zero, one = (row_of(made, "loss", round_=1, client=client) for client in (0, 1))
    assert (zero["n"], zero["mean"], one["n"], one["mean"]) == (2, 101.5, 3, 103)
    assert row_of(made, "loss", client=1)["mean"] == 203  # the last round's
    assert row_of(made, "rows_of_class_0", client=0)["mean"] == 2 and row_of(made, "rows_of_class_1", client=0)["standard_deviation"] == 0
    assert row_of(made, "rows_of_class_1", client=1) is None
    assert "seconds" not in set(made.summary["metric"])  # timings are no results
    assert made.point_of["optimizersgd"] == {"optimizer": "sgd"}


def test_only_finished_cells_count_and_a_sweep_without_any_has_empty_tables(tmp_path):
    cells = [cell({"seed": seed}, {"test_accuracy": value}, configuration="c") for seed, value in (("1", 0.5), ("2", 0.9), ("3", 0.7))]
    cells[1].status = "unfinished"
    assert row_of(sweep(cells), "test_accuracy", "c")["n"] == 2
    for one in cells:
        one.status = "missing"
    made = sweep(cells, tmp_path)
    tables.write_tables(made)
    assert len(rows(tmp_path / "summary.csv")) == 1 and [row[3] for row in rows(tmp_path / "cells.csv")[1:]] == ["missing"] * 3


def test_a_tuned_grid_is_ranked_among_those_that_differ_in_tuned_keys_alone():
    accuracy = {("0", "0.1"): 0.3, ("0", "0.2"): 0.5, ("0", "0.3"): 0.4, ("1", "0.1"): 0.9, ("1", "0.2"): 0.8, ("1", "0.3"): 0.9}
    cells = [cell({"share": share, "rate": rate, "seed": seed},
                  {"validation_accuracy": value + 0.01 * int(seed), "validation_loss": value, "x": 1})
             for (share, rate), value in accuracy.items() for seed in ("1", "2")]

    def ranks(**tuning):
        made = sweep(cells, tuning={"keys": ["rate"], "on": "validation", "metric": "accuracy", "why": ""} | tuning)
        assert {row_of(made, "x", name)["rank"] for name in made.ranks} == set(made.ranks.values())
        return [made.ranks.get(f"share{share}rate{rate}", 0) for share, rate in accuracy]

    assert ranks() == [3, 1, 2, 1, 3, 2]  # a tie goes to the first
    assert ranks(metric="loss") == [1, 3, 2, 2, 1, 3]
    # A seed whose loss is not finite: no mean over the others makes that rate the best.
    del cells[0].numbers["validation_loss"]
    assert ranks(metric="loss")[:3] == [3, 2, 1]
    del cells[1].numbers["validation_loss"]
    assert ranks(metric="loss")[:3] == [0, 2, 1]
    assert ranks(on="test") == [0] * 6  # nothing has been measured there


def test_numbers_are_tuned_by_r2_where_no_accuracy_is():
    assert sweep([cell({}, {"validation_r2": 0.5})]).experiment["tuning"]["metric"] == "r2"
    assert sweep([cell({}, {"validation_r2": 0.5, "validation_accuracy": 1})]).experiment["tuning"]["metric"] == "accuracy"


# Time to target.


def to_target(accuracies, target=None, split="test_accuracy", point=None):
    """A cell whose rounds have these accuracies (0: not evaluated), of 10 virtual seconds and 3 MB each."""
    made = cell(point or {}, rounds=[{"virtual_seconds": 10 * at, "megabytes": 3 * at} | ({split: value} if value else {})
                                     for at, value in enumerate(accuracies, 1)])
    model.add_to_target(target or {"metric": "accuracy", "at": 0.5}, made)
    return made


def test_a_target_is_reached_at_the_first_of_three_evaluations_in_a_row():
    # Round 2 is above alone, 4 and 6 are two in a row; 9, 11 and 13 are three.
    assert to_target([0.4, 0.6, 0.3, 0.5, 0, 0.5, 0, 0.49, 0.5, 0, 0.7, 0, 0.5, 0.2]).numbers == {
        "test_target_reached": 1, "test_rounds_to_target": 9, "test_seconds_to_target": 90, "test_megabytes_to_target": 27}
    assert to_target([0.5, 0.5, 0.49, 0.6, 0.6]).numbers == {"test_target_reached": 0}
    assert to_target([0, 0]).numbers == {}  # never evaluated


def test_a_loss_must_be_at_or_below_its_target_and_one_that_is_not_finite_is_not():
    made = cell({}, rounds=[{"validation_accuracy": 0.1} | ({"validation_loss": 1} if at != 2 else {}) for at in range(1, 5)])
    model.add_to_target({"metric": "loss", "at": 1}, made)
    assert made.numbers == {"validation_target_reached": 0}
    made.rounds.loc[2, "validation_loss"] = 0.9
    model.add_to_target({"metric": "loss", "at": 1}, made)
    assert made.numbers == {"validation_rounds_to_target": 1, "validation_target_reached": 1}


def test_seeds_that_never_reach_a_target_make_no_mean_neither_in_tables_nor_claims_nor_when_tuning():
    soon, late, never = [0.6, 0.6, 0.6], [0, 0, 0, 0.6, 0.6, 0.6], [0.1, 0.1, 0.1]
    cells = [to_target(values, point={"optimizer": optimizer, "seed": seed})
             for optimizer, seed, values in (("sgd", "1", soon), ("sgd", "2", never), ("adadp", "1", late), ("adadp", "2", late))]
    claims = [claim(quantity("test_seconds_to_target", {"optimizer": optimizer}), "equals", 40) for optimizer in ("adadp", "sgd")]
    made = sweep(cells, target={"metric": "accuracy", "at": 0.5}, by="time", expectations=claims,
                 axes=[axis("optimizer", "sgd", "adadp"), axis("seed", "1", "2")])
    assert compared_metrics(made)[0] == "test_seconds_to_target"
    comparison = compare(method_table(made), "test_seconds_to_target")
    sgd, adadp = comparison.entries[0]
    assert not comparison.highest and (sgd.never, sgd.statistics.n, adadp.statistics.mean) == (1, 0, 40)
    assert [one["status"] for one in made.claims] == ["holds", "not run"] and made.claims[1]["text"].startswith("1 of 2 seeds")
    assert ordered({"on": "test", "metric": "seconds_to_target"}, made.groups) == [1, 0]


# Claims.


def grid_cells():
    """adadp, and sgd with three rates; two seeds."""
    cells = []
    for point, accuracy, loss in (({"optimizer": "adadp"}, 0.60, 5), ({"optimizer": "sgd", "rate": "0.01"}, 0.50, 1),
                                  ({"optimizer": "sgd", "rate": "0.1"}, 0.58, 2), ({"optimizer": "sgd", "rate": "1.0"}, 0.10, 9)):
        for seed in (1, 2):
            cells.append(cell(point | {"seed": str(seed)}, {"test_accuracy": accuracy + 0.01 * (2 * seed - 3), "test_loss": loss},
                              [{"train_loss": loss * at * seed} for at in (1, 2, 3)]))
    return cells


def checked(one, cells=None, on="test"):
    """The outcome of a claim on the grid, whose rates are tuned."""
    tuning = {"keys": ["rate"], "on": on, "metric": "accuracy", "why": ""}
    return sweep(cells or grid_cells(), tuning=tuning, expectations=[one]).claims[0]


def accuracy_of(where, pick="", **others):
    return quantity("test_accuracy", where, pick, **others)


ADADP, SGD = {"optimizer": "adadp"}, {"optimizer": "sgd"}


def test_above_and_below_compare_means_over_seeds_beyond_the_margin():
    best = claim(accuracy_of(ADADP), "above", accuracy_of(SGD, "best"))
    outcome = checked(best)
    assert outcome["status"] == "holds" and names(outcome["text"], "0.6", "0.58", "best", "rate 0.1")
    assert (outcome["value"], outcome["other"]) == pytest.approx((0.60, 0.58))
    assert [checked(best | {"margin": margin})["status"] for margin in (0.03, 0.01)] == ["fails", "holds"]
    assert [checked(claim(accuracy_of(ADADP), "below", number))["status"] for number in (0.6, 0.61)] == ["fails", "holds"]


def test_equals_holds_up_to_and_with_its_tolerance_as_written_in_decimals():
    cells = [cell({"seed": "1"}, {"epsilon": 1.265}, configuration="c")]
    outcomes = [checked(claim(quantity("epsilon"), "equals", number, within=within), cells)["status"]
                for number, within in ((1.26, 0.005), (1.26, 0.0049), (1.26, 0), (1.265, 0))]
    assert outcomes == ["holds", "fails", "fails", "holds"]


@pytest.mark.parametrize("value, expected", [
    (accuracy_of(SGD, "best"), 0.58), (accuracy_of(SGD, "second"), 0.50), (accuracy_of(SGD, "worst"), 0.10), (accuracy_of(SGD, "mean"), 1.18 / 3),
    # best is by the tuning's metric, the number is another one; lowest and highest are by that number.
    (quantity("test_loss", SGD, "best"), 2), (quantity("test_loss", SGD, "lowest"), 1), (quantity("test_loss", SGD, "highest"), 9),
    (quantity("train_loss", SGD, "best", round=3), 9),
    (accuracy_of(ADADP, minus=[accuracy_of({"rate": "0.100"})]), 0.02),
    (accuracy_of(ADADP, minus=[accuracy_of({"rate": "0.1"})], over=[quantity("test_loss", {"rate": "1"})]), 0.02 / 9)])
def test_picks_differences_and_ratios(value, expected):
    assert checked(claim(value, "above", 0))["value"] == pytest.approx(expected)


def test_a_claim_may_be_of_one_client():
    cells = grid_cells()
    for one in cells:
        one.clients = pd.DataFrame({"round": [3, 3], "client": [0, 1], "own_accuracy": [0.25, 0.75]})
    outcomes = [checked(claim(quantity("own_accuracy", ADADP, client=client), "equals", 0.75), cells) for client in (1, 0, 2, None)]
    assert [one["status"] for one in outcomes] == ["holds", "fails", "not run", "not run"] and outcomes[1]["value"] == 0.25
    assert names(outcomes[2]["text"], "own_accuracy of client 2", "optimizer adadp")


def test_a_pick_can_go_by_the_results_at_other_values():
    # The best rate at noise 2 is 0.1, at noise 4 it is 0.2.
    cells = [cell({"noise": noise, "rate": rate, "seed": seed}, {"test_accuracy": value})
             for noise, rate, value in (("2", "0.1", 0.9), ("4.0", "0.1", 0.5), ("2", "0.2", 0.8), ("4.0", "0.2", 0.6)) for seed in "12"]
    assert checked(claim(accuracy_of({"noise": "4"}, "best"), "above", 0), cells)["value"] == pytest.approx(0.6)
    elsewhere = claim(accuracy_of({"noise": "4"}, "best", pick_where={"noise": "2.0"}), "above", 0)
    assert checked(elsewhere, cells)["value"] == pytest.approx(0.5)
    assert names(checked(elsewhere, [one for one in cells if one.point["noise"] != "2" or one.point["rate"] != "0.1"])["text"],
                 "noise 2.0", "rate 0.1")


@pytest.mark.parametrize("value, parts", [
    (accuracy_of(SGD), ["optimizer sgd", "3"]), (accuracy_of({"optimizer": "adam"}), ["optimizer adam"]),
    (accuracy_of(ADADP, "second"), ["optimizer adadp", "second"]), (quantity("speed", ADADP), ["speed", "optimizer adadp"]),
    (quantity("train_loss", ADADP, round=4), ["train_loss", "round 4", "optimizer adadp"]),
    (accuracy_of(ADADP, over=[quantity("zero", ADADP)]), ["zero", "0"])])
def test_what_cannot_be_checked_is_not_run_and_says_why(value, parts):
    cells = grid_cells()
    for one in cells:
        one.numbers["zero"] = 0.0
    outcome = checked(claim(value, "above", 0), cells)
    assert outcome["status"] == "not run" and math.isnan(outcome["value"]) and names(outcome["text"], *parts)


def test_claims_wait_for_their_scale_and_for_all_cells():
    quick = claim(accuracy_of(ADADP), "above", 0, scale="quick")
    assert names(checked(quick)["text"], "'quick'", "'full'") and checked(quick | {"scale": "both"})["status"] == "holds"
    cells = grid_cells()
    cells[3].status = "failed"
    best = claim(accuracy_of(SGD, "best"), "above", 0)
    assert names(checked(best, cells)["text"], "1 cell", "optimizer sgd, rate 0.01, seed 2", "failed")
    assert checked(claim(accuracy_of(ADADP), "above", 0), cells)["status"] == "holds"
    assert names(checked(best, on="validation")["text"], "validation_accuracy", "3")


# Methods and conditions; settings; runs joined.


def methods_of(cells, axes, **experiment):
    table = method_table(sweep(cells, axes=axes, **{"conditions": ["partition", "noise"], **experiment}))
    return table.method_keys, table.condition_keys


def test_settings_of_training_are_methods_unless_the_table_says_otherwise():
    keys = {"optimizer": "ab", "partition": "xy", "noise": "12", "seed": "12"}
    cells = [cell({"optimizer": a, "partition": x, "noise": n, "seed": s}, {"test_accuracy": 1.0})
             for a in "ab" for x in "xy" for n in "12" for s in "12"]
    axes = [axis(key, *values) for key, values in keys.items()]
    assert methods_of(cells, axes) == (["optimizer"], ["partition", "noise"])
    assert methods_of(cells, axes, table={"rows": ["noise"], "columns": []}) == (["noise"], ["optimizer", "partition"])
    assert methods_of(cells, axes, table={"rows": [], "columns": ["noise"]}) == (["optimizer", "partition"], ["noise"])
    assert methods_of(cells, axes, command="privacy epsilon") == (["optimizer", "partition", "noise"], [])
    tied = [axes[0] | {"keys": ["optimizer", "noise"]}, axes[1]]
    assert methods_of(cells, tied) == ([], ["optimizer", "noise", "partition"])
    assert methods_of(cells, axes, tuning={"keys": ["noise"], "on": "test", "metric": "loss", "why": ""}) == (["optimizer"], ["partition"])


def test_variants_are_methods_unless_they_set_only_conditions():
    cells = [cell({"variant": name}, {"test_accuracy": 1.0}) for name in "ab"]
    for settings, is_method in ((["noise"], False), (["noise", "optimizer"], True), ([], True)):
        assert methods_of(cells, [axis("variant", "a", "b") | {"settings": settings}]) == ((["variant"], []) if is_method else ([], ["variant"]))


def test_of_configurations_that_differ_in_tuned_keys_the_best_is_kept():
    cells = [cell({"optimizer": a, "rate": rate, "seed": "1"}, {"test_accuracy": value}, )
             for a, rate, value in (("a", "1", 0.1), ("a", "2", 0.3), ("b", "1", 0.2), ("b", "2", 0.1))]
    made = sweep(cells, axes=[axis("optimizer", "a", "b"), axis("rate", "1", "2")],
                 tuning={"keys": ["rate"], "on": "test", "metric": "accuracy", "why": ""})
    table = method_table(made)
    assert table.methods == [("a",), ("b",)] and [seeds[0].point["rate"] for seeds in table.seeds[0]] == ["2", "1"]
    assert [one.is_best for one in compare(table, "test_accuracy").entries[0]] == [True, False]


def runs_of(tmp_path, *settings):
    """Runs with these settings, read from their folders; the default of mu is 0.1."""
    runs = []
    for i, one in enumerate(settings):
        folder = tmp_path / str(i) / "run"
        folder.parent.mkdir()
        run_of(folder, ROUND_ONE + ROUND_TWO, SUMMARY)
        told = {"key": "run", "configuration": "run", "point": {}, "command": "", "folder": str(folder), "settings": one, "defaults": {"mu": "0.1"}}
        experiment = made_results.EXPERIMENT | {"name": "run", "tuning": {"keys": [], "on": "validation", "metric": "accuracy", "why": ""}}
        runs.append(model.read({"folder": str(folder), "is_run": True, "experiment": experiment, "machine": {}, "cells": [told]}, FIELDS, {"mu": "0.1"}))
    return joined_runs(runs)


def test_runs_are_joined_along_the_settings_in_which_they_differ_and_seeds_are_averaged(tmp_path):
    sgd, prox = {"optimizer": "sgd", "rounds": "2"}, {"optimizer": "prox", "mu": "0.1", "rounds": "2"}
    joined = runs_of(tmp_path, sgd | {"seed": "1"}, sgd | {"seed": "2"}, prox | {"seed": "1"})
    assert joined.swept_keys == ["optimizer", "seed"] and [len(seeds) for seeds in joined.groups] == [2, 1]
    assert joined.groups[1][0].point == {"optimizer": "prox", "seed": "1"} and joined.experiment["title"] == "3 runs"


def test_the_same_settings_twice_are_two_runs_and_so_are_runs_with_too_many_differences(tmp_path):
    same_twice = runs_of(tmp_path / "a", *[{"optimizer": "sgd", "seed": "1"}] * 2) if (tmp_path / "a").mkdir() is None else None
    assert same_twice.swept_keys == ["run"] and len(same_twice.groups) == 2
    (tmp_path / "b").mkdir()
    different = runs_of(tmp_path / "b", {key: "1" for key in "abcd"}, {key: "2" for key in "abcd"})
    assert different.swept_keys == ["run"] and [one.point["run"] for one in different.cells] == [str(one.folder) for one in different.cells]


def test_fixed_settings_are_those_that_all_configurations_share(tmp_path):
    known = made_results.known_sweep("tuned", tmp_path)
    fixed = {one.key: (one.value, one.is_default) for one in fixed_settings(known)}
    assert fixed["clients"] == ("3", False) and fixed["batch"] == ("10", True)
    assert not {"optimizer", "learning-rate", "partition", "seed", "out", "threads"} & set(fixed)
