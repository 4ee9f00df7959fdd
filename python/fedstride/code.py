"""Code of one's own in a run: its name and version, what a training function is given and gives back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ._core import UsageError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


def named(name: str, version: str | int) -> Callable[[Function], Function]:
    """Gives a function a name and a version, by which a run knows it again: a decorator.

        @fedstride.named("weighted-median", "1")
        def aggregate(updates, weights, clients): ...

    Both become part of the run's identity; without them a run cannot be resumed. Give another version when what the function
    computes changes. Both are texts of up to 64 letters, digits, and signs out of _ . : -
    """
    version = str(version)
    for what, text in (("name", name), ("version", version)):
        if not isinstance(text, str) or not _NAME.fullmatch(text):
            raise UsageError(f"{what} is {text!r}; valid are up to 64 letters, digits and signs out of _ . : -")

    def mark(function: Function) -> Function:
        try:
            function.__fedstride_code__ = f"{name} {version}"  # type: ignore[attr-defined]
        except AttributeError:
            raise UsageError(f"a {type(function).__name__} cannot be given a name; make it a function or a class with __call__") from None
        return function

    return mark


def uses_clipped_sum(function: Function) -> Function:
    """Says of a training function that every change of its weights comes from the noisy gradients of `task.lots()`, and nothing else of
    its client's examples goes into them: a decorator, without which `dp="example"` is refused.

    fedstride cannot check that, and the ledger's statements say whose word it is. It does check that tensors without a gradient
    stay as they were.
    """
    try:
        function.__fedstride_clips__ = True  # type: ignore[attr-defined]
    except AttributeError:
        raise UsageError(f"a {type(function).__name__} cannot be marked; make it a function or a class with __call__") from None
    return function


def code_setting(functions: Mapping[str, Any]) -> str | None:
    """The setting `code` of a run with these functions by their keys: "aggregation=median 1; train=?"; None without any."""
    parts = []
    for key in sorted(functions):
        if functions[key] is not None:
            clips = " (clipped sum)" if key == "train" and getattr(functions[key], "__fedstride_clips__", False) else ""
            parts.append(f"{key.replace('_', '-')}={getattr(functions[key], '__fedstride_code__', '?')}{clips}")
    return "; ".join(parts) or None


@dataclass(frozen=True)
class Trained:
    """What a training function may give back instead of the weights alone.

    weights: a dict of arrays or tensors under the names it was given, of the same shapes.
    examples: gradient examples it computed, for the results; None: as many as the client has.
    loss: its mean training loss, not below 0; None: not told.
    state: what the client keeps until its next round: a dict of arrays and JSON values (client_state="keep"); None: as it was.
    """

    weights: Mapping[str, Any]
    examples: int | None = None
    loss: float | None = None
    state: Mapping[str, Any] | None = None


class Lot:
    """Examples drawn under example-level privacy, whose noisy gradient is the one thing a training function may use of them.

    indices: their numbers within the client's examples, int64: task.x[lot.indices]. Under Poisson sampling there may be none.
    """

    indices: NDArray[numpy.int64]

    def __init__(self, indices: NDArray[numpy.int64], lots: Any) -> None:
        self.indices, self._lots = indices, lots

    def __len__(self) -> int:
        return len(self.indices)

    def gradient(self, gradients: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """The lot's gradient: clipped to the clip bound example by example, summed, with noise, over the expected number of examples
        (Abadi et al. 2016, Algorithm 1). Once a lot, empty or not.

        gradients: a dict of arrays (examples, *shape of the tensor), a gradient for each example of the lot; or several such dicts,
            from a generator for instance, which together have them all: one is in memory at a time. Tensors that are left out are
            not trained. An example whose gradient is not finite is left out.

        Raises UsageError for other shapes and numbers of examples; the lot is spent then.
        """
        return self._lots.release(len(self.indices), gradients)


class Task:
    """One client's part of a round, as a training function gets it.

    client: its number, from 0. round: from 1. examples: how many it has. seed: an int below 2^63, drawn at this round and client, the
    same whatever order and process it is trained in. state: what it gave back last (Trained.state), None before.
    rows: its row numbers in the data set, uint32. x, y: its examples, copied: pictures uint8 (n, channels, height, width), numbers
    float32 (n, columns), tokens int64 (n, positions); classes int64 (n,) or (n, positions), values float32 (n, numbers). A
    federation whose examples only its clients' code knows has none of these three.
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
        """The client's lots in this round under `dp="example"`, in order, as many as its ledger has reserved. All of them are charged,
        taken or not. Raises UsageError without example-level privacy, and if a lot was left without asking for its gradient."""
        if self._lots is None:
            raise UsageError("the run protects no examples, and has no lots; they belong to dp='example' and dp='both'")
        while (indices := self._lots.next()) is not None:
            yield Lot(indices, self._lots)

    def _both(self) -> tuple[NDArray[Any], NDArray[Any]]:
        if self._pair is None:
            self._pair = self._examples_of(self.client)
        return self._pair
