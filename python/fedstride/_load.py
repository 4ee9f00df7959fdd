"""Loads the module `_core`: the one next to this file or, in the Debian package, the one for the best instruction set that this
processor supports. The program's launcher chooses in the same way."""

import importlib.util
import os
import pathlib
import sys

os.environ.setdefault("FEDSTRIDE_PYTHON", sys.executable or "")  # converts data of other formats (core/python_part.hpp)

# From best to worst, with the flags of /proc/cpuinfo that each level adds (psABI, x86-64 supplement). The flag abm is missing:
# some virtual machines do not list it although the launcher finds it, and program and module must choose the same level.
_LEVELS = {
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "x86-64-v3": {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"},
    "x86-64-v2": {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"},
}


def _processor_flags():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("flags"):
                return set(line.split(":", 1)[1].split())
    return set()


def _possible_levels():
    """The levels that this processor supports, best first. Each level requires all lower ones."""
    flags = _processor_flags()
    possible = []
    for level in reversed(_LEVELS):
        if not _LEVELS[level] <= flags:
            break
        possible.insert(0, level)
    return possible


def _chosen_level(folder):
    wanted = os.environ.get("FEDSTRIDE_INSTRUCTIONS", "")
    possible = _possible_levels()
    if wanted:
        if wanted not in _LEVELS:
            raise ImportError(f"fedstride: FEDSTRIDE_INSTRUCTIONS is '{wanted}'; valid: {', '.join(reversed(_LEVELS))}")
        if wanted not in possible:
            raise ImportError(f"fedstride: FEDSTRIDE_INSTRUCTIONS is '{wanted}', which this processor does not support")
        return wanted
    for level in possible:
        if (folder / level).is_dir():
            return level
    raise ImportError("fedstride: this processor does not support x86-64-v2; the package has no build for it")


def _load():
    folder = pathlib.Path(__file__).parent
    levels = [level for level in _LEVELS if (folder / level).is_dir()]
    if not levels:
        from . import _core

        return _core
    level = _chosen_level(folder)
    found = sorted((folder / level).glob("_core*.so"))
    if not found:
        raise ImportError(f"fedstride: '{folder / level}' has no module _core")
    name = __package__ + "._core"
    spec = importlib.util.spec_from_file_location(name, found[0])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    setattr(sys.modules[__package__], "_core", module)
    return module


_core = _load()
