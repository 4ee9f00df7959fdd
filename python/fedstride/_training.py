"""The user's training and evaluation, between C++, which has flat vectors, and functions, which have dicts of tensors."""

import logging
import math
import traceback

import numpy

from ._arrays import Refused, numbers_of
from ._core import UsageError
from ._packed import pack, unpack
from .code import Task, Trained
from ._lots import Lots

log = logging.getLogger("fedstride")


class Form:
    """Names, shapes and places of a model's tensors; `order`, `torch` and `fixed` of the weights that the run began with."""

    def __init__(self, tensors, size, order=None, torch=False, fixed=None):
        by_name = {name: (shape, offset, offset + count) for name, shape, offset, count in tensors}
        self.fixed = fixed or {}
        self.order = list(order or by_name)
        if odd := sorted((set(self.order) - set(self.fixed)) ^ set(by_name)):
            here = "in the model given and not in the run's" if odd[0] in self.order else "in the run's model and not in the one given"
            raise UsageError(f"tensor '{odd[0]}' is {here}")
        self.tensors = {name: by_name[name] for name in self.order if name in by_name}
        self.size, self.torch = size, torch

    def views(self, flat):
        """The tensors of a flat vector, which share its memory."""
        if self.torch:
            import torch

            flat = torch.from_numpy(flat)
        found = {name: flat[begin:end].reshape(shape) for name, (shape, begin, end) in self.tensors.items()}
        return {name: found[name] if name in found else self.fixed[name].clone() for name in self.order} if self.fixed else found

    def flat(self, weights, into=None):
        """A flat vector of a function's answer. Raises Refused, which names the tensor that is wrong."""
        if not isinstance(weights, dict):
            raise Refused(f"it gave a {type(weights).__name__}; it must give a dict of tensors, or fedstride.Trained")
        flat = numpy.zeros(self.size, numpy.float32) if into is None else into
        for name, (shape, begin, end) in self.tensors.items():
            if name not in weights:
                raise Refused(f"it gave no tensor '{name}'")
            array = numbers_of(name, weights[name])
            if array.shape != tuple(shape):
                raise Refused(f"it gave '{name}' with shape {list(array.shape)}; the model's has {list(shape)}")
            part = flat[begin:end]
            with numpy.errstate(over="ignore"):  # what is too large is not finite then, and refused
                part[:] = array.reshape(-1)
            if not numpy.isfinite(part).all():
                raise Refused(f"it gave '{name}' with a number that is not finite")
        if len(weights) > len(self.tensors):
            for name in weights:
                if name not in self.tensors and name not in self.fixed:
                    raise Refused(f"it gave a tensor '{name}', which the model does not have")
        return flat


def task_of(form, client, round, described, rows_of, examples_of):
    """The task of a client, as C++ describes it."""
    examples, seed, state, terms = described
    lots = None if terms is None else Lots(terms, form)
    return Task(client, round, examples, seed, unpack(state, "a client's state"), rows_of, examples_of, lots)


def answer_of(train, form, start, weights, task, keeps_state, into=None):
    """Calls the function with the weights, which are the flat vector `start`: (flat vector, examples, loss, state as bytes, failure in
    one line, counts of its lots)."""
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
                    raise Refused(f"it changed '{name}', of which it gave no lot a gradient; under example-level privacy nothing else may")
            examples, *lots = task._lots.told()
        if answer.examples is not None:
            examples = int(answer.examples)
        if not 0 <= examples < 2**63:
            raise Refused(f"it gave {examples} examples")
        loss = math.nan if answer.loss is None else float(answer.loss)
        if answer.state is not None and not keeps_state:
            raise Refused("it gave a state, and client_state='keep' is not set")
        state = pack(task.state if answer.state is None else answer.state, "a client's state") if keeps_state else b""
        return flat, examples, loss, state, "", lots
    except (Refused, UsageError) as error:
        failure = f"the training function's answer is refused: {error}"
        log.warning("client %d, round %d: %s", task.client, task.round, failure)
    except Exception as error:
        log.warning("client %d, round %d: its training raised\n%s", task.client, task.round, traceback.format_exc().rstrip())
        failure = f"its training raised {type(error).__name__}: {error}"
    return None, 0, math.nan, b"", " ".join(failure.split())[:500], None


class Training:
    """What C++ calls (python/own_code.cpp)."""

    def __init__(self, train, evaluate, *, order=None, torch=False, fixed=None, workers=1):
        self.train, self.evaluate, self.workers = train, evaluate, workers
        if workers > 1:
            from ._workers import check

            check(train)
        self._form_of = lambda tensors, size: Form(tensors, size, order, torch, fixed)
        self._pool = None

    @property
    def evaluates(self):
        return self.evaluate is not None

    def begin(self, tensors, size, keeps_state, rows_of, examples_of):
        self.form, self.keeps_state = self._form_of(tensors, size), keeps_state
        self.rows_of, self.examples_of = rows_of, examples_of
        if self.workers > 1:
            from ._workers import Pool

            self._pool = Pool(self.workers, self.train, self.form, self.keeps_state, rows_of, examples_of)

    def end(self):
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        self.rows_of = self.examples_of = None

    def train_cohort(self, round, weights, clients, describe, take):
        if self._pool is not None:
            return self._pool.train_cohort(round, weights, clients, describe, take)
        form = self.form
        if not form.torch:  # a numpy function may read the round's own array, and no other
            weights.flags.writeable = False
            shared = form.views(weights)
        room = numpy.zeros(form.size, numpy.float32)
        for number in clients:
            task = task_of(form, number, round, describe(number), self.rows_of, self.examples_of)
            given = form.views(weights.copy()) if form.torch else dict(shared)
            take(number, *answer_of(self.train, form, weights, given, task, self.keeps_state, room))

    def test(self, flat, part):
        """(accuracy, loss, examples) by the user's evaluation."""
        given = self.evaluate(self.form.views(flat))
        told = {"accuracy": given} if isinstance(given, (float, numpy.floating)) else given
        try:
            if set(told) <= {"accuracy", "loss", "examples"} and 0 <= (examples := int(told.get("examples", 0))) < 2**64:
                return float(told.get("accuracy", math.nan)), float(told.get("loss", math.nan)), examples
        except (AttributeError, OverflowError, TypeError, ValueError):
            pass
        raise UsageError(f"evaluate gave {given!r}; it must give an accuracy, or a dict with any of 'accuracy', 'loss' and 'examples', "
                         "a number from 0")
