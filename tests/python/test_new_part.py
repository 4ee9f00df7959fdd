"""tools/new-part: a skeleton of every family compiles and says what is left to do; a name that will not do is refused in a line."""
import os
import py_compile
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(os.environ.get("FEDSTRIDE_SOURCE_DIR", Path(__file__).resolve().parents[2]))
FOLDERS = ["cli", "client", "core", "data", "docs", "dp", "examples", "nn", "partitions", "secagg", "server", "sim", "sweep", "tests", "tools"]
# Every family, with a name and the files that the skeleton consists of.
SKELETONS = {
    "optimizer": ("my-step", ["client/optim/sgd.cpp", "client/optim/my_step.cpp", "client/optim/optimizers.cpp", "tests/client/optim/my_step_test.cpp"]),
    "objective": ("my-loss", ["client/objectives/local_objectives.cpp", "tests/client/objectives/my_loss_test.cpp"]),
    "partition": ("my-split", ["partitions/partitions.cpp", "tests/partitions/my_split_test.cpp"]),
    "skew": ("my-tilt", ["data/skew/feature_skews.cpp", "tests/data/skew/my_tilt_test.cpp"]),
    "server-optimizer": ("my-server", ["server/server_optimizers.cpp", "tests/server/my_server_test.cpp"]),
    "aggregation": ("my-median", ["server/aggregations.cpp", "tests/server/aggregation/my_median_test.cpp"]),
    "attack": ("my-lie", ["client/attacks/attacks.cpp", "tests/client/attacks/my_lie_test.cpp"]),
    "personal": ("my-own", ["client/personal/kinds.cpp", "tests/client/personal/my_own_test.cpp"]),
    "compression": ("my-code", ["client/compression/compressors.cpp", "tests/client/compression/my_code_test.cpp"]),
    "cohort": ("my-few", ["server/cohorts.cpp", "tests/server/my_few_cohort_test.cpp"]),
    "layer": ("mine", ["nn/activation_stages.cpp", "tests/nn/activation_test.cpp"]),
    "accountant": ("my-bound", ["dp/accountants/accountants.cpp", "dp/accountants/my_bound.cpp"]),
    "draw": ("my-lots", ["dp/draws/draws.hpp", "tests/dp/draws/my_lots_test.cpp"]),
    "law": ("my-noise", ["dp/laws/laws.hpp", "tests/dp/laws/my_noise_test.cpp"]),
    "bound": ("my-clip", ["dp/bounds/bounds.cpp", "tests/dp/bounds/my_clip_test.cpp"]),
    "mechanism": ("my-trick", ["dp/correlations/correlations.hpp", "tests/dp/correlations/my_trick_test.cpp"]),
    "command": ("peek", ["cli/peek_command.cpp", "tests/cli/peek_test.cpp"]),
    "dataset": ("my-set", ["data/known_datasets.cpp", "data/official.cpp"]),
}


def new_part(tree, *arguments):
    return subprocess.run([tree / "tools/new-part", *arguments], capture_output=True, text=True)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    tree = tmp_path_factory.mktemp("tree")
    for folder in FOLDERS:
        shutil.copytree(SOURCE / folder, tree / folder, symlinks=True, ignore=shutil.ignore_patterns("corpus", "*.svg", "__pycache__"))
    return tree


def lines_named(tree, written):
    """The lines that a skeleton's output names, as they are now."""
    places = re.findall(r"^  (\S+):(\d+): .+", written.stdout, re.MULTILINE)
    return [(tree / path).read_text().split("\n")[int(number) - 1] for path, number in places]


@pytest.fixture(scope="module")
def skeletons(tree):
    made = {}
    for family, (name, _) in SKELETONS.items():
        written = new_part(tree, family, name)
        made[family] = written, lines_named(tree, written)
    return made


def test_every_family_has_a_skeleton(tree):
    refused = new_part(tree, "colour", "mine")
    assert refused.stderr == f"new-part: family 'colour' is unknown; valid: {', '.join(SKELETONS)}\n"


@pytest.mark.parametrize("family", SKELETONS)
def test_a_skeleton_says_what_is_left_to_fill_in(skeletons, family):
    written, lines = skeletons[family]
    assert (written.returncode, written.stderr) == (0, "")
    assert len(lines) >= 3 and all("FILL IN: " in line for line in lines)


def test_all_skeletons_compile_together(tree, skeletons):
    files = [path for _, paths in SKELETONS.values() for path in paths]
    (tree / "all.cpp").write_text("".join(f'#include "{path}"\n' for path in files))
    flags = ["-std=c++20", "-fsyntax-only", "-w", "-I.", "-isystem/usr/include/eigen3", '-DFEDSTRIDE_SOURCE_DIR=""', '-DFEDSTRIDE_PROGRAM=""']
    built = subprocess.run([os.environ.get("CXX", "c++"), *flags, "all.cpp"], cwd=tree, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    py_compile.compile(str(tree / "examples/load_in_pytorch.py"), cfile=str(tree / "compiled"), doraise=True)


@pytest.mark.parametrize("family, name, words", [
    ("optimizer", "sgd", ["'sgd'"]),
    ("optimizer", "my-step", ["my_step.hpp"]),
    ("personal", "none", ["'none'"]),
    ("skew", "no", ["NoSkew"]),
    ("attack", "vector", ["Vector", "core/vector.hpp"]),
    ("layer", "relu", ["Relu"]),
    ("command", "run", ["'run'"]),
    ("dataset", "mnist", ["'mnist'", "known_datasets.cpp"]),
    ("partition", "My-Split", ["'My-Split'"]),
    ("partition", "a--b", ["'a--b'"]),
    ("layer", "soft-plus", ["'soft-plus'"]),
    ("command", "../x", ["'../x'"]),
])
def test_a_name_that_will_not_do_is_refused_and_nothing_is_written(tree, skeletons, family, name, words):
    before = {path: path.stat().st_mtime_ns for path in tree.rglob("*.[ch]pp")}
    refused = new_part(tree, family, name)
    assert refused.returncode == 1 and refused.stdout == ""
    assert refused.stderr.startswith("new-part: ") and refused.stderr.count("\n") == 1
    assert all(word in refused.stderr for word in words), refused.stderr
    assert before == {path: path.stat().st_mtime_ns for path in tree.rglob("*.[ch]pp")}
