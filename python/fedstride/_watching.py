"""Handles C++'s reports during a run: draws the progress bar, calls the user's on_round, and names the folder if interrupted."""

from __future__ import annotations

import contextlib
import html
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import _core
from ._core import UsageError

_EIGHTHS = " ▏▎▍▌▋▊▉"
_LEAST_SECONDS = 0.1  # between redraws


def _kernel_shell() -> Any:
    """IPython's shell in a notebook, or None."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell if getattr(shell, "kernel", None) is not None else None


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


class Bar:
    """`training:  45%|████▌     | 9/20 [00:03<00:04, 2.85 rounds/s, accuracy 0.8123]` on standard error, or as HTML in a notebook."""

    def __init__(self, first: int, rounds: int) -> None:
        self._first, self._rounds, self._done = first, rounds, first
        self._start, self._drawn, self._news = time.monotonic(), 0.0, ""
        self._place: Any = None
        self._in_notebook = _kernel_shell() is not None
        self.draw()

    def update(self, record: dict[str, Any]) -> None:
        self._done = record["round"]
        measure, name = ("test_r2", "R2") if "test_r2" in record else ("test_accuracy", "accuracy")
        if record.get(measure) is not None:
            self._news = f", {name} {record[measure]:.4f}"
            for key, name in (("example_privacy", "epsilon"), ("client_privacy", "client epsilon")):
                if record.get(key) and record[key]["epsilon"] is not None:
                    self._news += f", {name} {_core.rounded_up(record[key]['epsilon'])}"
        if time.monotonic() - self._drawn >= _LEAST_SECONDS or self._done == self._rounds:
            self.draw()

    def draw(self) -> None:
        self._drawn = time.monotonic()
        elapsed = self._drawn - self._start
        new = self._done - self._first
        left = _clock(elapsed * (self._rounds - self._done) / new) if new else "?"
        rate = f"{new / elapsed:.2f} rounds/s" if new and new >= elapsed else f"{elapsed / new:.2f} s/round" if new else "? rounds/s"
        share = self._done / self._rounds
        before = f"training: {100 * share:3.0f}%"
        after = f"{self._done}/{self._rounds} [{_clock(elapsed)}<{left}, {rate}{self._news}]"
        if self._in_notebook:
            self._show(before, after)
        else:
            width = max(10, min(60, shutil.get_terminal_size().columns - len(before) - len(after) - 4))
            self._write(f"\r{before}|{self._filled(share, width)}| {after}\033[K")

    def say(self, text: str) -> None:
        """Prints a separate line above the bar."""
        if self._in_notebook:
            print(text)
        else:
            self._write(f"\r\033[K{text}\n")

    def hide(self) -> None:
        """Clears the line for output of user code."""
        if not self._in_notebook:
            self._write("\r\033[K")

    def close(self) -> None:
        self.draw()
        if not self._in_notebook:
            self._write("\n")

    @staticmethod
    def _filled(share: float, width: int) -> str:
        if "utf" not in (getattr(sys.stderr, "encoding", None) or "").lower():
            return ("#" * int(share * width)).ljust(width)
        whole, part = divmod(int(share * width * 8), 8)
        return ("█" * whole + (_EIGHTHS[part] if whole < width else "")).ljust(width)

    def _show(self, before: str, after: str) -> None:
        from IPython.display import HTML, display

        shown = HTML(f"{before} <progress value='{self._done}' max='{self._rounds}'></progress> {html.escape(after)}")
        if self._place is None:
            self._place = display(shown, display_id=True)
        else:
            self._place.update(shown)

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _somebody_looks() -> bool:
    """True on the main thread of a notebook or of a program on a terminal, where a bar is drawn."""
    if threading.current_thread() is not threading.main_thread():
        return False
    return _kernel_shell() is not None or (sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb")


class Watcher:
    """The object that C++ calls (python/running.cpp)."""

    def __init__(self, on_round: Callable[[dict[str, Any]], object] | None, progress: bool,
                 begun: Callable[[str], None] | None = None) -> None:
        self.folder: str | None = None
        self.wants_rounds = on_round is not None or progress
        self._on_round, self._progress, self._begun = on_round, progress, begun
        self._bar: Bar | None = None

    def begin(self, folder: str, rounds_done: int, rounds: int, quiet: bool, notes: list[str]) -> None:
        self.folder = folder
        if self._begun is not None:
            self._begun(folder)
        if self._progress and not quiet:
            self._bar = Bar(rounds_done, rounds)
            for note in notes:
                self._bar.say(f"note: {note}")

    def round(self, record: dict[str, Any]) -> bool:
        if self._on_round is not None:
            if self._bar is not None:
                self._bar.hide()
            answer = self._on_round(record)
            if type(answer).__name__ in ("bool", "bool_") and not answer:
                return False
        if self._bar is not None:
            self._bar.update(record)
        return True

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


@contextlib.contextmanager
def watching(on_round: Callable[[dict[str, Any]], object] | None, progress: bool | None, verbose: bool,
             begun: Callable[[str], None] | None = None) -> Iterator[Watcher]:
    """A watcher for a run; the message of an interruption names the run's folder."""
    if on_round is not None and not callable(on_round):
        raise UsageError(f"on_round is of type {type(on_round).__name__}; it must be a function that takes a round's dict")
    if progress is not None and not isinstance(progress, bool):
        raise UsageError(f"progress is {progress!r}; it must be True, False or None")
    watcher = Watcher(on_round, (_somebody_looks() and not verbose) if progress is None else progress, begun)
    try:
        yield watcher
    except BaseException as error:
        if watcher.folder is not None:
            text = f"the run in '{watcher.folder}' was stopped; fedstride.resume({watcher.folder!r}) continues it"
            if isinstance(error, KeyboardInterrupt) and not error.args:
                error.args = (text,)
            else:
                error.add_note(text)
        raise
    finally:
        watcher.close()
