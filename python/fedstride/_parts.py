"""Wraps the user's functions as parts of a run that C++ calls."""

import numpy

from ._core import UsageError
from ._packed import pack, unpack
from .code import Step


def partition(function):
    def call(labels, rows, clients, seed, natural):
        lists = list(function(Rows(labels, rows, clients, seed, natural if len(natural) else None)))
        found = []
        for number, one in enumerate(lists):
            array = numpy.asarray(one)
            if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
                raise UsageError(f"partition: the function gave client {number} an array of dtype {array.dtype} and shape "
                                 f"{list(array.shape)}; it must be a list of row numbers")
            if array.size and not 0 <= array.min() <= array.max() < 2**32:
                raise UsageError(f"partition: the function gave client {number} the row {array.min() if array.min() < 0 else array.max()}; "
                                 "row numbers are from 0 to 4294967295")
            found.append(array.astype(numpy.uint32))
        return found

    return call


class Rows:
    """The argument of a partition function. labels: class of every row of the data set, uint16. rows: the rows to assign, uint32.
    clients: number of clients. seed: the run's seed. natural: the natural client of every row, or None."""

    def __init__(self, labels, rows, clients, seed, natural):
        self.labels, self.rows, self.clients, self.seed, self.natural = labels, rows, clients, seed, natural


def cohort(function):
    def call(round, rows, seed):
        drawn = numpy.asarray(list(function(round, rows, seed)))
        if drawn.ndim != 1 or (drawn.size and (drawn.dtype.kind not in "iu" or drawn.min() < 0 or drawn.max() >= 2**32)):
            raise UsageError("cohort: the function must return a list of client numbers")
        return drawn.astype(numpy.uint32)

    return call


def aggregation(function):
    def call(updates, weights, clients):
        return _vector(function(updates, weights, clients), "aggregation")

    return call


def server_optimizer(function):
    def call(model, mean_change, state):
        return _answer(function(model, mean_change, unpack(state, "the server optimizer's state")), "server_optimizer", "next model")

    return call


def optimizer(function):
    def call(gradient, weights, state, number, rate):
        return _answer(function(gradient, unpack(state, "the optimizer's state"), Step(weights, number, rate)), "optimizer", "change")

    return call


def _answer(answer, who, what):
    """A vector and a packed state, from a vector or a pair of a vector and a state."""
    if not isinstance(answer, tuple):
        answer = answer, None
    if len(answer) != 2:
        raise UsageError(f"{who} returned {len(answer)} values; it must return the {what}, or ({what}, state)")
    return _vector(answer[0], who), pack(answer[1], f"the {who.replace('_', ' ')}'s state")


WRAPPERS = {"partition": partition, "cohort": cohort, "aggregation": aggregation, "server_optimizer": server_optimizer, "optimizer": optimizer}


def _vector(given, who):
    if given is None and who == "aggregation":
        return None
    array = numpy.asarray(given)
    if array.dtype.kind != "f":
        raise UsageError(f"{who}: the function returned an array of dtype {array.dtype}; it must be floating point")
    if not numpy.isfinite(array).all():
        raise UsageError(f"{who}: the function returned a number that is not finite")
    return numpy.ascontiguousarray(array, numpy.float32)
