"""tools/mutate itself: what it changes in a line, and that the source is whole again however a mutant ends."""
import importlib.machinery
import importlib.util
import os
import signal
from pathlib import Path

import pytest

SOURCE = Path(os.environ.get("FEDSTRIDE_SOURCE_DIR", Path(__file__).resolve().parents[2]))
loader = importlib.machinery.SourceFileLoader("mutate", str(SOURCE / "tools" / "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)


def changed(line):
    return mutate.mutations(mutate.hide(line), line)


@pytest.mark.parametrize("line, mutants", [
    ("  if (a < b && !done) {", ["  if (a <= b && !done) {", "  if (a >= b && !done) {", "  if (a < b || !done) {", "  if (a < b && done) {"]),
    ("  x += y * z;", ["  x -= y * z;", "  x += y / z;"]),
    ("  int left = 0;", ["  int left = 1;"]),
    ("  const auto bit = 1U;", ["  const auto bit = 2U;", "  const auto bit = 0U;"]),
    ("  double rate = 0.5;", ["  double rate = 1.5;", "  double rate = -0.5;"]),
    ("  y = std::min(a, b);", ["  y = std::max(a, b);"]),
    ("  return std::sqrt(x);", ["  return (x);"]),
    ("  values.clear();", ["  ;"]),
    ("  const bool is_told = true;", ["  const bool is_told = false;"]),
    ("  f(-x);", ["  f(x);", "  ;"]),
    ('  text = name + " of 3 < 4";  // or 5 > 4', []),
    ("  values.reserve(count);", []),
    ("  std::vector<int> values(const Vector& from, Part* part);", []),
    ("  static_assert(sizeof(int) == 4);", []),
    ("  virtual void end() = 0;", []),
    ("#include <array>", []),
])
def test_lines(line, mutants):
    assert changed(line) == mutants


def test_comments_of_several_lines_and_raw_strings_are_no_code():
    text = 'a = 1; /* 2\n3 */ b = R"(4 + "5"\n6)" + c;'
    hidden = mutate.hide(text)
    assert hidden.split() == ["a", "=", "1;", "b", "=", "R", '"', "+", "c;"]
    assert [len(line) for line in hidden.split("\n")] == [len(line) for line in text.split("\n")]


class Killed:
    """In place of the tests: a signal comes while the mutant is built."""

    known = {"dp"}

    def judge(self, programs):
        assert (mutate.TREE / "dp/a.cpp").read_text() == "int a = 1;\nint b = 2;\n"
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name in ("TREE", "BUILD", "KEPT", "SAVED"):
        monkeypatch.setattr(mutate, name, tmp_path / name)
    (tmp_path / "TREE/dp").mkdir(parents=True)
    (tmp_path / "BUILD").mkdir()
    (mutate.TREE / "dp/a.cpp").write_text("int a = 0;\nint b = 2;\n")
    yield tmp_path
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_a_signal_restores_the_source(tree):
    signal.signal(signal.SIGTERM, mutate.stop)
    with pytest.raises(SystemExit):
        mutate.try_mutant(Killed(), "dp/a.cpp", 1, "int a = 0;", "int a = 1;")
    assert (mutate.TREE / "dp/a.cpp").read_text() == "int a = 0;\nint b = 2;\n"
    assert not mutate.SAVED.exists()


def test_what_a_kill_left_is_restored_by_the_next_run(tree):
    mutate.SAVED.write_text('["dp/a.cpp", "int a = 0;\\n", 1000000000, 2000000000]')
    (mutate.TREE / "dp/a.cpp").write_text("int a = 1;\n")
    (mutate.BUILD / "both.o").write_text("before")
    mutate.keep_built()
    for name in ("both.o", "mutant.a"):
        (mutate.BUILD / name).write_text("mutant")
    mutate.restore()
    assert (mutate.TREE / "dp/a.cpp").read_text() == "int a = 0;\n"
    assert (mutate.TREE / "dp/a.cpp").stat().st_mtime == 1
    assert (mutate.BUILD / "both.o").read_text() == "before" and not (mutate.BUILD / "mutant.a").exists()


def test_the_same_seed_draws_the_same_mutants(tree):
    assert mutate.draw("dp", "1") == mutate.draw("dp", "1")
    assert {(path, number) for path, number, _, _ in mutate.draw("dp", "1")} == {("dp/a.cpp", 1), ("dp/a.cpp", 2)}
