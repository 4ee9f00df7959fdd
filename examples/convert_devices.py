#!/usr/bin/env python3
"""Writes device and availability tables (docs/time.md) from public traces:

  FedScale    client_device_capacity (pickle)   devices        --bandwidth-unit kilobits|megabits|bytes (a second)
              client_behave_trace (pickle)      availability
  FLHetBench  training_latency.json             devices        --model ResNet|Vit, --examples N: of one measured latency
              MobiPerf speeds (JSON)            devices        --example-milliseconds: the file has no training speeds
              cached_timers.json                availability

The files do not name their units, so the flags do. Pickles are read by an unpickler that creates only dicts, lists, numbers and
strings. A client's availability repeats with its own period; the table has one period, so give one with --period: traces are
repeated up to it. A table of devices has a line for each device, and each client draws a device.
"""
import argparse
import csv
import json
import math
import pickle
import sys


class PlainUnpickler(pickle.Unpickler):
    """Unpickling runs code through classes and functions; this one looks up none."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"it asks for {module}.{name}; only dicts, lists, numbers and strings are read")

    def persistent_load(self, key):
        raise pickle.UnpicklingError("it refers to objects outside the file; only dicts, lists, numbers and strings are read")


def require_plain(value):
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            stack += [*one.keys(), *one.values()]
        elif isinstance(one, (list, tuple)):
            stack += one
        elif not isinstance(one, (int, float, str)):
            raise ValueError(f"it has a {type(one).__name__}; only dicts, lists, numbers and strings are read")


def read(path):
    with open(path, "rb") as file:
        if file.peek(1)[:1] != b"\x80":
            return json.load(file)
        value = PlainUnpickler(file).load()
    require_plain(value)
    return value


def number(value, what, least=0.0):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < least:
        raise ValueError(f"{what} is {value!r}; it must be a number of at least {least:g}")
    return float(value)


def needed(options, name):
    value = getattr(options, name)
    if value is None:
        raise ValueError(f"its unit is not in the file; set --{name.replace('_', '-')}")
    return value


def devices_of_fedscale(clients, options):
    unit = needed(options, "bandwidth_unit")
    yield ["inference_milliseconds_per_example", f"upload_{unit}", f"download_{unit}"]
    for key, client in clients:
        link = number(client["communication"], f"communication of {key}")
        yield [number(client["computation"], f"computation of {key}"), link, link]


def devices_of_latencies(phones, options):
    model, examples = needed(options, "model"), number(needed(options, "examples"), "--examples", 1.0)
    yield ["milliseconds_per_example"]
    for phone in phones:
        if f"{model} Latency" in phone:
            yield [number(phone[f"{model} Latency"], phone.get("Phone Model")) / examples]


def devices_of_speeds(measured, options):
    milliseconds = number(needed(options, "example_milliseconds"), "--example-milliseconds")
    yield ["milliseconds_per_example", "upload_kilobits", "download_kilobits"]
    for device in measured:
        speeds = [number(speed, f"a speed of {device.get('id')}") for speed in device["tcp_speed_results"]]
        if speeds:
            yield [milliseconds, sum(speeds) / len(speeds), sum(speeds) / len(speeds)]


def availability(traces, options):
    """`traces`: for each client, a period and intervals in it, counted from its beginning."""
    until = number(needed(options, "period"), "--period", 1.0)
    yield ["client", "from_seconds", "to_seconds"]
    for client, (period, intervals) in enumerate(traces):
        begin, last = 0.0, 0.0
        while period > 0 and begin < until:
            for start, end in sorted(intervals):
                start, end = max(begin + max(start, 0), last), min(begin + min(end, period), until)
                if start < end:
                    yield [client, start, end]
                    last = end
            begin += period


def traces_of_fedscale(clients):
    for key, client in clients:
        period = number(client["finish_time"], f"finish_time of {key}")
        yield period, [(number(start, f"active of {key}"), number(end, f"inactive of {key}"))
                       for start, end in zip(client["active"], client["inactive"])]


def traces_of_timers(timers):
    for key, timer in timers:
        if timer["isSuccess"]:
            start = number(timer["trace_start"], f"trace_start of {key}", -math.inf)
            yield number(timer["trace_end"] - start, f"length of {key}"), [(a - start, b - start) for a, b in timer["ready_time"]]


def table(data, options):
    entries = list(data.items()) if isinstance(data, dict) else data
    first = entries[0] if isinstance(entries, list) and entries else None
    keys = first[1] if isinstance(data, dict) and first else first
    if isinstance(keys, dict) and isinstance(data, dict):
        if "computation" in keys:
            return devices_of_fedscale(entries, options)
        if "inactive" in keys:
            return availability(traces_of_fedscale(entries), options)
        if "ready_time" in keys:
            return availability(traces_of_timers(entries), options)
    elif isinstance(keys, dict):
        if "tcp_speed_results" in keys:
            return devices_of_speeds(entries, options)
        if "Phone Model" in keys:
            return devices_of_latencies(entries, options)
    raise ValueError("it is not one of the files that this script reads (--help)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", help="a trace file of FedScale or FLHetBench")
    parser.add_argument("csv", help="the table to write")
    parser.add_argument("--bandwidth-unit", choices=["kilobits", "megabits", "bytes"])
    parser.add_argument("--model", choices=["ResNet", "Vit"])
    parser.add_argument("--examples", type=float)
    parser.add_argument("--example-milliseconds", type=float)
    parser.add_argument("--period", type=float)
    options = parser.parse_args()
    try:
        rows = list(table(read(options.trace), options))
    except (OSError, EOFError, KeyError, TypeError, ValueError, pickle.UnpicklingError) as error:
        text = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        sys.exit(f"{options.trace}: {' '.join(text.split())}")
    with open(options.csv, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
