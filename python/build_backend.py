"""`pip install .` from the source tree (PEP 517): CMake builds, zipfile packs. Uses only the standard library, so pip needs no
network; build dependencies are Debian packages (tools/packages).

pip install . --config-settings=build-folder=DIR   builds in DIR instead of build/release, with the settings in its CMake cache
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The Python outside any virtual environment, because CMake's cache may outlive the environment.
PYTHON = getattr(sys, "_base_executable", None) or sys.executable
PARTS = "lib/fedstride/python"  # in the package, where the program looks for them
DATE = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip allows, so the same tree gives the same wheel


def version():
    found = re.search(r"FEDSTRIDE_VERSION ([0-9.]+(-dev)?)\)", (ROOT / "CMakeLists.txt").read_text())
    return found.group(1).replace("-dev", ".dev0")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = _built(config_settings)
    files = {}
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            files[f"fedstride/{path.relative_to(package)}"] = path
    parts = [*(ROOT / "python" / "fedstride_report").glob("*.*"), ROOT / "python" / "fedstride_convert.py"]
    files |= {f"fedstride/{PARTS}/{path.relative_to(ROOT / 'python')}": path for path in sorted(parts)}
    return packed(wheel_directory, files, {})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    package = _built(config_settings)
    return packed(wheel_directory, {}, {"fedstride.pth": f"{package.parent}\n"})


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("fedstride has no source distribution; install from the source tree: pip install .")


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    return _metadata_in(metadata_directory)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    return _metadata_in(metadata_directory)


def _metadata_in(directory):
    folder = pathlib.Path(directory) / f"fedstride-{version()}.dist-info"
    folder.mkdir(parents=True)
    for name, text in _metadata().items():
        (folder / name).write_text(text)
    return folder.name


def _metadata(platform=None):
    about = ["Metadata-Version: 2.1", "Name: fedstride", f"Version: {version()}",
             "Summary: A federated-learning simulator with reproducible results", "Requires-Python: >=3.11",
             "Requires-Dist: numpy", "Provides-Extra: frames", "Requires-Dist: pandas; extra == 'frames'",
             "Provides-Extra: plots", "Requires-Dist: matplotlib; extra == 'plots'", "Provides-Extra: report",
             *(f"Requires-Dist: {name}; extra == 'report'" for name in ("pandas", "scipy", "matplotlib", "jinja2"))]
    wheel = ["Wheel-Version: 1.0", "Generator: fedstride", "Root-Is-Purelib: false", f"Tag: {_tag(platform)}"]
    return {"METADATA": "\n".join(about) + "\n", "WHEEL": "\n".join(wheel) + "\n",
            "entry_points.txt": "[console_scripts]\nfedstride = fedstride.__main__:main\n"}


def _tag(platform=None):
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{platform or sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _built(config_settings):
    """Builds the module and returns the package's folder."""
    asked = (config_settings or {}).get("build-folder")
    folder = pathlib.Path(asked).resolve() if asked else ROOT / "build" / "release"
    for program in ("cmake", "ninja", "c++"):
        if shutil.which(program) is None:
            raise SystemExit(f"fedstride is built with {program}, which is not installed; tools/packages lists the requirements")
    # The module is built for the Python that installs it.
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), f"-DPython_EXECUTABLE={PYTHON}"]
    if not asked:
        configure.append("--preset=release")
    _run(configure)
    if not (folder / "python" / "fedstride" / "_version.py").is_file():
        raise SystemExit("fedstride's Python module needs python3-dev and pybind11-dev (Debian), which were not found for "
                         f"{PYTHON}; 'cmake --preset release' reports what is missing")
    _run(["cmake", "--build", str(folder), "--target", "fedstride_stubs", "--parallel", str(os.cpu_count() or 1)])
    return folder / "python" / "fedstride"


def _run(command):
    done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr)
    if done.returncode:
        raise SystemExit(f"'{' '.join(command)}' failed; its output is above")


def packed(directory, files, texts, platform=None):
    """Writes a wheel with `files` and `texts`, two dicts by path in the wheel, to the directory; returns the wheel's name."""
    name = f"fedstride-{version()}-{_tag(platform)}.whl"
    info = f"fedstride-{version()}.dist-info"
    texts = {**texts, **{f"{info}/{key}": text for key, text in _metadata(platform).items()}}
    record = []
    with zipfile.ZipFile(pathlib.Path(directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(inside, content, mode):
            entry = zipfile.ZipInfo(inside, DATE)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{inside},sha256={digest},{len(content)}")

        for inside, path in files.items():
            add(inside, path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)
        for inside, text in texts.items():
            add(inside, text.encode(), 0o644)
        record.append(f"{info}/RECORD,,")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", DATE), "\n".join(record) + "\n")
    return name
