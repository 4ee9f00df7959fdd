#!/usr/bin/env python3
"""What a round costs on many ranks: a model, not a measurement.

A round on P ranks takes as long as the slowest rank's training plus the messages (Hockney's alpha-beta model: alpha seconds per
message, beta seconds per byte). The two collectives are as in OpenMPI 4.1's nonblocking implementation; s is ceil(log2 P):

    model to all, 4 n bytes    P <= 4: (P - 1) (alpha + 4 n beta), in sequence; otherwise a tree: s (alpha + 4 n beta)
    sum of 16 n bytes          a tree, rank 0 receives s whole sums: s (alpha + 16 n beta + n gamma)
    reports of every rank      s alpha + c r beta

n: parameters; gamma: seconds to add two 128-bit integers; c clients in a round send r bytes each. Clients train for t seconds
each and are dealt evenly, so the slowest rank has ceil(c / P) of them. The constants of one machine come from
`mpirun -n 2 fedstride bench --fleet mpi` and a run's rounds.jsonl; the constants of a network come from its vendor.
"""
import argparse
import math


def round_seconds(ranks, args):
    training = math.ceil(args.clients / ranks) * args.client_seconds
    if ranks == 1:
        return training, 0.0
    steps = math.ceil(math.log2(ranks))
    n = args.parameters
    messages = (ranks - 1 if ranks <= 4 else steps) * (args.alpha + 4 * n * args.beta)
    messages += steps * (args.alpha + 16 * n * args.beta + n * args.gamma)
    messages += steps * args.alpha + args.clients * args.report_bytes * args.beta
    return training, messages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parameters", type=int, default=1_148_938, help="number of parameters of the model [that of adadp-cnn]")
    parser.add_argument("--clients", type=int, default=1000, help="number of clients in a round")
    parser.add_argument("--client-seconds", type=float, required=True, help="seconds to train one client on one thread")
    parser.add_argument("--report-bytes", type=float, default=200)
    parser.add_argument("--alpha", type=float, required=True, help="seconds per message")
    parser.add_argument("--beta", type=float, required=True, help="seconds per byte")
    parser.add_argument("--gamma", type=float, required=True, help="seconds to add two 128-bit integers")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000])
    args = parser.parse_args()
    for name in ("parameters", "clients"):
        if getattr(args, name) < 1:
            parser.error(f"{name} is {getattr(args, name)}; it must be a whole number from 1")
    for name in ("client_seconds", "alpha", "beta"):
        if not getattr(args, name) > 0:
            parser.error(f"{name.replace('_', '-')} is {getattr(args, name)}; it must be above 0")
    alone = round_seconds(1, args)[0]
    print("| ranks | training s | messages s | round s | speed-up | efficiency |")
    print("|---|---|---|---|---|---|")
    for ranks in args.ranks:
        training, messages = round_seconds(ranks, args)
        total = training + messages
        print(f"| {ranks} | {training:.3f} | {messages:.3f} | {total:.3f} | {alone / total:.1f} | {alone / total / ranks:.0%} |")


if __name__ == "__main__":
    main()
