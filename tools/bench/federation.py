#!/usr/bin/env python3
"""Compares a federated round with a bare PyTorch loop of the same steps, on the same cores, in turn.

The federation is pfl-research's benchmark: 1,000 clients with 50 CIFAR-10 images each, 50 clients per round, one epoch in batches
of 10, SGD, pfl-cnn. The loop does only what the round must: for each of 50 clients it loads the global weights, takes five steps
(forward, backward, SGD) on images that are already in memory, and adds the change; then it applies the mean. Its fastest setting
counts: one client tries NCHW or channels-last, with oneDNN on or off; whole rounds try as many one-thread processes as cores, or
one process with as many threads. fedstride's round is the median of the run's own `seconds`, which include reading batches,
averaging and hashing, but not evaluation. PyTorch runs on the installed BLAS that is fastest in a large product; if that is
slow, there is no ratio (compare.py, which also runs whole rounds on Debian unstable's PyTorch).

    /usr/bin/python3 tools/bench/federation.py build/release/fedstride DATA_DIR [PAIRS]      (Debian: python3-torch)
"""
import multiprocessing
import os
import statistics
import sys
import time

import _peers
from _measure import round_seconds, run, spread, words

CLIENTS, PICTURES, COHORT, BATCH = 1000, 50, 50, 10


def train(clients, layout, onednn, threads, barrier, seconds):
    """One process of the loop: trains its share of the cohort for a few rounds."""
    os.environ["PYTORCH_THREADS"] = str(threads)
    import torch
    from pytorch import pfl_cnn

    torch.backends.mkldnn.enabled = onednn
    torch.manual_seed(0)
    model, loss = pfl_cnn(), torch.nn.CrossEntropyLoss()
    pictures, labels = torch.randn(PICTURES, 3, 32, 32), torch.randint(0, 10, (PICTURES,))
    if layout:
        model = model.to(memory_format=torch.channels_last)
        pictures = pictures.contiguous(memory_format=torch.channels_last)
    parameters = list(model.parameters())
    start = [p.detach().clone() for p in parameters]
    for _ in range(3):
        barrier.wait()
        begin = time.perf_counter()
        change = [torch.zeros_like(p) for p in start]
        for _ in range(clients):
            with torch.no_grad():
                for p, s in zip(parameters, start):
                    p.copy_(s)
            optimizer = torch.optim.SGD(parameters, lr=0.1)
            for first in range(0, PICTURES, BATCH):
                optimizer.zero_grad(set_to_none=True)
                loss(model(pictures[first:first + BATCH]), labels[first:first + BATCH]).backward()
                optimizer.step()
            with torch.no_grad():
                for c, p, s in zip(change, parameters, start):
                    c.add_(p - s)
        with torch.no_grad():
            for s, c in zip(start, change):
                s.add_(c, alpha=1 / COHORT)
        barrier.wait()
        seconds.append(time.perf_counter() - begin)


def timed(processes, threads, clients, layout, onednn):
    """Returns the seconds that a round of this many clients takes: the median of three."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        seconds = manager.list()
        barrier = context.Barrier(processes)
        shares = [clients // processes + (i < clients % processes) for i in range(processes)]
        workers = [context.Process(target=train, args=(share, layout, onednn, threads, barrier, seconds)) for share in shares]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if any(worker.exitcode for worker in workers):
            sys.exit("a process of the PyTorch loop failed")
        return statistics.median(list(seconds))


def pytorch_round(cores):
    _, layout, onednn = min((timed(1, 1, 1, layout, onednn), layout, onednn) for layout in (False, True) for onednn in (False, True))
    return min((timed(processes, cores // processes, COHORT, layout, onednn), processes, layout, onednn)
               for processes in sorted({1, cores}))


def fedstride_round(program, data, cores):
    rounds, _ = run(program, dataset="cifar10", data_dir=data, clients=CLIENTS, partition="iid", limit_per_client=PICTURES, cohort="fixed",
                    cohort_size=COHORT, batch=BATCH, model="pfl-cnn", optimizer="sgd", learning_rate=0.1, rounds=4, evaluate_every=100,
                    evaluate_rows=100, threads=cores)
    assert all(line["examples"] == COHORT * PICTURES for line in rounds)
    return round_seconds(rounds[1:])


def main():
    program, data, pairs = words(__doc__, 2, 3)
    cores = len(os.sched_getaffinity(0))
    ratios = []
    peers = [_peers.Peer(library) for library in _peers.libraries()]
    best = max(_peers.fast_enough(peers, _peers.measured_peak(program)), key=lambda peer: peer.flops)
    for peer in peers:
        peer.end()
    os.environ["LD_LIBRARY_PATH"] = best.library
    print(_peers.in_words(best))
    for _ in range(pairs):
        ours = fedstride_round(program, data, cores)
        theirs, processes, layout, onednn = pytorch_round(cores)
        ratios.append(theirs / ours)
        print(f"fedstride {ours:.3f} s a round, PyTorch {theirs:.3f} s ({processes} processes"
              f"{', channels-last' if layout else ''}{', oneDNN' if onednn else ''}): {ratios[-1]:.2f}", flush=True)
    print(f"{cores} cores; median ratio {spread(ratios, '.2f')}")


if __name__ == "__main__":
    main()
