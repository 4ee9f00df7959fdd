"""Converts data sets of other libraries once and keeps them in files in a private folder of the user (data/kept_objects.hpp). The
files are memory-mapped for reading."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import logging
import mmap
import os
import re
import secrets
import stat
import time

from . import _core
from ._naming import NotNamed, digest_of

_KIND = b"fedstride object 1\n"  # increment when conversion gives different arrays
_PAGE = 4096  # arrays are aligned to pages, and checksums are per page
_LIMIT, _DEFAULT_LIMIT = "FEDSTRIDE_CACHE_LIMIT", "10G"
_WORTH = 0.2  # an object is worth keeping if its conversion takes at least this many seconds
_SUFFIX, _NEW = ".object", ".new-"
_CHANNELS = (1, 3, 4)
_log = logging.getLogger("fedstride")


class Arrays(dict):
    """Arrays by key. `turned` says how the kept form differs from the data set's own."""

    turned: dict[str, list[str]] = {}

    def given(self, key, rows):
        """Returns rows of an array as the data set has them: in its layout, type and scale."""
        return _as_it_was(self[key][rows], self.turned.get(key, ()))


def kept(parts, settings, is_plain, convert):
    """Returns convert(), or its result from an earlier run for equal parts of a data set. With `is_plain`, the arrays are exact;
    otherwise they have an equivalent form that the program reads faster: multiples of 1/255 as 8 bits, and channels first. If
    keeping or reading them fails, the data set is converted."""
    limit = _limit()
    place = None
    try:
        if limit > 0:
            chosen = [settings.get(key) or "" for key in ("inputs", "label", "client_column")]
            place = os.path.join(*_core.object_place(digest_of(_KIND.decode(), [str(one) for one in chosen], list(parts))))
            arrays = _read(place, is_plain)
            if arrays is not None:
                return arrays
    except NotNamed as error:
        _log.info("data are converted in every run: %s", error)
    except Exception as error:  # also from the user's objects
        _log.warning("converted data cannot be kept: %s; 'fedstride data forget' starts afresh", error)
        place = None
    begun = time.monotonic()
    arrays = convert()
    if place is None or time.monotonic() - begun < _WORTH:
        return arrays
    compact, turned = _compact(arrays)
    if any(array.dtype.hasobject for array in compact.values()):
        return arrays
    try:
        if not _write(place, compact, turned, limit, f"{type(parts[0]).__module__}.{type(parts[0]).__qualname__}"):
            _log.warning("converted data are not kept: they need more than %s=%s", _LIMIT, os.environ.get(_LIMIT, _DEFAULT_LIMIT))
    except OSError as error:
        _log.warning("converted data are not kept in '%s': %s", os.path.dirname(place), error.strerror)
    return arrays if is_plain else _as_read(compact, turned, False)


def _limit():
    """The limit in bytes."""
    text = os.environ.get(_LIMIT) or _DEFAULT_LIMIT
    match = re.fullmatch(r"(\d{1,12})([KMGT]?)", text)
    if match is None:
        raise _core.UsageError(f"{_LIMIT} is '{text}'; it must be a number of bytes, such as 500M or 10G, or 0 to keep nothing")
    return int(match[1]) << 10 * " KMGT".index(match[2] or " ")


def _compact(arrays):
    """Returns smaller arrays that are read faster, and how each was changed: "255ths" if it held floats, "planes" if its channels
    were last."""
    import numpy

    result = {key: numpy.ascontiguousarray(array) for key, array in arrays.items()}
    inputs = [key for key, array in result.items() if array.ndim >= 3]
    turned = {key: [] for key in inputs}
    in_255ths = {key: _in_255ths(result[key]) for key in inputs if result[key].dtype == numpy.float32}
    if inputs and len(in_255ths) == len(inputs) and all(array is not None for array in in_255ths.values()):
        result.update(in_255ths)
        for key in inputs:
            turned[key].append("255ths")
    if all(_has_channels_last(result[key]) for key in inputs):
        for key in inputs:
            result[key] = numpy.ascontiguousarray(result[key].transpose(0, 3, 1, 2))
            turned[key].append("planes")
    return result, turned


def _has_channels_last(array):
    return array.dtype == "u1" and array.ndim == 4 and array.shape[3] in _CHANNELS and not {*array.shape[1:3]} & {*_CHANNELS}


def _in_255ths(array):
    """Converts float32 numbers to multiples of 1/255, as bytes. None unless all are such multiples and some are
    neither 0 nor 1 (otherwise they may be flags)."""
    import numpy

    result = numpy.empty(array.shape, numpy.uint8)
    is_between = False
    step = max(1, (1 << 20) // max(1, array[0].size))
    for at in range(0, len(array), step):
        piece = array[at : at + step]
        with numpy.errstate(invalid="ignore"):
            whole = numpy.rint(piece * numpy.float32(255))
            if not ((whole >= 0) & (whole <= 255) & ~numpy.signbit(piece)).all():
                return None
        result[at : at + step] = whole
        if not (_floats(result[at : at + step]) == piece).all():
            return None
        is_between = is_between or bool(((whole > 0) & (whole < 255)).any())
    return result if is_between else None


def _floats(bytes_):
    import numpy

    return bytes_.astype(numpy.float32) / numpy.float32(255)


def _as_read(compact, turned, is_plain):
    """Returns the original arrays (`is_plain`) or the kept ones, with a key that suppresses the note about the channels."""
    import numpy

    if is_plain:
        return Arrays({key: _as_it_was(array, turned.get(key, ())) for key, array in compact.items()})
    result = Arrays(compact)
    result.turned = turned
    if any("planes" in how for how in turned.values()):
        result["planes"] = numpy.array(1)
    return result


def _as_it_was(array, how):
    import numpy

    if "planes" in how:
        array = numpy.ascontiguousarray(array.transpose(0, 2, 3, 1))
    return _floats(array) if "255ths" in how else array


def _pages(size):
    return -(-size // _PAGE) * _PAGE


def _sums(pages):
    """Returns the sum of each page's 64-bit words, which detects accidental damage and is computed faster than memory is read."""
    import numpy

    return numpy.frombuffer(pages, "<u8").reshape(-1, _PAGE // 8).sum(axis=1, dtype="<u8")


def _write(place, arrays, turned, limit, made_of):
    """Writes the arrays to a file. Returns False if it would exceed the limit for all files."""
    import numpy

    body = sum(_pages(array.nbytes) for array in arrays.values())
    header = {"made_of": made_of, "arrays": {}, "turned": {key: how for key, how in turned.items() if how}}
    at = 0
    for key, array in arrays.items():
        header["arrays"][key] = {"dtype": array.dtype.str, "shape": list(array.shape), "at": at}
        at += _pages(array.nbytes)
    line = json.dumps(header).encode() + b"\n"
    begin = _pages(len(_KIND) + 65 + len(line) + body // _PAGE * 8)
    folder = os.path.dirname(place)
    if not _make_room(folder, begin + body, limit):
        return False
    new = os.path.join(folder, _NEW + secrets.token_hex(8))
    file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)  # locked until it is renamed: an unlocked new file was left by a process that ended
        os.posix_fallocate(file, 0, begin + body)
        with mmap.mmap(file, begin + body) as memory:
            for key, array in arrays.items():
                if array.nbytes:
                    at = begin + header["arrays"][key]["at"]
                    numpy.frombuffer(memory, numpy.uint8, array.nbytes, at)[:] = array.reshape(-1).view(numpy.uint8)
            sums = _sums(memoryview(memory)[begin:]).tobytes() if body else b""
            seal = hashlib.sha256(line + sums).hexdigest().encode() + b"\n"
            top = _KIND + seal + line + sums
            memory[: len(top)] = top
        os.rename(new, place)
        return True
    except BaseException:
        os.unlink(new)
        raise
    finally:
        os.close(file)


def _make_room(folder, size, limit):
    """Removes files left by processes that ended, then the least recently used ones until `size` more bytes fit. Returns False if
    they can never fit."""
    if size > limit:
        return False
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_NEW):
                _remove_if_left(entry.path)
            elif entry.name.endswith(_SUFFIX):
                with contextlib.suppress(FileNotFoundError):  # another process has removed it
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime_ns, status.st_size, entry.path))
    total = size + sum(bytes_ for _, bytes_, _ in found)
    for _, bytes_, path in sorted(found):
        if total <= limit:
            break
        _remove(path)
        total -= bytes_
    return True


def _remove_if_left(path):
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path)
    except OSError:
        pass  # its writer is alive
    finally:
        os.close(file)


def _remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _read(place, is_plain):
    """Returns the arrays of a file; None if it is missing or damaged. Removes a damaged file."""
    try:
        file = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise ValueError("it is not a regular file that only this user can access")
        memory = mmap.mmap(file, 0, flags=mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0), prot=mmap.PROT_READ)
        compact, turned = _parsed(memory)
        with contextlib.suppress(OSError):
            os.utime(place)  # the least recently used files are removed first
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        _log.warning("converted data in '%s' are damaged (%s) and were removed", place, error)
        _remove(place)
        return None
    finally:
        os.close(file)
    return _as_read(compact, turned, is_plain)


def _parsed(memory):
    import numpy

    begin_of_line = len(_KIND) + 65
    end = memory.find(b"\n", begin_of_line)
    if memory[: len(_KIND)] != _KIND or end < 0:
        raise ValueError("unknown format")
    line = memory[begin_of_line : end + 1]
    header = json.loads(line)
    arrays = {key: (numpy.dtype(one["dtype"]), one["shape"], one["at"]) for key, one in header["arrays"].items()}
    sizes = {key: kind.itemsize * int(numpy.prod(shape, dtype=object)) for key, (kind, shape, _) in arrays.items()}
    body = sum(map(_pages, sizes.values()))
    begin = _pages(end + 1 + body // _PAGE * 8)
    if len(memory) != begin + body:
        raise ValueError("wrong size")
    sums = memory[end + 1 : end + 1 + body // _PAGE * 8]
    is_same = not body or _sums(memoryview(memory)[begin:]).tobytes() == sums
    if hashlib.sha256(line + sums).hexdigest().encode() + b"\n" != memory[len(_KIND) : begin_of_line] or not is_same:
        raise ValueError("wrong checksum")
    return {key: numpy.frombuffer(memory, kind, sizes[key] // kind.itemsize if kind.itemsize else 0, begin + at).reshape(shape)
            for key, (kind, shape, at) in arrays.items()}, header["turned"]
