"""`python3 -m fedstride` runs the program `fedstride`."""

import os
import sys

from ._program import program


def main():
    path = program()
    if path is None:
        sys.exit("fedstride: the program 'fedstride' is neither beside the module nor on PATH")
    os.environ.setdefault("FEDSTRIDE_PYTHON", sys.executable)  # for the program's part that is in Python
    os.execv(path, ["fedstride", *sys.argv[1:]])


if __name__ == "__main__":
    main()
