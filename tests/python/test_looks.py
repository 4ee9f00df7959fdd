"""What a run shows of itself: repr, HTML, plots, frames, progress; how it stops."""

import io
import re
import subprocess
import sys
import types

import numpy as np
import pytest
from conftest import SMALL, names, python, refused

import fedstride
from fedstride import _watching

PRIVATE = {**SMALL, "optimizer": "sgd", "dp": "example", "noise_multiplier": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return fedstride.run(**SMALL, evaluate_every=2, out=tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    return fedstride.run(**PRIVATE, out=tmp_path_factory.mktemp("runs") / "private")


def test_a_run_says_how_it_stands(run, private):
    accuracy = f"test accuracy {run.summary['test_accuracy']:.4f}"
    assert repr(run) == f"<fedstride.Run '{run.folder}': finished, 3 of 3 rounds, {accuracy}>"
    spent = private.summary["privacy"][0]
    shown = re.search(r"epsilon ([\d.]+) at delta 1e-05 \(example level\)>$", repr(private))
    assert spent["epsilon"] <= float(shown[1]) < spent["epsilon"] + 0.011  # still a bound
    for one in (run, private):
        html = one._repr_html_()
        assert html.count("<table>") == 1 and html.count("<tr>") == html.count("</tr>")
        for text in ("finished", "3 of 3 rounds", f"{one.summary['test_accuracy']:.4f}", "logistic", str(one.folder)):
            assert text in html
    assert f"epsilon {shown[1]}" in private._repr_html_()


def test_html_is_escaped(tmp_path):
    run = fedstride.run(**{**SMALL, "rounds": 1}, out=tmp_path / "<b>&")
    assert "&lt;b&gt;&amp;" in run._repr_html_() and "<b>" not in run._repr_html_()


def test_a_run_s_state(tmp_path):
    seen = []

    def look(record):
        one = fedstride.open_run(tmp_path / "run")
        seen.append((one.state, repr(one)))
        return record["round"] < 2

    run = fedstride.run(**SMALL, out=tmp_path / "run", on_round=look)
    assert [state for state, _ in seen] == ["running", "running"] and ": running, " in seen[1][1]
    assert run.state == "stopped" and len(run.rounds) == 2 and ": stopped, 2 of 3 rounds, test accuracy" in repr(run)
    run = fedstride.resume(run)
    assert run.state == "finished"
    # Killed while it went on to more rounds: the summary is of before.
    (run.folder / "config.toml").write_text((run.folder / "config.toml").read_text().replace("rounds = 3", "rounds = 9"))
    assert run.state == "stopped"
    (run.folder / "summary.json").unlink()
    assert run.state == "stopped" and ": stopped, 3 of 9 rounds, test accuracy" in repr(run)
    (run.folder / "rounds.jsonl").unlink()
    assert ": stopped, 0 of 9 rounds, not evaluated>" in repr(run)
    (run.folder / "config.toml").write_text("= 3")
    assert "damaged" in repr(run) and "damaged" in run._repr_html_()


def test_a_budget_that_is_spent_is_shown(tmp_path):
    run = fedstride.run(**{**PRIVATE, "rounds": 50}, epsilon=1.7, out=tmp_path / "run")
    assert run.state == "halted" and run.summary["halted"] in repr(run) and run.summary["rounds"] < 50


def test_rounds_without_a_number_are_nan(run, private):
    pytest.importorskip("pandas")
    frame = run.frame()
    assert frame["test_accuracy"].dtype == np.float64 and frame["test_accuracy"].isna().tolist() == [True, False, False]
    assert frame["validation_accuracy"].dtype == np.float64 and frame["validation_accuracy"].isna().all()
    assert not {"clients", "not_covered", "example_privacy"} & set(private.frame())
    assert private.frame()["epsilon_spent"].tolist() == [record["example_privacy"]["epsilon"] for record in private.rounds]
    assert run.clients_frame()["loss"].dtype == np.float64


def test_a_plot_has_the_numbers(run, private):
    pytest.importorskip("matplotlib").use("Agg")
    ax = run.plot()
    (line,) = ax.get_lines()
    assert line.get_xdata().tolist() == [2, 3] and line.get_ydata()[-1] == run.summary["test_accuracy"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("round", "test accuracy")
    assert private.plot("train_loss", "epsilon_spent", ax=ax, color="red") is ax and len(ax.get_lines()) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["test accuracy", "train loss", "epsilon spent"]
    with refused(fedstride.UsageError, "'accuracy'", "test_accuracy", "train_loss"):
        run.plot("accuracy")


@pytest.mark.parametrize("module, call", [("matplotlib", "plot()"), ("pandas", "frame()")])
def test_without_a_library_one_clear_line(run, module, call):
    done = python(f"import sys; sys.modules['{module}'] = None\nimport fedstride\nfedstride.open_run({str(run.folder)!r}).{call}")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ") and names(last, module) and "During handling" not in done.stderr


def test_nothing_optional_is_imported_early():
    done = python("import sys, fedstride\nprint([name for name in ('pandas', 'matplotlib', 'IPython', 'torch') if name in sys.modules])")
    assert done.stdout == "[]\n"


def lines_of(text):
    """The texts that a terminal showed in one line after the other."""
    return [re.sub(r"\x1b\[K", "", part) for part in text.split("\r") if part]


def test_a_bar_in_a_terminal(tmp_path, monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(_watching, "_LEAST_SECONDS", 0)
    fedstride.run(**PRIVATE, progress=True, out=tmp_path / "run")
    shown = lines_of(terminal.buffer.getvalue().decode())
    assert shown[0].startswith("training:   0%|") and "| 0/3 [00:00<?, ? rounds/s]" in shown[0]
    last = shown[-1].rstrip("\n")
    assert re.search(r"^training: 100%\|█+\| 3/3 \[00:00<00:00, [\d.]+ rounds/s, accuracy 0\.\d{4}, epsilon [\d.]+\]$", last), last
    assert len(shown) >= 5 and shown[-1].endswith("\n")


def test_a_bar_for_terminals_without_blocks(monkeypatch):
    ascii_terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stderr", ascii_terminal)
    bar = _watching.Bar(10, 20)
    bar.update({"round": 15})
    bar.close()
    assert re.search(r"training:  75%\|#+ +\| 15/20 ", ascii_terminal.buffer.getvalue().decode())


def test_a_bar_in_a_notebook(tmp_path, monkeypatch, capsys):
    display = pytest.importorskip("IPython.display")
    import IPython

    shown = []
    handle = types.SimpleNamespace(update=lambda one: shown.append(one.data))
    monkeypatch.setattr(IPython, "get_ipython", lambda: types.SimpleNamespace(kernel=object()))
    monkeypatch.setattr(display, "display", lambda one, display_id: (shown.append(one.data), handle)[1])
    monkeypatch.setattr(_watching, "_LEAST_SECONDS", 0)
    fedstride.run(**SMALL, out=tmp_path / "run")  # in a notebook it is shown unasked
    assert shown[0].startswith("training:   0% <progress value='0' max='3'>") and "3/3 [00:00&lt;00:00" in shown[-1]
    assert capsys.readouterr().err == ""


def test_without_a_terminal_nothing_is_shown(tmp_path, capfd):
    fedstride.run(**SMALL, out=tmp_path / "a")
    fedstride.run(**{**SMALL, "quiet": True}, progress=True, out=tmp_path / "b")
    assert capfd.readouterr() == ("", "")
    with refused(fedstride.UsageError, "progress", "'yes'"):
        fedstride.run(**SMALL, progress="yes")


def test_a_callback_that_returns_false_stops_the_run(tmp_path):
    whole = fedstride.run(**SMALL, out=tmp_path / "whole")
    for answer in (False, np.False_):
        run = fedstride.run(**SMALL, on_round=lambda record: answer if record["round"] == 2 else None, out=tmp_path / str(type(answer)))
        assert run.summary["rounds"] == 2 and not run.summary["finished"]
        assert fedstride.resume(run).summary["model_hash"] == whole.summary["model_hash"]
    for answer in (None, 0, (), True, ""):
        assert fedstride.run(**SMALL, on_round=lambda record: answer, out=tmp_path / repr(answer)).state == "finished"
    longer = fedstride.resume(whole, rounds=9, on_round=lambda record: record["round"] < 5)
    assert longer.state == "stopped" and len(longer.rounds) == 5


def test_what_stops_a_run_names_its_folder(tmp_path):
    code = ("import fedstride, os, signal\n"
            "fedstride.run(dataset='synthetic-li', model='logistic', rounds=10**6, threads=1, out='run',\n"
            "              on_round=lambda one: os.kill(os.getpid(), signal.SIGINT) if one['round'] == 3 else None)\n")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt: the run in 'run' was stopped; fedstride.resume('run') continues it"
    assert fedstride.open_run(tmp_path / "run").state == "stopped"

    (tmp_path / "long.toml").write_text("dataset = 'synthetic-li'\nmodel = 'logistic'\nrounds = 1000000\n[sweep]\nseed = [1, 2]\n")
    code = ("import fedstride, os, pathlib, signal, threading, time\n"
            "def stop():\n"
            "    while not [*pathlib.Path('sweep').glob('cells/*/rounds.jsonl')]: time.sleep(0.1)\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "threading.Thread(target=stop).start()\n"
            "fedstride.sweep('long.toml', out='sweep')\n")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt: the sweep of 'long.toml' in 'sweep' was stopped; the same call continues it"

    def fails(record):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="^mine$") as raised:
        fedstride.run(**SMALL, on_round=fails, out=tmp_path / "other")
    assert [names(note, f"fedstride.resume('{tmp_path / 'other'}')") for note in raised.value.__notes__] == [True]
    with pytest.raises(fedstride.UsageError) as raised:  # nothing has begun
        fedstride.run(**{**SMALL, "rounds": 0}, out=tmp_path / "none")
    assert not getattr(raised.value, "__notes__", [])
