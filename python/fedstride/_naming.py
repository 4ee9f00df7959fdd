"""Identifies another library's data set by its classes, settings and memory, and by the sizes and times of its files."""

from __future__ import annotations

import collections
import enum
import functools
import hashlib
import os
import pathlib
import stat
import sys
import types

from ._arrays import array_of

# Libraries whose version identifies their code. The user's own code needs a name and a version (fedstride.named).
_LIBRARIES = ("builtins", "collections", "datasets", "functools", "numpy", "operator", "pathlib", "PIL", "torch", "torchvision")
# Deterministic transforms of torchvision, which return the same result each time.
_STEADY = {"CenterCrop", "Compose", "ConvertImageDtype", "FiveCrop", "Grayscale", "LinearTransformation", "Normalize", "PILToTensor", "Pad",
           "Resize", "TenCrop", "ToDtype", "ToImage", "ToImageTensor", "ToPILImage", "ToTensor"}
_MOST_FILES = 2_000_000
_PIECE = 1 << 23  # bytes hashed at once
_OF_PYTHON = 1 << 9  # the flag of classes that are not built in; built-in classes hide their contents


class NotNamed(Exception):
    """The data set cannot be recognized in a later run; the text says why."""


def digest_of(*values):
    """Returns the SHA-256 of the values' contents, the same for equal data sets in every process. Raises NotNamed."""
    namer = _Namer()
    try:
        for value in values:
            namer.put(value)
    except RecursionError:
        raise NotNamed("it is nested too deeply") from None
    if namer.libraries & {"datasets", "torchvision"}:
        namer.libraries.add("PIL")  # PIL decodes their images
    for name in sorted(namer.libraries):
        namer.text("version", name, str(getattr(sys.modules.get(name), "__version__", "")))
    return namer.hash.digest()


class _Namer:
    def __init__(self):
        self.hash = hashlib.sha256()
        self.libraries = set()  # whose code the hash includes
        self._seen_files = set()
        self._inside = []  # the objects enclosing the current one
        self._reads_files = True

    def text(self, *texts):
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            self.hash.update(len(data).to_bytes(8, "little") + data)

    def put(self, value):
        for depth, one in enumerate(self._inside):
            if value is one:
                return self.text("again", str(depth))
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, range, slice):
            return self.text(kind.__name__, repr(value))
        if kind is str or isinstance(value, pathlib.PurePath):
            self.text("text", str(value))
            return self._file(str(value))
        if kind is bytes:
            self.text("bytes", str(len(value)))
            return self.hash.update(value)
        self._inside.append(value)
        self._composed(value, kind)
        self._inside.pop()

    def _composed(self, value, kind):
        import numpy

        if isinstance(value, numpy.generic):
            self._array(numpy.asarray(value))
        elif isinstance(value, numpy.ndarray) or hasattr(value, "detach"):
            self._code(kind)
            self._array(array_of(value))
            if kind.__module__.split(".")[0] not in _LIBRARIES:
                self._attributes(value, kind)
        elif isinstance(value, enum.Enum):
            self._code(kind)
            self.text(value.name)
        elif isinstance(value, (list, tuple)):
            self._list(value, kind)
            self._attributes(value, kind)
        elif isinstance(value, dict):
            self._code(kind)
            self.text(str(len(value)))
            for key, one in value.items():
                self.put(key)
                self.put(one)
            self._attributes(value, kind)
            if isinstance(value, collections.defaultdict):
                self.put(value.default_factory)
        elif kind in (set, frozenset):
            self._list(sorted(value, key=repr), kind)
        elif isinstance(value, functools.partial):
            self.text("partial")
            self._list([value.func, value.args, value.keywords], list)
        elif isinstance(value, types.MethodType):
            self._list([value.__func__, value.__self__], list)
        elif isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            self._code(value)
            bound = getattr(value, "__self__", None)  # the dict of {"cat": 1}.get
            if isinstance(value, types.BuiltinFunctionType) and not isinstance(bound, types.ModuleType):
                self.put(bound)
        else:
            self._object(value, kind)

    def _list(self, value, kind):
        import numpy

        self._code(kind)
        self.text(str(len(value)))
        kinds = set(map(type, value))
        if kinds in ({int}, {float}, {bool}) and len(value) > 64:
            array = numpy.array(value)
            if array.dtype != object:  # it is object for integers of more than 64 bits
                return self._array(array)
        for one in value:
            self.put(one)

    def _array(self, array):
        import numpy

        self.text("array", array.dtype.str, repr(array.shape))
        if array.dtype == object:
            return self._list(array.ravel().tolist(), list)
        if array.dtype.hasobject:
            raise NotNamed("it has an array of objects")
        if array.nbytes < _PIECE or not array.ndim:
            return self.hash.update(array.tobytes())
        import concurrent.futures

        numbers = memoryview(numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8))
        pieces = [numbers[at : at + _PIECE] for at in range(0, len(numbers), _PIECE)]
        with concurrent.futures.ThreadPoolExecutor(min(8, len(os.sched_getaffinity(0)))) as pool:  # hashing releases the GIL
            for digest in pool.map(lambda piece: hashlib.sha256(piece).digest(), pieces):
                self.hash.update(digest)

    def _code(self, code):
        """Adds a class or a function by name. Raises NotNamed if its version is unknown."""
        own = vars(code).get("__fedstride_code__") if hasattr(code, "__dict__") else None
        module, name = getattr(code, "__module__", None) or "builtins", getattr(code, "__qualname__", repr(code))
        if own is None and ("<" in name or module.split(".")[0] not in _LIBRARIES):
            raise NotNamed(f"{module}.{name} is code without a name and version; set both with @fedstride.named")
        self.text("code", module, name, own or "")
        if own is None:
            self.libraries.add(module.split(".")[0])

    def _object(self, value, kind):
        self._code(kind)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if kind.__module__.startswith("torchvision.transforms") and kind.__name__ not in _STEADY | {"Lambda"}:
            raise NotNamed(f"{name} may return a different row each time")
        fingerprint = getattr(value, "_fingerprint", None)
        if kind.__module__.split(".")[0] == "datasets" and isinstance(fingerprint, str):  # covers all that it was made from
            self.text(fingerprint)
            return self.put([file["filename"] for file in getattr(value, "cache_files", ())])
        if not hasattr(value, "__dict__") or not all(base is object or base.__flags__ & _OF_PYTHON for base in kind.__mro__):
            raise NotNamed(f"it holds a {name}, which cannot be recognized in another run")
        before = self._reads_files
        numbers = getattr(getattr(value, "data", None), "dtype", None)
        if kind.__module__.startswith("torchvision.datasets") and numbers is not None and getattr(numbers, "kind", "f") in "biuf":
            self._reads_files = False  # its rows are in memory; its root may hold other data sets
        self._attributes(value, kind)
        self._reads_files = before

    def _attributes(self, value, kind):
        if any(vars(base).get("__slots__") for base in kind.__mro__):
            raise NotNamed(f"it holds a {kind.__module__}.{kind.__qualname__}, whose slots cannot be recognized in another run")
        if getattr(value, "__dict__", None):
            self.put(vars(value))

    def _file(self, path):
        if not self._reads_files or path in self._seen_files or not path.strip("/") or len(path) >= 4096 or "\0" in path:
            return
        try:
            status = os.stat(path)
        except OSError:
            return
        self._seen_files.add(path)
        if len(self._seen_files) > _MOST_FILES:
            raise NotNamed(f"it has more than {_MOST_FILES} files")
        if stat.S_ISDIR(status.st_mode):
            for name in sorted(os.listdir(path)):
                self.text(name)
                self._file(os.path.join(path, name))
        else:
            self.text("file", f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}")
