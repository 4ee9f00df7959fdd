"""Sweeps of experiments given as a dict, whose values may be functions, parts and models; and their cells, which call them."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import queue
import signal
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from . import _core
from ._core import Error, UsageError
from ._own import save_first_weights, tensor_line, tensors_of, weights_place
from ._settings import OWN_PARTS
from .code import code_setting
from .parts import Part, spread
from .torch_models import LayeredModel

_TABLES = ("experiment", "sweep", "when", "variant", "target", "tune", "table", "expect", "figure", "quick", "full")
_FUNCTIONS = (*OWN_PARTS, "train", "evaluate")

_known: dict[str, dict[str, Any]] = {}  # the functions of cells by the setting `code`; with tensors of their own, by `code` and `init`
_workers: queue.SimpleQueue[Any] | None = None  # idle processes; None: cells run in this one


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (int, float)):
        return repr(value)
    return json.dumps(os.fspath(value) if isinstance(value, os.PathLike) else str(value), ensure_ascii=False)


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{key.replace('_', '-')} = {_toml(value)}" for key, value in table.items()]


def _settings(given: Mapping[str, Any], weights: pathlib.Path, tensors: list[Any]) -> dict[str, Any]:
    """The settings of a run without functions, which its cells will find by the setting `code`, and tensors, which are added to the list."""
    settings = spread({key.replace("-", "_"): value for key, value in given.items() if value is not None})
    own = {key: settings.pop(key) for key in _FUNCTIONS if callable(settings.get(key))}
    settings |= {key: "callable" for key in own if key in OWN_PARTS}
    model = settings.get("model")
    if isinstance(model, LayeredModel):
        tensors.append((model.tensors, None))
        settings["model"], settings["init"] = model.line, weights_place(weights, *tensors[-1])
    elif model is not None and not isinstance(model, str):
        own["model"] = model
        tensors.append(tensors_of(model))
        settings["model"], settings["init"] = tensor_line(tensors[-1][0]), weights_place(weights, *tensors[-1])
    if own:
        settings["code"] = code_setting({key: value for key, value in own.items() if key not in ("evaluate", "model")}) or "own=?"
        _known[settings["code"] + (settings["init"] if "model" in own else "")] = own
    return settings


def _as_variants(given: dict[str, Any]) -> dict[str, Any]:
    """The experiment with a swept list of functions, parts or models as variants, which are named as they are."""
    swept = dict(given.get("sweep", {}))
    own = [key for key, values in swept.items() if isinstance(values, (list, tuple)) and
           any(callable(one) or isinstance(one, Part) or (key == "model" and not isinstance(one, str)) for one in values)]
    if not own:
        return given
    if len(own) > 1 or "variant" in given:
        raise UsageError(f"sweep has functions or objects in {', '.join(own)}; with several such keys, or with variants, name each combination: "
                         "variant={'name': {...}}")
    (key,) = own
    variants = {}
    for value in swept.pop(key):
        name = value if isinstance(value, str) else getattr(value, "__fedstride_code__", None) or getattr(value, "__name__", None) or repr(value)
        name = "".join(one if one.isalnum() or one in "-_." else "-" for one in str(name)).strip("-") or "own"
        variants[name if name not in variants else f"{name}-{len(variants)}"] = {key: value}
    return {**given, "sweep": swept, "variant": variants}


@contextlib.contextmanager
def experiment_file(given: Mapping[str, Any], out: Any, jobs: int) -> Iterator[str]:
    """A file of the experiment and the processes of its cells, which exist while the context lasts."""
    experiment = _as_variants(dict(given))
    title = str(experiment.get("experiment", {}).get("title", "sweep"))
    name = "".join(one if one.isalnum() else "-" for one in title.lower()).strip("-") or "sweep"
    weights = (pathlib.Path(os.fspath(out)) if out else pathlib.Path("sweeps") / name).absolute() / "weights"
    top = {key: value for key, value in experiment.items() if key not in _TABLES}
    # With variants, each names all functions of its cells.
    shared = {key: value for key, value in top.items() if "variant" in experiment and not isinstance(value, (str, LayeredModel)) and
              (key in _FUNCTIONS and callable(value) or key == "model")}
    tensors: list[Any] = []
    lines = _lines(_settings({key: value for key, value in top.items() if key not in shared}, weights, tensors))
    for table in (one for one in _TABLES if one in experiment):
        content = experiment[table]
        if table == "variant":
            for variant, settings in content.items():
                lines += [f"[variant.{json.dumps(str(variant), ensure_ascii=False)}]", *_lines(_settings({**shared, **settings}, weights, tensors))]
        else:
            for one in content if isinstance(content, (list, tuple)) else [content]:
                lines += [f"[[{table}]]" if one is not content else f"[{table}]", *_lines(one)]
    with _processes(jobs), tempfile.TemporaryDirectory(prefix="fedstride-") as folder:  # a fork precedes all threads
        for one in tensors:
            save_first_weights(weights, *one)
        path = pathlib.Path(folder) / f"{name}.toml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        yield os.fspath(path)


@contextlib.contextmanager
def _processes(jobs: int) -> Iterator[None]:
    """While the context lasts, cells run in this many processes, forked here so that they have the functions; in this process with one
    job, or where threads have been started, which a fork would not have."""
    global _workers
    if jobs < 2 or not _core.has_no_threads():
        yield
        return
    import multiprocessing

    context = multiprocessing.get_context("fork")
    started = []
    for _ in range(jobs):
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(there,), daemon=True)
        process.start()
        there.close()
        started.append((process, here))
    _workers = queue.SimpleQueue()
    for one in started:
        _workers.put(one)
    try:
        yield
    finally:
        _workers = None
        for process, channel in started:
            channel.close()
            process.join(2)
            process.kill()


def _work(channel: Any) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    while True:
        try:
            task = channel.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        channel.send(_run_here(*task))


def run_cell(texts: dict[str, str], file: str, folder: str) -> tuple[bool, str]:
    """Carries out a cell with these settings, which `file` also has as TOML, or resumes it if they have no `out`. Returns whether it is
    done, and an error's text."""
    if _workers is None:
        return _run_here(texts, file, folder)
    process, channel = _workers.get()
    try:
        channel.send((texts, file, folder))
        while not channel.poll(0.1):
            if _core.is_stopping():
                os.kill(process.pid, signal.SIGINT)
                channel.poll(10)
        return channel.recv()
    except (EOFError, OSError):
        return False, f"its process ended with exit code {process.exitcode}"
    finally:
        _workers.put((process, channel))


def _run_here(texts: dict[str, str], file: str, folder: str) -> tuple[bool, str]:
    from .folder import Run
    from .running import resume, run

    def on_round(_: dict[str, Any]) -> bool:
        return not _core.is_stopping()

    try:
        settings = texts if "out" in texts else {key: str(value) for key, value in Run(folder).settings.items()}
        own = _known.get(settings["code"] + settings.get("init", "")) or _known[settings["code"]]
        if "out" not in texts:
            done = resume(folder, on_round=on_round, progress=False, threads=int(texts["threads"]), **own)
        else:
            left_out = {"out", "code", *(key.replace("_", "-") for key in own), *(["init"] if "model" in own else [])}
            with tempfile.TemporaryDirectory(prefix="fedstride-") as place:
                config = pathlib.Path(place) / "cell.toml"
                config.write_text("\n".join(line for line in file.split("\n") if line.split(" = ")[0] not in left_out), encoding="utf-8")
                done = run(config=config, out=folder, on_round=on_round, progress=False, **own)
        return done.state != "stopped", ""
    except KeyboardInterrupt:
        return False, ""
    except Exception as error:
        return False, str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
