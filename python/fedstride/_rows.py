"""Writes a partition given as lists of rows to a manifest, which the partition `file` reads."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from ._arrays import array_of
from ._core import Error, UsageError

_VALID = "valid: a name, an object such as fedstride.Dirichlet(alpha=0.3), a function, or a list of row numbers for each client"


def _lists(given: Any) -> list[list[int]] | None:
    """Returns each client's rows as a list; None if something else was given."""
    if isinstance(given, (str, bytes)) or callable(given) or not hasattr(given, "__iter__"):
        return None
    lists = []
    for client, rows in enumerate(given):
        try:
            array = array_of(rows)
        except ValueError as error:  # it contains lists of unequal lengths
            raise UsageError(f"partition, client {client}: {error}; it must be a list of row numbers") from None
        if array.ndim != 1 or array.dtype.kind not in "iu" and array.size:
            raise UsageError(f"partition, client {client} has {'a number' if array.ndim == 0 else f'an array of dtype {array.dtype} and shape {list(array.shape)}'}"
                             f" for its rows; {_VALID}")
        lists.append(array.tolist())
    return lists


def point_to(own: pathlib.Path, key: str) -> None:
    """Makes the configuration in the folder of this file refer to it, so that the run can be resumed and repeated."""
    config = own.with_name("config.toml")
    line = f"{key} = {json.dumps(str(own), ensure_ascii=False)}"
    new = config.with_name("config.toml.new")
    lines = config.read_text(encoding="utf-8").split("\n")
    new.write_text("\n".join(line if one.startswith(f"{key} = ") else one for one in lines), encoding="utf-8")
    os.replace(new, config)


@contextlib.contextmanager
def partition_file(settings: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Callable[[str], None] | None]]:
    """Yields the settings, with rows given as `partition` moved to a file that exists while the context lasts, and a function.
    The function makes the configuration in a run's folder refer to the folder's own partition.json, so the run can be resumed."""
    given = settings.get("partition")
    lists = None if given is None else _lists(given)
    if lists is None:
        yield settings, None
        return
    if settings.get("partition_file") is not None:
        raise UsageError("partition is a list of rows, and partition_file is given too; only one of them is valid")
    if settings.get("publishable"):
        raise UsageError("partition is a list of rows, which the folder of a publishable run does not keep; give partition='file' and "
                         "partition_file=FILE, so that the run can be resumed")
    if settings.get("clients") not in (None, len(lists)):
        raise UsageError(f"clients is {settings['clients']}; partition has rows for {len(lists)}")
    with tempfile.TemporaryDirectory(prefix="fedstride-") as folder:
        path = pathlib.Path(folder) / "partition.json"  # the name is part of the run's identity
        path.write_text(json.dumps({"clients": lists, "unused": "any"}))

        def keep(run: str) -> None:
            point_to(pathlib.Path(run).absolute() / path.name, "partition-file")

        try:
            yield {**settings, "partition": "file", "partition_file": path, "clients": len(lists)}, keep
        except Error as error:
            if str(path) not in str(error):
                raise
            raise type(error)(str(error).replace(f"'{path}'", "partition")) from None
