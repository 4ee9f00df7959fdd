"""tools/reader.py: pages as the gate of documents reads them. tools/check-documents runs them on a bare machine."""

import importlib.util
import re
import subprocess
import sys

import pytest
from conftest import SOURCE

spec = importlib.util.spec_from_file_location("reader", SOURCE / "tools" / "reader.py")
reader = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reader)

PAGES = re.search(r"^for page in (.*); do$", (SOURCE / "tools" / "check-documents").read_text(), re.MULTILINE)[1].split()


@pytest.mark.parametrize("page", PAGES)
def test_every_page_of_the_gate_becomes_a_script(page):
    done = subprocess.run([sys.executable, SOURCE / "tools" / "reader.py", "script", page], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert subprocess.run(["bash", "-n"], input=done.stdout, text=True).returncode == 0
    assert "echo '== " in done.stdout or "python3 - <<" in done.stdout


def test_each_block_left_out_is_there():
    for page, what, _ in reader.LEFT_OUT:
        assert any(what in text for _, text, _ in reader.blocks(page)), (page, what)


@pytest.mark.parametrize("printed, agrees", [
    ("round 5/5  accuracy 0.4475  loss 1.0", True),
    ("round 5/5  accuracy 0.4300  loss 1.05", True),
    ("round 5/5  accuracy 0.2  loss 1.0", False),
    ("round 4/5  accuracy 0.4475  loss 1.0", False),
    ("round 5/5  loss 1.0", False),
])
def test_what_is_printed_agrees_with_the_page_within_a_tenth(printed, agrees):
    assert reader.agrees("5/5  accuracy 0.4475  loss 1.0", printed) == agrees


def test_what_is_not_printed_is_named(tmp_path, capsys):
    (tmp_path / "output").write_text("test accuracy 0.4475  loss 1.0051  worst class mix 0.4430\n")
    assert reader.compare("docs/tutorial.md", tmp_path / "output") == 1
    assert "worst class mix 0.1092" in capsys.readouterr().err
