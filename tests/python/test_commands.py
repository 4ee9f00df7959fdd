"""Privacy, sweeps, reports: the program's commands in this process."""

import json
import math
import os
import pathlib
import threading

import pytest
from conftest import SOURCE, flags, names, program, program_refuses, python, refused

import fedstride
from fedstride import privacy

ASK = {"sampling_rate": 0.01, "noise_multiplier": 4, "steps": 10_000}



def told(ask, **question):
    return json.loads(program("privacy", ask, *flags(question), "--json"))


def test_the_numbers_are_the_program_s():
    assert privacy.epsilon(**ASK, delta=1e-5) == told("epsilon", **ASK, delta=1e-5)["epsilon"]
    assert privacy.delta(**ASK, epsilon=1, accountant="rdp") == told("delta", **ASK, epsilon=1, accountant="rdp")["delta"]
    question = {"epsilon": 3, "delta": 1e-5, "sampling_rate": 0.01, "steps": 10_000}
    assert privacy.calibrate(**question) == told("calibrate", **question)["noise_multiplier"]
    question = {"epsilon": 1, "delta": 1e-5, "sampling_rate": 0.01, "noise_multiplier": 4}
    assert privacy.steps(**question) == told("steps", **question)["steps"]
    assert privacy.compare(**ASK, delta=1e-5)["accountants"][0] == told("compare", **ASK, delta=1e-5)["accountants"][0]
    details = privacy.epsilon(**ASK, delta=1e-5, details=True)
    assert details["accountant"] == "tight" and details["steps"] == 10_000
    assert isinstance(privacy.epsilon(**ASK, delta=1e-5), float)


def test_infinite_is_infinity():
    question = {"sampling": "full", "noise_multiplier": 1e-6, "steps": 1, "delta": 1e-9}
    found = told("epsilon", **question)["epsilon"]
    assert privacy.epsilon(**question) == (math.inf if found == "infinite" else found)
    from fedstride._commands import numbers

    assert numbers({"a": ["infinite", 2]}) == {"a": [math.inf, 2]}


def test_errors_have_the_words_of_the_program():
    for ask, question in (("epsilon", {**ASK}), ("epsilon", {**ASK, "delta": 2}), ("epsilon", {**ASK, "delta": 1e-5, "stpes": 3}),
                          ("calibrate", {"epsilon": 1}), ("compare", ASK), ("delta", {**ASK, "epsilon": 1, "accountant": "best"})):
        with pytest.raises(fedstride.UsageError) as raised:
            getattr(privacy, ask)(**question)
        assert str(raised.value) == program_refuses("privacy", ask, *flags(question), "--json")
    with refused(fedstride.UsageError, "steps", "dict"):
        privacy.epsilon(**{**ASK, "steps": {}})


def test_compositions(tmp_path):
    file = SOURCE / "tests" / "golden" / "compositions.json"
    cases = json.loads(file.read_text())
    small = {**cases, "cases": cases["cases"][:3]}
    (tmp_path / "three.json").write_text(json.dumps(small))
    answers = privacy.evaluate(tmp_path / "three.json")
    assert [one["id"] for one in answers] == [one["id"] for one in small["cases"]] and all(one["value"] > 0 for one in answers)
    lines = program("privacy", "evaluate", tmp_path / "three.json").splitlines()
    assert answers == [json.loads(line) for line in lines]
    assert len(privacy.epsilon(composition=tmp_path / "three.json", delta=1e-5)) == 3
    with pytest.raises(fedstride.Error):
        privacy.evaluate(tmp_path / "none.json")


def test_compositions_of_events():
    phases = [privacy.event(sampling_rate=0.01, noise_multiplier=4, steps=5000), privacy.event(sampling_rate=0.02, noise_multiplier=6, steps=2000)]
    both = privacy.epsilon(composition=phases, delta=1e-5)
    assert 0.7 < both < 1 and privacy.delta(composition=phases, epsilon=both) <= 1e-5  # docs/compositions.md accepts at most 1
    one = {"sampling_rate": 0.01, "noise_multiplier": 4, "steps": 5000}
    assert privacy.epsilon(composition=[privacy.event(**one)], delta=1e-5) == privacy.epsilon(**one, delta=1e-5) < both
    full = {"noise_multiplier": 20, "steps": 10}
    assert privacy.epsilon(composition=[privacy.event(**full)], delta=1e-5, accountant="zcdp") == pytest.approx(
        privacy.epsilon(**full, sampling="full", delta=1e-5, accountant="zcdp"))
    replaced = privacy.epsilon(composition=phases, delta=1e-5, neighbours="replace-one")
    assert replaced > both
    assert {one["accountant"] for one in privacy.compare(composition=phases, delta=1e-5)["accountants"]} >= {"tight", "rdp"}
    for wrong, word in ([{"noise_multiplier": 1}], "mechanism"), ([], "events"), ([privacy.event(noise_multiplier=-1)], "noise_multiplier"):
        with pytest.raises(fedstride.Error, match=word) as raised:
            privacy.epsilon(composition=wrong, delta=1e-5)
        assert "/tmp/" not in str(raised.value)


def test_many_threads_ask_at_once():
    expected = {steps: privacy.epsilon(**{**ASK, "steps": steps}, delta=1e-5) for steps in (100, 1000, 5000, 20_000)}
    found = []

    def ask(steps):
        for _ in range(5):
            found.append((steps, privacy.epsilon(**{**ASK, "steps": steps}, delta=1e-5)))
            try:
                privacy.epsilon(**ASK, delta=2)
            except fedstride.UsageError as error:
                found.append(("refused", str(error)))

    threads = [threading.Thread(target=ask, args=(steps,)) for steps in expected]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert {one for one in found if one[0] != "refused"} == set(expected.items())
    assert len([one for one in found if one[0] == "refused"]) == 20


def test_nothing_is_printed():
    done = python("import fedstride\nfedstride.privacy.epsilon(sampling_rate=0.01, noise_multiplier=4, steps=10, delta=1e-5)\n"
                  "print('only this')")
    assert (done.stdout, done.stderr) == ("only this\n", "")


SWEEP = """dataset = "synthetic-li"
model = "logistic"
rounds = 2
threads = 1
[sweep]
seed = [1, 2]
"""


def test_a_sweep_and_its_report(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(SWEEP)
    planned = fedstride.sweep(file, out=tmp_path / "sweep", dry_run=True)
    assert len(planned["cells"]) == 2
    done = fedstride.sweep(file, out=tmp_path / "sweep", jobs=2)
    assert done["finished"] == 2 and done["failed"] == [] and pathlib.Path(done["folder"]) == tmp_path / "sweep"
    again = json.loads(program("sweep", file, "--out", tmp_path / "sweep", "--json"))
    assert again["finished"] == 2
    if os.access("/usr/bin/rsvg-convert", os.X_OK):
        page = fedstride.report(tmp_path / "sweep", out=tmp_path / "page.html")
        assert page == str(tmp_path / "page.html") and "<svg" in pathlib.Path(page).read_text()
    with pytest.raises(fedstride.UsageError) as raised:
        fedstride.report(tmp_path / "sweep", tmp_path / "sweep")
    assert str(raised.value) == program_refuses("report", tmp_path / "sweep", tmp_path / "sweep")


def test_a_sweep_whose_cells_fail_raises(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(SWEEP.replace('dataset = "synthetic-li"', f'data = "{tmp_path}"'))
    with pytest.raises(fedstride.Error) as raised:
        fedstride.sweep(file, out=tmp_path / "sweep")
    assert "\n" not in str(raised.value)


# Such cells are carried out by the program beside the module.
def test_a_sweep_over_another_command(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('sampling-rate = 0.01\nnoise-multiplier = 4\ndelta = 1e-5\n[experiment]\ntitle = "Steps"\ncommand = "privacy epsilon"\n'
                    "[sweep]\nsteps = [10, 100]\n")
    assert fedstride.sweep(file, out=tmp_path / "sweep")["finished"] == 2
    file.write_text(file.read_text().replace("[10, 100]", "[20]"))
    without = python(f"import fedstride._program\nfedstride._program.program = lambda: None\nfedstride._core.set_program('')\n"
                     f"fedstride.sweep({str(file)!r}, out={str(tmp_path / 'other')!r})")
    last = without.stderr.splitlines()[-1]
    assert last.startswith("fedstride.Error: ") and names(last, "'fedstride'", "PATH")


def test_ctrl_c_stops_a_long_question():
    done = python("import fedstride, signal, threading, os, time\n"
                  "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
                  "start = time.monotonic()\n"
                  "try:\n"
                  "  for steps in range(1000, 100000):\n"
                  "    fedstride.privacy.calibrate(epsilon=3, delta=1e-5, sampling_rate=0.001, steps=steps)\n"
                  "except KeyboardInterrupt:\n"
                  "  print(time.monotonic() - start < 3)\n"
                  "print(fedstride.privacy.epsilon(sampling_rate=0.01, noise_multiplier=4, steps=10, delta=1e-5) > 0)\n")
    assert done.stdout == "True\nTrue\n", done.stderr
