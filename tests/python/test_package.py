"""The package: its version, its stubs, its program, pip."""

import ast
import inspect
import json
import os
import pathlib
import shutil
import subprocess
import sys
import venv

import pytest
from conftest import PROGRAM, SOURCE, names, program, python

import fedstride
from fedstride import _core, _load

PACKAGE = pathlib.Path(fedstride.__file__).parent


def test_version():
    version = program("--version").split()[0]
    assert version == _core.version and version.replace("-dev", ".dev0") == fedstride.__version__


def test_a_module_of_another_build_is_refused(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "fedstride")
    (tmp_path / "fedstride" / "_version.py").write_text('__version__ = "0.0.9"\n')
    done = python("import fedstride", PYTHONPATH=str(tmp_path))
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: fedstride: ") and names(last, "0.0.9", "_core", _core.version)


def test_python_m_is_the_program():
    done = subprocess.run([sys.executable, "-m", "fedstride", "--version"], capture_output=True, text=True)
    assert done.stdout == program("--version")
    done = subprocess.run([sys.executable, "-m", "fedstride", "run", "--rounds", "0"], capture_output=True, text=True)
    assert done.returncode == 2 and names(done.stderr, "rounds", "0")


def test_stubs_name_what_the_module_has():
    tree = ast.parse((SOURCE / "python" / "fedstride" / "_core.pyi").read_text())
    stubs = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    stubs |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    assert stubs == {name for name in dir(_core) if not name.startswith("__")}
    assert (PACKAGE / "py.typed").is_file()


def test_public_names_have_docstrings():
    for name in fedstride.__all__:
        if name != "__version__":
            assert inspect.getdoc(getattr(fedstride, name)), name
    for name, member in inspect.getmembers(fedstride.privacy, inspect.isfunction):
        if member.__module__ == "fedstride.privacy" and not name.startswith("_"):
            assert member.__doc__, name


# As the Debian package has it: a folder for each instruction set.
def test_the_build_for_the_processor_is_chosen(tmp_path):
    possible = _load._possible_levels()
    if not possible:
        pytest.skip("this processor is no x86-64-v2")
    folder = tmp_path / "fedstride"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("_core*.so"))
    for level in possible:
        (folder / level).mkdir()
        shutil.copy(_core.__file__, folder / level)

    def chosen(**environment):
        return python("import fedstride; print(fedstride._core.__file__)", PYTHONPATH=str(tmp_path), **environment)

    assert f"/{possible[0]}/" in chosen(FEDSTRIDE_INSTRUCTIONS="").stdout
    assert f"/{possible[-1]}/" in chosen(FEDSTRIDE_INSTRUCTIONS=possible[-1]).stdout
    last = chosen(FEDSTRIDE_INSTRUCTIONS="sse").stderr.splitlines()[-1]
    assert last.startswith("ImportError: fedstride: ") and names(last, "FEDSTRIDE_INSTRUCTIONS", "'sse'", "x86-64-v2", "x86-64-v3", "x86-64-v4")
    assert "local_epochs" in python("import fedstride; help(fedstride.run)", PYTHONPATH=str(tmp_path)).stdout
    expected = fedstride.privacy.epsilon(sampling_rate=0.01, noise_multiplier=4, steps=10, delta=1e-5)
    done = python("import fedstride; print(fedstride.privacy.epsilon(sampling_rate=0.01, noise_multiplier=4, steps=10, delta=1e-5))",
                  PYTHONPATH=str(tmp_path))
    assert float(done.stdout) == expected


# The build is there: the backend has CMake look, packs, and pip installs into an environment of its own.
@pytest.mark.parametrize("editable", [False, True])
def test_pip_installs_it_without_a_network(tmp_path, editable):
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    # The same calls as pip's, without its copy of the tree.
    sys.path.insert(0, str(SOURCE / "python"))
    try:
        import build_backend
    finally:
        sys.path.pop(0)
    settings = {"build-folder": str(pathlib.Path(PROGRAM).parent)}
    (tmp_path / "wheels").mkdir()
    build = build_backend.build_editable if editable else build_backend.build_wheel
    wheel = tmp_path / "wheels" / build(str(tmp_path / "wheels"), settings)
    folder = tmp_path / "env"
    venv.create(folder, system_site_packages=True, with_pip=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([folder / "bin" / "pip", "install", "--no-index", "--no-cache-dir", "--quiet", wheel], check=True, cwd=tmp_path,
                   env=environment)
    done = subprocess.run([folder / "bin" / "python", "-c",
                           "import fedstride, json\n"
                           "run = fedstride.run(dataset='synthetic-li', model='logistic', rounds=1, out='run')\n"
                           "print(json.dumps([run.summary['rounds'], fedstride.__file__]))"],
                          capture_output=True, text=True, cwd=tmp_path, env=environment)
    rounds, where = json.loads(done.stdout)
    assert rounds == 1 and where.startswith(str(PACKAGE if editable else folder))
    stub = pathlib.Path(where).with_name("running.pyi").read_text()
    assert "local_epochs: int | None=1" in stub and "Dirichlet" in pathlib.Path(where).with_name("parts.pyi").read_text()
    done = subprocess.run([folder / "bin" / "fedstride", "--version"], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.stdout == program("--version")
