"""Trains clients in several processes (`workers=N`). Results do not depend on which process trains a client."""

import logging
import multiprocessing
import pickle
import signal
import traceback
from multiprocessing import connection, pool, shared_memory

import numpy

from ._core import Error, UsageError
from ._training import Raised, answer_of, one_line, task_of

log = logging.getLogger("fedstride")


def check(train):
    """Raises UsageError if the function cannot be sent to another process."""
    try:
        pickle.dumps(train)
    except Exception as error:
        raise UsageError(f"train cannot be sent to other processes ({error}); with workers above 1 it must be a module-level function, "
                         "not a lambda or a nested function") from None


class Pool:
    """Spawned processes that train one client each at a time. A block of shared memory holds the round's weights, followed by a
    slot for each process's answer."""

    def __init__(self, workers, train, form, keeps_state, rows_of, examples_of, failures):
        self._work = pickle.dumps((train, form, keeps_state))
        self._context = multiprocessing.get_context("spawn")
        self._size, self._rows_of, self._examples_of, self._failures = form.size, rows_of, examples_of, failures
        self._memory = shared_memory.SharedMemory(create=True, size=max(1, (workers + 1) * form.size * 4))
        self._places = numpy.ndarray((workers + 1, form.size), numpy.float32, self._memory.buf)
        self._places[:] = 0
        self._workers = [None] * workers

    def close(self):
        for worker in self._workers:
            if worker is not None:
                worker[1].close()
        for worker in self._workers:
            if worker is not None:
                worker[0].join(1)
                worker[0].kill()
                worker[0].join()
        self._workers = []
        self._places = None
        self._memory.close()
        self._memory.unlink()

    def train_cohort(self, round, weights, clients, describe, take):
        self._places[0] = weights
        waiting, at_work = list(reversed(clients)), {}
        try:
            for place in range(len(self._workers)):
                if waiting:
                    self._ask(place, round, waiting.pop(), describe, at_work)
            while at_work:
                for channel in connection.wait([self._workers[place][1] for place in at_work]):
                    place = next(place for place in at_work if self._workers[place][1] is channel)
                    client = at_work[place]
                    try:
                        told = channel.recv()
                    except (EOFError, OSError):
                        process = self._workers[place][0]
                        process.join()
                        self._workers[place] = None
                        log.warning("client %d, round %d: its worker exited with code %s", client, round, process.exitcode)
                        told = ("answer", 0, float("nan"), b"", f"its worker process exited with code {process.exitcode}",
                                None, None, None)
                    if told[0] != "answer":
                        channel.send((self._rows_of if told[0] == "rows" else self._examples_of)(told[1]))
                        continue
                    _, examples, loss, state, failure, lots, raised, error = told
                    if raised is not None:
                        failure = one_line(self._failures.take(client, round, raised, _unpacked(*error)))
                    take(client, None if failure else self._places[place + 1], examples, loss, state, failure, lots)
                    del at_work[place]
                    if waiting:
                        self._ask(place, round, waiting.pop(), describe, at_work)
        except BaseException:
            for place in at_work:  # these workers are still busy; the next round starts new ones
                if self._workers[place] is not None:
                    self._workers[place][0].kill()
                    self._workers[place] = None
            raise

    def _ask(self, place, round, client, describe, at_work):
        if self._workers[place] is None:
            here, there = self._context.Pipe()
            process = self._context.Process(target=_work, args=(there, self._memory.name, len(self._workers) + 1, self._size, place + 1),
                                            daemon=True)
            process.start()
            there.close()
            here.send_bytes(self._work)
            self._workers[place] = (process, here)
        at_work[place] = client
        try:
            self._workers[place][1].send((round, client, *describe(client)))
        except (BrokenPipeError, ConnectionError):
            pass  # the failure is noticed when waiting for the answer


def _packed(error):
    """An exception for the parent process, as bytes (None if it cannot be sent), and its traceback as text."""
    text = "".join(traceback.format_exception(error))
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        data = None
    return data, text


def _unpacked(data, text):
    error = RuntimeError(text.rstrip().splitlines()[-1]) if data is None else pickle.loads(data)
    error.__cause__ = pool.RemoteTraceback(text)
    return error


def _work(channel, memory, places, size, place):
    """A worker: trains the clients it receives until its channel closes."""

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    block = shared_memory.SharedMemory(memory)
    vectors = numpy.ndarray((places, size), numpy.float32, block.buf)
    given = vectors[0]
    given.flags.writeable = False

    def asked(kind):
        def ask(client):
            channel.send((kind, client))
            return channel.recv()

        return ask

    try:
        train, form, keeps_state = pickle.loads(channel.recv_bytes())
        while True:
            round, number, *described = channel.recv()
            task = task_of(form, number, round, described, asked("rows"), asked("examples"))
            weights = form.views(given.copy())
            if not form.torch:
                for array in weights.values():
                    array.flags.writeable = False
            raised = error = None

            def failed(exception):
                nonlocal raised, error
                raised, error = Raised.of(exception), _packed(exception)
                return raised.line

            channel.send(("answer", *answer_of(train, form, given, weights, task, keeps_state, failed, vectors[place])[1:], raised, error))
    except (EOFError, ConnectionError, Error):
        pass
