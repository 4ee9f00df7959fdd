"""What installs on other systems: the scripts that make it, the archive's start, libraries beside a program."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import SOURCE

TOOLS = ["arm-sysroot", "check-arm", "check-packages", "check-portable", "make-archive", "make-packages", "make-wheel"]


def done(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, **options)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_script_explains_itself_and_refuses_other_words(tool):
    path = SOURCE / "tools" / tool
    help_ = done(path, "--help")
    assert help_.returncode == 0 and f"\n{' ' * (4 if tool == 'make-wheel' else 2)}tools/{tool}" in help_.stdout
    refused = done(path, "--oops")
    assert refused.returncode == 1 and refused.stderr.count("\n") == 1
    assert f"tools/{tool}: '--oops' is unknown; valid: " in refused.stderr


# The archive's bin/fedstride, with a getconf that answers as another system's would; its program says how it was called.
@pytest.fixture
def start(tmp_path):
    (tmp_path / "at this place" / "bin").mkdir(parents=True)
    text = (SOURCE / "cli" / "launcher" / "start.sh.in").read_text().replace("@MINOR@", "36").replace("@START@", "program")
    path = tmp_path / "at this place" / "bin" / "fedstride"
    path.write_text(text)
    program = tmp_path / "at this place" / "program"
    program.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    link = tmp_path / "link"
    link.symlink_to(path)
    for file in (path, program):
        file.chmod(0o755)

    def call(getconf):
        fake = tmp_path / "getconf"
        fake.write_text(f"#!/bin/sh\n{getconf}\n")
        fake.chmod(0o755)
        return done(link, "run", "a b", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})

    return call


@pytest.mark.parametrize("libc", ["2.36", "2.41", "2.100.9000", "3.0"])
def test_the_archive_starts_from_any_place(start, libc):
    answer = start(f"echo glibc {libc}")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "<run><a b>", "")


@pytest.mark.parametrize("getconf, named", [("echo glibc 2.31", "glibc 2.31"), ("echo glibc 2.35.9", "glibc 2.35.9"),
                                            ("exit 1", "no glibc")])
def test_the_archive_names_an_older_glibc_and_another_c_library(start, getconf, named):
    answer = start(getconf)
    assert answer.returncode == 1 and answer.stdout == "" and answer.stderr.count("\n") == 1
    assert named in answer.stderr and "glibc 2.36 or later" in answer.stderr


def test_libraries_lie_beside_the_program_wherever_it_is(tmp_path):
    for needed in ("patchelf", "readelf", "xz"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    folder = tmp_path / "here"
    (folder / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("xz"), folder / "bin" / "xz")
    answer = done("/usr/bin/python3", SOURCE / "tools" / "bundle.py", folder, folder / "bin" / "xz", "--licenses", folder / "licenses")
    assert answer.returncode == 0 and answer.stdout.splitlines()[-1].startswith("1 libraries, glibc 2.")
    moved = tmp_path / "moved"
    folder.rename(moved)
    loaded = done(moved / "bin" / "xz", env={"LD_TRACE_LOADED_OBJECTS": "1"}).stdout
    assert f"liblzma-fedstride.so.5 => {moved}/bin/../lib/liblzma-fedstride.so.5" in loaded and "liblzma.so.5" not in loaded
    assert done(moved / "bin" / "xz", "--version").stdout.startswith("xz ")
    assert "copyright" in (moved / "licenses" / "liblzma5").read_text().lower()


def test_development_builds_all_that_its_component_installs():
    """docs/tutorial.md and docs/library.md build this target after ./quickstart, and install the component."""
    build = pathlib.Path(os.environ["FEDSTRIDE_PROGRAM"]).parent
    others = [cache.parent for cache in build.glob("*/**/CMakeCache.txt")]  # builds of tests
    installed = {path for script in build.rglob("cmake_install.cmake") if not any(other in script.parents for other in others)
                 for block in script.read_text().split('CMAKE_INSTALL_COMPONENT STREQUAL "development"')[1:]
                 for path in re.findall(r'"([^"]+\.(?:a|so)[^"/]*)"', block.split("endif()")[0]) if path.startswith(str(build))}
    # The tool "inputs" leaves out those of a phony target itself.
    made = [line for tool in ("inputs", "query") for line in done("ninja", "-C", build, "-t", tool, "development").stdout.split("\n")]
    assert len(installed) > 10
    assert not installed - {str(build / line.strip()) for line in made}
