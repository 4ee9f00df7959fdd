"""The program `fedstride` that belongs to the module."""

import os
import pathlib
import shutil


def program():
    """The path of the program: next to the module, otherwise on PATH; None if it is in neither place."""
    beside = pathlib.Path(__file__).parent / "bin" / "fedstride"
    if os.access(beside, os.X_OK):
        return str(beside)
    return shutil.which("fedstride")
