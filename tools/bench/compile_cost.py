#!/usr/bin/env python3
"""What a build from scratch costs: CPU seconds of all compiler calls, in total and as a multiple of
tools/bench/reference_unit.cpp, which is compiled once a minute during the build. The multiple can be compared between machines;
the seconds cannot.

    tools/bench/compile_cost.py [--source FOLDER] [--preset release] [--target fedstride] [--jobs 2] [--top 15]
    tools/bench/compile_cost.py --touch FILE ...     after the build, touches these files and measures what is rebuilt

The build is in a new temporary folder, which is removed afterwards, and does not use ccache.
"""
import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def cpu_of(command, **options):
    """Returns the exit status and CPU seconds (user and system, including child processes) of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    status = subprocess.run(command, **options).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def launch(log, command):
    """The compiler launcher: runs one compiler call and adds a line to the log."""
    status, seconds = cpu_of(command)
    name = command[command.index("-c") + 1] if "-c" in command else command[-1]
    with open(log, "a") as file:
        file.write(f"{seconds:.3f} {name}\n")
    sys.exit(status)


class Reference:
    """Compiles the reference unit once a minute while something else is built."""

    def __init__(self, folder):
        unit = Path(__file__).resolve().parent / "reference_unit.cpp"
        self.command = [sys.executable, __file__, "--cpu", "c++", "-std=c++20", "-O3", "-c", str(unit), "-o", str(folder / "reference.o")]
        self.seconds = [self.once() for _ in range(2)]
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def once(self):
        return float(subprocess.run(self.command, check=True, capture_output=True, text=True).stdout)

    def run(self):
        while not self.done.wait(60):
            self.seconds.append(self.once())

    def finish(self):
        self.done.set()
        self.thread.join()
        self.seconds.append(self.once())
        return statistics.median(self.seconds)


def report(title, log, wall, reference, top, source):
    lines = [line.split(" ", 1) for line in log.read_text().splitlines()] if log.exists() else []
    units = sorted(((float(seconds), name) for seconds, name in lines), reverse=True)
    total = sum(seconds for seconds, _ in units)
    print(f"{title}: {len(units)} units, {total:.1f} CPU s, {wall:.1f} s of wall time, "
          f"{total / reference:.1f} reference units of {reference:.2f} CPU s")
    for seconds, name in units[:top]:
        print(f"  {seconds:7.1f}  {re.sub(re.escape(str(source)) + '/', '', name)}")
    sys.stdout.flush()


def main():
    if sys.argv[1:2] == ["--launch"]:
        launch(sys.argv[2], sys.argv[3:])
    if sys.argv[1:2] == ["--cpu"]:
        status, seconds = cpu_of(sys.argv[2:])
        print(seconds)
        sys.exit(status)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--preset", default="release")
    parser.add_argument("--target", default="fedstride")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--top", type=int, default=15)
    parser.add_argument("--touch", nargs="*", default=[])
    options = parser.parse_args()
    source = options.source.resolve()
    folder = Path(tempfile.mkdtemp(prefix="compile-cost-"))
    log = folder / "units"
    environment = dict(os.environ, CCACHE_DISABLE="1")
    try:
        launcher = f"{sys.executable};{Path(__file__).resolve()};--launch;{log}"
        subprocess.run(["cmake", "--preset", options.preset, "-B", str(folder / "build"), f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"],
                       cwd=source, check=True, stdout=subprocess.DEVNULL)
        build = ["cmake", "--build", str(folder / "build"), "--parallel", str(options.jobs), "--target", options.target]

        def measure(title, top):
            log.unlink(missing_ok=True)
            reference = Reference(folder)
            begun = time.monotonic()
            built = subprocess.run(build, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            wall = time.monotonic() - begun
            yardstick = reference.finish()
            if built.returncode:
                sys.exit(built.stdout[-3000:])
            report(title, log, wall, yardstick, top, source)

        measure(f"{options.preset} {options.target} from scratch", options.top)
        for name in options.touch:
            (source / name).touch()
            measure(f"after a change of {name}", 3)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
