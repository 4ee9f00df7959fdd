"""A client of a real federation, in Python: `fedstride.Client`."""

from __future__ import annotations

import os
from typing import Any

from . import _core
from ._core import UsageError
from ._own import tensors_of
from ._types import Evaluate, Place, Tensors, Train


class Client:
    """A client that takes part in a federation over the network (docs/network.md), beside clients of any language: the same TLS,
    checks, folder and ledger as `fedstride join` has.

    connect: "HOST:PORT" of the coordinator (`fedstride serve`). client: which client this is, from 0.
    certificates: a folder or bundle of `fedstride certificates`; insecure_loopback=True instead: plain TCP on this machine.
    folder: its own, of what it keeps from round to round, its ledger and its key [client-N]; started again with it, it goes on.
    data, data_dir: where the experiment's data set or the client's own rows are, as for `fedstride join`.
    threads, patience (seconds without the coordinator; 0: for ever), require_dp ("example", "client", "both"), max_epsilon with delta,
    accept_other_builds, quiet: as its flags.
    """

    def __init__(
        self,
        *,
        connect: str,
        client: int,
        certificates: Place = "",
        insecure_loopback: bool = False,
        folder: Place | None = None,
        data: Place = "",
        data_dir: Place = "",
        threads: int = 0,
        patience: float = 600.0,
        require_dp: str = "",
        max_epsilon: float = 0.0,
        delta: float = 1e-5,
        accept_other_builds: bool = False,
        quiet: bool = False,
    ) -> None:
        if isinstance(client, bool) or not isinstance(client, int) or not 0 <= client < 2**32:
            raise UsageError(f"client is {client!r}; it must be a whole number from 0")
        if not isinstance(threads, int) or not 0 <= threads <= 1024:
            raise UsageError(f"threads is {threads!r}; it must be a whole number from 0 to 1024")
        for name, value in (("patience", patience), ("max_epsilon", max_epsilon)):
            if not 0 <= value < float("inf"):
                raise UsageError(f"{name} is {value!r}; it must be a number from 0")
        if not 0 < delta < 1:
            raise UsageError(f"delta is {delta!r}; it must be a number above 0 and below 1")
        self._arguments = (client, connect, os.fspath(certificates), insecure_loopback,
                           os.fspath(f"client-{client}" if folder is None else folder), os.fspath(data), os.fspath(data_dir),
                           threads, float(patience), require_dp, float(max_epsilon), float(delta), accept_other_builds, quiet)

    def serve(self, train: Train | None = None, *, evaluate: Evaluate | None = None, model: Tensors | Any | None = None) -> dict[str, Any]:
        """Takes part until the federation is finished: a dict with finished, rounds, model_hash and updates_sent.

        train: as for `run`: train(weights, task) gives trained weights; None: the client is trained by fedstride, as the experiment
        says. evaluate: as for `run`: the client offers the coordinator to test its models by it. What `train` raises costs the client its part in the round, and is logged. model: PyTorch's tensors or a module, if `train`
        is to get tensors of PyTorch's: names and types count, not values.
        Raises Error if the coordinator refuses for good or is not reached; KeyboardInterrupt on Ctrl-C (the same call goes on).
        """
        functions: dict[str, Any] = {}
        if train is not None:
            if not callable(train):
                raise UsageError(f"train is of type {type(train).__name__}; it must be a function")
            from ._training import Training

            form = {} if model is None else tensors_of(model)[1]
            functions["training"] = Training(train, evaluate, **form)
        return _core.join(*self._arguments, functions)
