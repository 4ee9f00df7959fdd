"""Converts arrays and JSON values to bytes and back, without pickles or objects, which could run code when read."""

import json
import struct

import numpy

from ._arrays import array_of
from ._core import Error, UsageError

_KINDS = "biufc"


def pack(values, what):
    """Converts a dict of arrays, tensors and JSON values to bytes, and None to no bytes. Raises UsageError for any other value,
    naming its key."""
    if values is None:
        return b""
    if not isinstance(values, dict):
        raise UsageError(f"{what} is of type {type(values).__name__}; it must be a dict of arrays and JSON values")
    header, buffers = {}, []
    for key, value in values.items():
        if not isinstance(key, str):
            raise UsageError(f"{what} has a key {key!r}; keys must be strings")
        if isinstance(value, (numpy.ndarray, numpy.generic)) or hasattr(value, "detach"):
            array = array_of(value)
            if array.dtype.kind not in _KINDS:
                raise UsageError(f"'{key}' in {what} has dtype {array.dtype}; valid: numbers and booleans")
            little = numpy.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
            header[key] = {"dtype": array.dtype.newbyteorder("<").str, "shape": array.shape, "bytes": len(little)}
            buffers.append(little)
        else:
            try:
                json.dumps(value, allow_nan=True)
            except (TypeError, ValueError) as error:
                raise UsageError(f"'{key}' in {what}: {error}; valid: arrays and JSON values") from None
            header[key] = {"json": value}
    text = json.dumps(header, sort_keys=False).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(buffers)


def unpack(data, what):
    """The inverse of `pack`; None for no bytes. Arrays are copies. Raises Error for bytes that `pack` did not make."""
    if not data:
        return None
    try:
        (length,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + length])
        at, values = 8 + length, {}
        for key, entry in header.items():
            if "json" in entry:
                values[key] = entry["json"]
                continue
            dtype = numpy.dtype(entry["dtype"])
            if dtype.kind not in _KINDS or at + entry["bytes"] > len(data):
                raise ValueError("an invalid array")
            array = numpy.frombuffer(data, dtype, entry["bytes"] // dtype.itemsize, at).reshape(entry["shape"])
            values[key] = array.astype(dtype.newbyteorder("="))
            at += entry["bytes"]
        if at != len(data):
            raise ValueError("bytes after the end")
        return values
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise Error(f"{what} is damaged: {error}") from None
