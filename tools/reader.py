#!/usr/bin/env python3
"""Follows a page of the documents as a reader would, for tools/check-documents.

    tools/reader.py script docs/tutorial.md            the commands of its blocks, as a bash script
    tools/reader.py compare docs/tutorial.md OUTPUT    compares what the page says is printed with what was

Blocks without a language or with `sh` are commands, `python` blocks a program, and `text` blocks what was printed. Lines of
`text`, and comments after print(...), must be part of a line of the output, with numbers within a tenth, since times depend on
the machine.
"""

import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Lines that do not run as they stand: page, pattern, replacement, why.
REPLACED = [
    ("README.md", r"^\./run-tests .*$", "", "the tests"),
    ("README.md", r"^build/release/fedstride data get cifar10$", "", "no network; the files are in their place"),
    ("README.md", r"--rounds 10 --out runs/cifar$", "--rounds 1 --out runs/cifar", "time"),
    ("README.md", r"--resume runs/cifar --rounds 20$", "--resume runs/cifar --rounds 2", "time"),
    ("docs/network.md", r"^(fedstride serve --listen .*)$", r"\1 &", "another machine's terminal"),
    ("docs/network.md", r"^(fedstride join --connect) HOST(:7000 --certificates certs) --client 0 .*$",
     r"\1 127.0.0.1\2 --client 0 & \1 127.0.0.1\2 --client 1; wait", "the machines"),
]

# Blocks that do not run here: page, what they contain, why.
LEFT_OUT = [
    ("docs/python.md", "import mlflow", "Debian has no MLflow"),
    ("docs/python.md", "import wandb", "Debian has no wandb"),
    ("docs/python.md", "import torch", "PyTorch: tests/python/test_docs.py"),
    ("docs/python.md", "fedstride.report(", "matplotlib and pandas: tests/python/test_docs.py"),
    ("docs/python.md", "fedstride serve --parameters", "other machines: tests/python/test_client.py"),
    ("docs/python.md", "fedstride.Client(", "other machines: tests/python/test_client.py"),
]


def blocks(page):
    """Yields (language, text, line) for each block between ``` lines."""
    text = (ROOT / page).read_text()
    for found in re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield found[1], found[2], text.count("\n", 0, found.start()) + 1


def left_out(page, text):
    return next((why for where, what, why in LEFT_OUT if where == page and what in text), None)


def script(page):
    python, used = [], set()
    print("set -e")
    for language, text, line in blocks(page):
        if language in ("", "sh", "python") and (why := left_out(page, text)):
            print("echo", shlex.quote(f"{page}:{line} left out: {why}"))
            continue
        if language == "python":
            python.append(text)
        elif language in ("", "sh"):
            for number, (where, pattern, instead, why) in enumerate(REPLACED):
                if where == page and re.search(pattern, text, re.MULTILINE):
                    text = re.sub(pattern, instead, text, flags=re.MULTILINE)
                    used.add(number)
                    print("echo", shlex.quote(f"{page}:{line} not as it stands: {why}"))
            print(f"echo '== {page}:{line}'\n{text}", end="")
    if python:
        if "`./quickstart --python`" not in (ROOT / page).read_text():
            sys.exit(f"reader.py: {page} has Python and does not say ./quickstart --python")
        print("./quickstart --python\nPYTHONPATH=build/release/python python3 - <<'END'\n" + "\n".join(python) + "END")
    stale = [row[1] for number, row in enumerate(REPLACED) if row[0] == page and number not in used]
    if stale:
        sys.exit(f"reader.py: {page} has no line like {stale[0]!r}; remove it from REPLACED")


NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"


def agrees(said, printed):
    """True if a printed line has these words, with fractional numbers within a tenth."""
    words = re.split(NUMBER, said)
    found = re.search(f"({NUMBER})".join(map(re.escape, words)), printed)
    return found is not None and all(
        one == other or ("." in one and abs(float(one) - float(other)) <= 0.1 * max(abs(float(one)), 0.1))
        for one, other in zip(re.findall(NUMBER, said), found.groups()))


def compare(page, output):
    printed = [line.rstrip() for line in Path(output).read_text(errors="replace").splitlines()]
    missing = 0
    for language, text, line in blocks(page):
        said = []
        if language == "text":
            said = [each.strip() for each in text.splitlines() if each.strip()]
        elif language == "python" and not left_out(page, text):
            said = re.findall(r"^\s*print\([^#\n]*\)  # (.*)$", text, re.MULTILINE)
        for each in said:
            if any(each in one for one in printed):
                continue
            near = next((one for one in printed if agrees(each, one)), None)
            if near is None:
                print(f"{page}:{line}: not printed: {each}", file=sys.stderr)
                missing += 1
            else:
                print(f"{page}:{line}: within a tenth: {each} | {near}")
    return 1 if missing else 0


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "script":
        script(sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == "compare":
        sys.exit(compare(sys.argv[2], sys.argv[3]))
    else:
        sys.exit(__doc__.strip())
