"""Connects C++, which has flat vectors, with the user's training and evaluation functions, which take dicts of tensors."""

import functools
import logging
import math
import os
import traceback
from typing import NamedTuple

import numpy

from ._arrays import Refused, numbers_of
from ._core import UsageError
from ._packed import pack, unpack
from .code import Task, Trained
from ._lots import Lots

log = logging.getLogger("fedstride")


class Form:
    """Names, shapes and offsets of a model's tensors; `order`, `torch` and `fixed` come from the run's initial weights."""

    def __init__(self, tensors, size, order=None, torch=False, fixed=None):
        by_name = {name: (shape, offset, offset + count) for name, shape, offset, count in tensors}
        self.fixed = fixed or {}
        self.order = list(order or by_name)
        if odd := sorted((set(self.order) - set(self.fixed)) ^ set(by_name)):
            here = "in the given model but not in the run's" if odd[0] in self.order else "in the run's model but not in the given one"
            raise UsageError(f"tensor '{odd[0]}' is {here}")
        self.tensors = {name: by_name[name] for name in self.order if name in by_name}
        self.size, self.torch = size, torch

    def views(self, flat):
        """The tensors of a flat vector; they share its memory."""
        if self.torch:
            import torch

            flat = torch.from_numpy(flat)
        found = {name: flat[begin:end].reshape(shape) for name, (shape, begin, end) in self.tensors.items()}
        return {name: found[name] if name in found else self.fixed[name].clone() for name in self.order} if self.fixed else found

    def flat(self, weights, into=None):
        """The weights that a function returned, as a flat vector. Raises Refused, naming the wrong tensor."""
        if not isinstance(weights, dict):
            raise Refused(f"it returned a {type(weights).__name__}; it must return a dict of tensors, or fedstride.Trained")
        flat = numpy.zeros(self.size, numpy.float32) if into is None else into
        for name, (shape, begin, end) in self.tensors.items():
            if name not in weights:
                raise Refused(f"it returned no tensor '{name}'")
            array = numbers_of(name, weights[name])
            if array.shape != tuple(shape):
                raise Refused(f"it returned '{name}' with shape {list(array.shape)}; it must be {list(shape)}")
            part = flat[begin:end]
            with numpy.errstate(over="ignore"):  # numbers that overflow become infinite and are rejected below
                part[:] = array.reshape(-1)
            if not numpy.isfinite(part).all():
                raise Refused(f"it returned '{name}' with a number that is not finite")
        if len(weights) > len(self.tensors):
            for name in weights:
                if name not in self.tensors and name not in self.fixed:
                    raise Refused(f"it returned '{name}', which is not a tensor of the model")
        return flat


def task_of(form, client, round, described, rows_of, examples_of):
    """Makes a client's task from C++'s description of it."""
    examples, seed, state, terms = described
    lots = None if terms is None else Lots(terms, form)
    return Task(client, round, examples, seed, unpack(state, "a client's state"), rows_of, examples_of, lots)


def one_line(text):
    return " ".join(text.split())[:500]


def answer_of(train, form, start, weights, task, keeps_state, failed, into=None):
    """Calls the function with the weights, whose flat vector is `start`. Returns (flat vector, examples, loss, state as bytes,
    failure in one line, counts of the task's lots). failed(exception) returns the line of the failure."""
    lots = None
    try:
        answer = train(weights, task)
        if not isinstance(answer, Trained):
            answer = Trained(answer)
        flat = form.flat(answer.weights, into)
        examples = task.examples
        if task._lots is not None:
            for name in task._lots.untouched():
                begin, end = form.tensors[name][1:]
                if not numpy.array_equal(flat[begin:end], start[begin:end]):
                    raise Refused(f"it changed '{name}' without a gradient from any lot; under example-level privacy only lots may change weights")
            examples, *lots = task._lots.told()
        if answer.examples is not None:
            examples = int(answer.examples)
        if not 0 <= examples < 2**63:
            raise Refused(f"it returned {examples} examples; the number must be 0 or more")
        loss = math.nan if answer.loss is None else float(answer.loss)
        if answer.state is not None and not keeps_state:
            raise Refused("it returned a state, which needs client_state='keep'")
        state = pack(task.state if answer.state is None else answer.state, "a client's state") if keeps_state else b""
        return flat, examples, loss, state, "", lots
    except Exception as error:
        return None, 0, math.nan, b"", one_line(failed(error)), None


class Raised(NamedTuple):
    """An exception of a training function as text."""

    line: str  # for the client's report
    guarded: str  # the same without the exception's text, which may hold rows
    shown: str  # with the traceback

    @classmethod
    def of(cls, error):
        if isinstance(error, (Refused, UsageError)):
            line = f"the training function's answer was rejected: {error}"
            return cls(line, line, line)
        name, at = type(error).__name__, traceback.extract_tb(error.__traceback__)[-1]
        return cls(f"the training function raised {name}: {error}",
                   f"the training function raised {name} in {os.path.basename(at.filename)}, line {at.lineno}; under dp the exception's "
                   "message is not shown because it may contain rows",
                   "the training function raised\n" + "".join(traceback.format_exception(error)).rstrip())


class Failures:
    """Logs the exceptions of a run's training functions, each distinct one once, and keeps a round's first one as `cause`.
    `secret`: exceptions may contain rows that the user of this process must not see."""

    def __init__(self, secret):
        self.secret, self.cause, self._logged = secret, None, set()

    def take(self, client, round, raised, error):
        """Returns the line for the client's report."""
        if not self.secret and self.cause is None:
            self.cause = error
        shown = raised.guarded if self.secret else raised.shown
        if shown not in self._logged:
            self._logged.add(shown)
            log.warning("client %d, round %d: %s", client, round, shown)
        return raised.guarded if self.secret else raised.line


class Training:
    """The object that C++ calls (python/own_code.cpp). `arrays`: the user's arrays, whose rows tasks return unchanged. `own`: the
    clients' rows belong to the user of this process, who may see tracebacks under dp."""

    def __init__(self, train, evaluate, *, order=None, torch=False, fixed=None, arrays=None, workers=1, own=False):
        self.train, self.evaluate, self.workers, self._arrays, self._own = train, evaluate, workers, arrays, own
        if workers > 1:
            from ._workers import check

            check(train)
        self._form_of = lambda tensors, size: Form(tensors, size, order, torch, fixed)
        self._pool = None

    @property
    def evaluates(self):
        return self.evaluate is not None

    @property
    def cause(self):
        """The first exception of the last round, or None."""
        return self._failures.cause

    def begin(self, tensors, size, keeps_state, inputs, rows_of, examples_of, is_private):
        """`inputs`: the key of the inputs among the arrays."""
        self.form, self.keeps_state = self._form_of(tensors, size), keeps_state
        key = next((key for key in (inputs, f"{inputs}_train", f"train_{inputs}") if key in (self._arrays or ())), None)
        self.rows_of = rows_of
        self.examples_of = (lambda client: examples_of(client, None)) if key is None else (
            lambda client: examples_of(client, lambda rows: self._arrays.given(key, rows)))
        self._failures = Failures(is_private and not self._own)
        if self.workers > 1:
            from ._workers import Pool

            self._pool = Pool(self.workers, self.train, self.form, self.keeps_state, self.rows_of, self.examples_of, self._failures)

    def end(self):
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        self.rows_of = self.examples_of = None

    def train_cohort(self, round, weights, clients, describe, take):
        self._failures.cause = None
        if self._pool is not None:
            return self._pool.train_cohort(round, weights, clients, describe, take)
        form = self.form
        if not form.torch:  # NumPy functions get read-only views of the round's own array
            weights.flags.writeable = False
            shared = form.views(weights)
        room = numpy.zeros(form.size, numpy.float32)
        for number in clients:
            task = task_of(form, number, round, describe(number), self.rows_of, self.examples_of)
            given = form.views(weights.copy()) if form.torch else dict(shared)
            failed = functools.partial(self._failed, task)
            take(number, *answer_of(self.train, form, weights, given, task, self.keeps_state, failed, room))

    def _failed(self, task, error):
        return self._failures.take(task.client, task.round, Raised.of(error), error)

    def test(self, flat, part):
        """Returns (accuracy, loss, examples) from the user's evaluation."""
        given = self.evaluate(self.form.views(flat))
        told = {"accuracy": given} if isinstance(given, (float, numpy.floating)) else given
        try:
            if set(told) <= {"accuracy", "r2", "loss", "examples"} and 0 <= (examples := int(told.get("examples", 0))) < 2**64:
                return float(told.get("accuracy", told.get("r2", math.nan))), float(told.get("loss", math.nan)), examples
        except (AttributeError, OverflowError, TypeError, ValueError):
            pass
        raise UsageError(f"evaluate returned {given!r}; it must return an accuracy, or a dict with any of 'accuracy' (for numeric targets: 'r2'), 'loss' and 'examples' "
                         "(0 or more)")
