"""The user's code in a run: its name and version, and what a training function takes and returns."""

from __future__ import annotations

import functools
import hashlib
import inspect
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ._core import UsageError, code_text

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


def named(name: str, version: str | int) -> Callable[[Function], Function]:
    """Decorator that gives a function a name and a version, by which a resumed run recognizes it.

        @fedstride.named("weighted-median", "1")
        def aggregate(updates, weights, clients): ...

    Both become part of the run's identity; without them a run cannot be resumed. Change the version when the function computes
    something else. Both have up to 64 letters, digits or characters from _ . : -
    """
    version = str(version)
    for what, text in (("name", name), ("version", version)):
        if not isinstance(text, str) or not _NAME.fullmatch(text):
            raise UsageError(f"{what} is {text!r}; it must have 1 to 64 letters, digits or characters from _ . : -")

    def mark(function: Function) -> Function:
        try:
            function.__fedstride_code__ = f"{name} {version}"  # type: ignore[attr-defined]
        except AttributeError:
            raise UsageError(f"a {type(function).__name__} cannot be given a name; make it a function or a class with __call__") from None
        return function

    return mark


def uses_clipped_sum(function: Function) -> Function:
    """Decorator that declares that a training function changes its weights only by the noisy gradients of `task.lots()`, and uses its
    client's examples for nothing else. `dp="example"` requires the decorator.

    fedstride cannot check this, and the ledger's statements say so. It does check that tensors without a gradient are unchanged.
    """
    try:
        function.__fedstride_clips__ = True  # type: ignore[attr-defined]
    except AttributeError:
        raise UsageError(f"a {type(function).__name__} cannot be marked; make it a function or a class with __call__") from None
    return function


def tracker(function: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], None]:
    """Makes an `on_round` function from one that reports a round to a tracker. If the function raises, the run continues and the
    `fedstride` logger gets the first traceback. The function's return value never stops the run."""
    failures = 0

    @functools.wraps(function)
    def on_round(record: dict[str, Any]) -> None:
        nonlocal failures
        try:
            function(record)
        except Exception:
            failures += 1
            if failures == 1:
                logging.getLogger("fedstride").exception("the tracker failed in round %s; the run continues, and later failures are not logged", record["round"])

    return on_round


def code_setting(functions: Mapping[str, Any]) -> str | None:
    """Returns the setting `code` for these functions by key: "aggregation=median 1; train=?"; None without functions."""
    return code_text([(key.replace("_", "-"), getattr(function, "__fedstride_code__", None) or _by_source(function),
                       key == "train" and getattr(function, "__fedstride_clips__", False))
                      for key, function in sorted(functions.items()) if function is not None]) or None


def _by_source(function: Any) -> str:
    """A function's name and a hash of its source and of the values that it encloses: "median source-1a2b3c4d5e6f"; "?" if they cannot be
    known."""
    from ._naming import NotNamed, digest_of

    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        enclosed = [getattr(one, "__fedstride_code__", None) or (_by_source(one) if inspect.isfunction(one) else one) for one in cells]
        digest = hashlib.sha256(inspect.getsource(function).encode() + digest_of(enclosed, function.__defaults__, function.__kwdefaults__))
    except (AttributeError, OSError, TypeError, ValueError, NotNamed):
        return "?"
    name = re.sub(r"[^A-Za-z0-9_.:-]", "", function.__qualname__)[-64:]
    return "?" if "?" in enclosed else f"{name} source-{digest.hexdigest()[:12]}"


@dataclass(frozen=True)
class Trained:
    """What a training function may return instead of only the weights.

    weights: a dict of arrays or tensors with the names and shapes that the function was given.
    examples: number of examples whose gradient was computed, for the results; None: as many as the client has.
    loss: mean training loss, at least 0; None: unknown.
    state: a dict of arrays and JSON values, kept until the client's next round (needs client_state="keep"); None: unchanged.
    """

    weights: Mapping[str, Any]
    examples: int | None = None
    loss: float | None = None
    state: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Step:
    """A local step: the argument of an optimizer function beside the gradient and the state.

    weights: the client's weights before the step, a read-only float32 array. number: from 0, counted as long as the client keeps its
    state. learning_rate: by `learning_rate` and `schedule`.
    """

    weights: NDArray[numpy.float32]
    number: int
    learning_rate: float


class Lot:
    """Examples drawn under example-level privacy. A training function may use only their noisy gradient.

    indices: the drawn examples' indices among the client's, int64: task.x[lot.indices]. Under Poisson sampling there may be none.
    """

    indices: NDArray[numpy.int64]

    def __init__(self, indices: NDArray[numpy.int64], lots: Any) -> None:
        self.indices, self._lots = indices, lots

    def __len__(self) -> int:
        return len(self.indices)

    def gradient(self, gradients: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """The lot's noisy gradient: the examples' clipped gradients are summed, noise is added, and the result is divided by the
        expected number of examples (Abadi et al. 2016, Algorithm 1). Call it exactly once for each lot, even an empty one.

        gradients: a dict of arrays (examples, *shape of the tensor) with a gradient for each example of the lot; or several such
            dicts that together hold all gradients, for example from a generator, to keep only one in memory at a time. Omitted
            tensors are not trained. Examples whose gradient is not finite are omitted.

        Raises UsageError for other shapes or numbers of examples; the lot is then used up.
        """
        return self._lots.release(len(self.indices), gradients)


class Task:
    """One client's part of a round: the argument of a training function.

    client: the client's number, from 0. round: from 1. examples: the client's number of examples. seed: an int below 2^63 that depends
    only on the run's seed, the round and the client. state: the client's last Trained.state; None before.
    rows: the client's row numbers in the data set, uint32. x, y: copies of its examples: images uint8 (n, channels, height, width),
    numbers float32 (n, columns), tokens int64 (n, positions); classes int64 (n,) or (n, positions), values float32 (n, numbers).
    rows, x and y are not available if only the clients' own code knows the examples.
    """

    client: int
    round: int
    examples: int
    seed: int
    state: dict[str, Any] | None

    def __init__(self, client: int, round: int, examples: int, seed: int, state: dict[str, Any] | None,
                 rows_of: Callable[[int], Any], examples_of: Callable[[int], Any], lots: Any = None) -> None:
        self.client, self.round, self.examples, self.seed, self.state = client, round, examples, seed, state
        self._rows_of, self._examples_of, self._lots = rows_of, examples_of, lots
        self._pair: tuple[NDArray[Any], NDArray[Any]] | None = None

    def __repr__(self) -> str:
        return f"<client {self.client} in round {self.round}, {self.examples} examples>"

    @property
    def rows(self) -> NDArray[numpy.uint32]:
        return self._rows_of(self.client)

    @property
    def x(self) -> NDArray[Any]:
        return self._both()[0]

    @property
    def y(self) -> NDArray[Any]:
        return self._both()[1]

    def lots(self) -> Iterator[Lot]:
        """Yields the client's lots in this round under `dp="example"`, as many as its ledger has reserved. All are charged, used
        or not. Raises UsageError without example-level privacy, or if `gradient` was not called for the previous lot."""
        if self._lots is None:
            raise UsageError("the run has no lots; they need dp='example' or dp='both'")
        while (indices := self._lots.next()) is not None:
            yield Lot(indices, self._lots)

    def _both(self) -> tuple[NDArray[Any], NDArray[Any]]:
        if self._pair is None:
            self._pair = self._examples_of(self.client)
        return self._pair
