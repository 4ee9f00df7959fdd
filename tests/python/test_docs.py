"""The code of docs/python.md, in its order, and the examples."""

import os
import re
import subprocess
import sys

import pytest
from conftest import SOURCE

PAGE = (SOURCE / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_every_block_of_the_page_runs(tmp_path, monkeypatch, capsys):
    assert len(BLOCKS) >= 7
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, block in enumerate(BLOCKS):
        if "fedstride.report" in block and not os.access("/usr/bin/gnuplot", os.X_OK):
            continue
        exec(compile(block, f"docs/python.md, block {number + 1}", "exec"), names)
    assert "rounds is 0; it must be a whole number from 1 to 2000000000\n" in capsys.readouterr().out
    assert names["weights"]["fc1.weight"].shape == (10, 3072)


def test_the_readme_s_lines_run(tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", (SOURCE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(blocks[0], "README.md", "exec"), names)
    assert names["weights"]["fc1.weight"].dtype.name == "float32"
    pytest.importorskip("torch")
    exec(compile(blocks[1], "README.md, second block", "exec"), names)
    assert len(names["run"].rounds) == 2 and not any(one.get("failure") for one in names["run"].clients)


def example(folder, *words, **environment):
    return subprocess.run([sys.executable, SOURCE / "examples" / "python" / "adadp_against_sgd.py", *words], cwd=folder,
                          capture_output=True, text=True, env={**os.environ, **environment})


def test_the_example_draws_its_figure(tmp_path):
    pytest.importorskip("matplotlib")
    if not os.path.exists(os.path.join(os.environ.get("FEDSTRIDE_DATA", ""), "cifar10", "data_batch_1.bin")):
        pytest.skip("CIFAR-10 is not in FEDSTRIDE_DATA")
    done = example(tmp_path, "1", "20")
    assert done.returncode == 0, done.stderr
    figure = (tmp_path / "adadp-against-sgd.svg").read_text()
    assert figure.count("<svg") == 1 and len(figure) > 10_000


def test_without_data_the_example_says_how_to_get_them(tmp_path):
    pytest.importorskip("matplotlib")
    done = example(tmp_path, "1", FEDSTRIDE_DATA=str(tmp_path), HOME=str(tmp_path))
    assert done.returncode == 1 and "fedstride data get cifar10" in done.stderr and "Traceback" not in done.stderr
    assert len((SOURCE / "examples" / "python" / "adadp_against_sgd.py").read_text().splitlines()) < 40


def run_example(folder, name, *words):
    done = subprocess.run([sys.executable, SOURCE / "examples" / "python" / name, *map(str, words)], cwd=folder, capture_output=True,
                          text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_of_own_parts_runs(tmp_path):
    lines = run_example(tmp_path, "own_parts.py", tmp_path).splitlines()
    assert [line.split(":")[0] for line in lines] == ["mean", "median"]


def test_the_example_of_a_federation_learns_and_is_audited(tmp_path):
    import numpy

    text = run_example(tmp_path, "federation.py", tmp_path / "f")
    assert "after 20 rounds" in text and "client" in text
    import fedstride

    assert numpy.abs(fedstride.open(tmp_path / "f" / "run").model()["w"] - [1, -2, 0.5, 3]).max() < 1


@pytest.mark.parametrize("name, words, expected", [
    ("pytorch_lstm.py", [2], "accuracy 0."),
    ("personal_head.py", [2], "round 2, client 3: its own model has accuracy"),
    ("private_pytorch.py", [1], "at delta 1e-05"),
])
def test_the_examples_with_pytorch_run(tmp_path, name, words, expected):
    pytest.importorskip("torch")
    assert expected in run_example(tmp_path, name, tmp_path / "run", *words)


def test_the_example_of_a_resnet_runs(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(SOURCE / "examples" / "python"))
    import pytorch_resnet

    assert sum(parameter.numel() for parameter in pytorch_resnet.resnet18().parameters()) == 11_173_962
    pytorch_resnet.main(str(tmp_path / "run"), rounds=1, rows=20, width=8, dataset="synthetic")
