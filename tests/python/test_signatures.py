"""Signatures, help, completion, stubs: what C++ knows of the settings, as a Python user meets it."""

import inspect
import os
import pathlib
import re
import subprocess
import sys
import typing

import pytest
from conftest import SOURCE, python, refused

import fedstride
from fedstride import _core

PACKAGE = pathlib.Path(fedstride.__file__).parent
PAGE = subprocess.run([os.environ["FEDSTRIDE_PROGRAM"], "manual", "--settings", "/dev/stdout"], capture_output=True, text=True, check=True).stdout


def page_keywords():
    """The keywords of the program's page of settings, with the texts of their lines."""
    return {name.replace("-", "_"): line for name, line in re.findall(r"^- `([a-z0-9-]+)`(.*)$", PAGE, re.MULTILINE)}


def test_run_s_signature_has_every_setting_with_type_and_default():
    known = page_keywords()
    parameters = inspect.signature(fedstride.run).parameters
    assert len(known) > 150 and set(parameters) >= set(known) - {"code"}
    assert "settings" not in parameters and all(one.kind is one.KEYWORD_ONLY for one in parameters.values())
    assert parameters["rounds"].default == 20 and parameters["optimizer"].default == "auto"
    assert parameters["alpha"].default == 0.5 and parameters["learning_rate"].default is None  # the optimizers differ
    assert "dirichlet" in typing.get_args(typing.get_args(parameters["partition"].annotation)[0]) and "callable" not in str(parameters["partition"])
    assert set(typing.get_args(parameters["rounds"].annotation)) == {int, type(None)}
    assert set(typing.get_args(parameters["publishable"].annotation)) == {bool, type(None)}
    assert typing.get_args(typing.get_args(parameters["over_norm"].annotation)[0]) == ("refuse", "clip")


# What the signature says is left out has that effect: the default is the one that a run resolves.
def test_the_defaults_are_those_that_runs_have(tmp_path):
    run = fedstride.run(dataset="synthetic-li", model="logistic", rounds=1, out=tmp_path / "run")
    parameters = inspect.signature(fedstride.run).parameters
    given = {"dataset", "model", "rounds", "out"}
    same = [name for name, value in run.settings.items() if name in parameters and name not in given and parameters[name].default is not None]
    assert len(same) > 40
    chosen = {"optimizer": "pooled", "server_optimizer": "restore"}  # by "auto"
    for name in same:
        assert parameters[name].default == ("auto" if name in chosen else run.settings[name]), name
    assert {name: run.settings[name] for name in chosen} == chosen


def test_help_explains_every_keyword():
    text = fedstride.run.__doc__
    for name, line in page_keywords().items():
        if name not in ("code", "data", "model", "evaluate"):  # these are explained at the top
            assert re.search(rf"^    {name}: \w", text, re.MULTILINE), name
    assert "rounds: number of rounds, or of the server's versions in an asynchronous run; a whole number\n        from 1 to 2000000000 [20]" in text
    shown = python("import fedstride; help(fedstride.run)").stdout
    assert "\n        local_epochs: " in shown and max(map(len, shown.splitlines()[:60])) < 2000
    assert "\n    rounds: int | None = 20,\n" in shown


def test_resume_takes_only_what_may_change():
    parameters = inspect.signature(fedstride.resume).parameters
    assert {"rounds", "threads", "evaluate_every", "aggregation", "train", "on_round"} <= set(parameters)
    assert not {"batch", "seed", "alpha", "out", "settings"} & set(parameters)


@pytest.mark.parametrize("function, names", [
    (fedstride.partition, {"partition", "alpha", "clients", "data", "config", "seed"}),
    (fedstride.load_dataset, {"label", "client_column", "data_dir", "format", "dataset"}),
    (fedstride.sweep, {"file", "out", "jobs", "shard", "scale", "learning_rate", "dry_run"}),
    (fedstride.tune, {"file", "out", "jobs", "hyperband", "eta", "min_rounds", "configurations", "learning_rate", "dry_run"}),
    (fedstride.report, {"folders", "out", "latex"}),
    (fedstride.privacy.epsilon, {"sampling_rate", "noise_multiplier", "steps", "delta", "accountant", "details"}),
    (fedstride.privacy.audit, {"folder"}),
    (fedstride.Run.evaluate, {"self", "data", "part", "per_client", "fine_tune", "threads"}),
])
def test_other_functions_name_their_keywords(function, names):
    parameters = inspect.signature(function).parameters
    assert names <= set(parameters) and not {"flags", "settings", "question", "json", "help"} & set(parameters)
    assert not any(one.kind is one.VAR_KEYWORD for one in parameters.values())


# Of everything that help() and signatures show.
def test_no_text_shows_a_flag_of_the_program():
    texts = {"run": fedstride.run.__doc__, "parts": "\n".join(getattr(fedstride, name).__doc__ for name in fedstride.parts.__all__)}
    texts |= {name: getattr(fedstride, name).__doc__ for name in fedstride.__all__ if name != "__version__"}
    texts |= {name: getattr(fedstride.privacy, name).__doc__ for name in ("epsilon", "delta", "calibrate", "steps", "compare", "audit")}
    for name, text in texts.items():
        assert not re.search(r"(?<![\w-])--[a-z]", re.sub(r"'fedstride [^']*'", "", text)), name


@pytest.mark.parametrize("said, shown", [
    ("continue its run with --resume '/a/b', or choose another folder", "continue its run with fedstride.resume('/a/b'), or choose another folder"),
    ("column that names each row's client, for --partition natural", 'column that names each row\'s client, for partition="natural"'),
    ("calibrated for --epsilon over the planned steps", "calibrated for epsilon= over the planned steps"),
    ("start with a --learning-rate below 0.1, or use (--optimizer sgd)", 'start with a learning_rate= below 0.1, or use (optimizer="sgd")'),
    ("give --range LOW,HIGH, or --mean and --deviation, or --public-data FILE", "give range=LOW,HIGH, or mean= and deviation=, or public_data=FILE"),
    ("go together (--mean 0.5 --deviation 0.25)", "go together (mean=0.5 deviation=0.25)"),
    ("learning-rate is nan; it must be a number above 0", "learning_rate is nan; it must be a number above 0"),
    ("key 'max-norm' is unknown; did you mean 'max-step'?", "key 'max_norm' is unknown; did you mean 'max_step'?"),
    ("flag '--stpes' is unknown; did you mean '--steps'? 'fedstride privacy epsilon --help' lists them",
     "keyword 'stpes' is unknown; did you mean 'steps'? help(fedstride.privacy.epsilon) lists them"),
    ("--delta is required", "delta is required"),
    ("a report on 2 folders needs --out FILE.html", "a report on 2 folders needs out=FILE.html"),
    # As they are: commands, paths, values, words that no setting has.
    ("repeat it with: fedstride run --rounds 3 --out 'a b'", "repeat it with: fedstride run --rounds 3 --out 'a b'"),
    ("data set (see 'fedstride data list')", "data set (see 'fedstride data list')"),
    ("cannot read '/tmp/client-test/local-epochs'", "cannot read '/tmp/client-test/local-epochs'"),
    ("'local-epochs' holds no run; out/local-epochs does", "'local-epochs' holds no run; out/local-epochs does"),
    ("personal 'x' is unknown; valid: none, fine-tune, local-layers", "personal 'x' is unknown; valid: none, fine-tune, local-layers"),
    ("a --frobnicate of client-level noise", "a --frobnicate of client-level noise"),
    ("", ""),
])
def test_the_program_s_words_become_python_s(said, shown):
    assert _core.in_python_words(said) == shown


def test_errors_name_keywords(tmp_path):
    with refused(fedstride.UsageError, "max_step", "-1"):
        fedstride.run(optimizer="pooled", max_step=-1)
    fedstride.run(dataset="synthetic-li", model="logistic", rounds=1, out=tmp_path / "a")
    with refused(fedstride.UsageError, f"fedstride.resume('{tmp_path / 'a'}')"):
        fedstride.run(out=tmp_path / "a")
    with refused(fedstride.UsageError, "'local_epoch'", "'local_epochs'", "help(fedstride.run)"):
        fedstride.run(local_epoch=1)


def test_dir_shows_the_public_names_alone():
    shown = set(dir(fedstride))
    assert shown == set(fedstride.__all__) | set(fedstride.parts.__all__)
    assert not {name for name in shown if name.startswith("_")} - {"__version__"}
    assert not {"running", "folder", "code", "client", "data", "tensors", "sweeps", "open"} & shown
    assert set(dir(fedstride.privacy)) >= {"audit", "calibrate", "compare", "compose", "delta", "epsilon", "steps"}
    assert not [name for name in dir(fedstride.privacy) if not inspect.isfunction(getattr(fedstride.privacy, name))]
    with pytest.raises(AttributeError, match="'opne'"):
        fedstride.opne


def test_a_star_import_leaves_the_builtins_alone():
    done = python("import builtins\nbefore = {**vars(builtins)}\nfrom fedstride import *\n"
                  "print(open is before['open'], [name for name in before if name in globals() and not name.startswith('__')], 'run' in globals())")
    assert done.stdout == "True [] True\n", done.stderr


def completions(text):
    """What IPython offers after `import fedstride`."""
    done = python("import sys, fedstride\nfrom IPython.core.completer import IPCompleter\nfrom IPython.core.interactiveshell import InteractiveShell\n"
                  "shell = InteractiveShell.instance()\nshell.user_ns['fedstride'] = fedstride\ncompleter = shell.Completer\n"
                  f"text = {text!r}\n"
                  "from IPython.core.completer import provisionalcompleter\n"
                  "with provisionalcompleter():\n  print(*(one.text for one in completer.completions(text, len(text))))\n", IPYTHONDIR="/nowhere")
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_ipython_completes_keywords_and_names():
    pytest.importorskip("IPython")
    offered = completions("fedstride.run(local_")
    assert {"local_epochs=", "local_objective="} <= offered
    assert "alpha=" in completions("fedstride.Dirichlet(al")
    names = completions("fedstride.")
    assert {"run", "Dirichlet", "privacy", "open_run"} <= names
    assert not [name for name in names if name.startswith("_") or name in ("running", "folder", "tensors", "sweeps", "code")]


def test_jedi_completes_from_the_stub_without_running_anything():
    jedi = pytest.importorskip("jedi")
    line = "fedstride.run(server_"
    script = jedi.Script(f"import fedstride\n{line}", project=jedi.Project(SOURCE, sys_path=sys.path))
    assert {"server_optimizer=", "server_schedule="} <= {one.name_with_symbols for one in script.complete(2, len(line))}


CHECKED = '''
import numpy
import fedstride

run = fedstride.run(dataset="synthetic", rounds=3, partition=fedstride.Dirichlet(alpha=0.3), on_round=lambda record: record["round"] < 2)
reveal_type(run)
reveal_type(fedstride.Dirichlet().alpha)
fedstride.run(partition=[[1, 2], [3]], aggregation=lambda updates, weights, clients: updates[0], evaluate_every=None)
fedstride.resume(run, rounds=4)
reveal_type(fedstride.sweep("a.toml", optimizer="sgd"))
reveal_type(fedstride.sweep("a.toml", dry_run=True))
fedstride.privacy.epsilon(sampling_rate=0.1, noise_multiplier=1, steps=3, delta=1e-5)
fedstride.run(runds=3)
fedstride.run(rounds="many")
fedstride.run(optimizer="agd")
fedstride.Dirichlet(alfa=0.3)
fedstride.resume(run, optimizer="sgd")
'''


def test_a_type_checker_knows_the_keywords(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "checked.py").write_text(CHECKED)
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", tmp_path / "cache", "checked.py"], cwd=tmp_path,
                          capture_output=True, text=True, env={"MYPYPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"})
    lines = done.stdout.splitlines()
    assert not [line for line in lines if "/fedstride/" in line and " error: " in line and "[import]" not in line], done.stdout
    errors = {int(line.split(":")[1]): line for line in lines if line.startswith("checked.py") and " error: " in line}
    first_wrong = CHECKED.splitlines().index("fedstride.run(runds=3)") + 1
    assert sorted(errors) == list(range(first_wrong, first_wrong + 5)), done.stdout
    told = [line for line in lines if "Revealed type" in line]
    for line, name in zip(told, ("fedstride.folder.Run", "float", "fedstride.sweeps.Sweep", "dict"), strict=True):
        assert name in line


def test_the_stubs_are_those_of_this_build():
    from fedstride import _stubs

    for name in _stubs._MODULES:
        path = PACKAGE / f"{name}.pyi"
        assert path.read_text() == _stubs.stub(name), f"{path} is stale: build the target fedstride_stubs"
