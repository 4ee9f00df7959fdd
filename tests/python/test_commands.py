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


def multipliers(event):
    """The noise multipliers of an event of tests/golden/accounting.json; with a schedule, one a release."""
    schedule, noise, count = event.get("schedule"), event["noise_multiplier"], event["count"]
    if schedule is None:
        return [(noise, count)]
    if schedule["name"] == "hyperbolic":
        return [(noise * min(2, 1 + t / schedule["target"]), 1) for t in range(1, count + 1)]
    if schedule["name"] == "linear-1000":
        return [(noise / max(0.5, 1 - t / 1000), 1) for t in range(1, count + 1)]
    # Hong et al.'s dynamic budget; gamma is 1 - 1 / kappa.
    words = flags({"budget": count / noise**2, "kappa": 1 / (1 - schedule["gamma"]), "steps": schedule["target"]})
    return [(one, 1) for one in json.loads(program("privacy", "schedule", *words, "--json"))["sigmas"]]


def answer(case):
    """What the program says to a case of tests/golden/accounting.json."""
    (event,) = case["events"]
    words = {key: case[key] for key in ("accountant", "conversion", "orders", "epsilon", "delta") if key in case}
    about = {"sampling": {"none": "full"}.get(event["sampling"], event["sampling"]), "sampling_rate": event.get("rate", 1)}
    if case["ask"] == "noise-multiplier":
        return privacy.calibrate(**words, **about, steps=event["count"])
    if case["ask"] == "steps":
        return privacy.steps(**words, **about, noise_multiplier=event["noise_multiplier"])
    if case["ask"] == "lower-bound":
        return privacy.epsilon(**words, **about, noise_multiplier=event["noise_multiplier"], steps=event["count"], details=True)["lower_bound"]
    events = [privacy.event(**about, noise_multiplier=noise, steps=count) for noise, count in multipliers(event)]
    if case["ask"] == "divergence":
        orders, found = fedstride._core.divergences(events, case["neighbours"])
        return found[orders.index(case["order"])]
    if case["ask"] == "rho":  # from epsilon = rho + 2 sqrt(rho ln(1/delta)), delta = 1/e
        return (math.sqrt(1 + privacy.compose(events, delta=math.exp(-1), accountant="zcdp", conversion="classical")) - 1) ** 2
    return privacy.compose(events, neighbours=case["neighbours"], **words)


KNOWN = json.loads((SOURCE / "tests" / "golden" / "accounting.json").read_text())["cases"]


@pytest.mark.filterwarnings("ignore")  # remarks of accountants
@pytest.mark.parametrize("case", KNOWN, ids=[one["id"] for one in KNOWN])
def test_known_answers_of_accounting(case):
    assert case["accept"]["min"] <= answer(case) <= case["accept"]["max"]


def test_no_known_answer_is_lost():
    path = SOURCE.parent / "shared" / "accounting.json"
    if not path.exists():
        return  # the file here is complete in itself
    # In tests/dp: two theorems (composition_test.cpp), two steps of a schedule (noise_plan_test.cpp), order 64 (rdp_orders_test.cpp).
    elsewhere = {"drv-0.01-1000", "kov-0.01-1000", "hong-a-sigma_1", "hong-a-sigma_T", "rdp-q0.01-s4.0-a64", "rdp-q0.001-s0.6-a64"}
    published = {one["id"]: {"min": one["accept_min"], "max": one["accept_max"]} for one in json.loads(path.read_text())["cases"]}
    kept = {one["id"]: one["accept"] for one in KNOWN}
    assert published and all(kept[key] == bounds for key, bounds in published.items() if key not in elsewhere)


def test_phases_add_up():
    phases = [privacy.event(sampling_rate=0.01, noise_multiplier=4, steps=5000), privacy.event(sampling_rate=0.02, noise_multiplier=6, steps=2000)]
    both = privacy.compose(phases, delta=1e-5)
    assert both == pytest.approx(0.8659, abs=1e-4) and privacy.compose(phases, epsilon=both) <= 1e-5
    one = {"sampling_rate": 0.01, "noise_multiplier": 4, "steps": 5000}
    assert privacy.compose([privacy.event(**one)], delta=1e-5) == privacy.epsilon(**one, delta=1e-5) < both
    assert privacy.compose(2 * [privacy.event(**one)], delta=1e-5) == privacy.epsilon(**ASK, delta=1e-5)
    for words, value in (({"accountant": "rdp"}, 1.036), ({"accountant": "rdp", "orders": "ma32", "conversion": "classical"}, 1.259)):
        assert privacy.compose(2 * [privacy.event(**one)], delta=1e-5, **words) == pytest.approx(value, abs=1e-3)
    full = {"noise_multiplier": 20, "steps": 10}
    assert privacy.compose([privacy.event(**full)], delta=1e-5, accountant="zcdp") == privacy.epsilon(**full, sampling="full", delta=1e-5, accountant="zcdp")
    epoch = {"sampling": "shuffle", "sampling_rate": 0.1, "noise_multiplier": 2}
    assert privacy.compose([privacy.event(**epoch, steps=11)], delta=1e-5) == privacy.epsilon(**epoch, epochs=2, delta=1e-5)
    assert privacy.compose(phases, delta=1e-5, neighbours="replace-one") > both
    assert privacy.compose([], delta=1e-5) == 0
    with pytest.warns(UserWarning, match="26.78"):
        privacy.compose([privacy.event(**ASK)], delta=1e-5, accountant="as-in-paper")


def test_wrong_phases_are_refused_by_name():
    def event(**changed):
        return [privacy.event(**{**ASK, **changed})]
    for events, words, says in ((event(noise_multiplier=-1), {}, "noise multiplier is -1"), (event(sampling_rate=2), {}, "sampling rate is 2"),
                                (event(noise_multiplier=math.nan), {}, "noise multiplier is nan"), (event(sampling="Poisson"), {}, "'Poisson'"),
                                (3 * event(steps=9 * 10**18), {}, "releases"), (event(), {"accountant": "best"}, "'best'"),
                                (event(), {"neighbours": "none"}, "'none'"), (event(), {"accountant": "zcdp"}, "zcdp"),
                                (event(), {"conversion": "classical"}, "conversion"), (event(), {"delta": 2}, "2"),
                                (event(), {"epsilon": 1}, "either epsilon or delta")):
        with pytest.raises(fedstride.UsageError, match=says):
            privacy.compose(events, **{"delta": 1e-5, **words})
    with pytest.raises(TypeError, match="sigma"):
        privacy.event(sigma=3)


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
