"""Clients trained by processes of their own (`workers=N`). Which process trains a client has no effect on what comes out."""

import logging
import multiprocessing
import pickle
import signal
from multiprocessing import connection, shared_memory

import numpy

from ._core import Error, UsageError

log = logging.getLogger("fedstride")


def check(train):
    """Raises UsageError for a function that cannot be sent to another process."""
    try:
        pickle.dumps(train)
    except Exception as error:
        raise UsageError(f"train cannot be sent to other processes ({error}); with workers above 1 it must be a function of a module, "
                         "not a lambda or one inside another") from None


class Pool:
    """Processes, started by spawn, each with one client at a time. Weights go to all of them by one shared memory, answers come
    back by a place for each in another."""

    def __init__(self, workers, train, form, keeps_state, rows_of, examples_of):
        self._work = pickle.dumps((train, form, keeps_state))
        self._context = multiprocessing.get_context("spawn")
        self._size, self._rows_of, self._examples_of = form.size, rows_of, examples_of
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
                        log.warning("client %d, round %d: its worker ended with exit code %s", client, round, process.exitcode)
                        told = ("answer", 0, float("nan"), b"", f"its worker process ended with exit code {process.exitcode}",
                                None)
                    if told[0] != "answer":
                        channel.send((self._rows_of if told[0] == "rows" else self._examples_of)(told[1]))
                        continue
                    _, examples, loss, state, failure, lots = told
                    take(client, None if failure else self._places[place + 1], examples, loss, state, failure, lots)
                    del at_work[place]
                    if waiting:
                        self._ask(place, round, waiting.pop(), describe, at_work)
        except BaseException:
            for place in at_work:  # they are in the middle of something: the next round begins with new ones
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
            pass  # its end is noticed where its answer is waited for


def _work(channel, memory, places, size, place):
    """A worker: trains the clients it is told until its channel closes."""
    from ._training import answer_of, task_of

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the first process's affair
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
            channel.send(("answer", *answer_of(train, form, given, weights, task, keeps_state, vectors[place])[1:]))
    except (EOFError, ConnectionError, Error):
        pass
