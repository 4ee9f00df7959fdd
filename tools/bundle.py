"""Puts the shared libraries that programs need next to them, so that the programs run from any folder. Used by
tools/make-archive and tools/make-wheel.

    python3 tools/bundle.py FOLDER FILE...        copies into FOLDER/lib everything that the files in FOLDER need

--sysroot DIR           the libraries of another machine, as tools/arm-sysroot unpacks them; by default this machine's
--leave-out NAME,...    libraries that the target already has, besides glibc's
--licenses DIR          folder for the copyright notices of the libraries' Debian packages

Each copy has its own name (libz-fedstride.so.1), so that each caller gets its own version even in a process, such as Python,
that has loaded another one. The last line says which glibc the files need.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

# glibc's libraries: the system's own must be used, since they belong to its loader.
GLIBC = re.compile(r"(ld-linux-.*|lib(c|m|dl|rt|util|pthread|resolv|anl|nss_.*|mvec|thread_db|BrokenLocale))\.so\.\d+")
# Both libraries are found by this name while a program runs, and are compatible between versions.
UNRENAMED = ("libstdc++.so.6", "libgcc_s.so.1")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", str(path)))


def glibc_of(path):
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", output("readelf", "-V", str(path)))
    return max(((int(major), int(minor)) for major, minor in versions), default=(2, 0))


def new_name(name):
    if name in UNRENAMED:
        return name
    stem, rest = name.split(".so", 1)
    return f"{stem}-fedstride.so{rest}"


class Libraries:
    """Finds libraries, by the names that programs request, and their packages."""

    def __init__(self, sysroot):
        self._root = pathlib.Path(sysroot or "/")
        self._owners = {}
        for listing in (self._root / "var/lib/dpkg/info").glob("*.list"):
            for line in listing.read_text().splitlines():
                if ".so." in line:
                    self._owners[line] = listing.stem.split(":", 1)[0]
        if sysroot is None:
            found = re.findall(r"^\s*(\S+) \(.*x86-64.*\) => (\S+)$", output("/sbin/ldconfig", "-p"), re.MULTILINE)
            self._paths = {name: pathlib.Path(path) for name, path in reversed(found)}
        else:
            self._paths = {path.name: path for path in (self._root / "usr/lib/aarch64-linux-gnu").glob("*.so.*")}

    def path(self, name):
        if name not in self._paths:
            sys.exit(f"bundle.py: the library {name} is needed but was not found")
        return self._paths[name]

    def notice(self, name):
        """Returns the library's Debian package, and the path of its copyright notice."""
        inside = "/" + str(self.path(name).resolve().relative_to(self._root.resolve()))
        package = self._owners.get(inside) or self._owners.get(inside.removeprefix("/usr"))
        if package is None:
            sys.exit(f"bundle.py: {inside} belongs to no package, so its license is unknown")
        return package, self._root / "usr/share/doc" / package / "copyright"


def bundle(folder, files, libraries, leave_out, licenses):
    folder = pathlib.Path(folder)
    target = folder / "lib"
    target.mkdir(parents=True, exist_ok=True)

    def is_taken(name):
        return not GLIBC.fullmatch(name) and name not in leave_out

    def direct(path, names, own_name):
        """Makes the file load the copies, in the library folder relative to its own location."""
        place = os.path.relpath(target, path.parent)
        # One call per kind of change: in patchelf 0.14, several at once overwrite each other.
        changes = [["--set-rpath", "$ORIGIN" if place == "." else f"$ORIGIN/{place}"]]
        renamed = [name for name in names if is_taken(name) and new_name(name) != name]
        if renamed:
            changes.append([word for name in renamed for word in ("--replace-needed", name, new_name(name))])
        if own_name:
            changes.append(["--set-soname", own_name])
        for change in changes:
            output("patchelf", *change, str(path))

    left, done = [], set()
    glibc = (2, 0)
    for file in files:
        names = needed(file)
        glibc = max(glibc, glibc_of(file))
        left += names
        direct(pathlib.Path(file), names, None)
    while left:
        name = left.pop()
        if name in done or not is_taken(name):
            continue
        done.add(name)
        source = libraries.path(name)
        copy = target / new_name(name)
        shutil.copyfile(source.resolve(), copy)
        copy.chmod(0o755)
        names = needed(source)
        glibc = max(glibc, glibc_of(source))
        left += names
        direct(copy, names, copy.name)
        if licenses:
            package, notice = libraries.notice(name)
            licenses.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(notice, licenses / package)
    return done, glibc


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--sysroot")
    parser.add_argument("--leave-out", default="", type=lambda text: set(text.split(",")))
    parser.add_argument("--licenses", type=pathlib.Path)
    asked = parser.parse_args()
    done, glibc = bundle(asked.folder, asked.files, Libraries(asked.sysroot), asked.leave_out, asked.licenses)
    print(f"{len(done)} libraries, glibc {glibc[0]}.{glibc[1]}")


if __name__ == "__main__":
    main()
