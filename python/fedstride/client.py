"""A client of a networked federation: `fedstride.Client`."""

from __future__ import annotations

import os
from typing import Any

from . import _core
from ._core import UsageError
from ._own import tensors_of
from ._types import Evaluate, Place, Tensors, Train


class Client:
    """A client that takes part in a federation over the network (docs/network.md), with the TLS, checks, folder and ledger of
    `fedstride join`. The other clients may be written in any language.

    connect: "HOST:PORT" of the coordinator (`fedstride serve`). client: the number of this client, counted from 0.
    certificates: a folder or bundle made by `fedstride certificates`; or use insecure_loopback=True for plain TCP on this machine.
    folder: holds the client's state, ledger and key (default: client-N); a client with the same folder resumes.
    data, data_dir: where the experiment's data set or the client's own rows are.
    threads, patience (seconds without the coordinator; 0: forever), require_dp ("example", "client", "both"), max_epsilon with delta,
    accept_other_builds, status, status_token, log, log_level, quiet: like the flags of `fedstride join`.
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
        status: str = "",
        status_token: Place = "",
        log: str = "",
        log_level: str = "",
        quiet: bool = False,
    ) -> None:
        if isinstance(client, bool) or not isinstance(client, int) or not 0 <= client < 2**32:
            raise UsageError(f"client is {client!r}; it must be a whole number from 0 to 4294967295")
        if not isinstance(threads, int) or not 0 <= threads <= 1024:
            raise UsageError(f"threads is {threads!r}; it must be a whole number from 0 to 1024")
        for name, value in (("patience", patience), ("max_epsilon", max_epsilon)):
            if not 0 <= value < float("inf"):
                raise UsageError(f"{name} is {value!r}; it must be a finite number, 0 or more")
        if not 0 < delta < 1:
            raise UsageError(f"delta is {delta!r}; it must be a number above 0 and below 1")
        self._options = {
            "client": client, "connect": connect, "certificates": os.fspath(certificates), "insecure_loopback": insecure_loopback,
            "folder": os.fspath(f"client-{client}" if folder is None else folder), "data": os.fspath(data),
            "data_dir": os.fspath(data_dir), "threads": threads, "patience": patience, "require_dp": require_dp,
            "max_epsilon": max_epsilon, "delta": delta, "accept_other_builds": accept_other_builds, "status": status,
            "status_token": os.fspath(status_token), "log": log, "log_level": log_level, "quiet": quiet}

    def serve(self, train: Train | None = None, *, evaluate: Evaluate | None = None, model: Tensors | Any | None = None) -> dict[str, Any]:
        """Takes part until the federation is finished. Returns a dict with finished, rounds, model_hash and updates_sent.

        train: as for `run`, train(weights, task) returns trained weights; with None, fedstride trains as the experiment says. If
            train raises, the client is left out of the round and the exception is logged.
        evaluate: as for `run`; the coordinator may ask this client to test the federation's models.
        model: a PyTorch module or its tensors, if `train` is to receive PyTorch tensors; names and types matter, values do not.

        Raises Error if the coordinator rejects the client or cannot be reached; KeyboardInterrupt on Ctrl-C (the same call resumes).
        """
        functions: dict[str, Any] = {}
        if train is not None:
            if not callable(train):
                raise UsageError(f"train is of type {type(train).__name__}; it must be a function")
            from ._training import Training

            form = {} if model is None else tensors_of(model)[1]
            functions["training"] = Training(train, evaluate, own=True, **form)
        return _core.join(self._options, functions)
