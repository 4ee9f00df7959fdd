"""Used by the scripts in this folder: runs the program, formats medians with ranges, and reads command-line arguments."""
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def command(program, subcommand="run", **settings):
    """Returns the words of a command: data_dir=X becomes --data-dir X, True becomes a bare flag, and None is omitted."""
    words = [str(program), subcommand]
    for name, value in settings.items():
        if value is not None:
            words += ["--" + name.replace("_", "-")] + ([] if value is True else [str(value)])
    return words


def rounds_of(folder):
    path = Path(folder, "rounds.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(program, subcommand="run", **settings):
    """Trains in a temporary folder; returns the run's rounds and summary."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place, "run")
        subprocess.run(command(program, subcommand, quiet=True, out=out, **settings), check=True, stdout=subprocess.DEVNULL)
        return rounds_of(out), json.loads((out / "summary.json").read_text())


def round_seconds(rounds):
    return statistics.median(line["seconds"] for line in rounds)


def spread(values, form=".3f"):
    """'1.234 (1.100 to 1.300)': the median and the range."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def words(usage, needed, *defaults):
    """Returns the command-line arguments: the required ones unchanged, then numbers with these defaults. Exits with the usage if
    there are too few or too many."""
    given = sys.argv[1:]
    if not needed <= len(given) <= needed + len(defaults):
        sys.exit(usage)
    numbers = [int(word) for word in given[needed:]]
    return [*given[:needed], *numbers, *defaults[len(numbers):]]
