"""fedstride.run and resume: the program's bits and words, callbacks, signals, threads."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest
from conftest import SMALL, names, program_refuses, program_run, refused

import fedstride


@pytest.mark.parametrize("settings", [{"optimizer": "adadp"}, {"optimizer": "sgd", "learning_rate": 0.05, "cohort": "fixed",
                                                               "cohort_size": 2, "local_objective": "prox"}])
def test_the_module_and_the_program_get_the_same_bits(tmp_path, settings):
    ours = fedstride.run(**SMALL, **settings, out=tmp_path / "module")
    theirs = program_run(tmp_path / "program", **SMALL, **settings)
    assert ours.summary["model_hash"] == theirs["model_hash"]
    assert ours.rounds[-1]["model_hash"] == theirs["model_hash"]


def test_errors_have_the_words_of_the_program(tmp_path):
    for settings in ({"rounds": 0}, {"local_objective": "proximal"}, {"optimizer": "sgd", "tolerance": 1}, {"dataset": "cifar11"}, {"learning_rate": "fast"},
                     {"data": tmp_path / "none.npz"}, {"dataset": "cifar10", "data_dir": tmp_path}):
        with pytest.raises(fedstride.Error) as raised:
            fedstride.run(**{**SMALL, **settings}, out=tmp_path / "out")
        words = [f"--{name.replace('_', '-')}={value}" for name, value in {**SMALL, **settings}.items()]
        assert str(raised.value) == program_refuses("run", *words, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_errors_are_exceptions_of_python(tmp_path):
    with refused(ValueError, "'runds'", "'rounds'"):
        fedstride.run(runds=3)
    assert issubclass(fedstride.UsageError, fedstride.Error) and issubclass(fedstride.UsageError, ValueError)
    assert not issubclass(fedstride.Error, ValueError)
    with pytest.raises(fedstride.UsageError, match="'nowhere'"):
        fedstride.resume("nowhere")
    with pytest.raises(TypeError):
        fedstride.run("synthetic")


def test_types_of_settings(tmp_path):
    run = fedstride.run(**{**SMALL, "rounds": numpy.int64(2)}, batch=numpy.uint8(20), learning_rate=numpy.float32(0.125),
                        evaluate_every=None, seed=2**40, quiet=numpy.bool_(True), out=pathlib.Path(tmp_path) / "a")
    assert run.settings["rounds"] == 2 and run.settings["batch"] == 20 and run.settings["seed"] == 2**40
    assert run.settings["learning_rate"] == 0.125
    run = fedstride.run(dataset="synthetic", model="logistic", rounds=1, mean=0.5, deviation=[0.25, 0.25, 0.5], client_reports=numpy.int8(2),
                        out=tmp_path / "texts")
    assert (run.settings["mean"], run.settings["deviation"], run.settings["client_reports"]) == ("0.5", "0.25,0.25,0.5", "2")
    for settings, key, value in (({"rounds": True}, "rounds", "'true'"),
                                 ({"rounds": 2.5}, "rounds", "'2.5'"),
                                 ({"publishable": 1}, "publishable", "'1'"),
                                 ({"seed": 2**70}, "seed", "1180591620717411303424"),
                                 ({"seed": -1}, "seed", "'-1'"),
                                 ({"rounds": object()}, "rounds", "object"),
                                 ({"rounds": numpy.zeros(2)}, "rounds", "numpy.ndarray"),
                                 ({"freeze": [{}]}, "freeze", "dict"),
                                 ({"learning_rate": float("nan")}, "learning_rate", "nan"),
                                 ({"out": ""}, "out", "''")):
        with refused(fedstride.UsageError, key, value):
            fedstride.run(**{**SMALL, "out": tmp_path / "b", **settings})


def test_keywords_win_over_a_file(tmp_path):
    (tmp_path / "a.toml").write_text('dataset = "synthetic-li"\nrounds = 9\nmodel = "logistic"\nseed = 4\n')
    run = fedstride.run(config=tmp_path / "a.toml", rounds=1, out=tmp_path / "out")
    assert run.settings["rounds"] == 1 and run.settings["seed"] == 4
    with pytest.raises(fedstride.UsageError, match="line 1"):
        (tmp_path / "b.toml").write_text("ruonds = 9\n")
        fedstride.run(config=tmp_path / "b.toml")


def test_on_round_gets_the_lines_of_the_file(tmp_path):
    seen = []
    thread = []
    run = fedstride.run(**SMALL, out=tmp_path / "out", on_round=lambda one: (seen.append(one), thread.append(threading.get_ident())))
    assert seen == run.rounds and len(seen) == 3
    assert set(thread) == {threading.get_ident()}
    with refused(fedstride.UsageError, "on_round", "int"):
        fedstride.run(**SMALL, out=tmp_path / "b", on_round=3)


def test_a_callback_that_raises_stops_the_run_which_goes_on(tmp_path):
    whole = fedstride.run(**SMALL, out=tmp_path / "whole")

    class Mine(Exception):
        pass

    def fails(record):
        if record["round"] == 2:
            raise Mine("no more")

    with pytest.raises(Mine, match="no more") as raised:
        fedstride.run(**SMALL, out=tmp_path / "out", on_round=fails)
    assert raised.traceback[-1].name == "fails"
    assert len(fedstride.open_run(tmp_path / "out").rounds) == 2
    run = fedstride.resume(tmp_path / "out")
    assert run.summary["model_hash"] == whole.summary["model_hash"]
    with pytest.raises(SystemExit):
        fedstride.resume(tmp_path / "out", rounds=4, on_round=lambda one: sys.exit(3))
    assert len(run.rounds) == 4


def test_a_run_within_a_callback(tmp_path):
    inner = []

    def also(record):
        inner.append(fedstride.run(**{**SMALL, "rounds": 1}, out=tmp_path / f"inner-{record['round']}").summary["rounds"])

    fedstride.run(**SMALL, out=tmp_path / "out", on_round=also)
    assert inner == [1, 1, 1]


# Python's own arithmetic has denormal numbers, ours flushes them.
def test_a_callback_computes_with_denormals(tmp_path):
    seen = []
    fedstride.run(**SMALL, out=tmp_path / "out", on_round=lambda one: seen.append(numpy.float32(1e-38) * numpy.float32(1e-2)))
    assert all(value > 0 for value in seen) and numpy.float32(1e-38) * numpy.float32(1e-2) > 0


LONG = ("import fedstride, sys\n"
        "try:\n"
        "  fedstride.run(dataset='synthetic-li', model='logistic', rounds=10**6, threads=1, out=sys.argv[1],\n"
        "                on_round=lambda one: print(one['round'], flush=True) if one['round'] == 3 else None)\n"
        "except KeyboardInterrupt:\n"
        "  pass\n"
        "import time\n"
        "try:\n"
        "  print('interrupted', len(fedstride.open_run(sys.argv[1]).rounds) >= 3, flush=True)\n"
        "  time.sleep(20)\n"
        "except KeyboardInterrupt:\n"
        "  print('again')\n")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_stop_a_run_which_goes_on(tmp_path, sent):
    child = subprocess.Popen([sys.executable, "-c", LONG, tmp_path / "out"], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "3\n"
    child.send_signal(sent)
    if sent == signal.SIGINT:
        assert child.stdout.readline() == "interrupted True\n"
        child.send_signal(sent)  # Python's handler is back
        assert child.communicate(timeout=10)[0] == "again\n" and child.returncode == 0
    else:
        assert child.wait(timeout=10) == -signal.SIGTERM
    run = fedstride.open_run(tmp_path / "out")
    done = len(run.rounds)
    assert run.summary["rounds"] == done >= 3
    assert fedstride.resume(tmp_path / "out", rounds=done + 1).summary["rounds"] == done + 1


@pytest.mark.parametrize("settings", ["rounds=10**6", "rounds=3, local_epochs=10**6", "rounds=10**6, train=lambda weights, task: weights"])
def test_what_interrupts_a_run_names_its_folder(tmp_path, settings):
    code = ("import fedstride, os, signal, threading, time\n"
            "def interrupt():\n"
            "    while not os.path.exists('run/checkpoint'):\n"
            "        time.sleep(0.01)\n"
            "    time.sleep(0.2)\n"
            "    os.kill(os.getpid(), signal.SIGINT)\n"
            "threading.Thread(target=interrupt).start()\n"
            f"fedstride.run(dataset='synthetic', model='logistic', threads=1, out='run', {settings})\n")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt: the run in 'run' was stopped; fedstride.resume('run') continues it"


# One that raises nothing stops nothing; what another raises ends the run after the round.
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_handler_of_ones_own_decides(tmp_path, sent):
    came = []
    kept = signal.signal(sent, lambda *_: came.append(1))
    try:
        run = fedstride.run(**SMALL, out=tmp_path / "a", on_round=lambda one: os.kill(os.getpid(), sent))
        assert len(came) == len(run.rounds) == SMALL["rounds"]
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), sent))
        timer.start()
        run = fedstride.run(**{**SMALL, "rounds": 150, "local_epochs": 20}, out=tmp_path / "b")
        timer.join()
        assert len(came) == SMALL["rounds"] + 1 and len(run.rounds) == 150

        def raises(*_):
            raise ValueError("enough")

        signal.signal(sent, raises)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), sent)).start()
        with pytest.raises(ValueError, match="enough"):
            fedstride.run(**{**SMALL, "rounds": 10**6}, out=tmp_path / "c")
        assert fedstride.open_run(tmp_path / "c").summary["rounds"] > 0
    finally:
        signal.signal(sent, kept)


def test_a_callback_may_change_the_folder(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    places = {"out": "run", "timeline": "time.json"}
    run = fedstride.run(**SMALL, **places, devices="exponential", on_round=lambda one: os.chdir(tmp_path / "elsewhere"))
    assert run.folder == tmp_path / "run" and run.summary["rounds"] == SMALL["rounds"] and not any((tmp_path / "elsewhere").iterdir())
    assert (tmp_path / "time.json").is_file()
    os.chdir(tmp_path)
    run = fedstride.resume("run", rounds=SMALL["rounds"] + 1, on_round=lambda one: os.chdir(tmp_path / "elsewhere"))
    assert run.summary["rounds"] == SMALL["rounds"] + 1


@pytest.mark.parametrize("train", ["", ", train=lambda weights, task: weights", ", on_round=lambda one: None"])
def test_the_program_ends_while_a_daemon_runs(tmp_path, train):
    code = ("import fedstride, os, threading, time\n"
            f"go = lambda: fedstride.run(dataset='synthetic', model='logistic', threads=1, rounds=10**6, out='run'{train})\n"
            "threading.Thread(target=go, daemon=True).start()\n"
            "while not os.path.exists('run/rounds.jsonl') or os.path.getsize('run/rounds.jsonl') == 0:\n"
            "    time.sleep(0.01)\n")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and done.stderr == ""
    assert fedstride.open_run(tmp_path / "run").summary["rounds"] > 0


# As tests/cli/memory_test.cpp: between a tenth of the rounds and the end, with 3 MB for a heap that grows in steps.
@pytest.mark.parametrize("dp", [None, "example", "client"])
@pytest.mark.parametrize("model", ["logistic", "dense 64 | dense classes"])
def test_memory_does_not_grow_with_rounds(tmp_path, dp, model):
    rounds = 5000 if os.environ.get("FEDSTRIDE_EVERY_CHECK") else 150
    page, held = os.sysconf("SC_PAGE_SIZE"), []

    def on_round(one):
        if one["round"] > rounds / 10:
            held.append(page * int(pathlib.Path("/proc/self/statm").read_text().split()[1]))

    privacy = {"dp": dp, "clip": 0.5, "noise_multiplier": 1} if dp else {}
    fedstride.run(dataset="synthetic", clients=2, limit_per_client=20, rounds=rounds, optimizer="sgd", threads=1, evaluate_every=100000,
                  model=model, out=tmp_path / "run", on_round=on_round, progress=False, **privacy)
    assert numpy.polyfit(range(len(held)), held, 1)[0] < 1024 + 3e6 / rounds


def test_the_gil_is_released_and_runs_share_a_process(tmp_path):
    counted = [0]
    stop = threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    hashes = {}
    counter = threading.Thread(target=count)
    counter.start()
    runs = [threading.Thread(target=lambda i=i: hashes.__setitem__(
        i, fedstride.run(**{**SMALL, "rounds": 20}, out=tmp_path / str(i)).summary["model_hash"])) for i in range(3)]
    for one in runs:
        one.start()
    for one in runs:
        one.join()
    stop.set()
    counter.join()
    assert len(set(hashes.values())) == 1 and len(hashes) == 3
    assert counted[0] > 3


def test_a_fork_after_threads_is_refused_not_hung(tmp_path):
    fedstride.run(**SMALL, out=tmp_path / "a")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            fedstride.run(**SMALL, out=tmp_path / "b")
            os.write(writer, b"it ran")
        except fedstride.Error as error:
            os.write(writer, str(error).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        assert names(said.read(), "threads")
    os.waitpid(child, 0)


def test_nothing_is_kept_alive(tmp_path):
    import gc
    import weakref

    class Callback:
        def __call__(self, record):
            self.last = record

    callback = Callback()
    arrays = (numpy.random.default_rng(1).normal(size=(60, 4)).astype(numpy.float32), numpy.arange(60) % 3)
    held = [weakref.ref(callback), weakref.ref(arrays[0])]
    gc.disable()
    try:
        fedstride.run(data=arrays, model="logistic", clients=2, rounds=1, partition="dirichlet",
                      threads=1, on_round=callback, out=tmp_path / "out")
        del callback, arrays
        assert [ref() for ref in held] == [None, None]
    finally:
        gc.enable()


def test_words_of_the_field_lead_to_what_they_are_here():
    for name, hint in (("FedAvg", 'method="fedavg"'), ("FedProx", 'method="fedprox"'), ("train", "'fedstride.run'"),
                       ("nothing", "dir(fedstride)"), ("load", "fedstride.Run(folder)"), ("evaluate", "fedstride.Run(folder).evaluate()"),
                       ("start_simulation", "fedstride.run(train=function)"), ("PrivacyEngine", "dp=fedstride.ExamplePrivacy(...)"),
                       ("compute_epsilon", "fedstride.privacy.epsilon(...)"), ("launch", "'fedstride launch'"),
                       ("Server", "'fedstride help network'")):
        with pytest.raises(AttributeError, match=re.escape(hint)):
            getattr(fedstride, name)
    with pytest.raises(TypeError, match=r"did you mean dataset='cifar10'\?"):
        fedstride.run("cifar10")
    with pytest.raises(TypeError, match="'nothing' has none$"):
        fedstride.run("nothing")
    with pytest.raises(TypeError, match=r"run\(\*\*settings\)$"):
        fedstride.run({"dataset": "synthetic", "rounds": 1})
    for function in (fedstride.run, fedstride.partition):
        with pytest.raises(TypeError, match=r"data=\(x, y\)$"):
            function(numpy.zeros((2, 2)), numpy.zeros(2))


@pytest.mark.parametrize("settings, parts", [
    ({"client_fn": print}, ["'client_fn'", "train="]),
    ({"evaluate_fn": print}, ["'evaluate_fn'", "evaluate="]),
    ({"callbacks": [print]}, ["'callbacks'", "on_round="]),
    ({"x": numpy.zeros(2)}, ["'x'", "data=(x, y)"]),
    ({"dataset": (numpy.zeros((2, 2)), numpy.zeros(2))}, ["dataset", "numpy.ndarray", "data=(x, y)"]),
    ({"max_clients_": print}, ["max_clients_", "builtin_function_or_method"]),
    ({"dp": [fedstride.ExamplePrivacy(), fedstride.ClientPrivacy()]}, ["dp", "dp=fedstride.BothPrivacy(...)"]),
    ({"dp": {"level": "client"}}, ["dp", "dict", "none, example, client, both, user"]),
    ({"dp": True}, ["dp", "'true'", "none, example, client, both, user"]),
    ({"rounds": 1.0}, ["rounds", "1.0", "write 1"]),
    ({"rounds": [1, 2]}, ["rounds", "'1,2'", "[sweep]"]),
    ({"privacy": "client"}, ["'privacy'", "'dp'"]),
    ({"resume": "a"}, ["'resume'", "fedstride.resume(folder)"]),
    ({"local_updates": 5}, ["'local_updates'", "'local_steps'"]),
    ({"loss": "mse"}, ["'loss'", 'targets="values"']),
])
def test_what_other_libraries_call_otherwise_is_one_line(settings, parts):
    with refused(fedstride.UsageError, *parts):
        fedstride.run(**settings)


def test_notes_of_a_verbose_run_name_keywords(tmp_path, capfd):
    fedstride.run(data=(numpy.arange(60, dtype=numpy.float32).reshape(30, 2), numpy.arange(30) % 3), rounds=1, clients=2, model="logistic",
                  partition="iid", verbose=True, out=tmp_path / "a")
    out = capfd.readouterr().out
    assert "note: targets auto: " in out and "targets=" in out and "--targets" not in out


@pytest.mark.parametrize("privacy", [{}, {"dp": "client", "clip": 1, "noise_multiplier": 1, "publishable": False}])
def test_a_child_that_comes_back_from_a_callback_writes_nothing(tmp_path, privacy):
    script = tmp_path / "forks.py"
    script.write_text("""
import os, sys
import fedstride

children = []
def on_round(record):
    if record["round"] == 2 and not children:
        children.append(os.fork())
settings = dict(dataset="synthetic", limit_per_client=20, clients=3, rounds=4, threads=1, on_round=on_round, **%r)
try:
    run = fedstride.run(**settings, out=sys.argv[1])
except fedstride.Error as error:
    assert children == [0], error
    print(error, flush=True)
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 7
assert run.summary["rounds"] == 4
""" % privacy)
    done = subprocess.run([sys.executable, script, tmp_path / "run"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "forked" in done.stdout, done.stderr
    assert fedstride.resume(tmp_path / "run", rounds=5).summary["rounds"] == 5


def test_exceptions_say_whether_to_try_again(tmp_path):
    def meanwhile(record):
        with pytest.raises(fedstride.BusyError, match="another fedstride process"):
            fedstride.resume(tmp_path / "run")
        return False

    fedstride.run(**SMALL, out=tmp_path / "run", on_round=meanwhile)
    assert issubclass(fedstride.BusyError, fedstride.Error) and issubclass(fedstride.TemporaryError, fedstride.Error)
    with pytest.raises(fedstride.TemporaryError, match="No space"):
        fedstride.report(tmp_path / "run", out="/dev/full")
