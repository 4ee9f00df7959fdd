"""The words of tables and figures for metrics, swept keys and their values."""

import math
import re

_METRICS = {
    "best_test_accuracy": "highest test accuracy of all rounds (share of examples)",
    "accuracy": "accuracy (share of examples)",
    "worst_client_accuracy": "accuracy of the worst client (own test rows, or its mix of classes)",
    "best_client_accuracy": "accuracy of the best client (own test rows, or its mix of classes)",
    "backdoor_success": "backdoor success (share of triggered images)",
    "uplink_bytes": "bytes of updates",
    "downlink_bytes": "bytes of models and requests",
    "wasted_bytes": "bytes to and from clients whose update is not in any sum",
    "megabytes": "megabytes sent and received",
    "rejected_share": "share of rejected steps",
    "epsilon_spent": "example-level epsilon spent",
    "client_epsilon_spent": "client-level epsilon spent",
    "idle_rounds": "rounds in which no client kept a step",
    "examples_per_second": "speed (examples per second, on this machine)",
    # Of clients' reports: core/client_report.hpp.
    "loss": "training loss (mean, nats per example)",
    "learning_rate": "learning rate (next step)",
    "gradient_norm": "gradient norm (mean over examples, before clipping)",
    "clipped_share": "share of clipped gradients",
    "update_norm": "norm of the update (as received)",
}
_MEASURES = {"accuracy": ("accuracy", "share of examples"), "r2": ("R2", "share of the variance explained"),
             "loss": ("loss", "nats per example")}
_OWNERS = {"own": "clients' {} on their own rows", "personal": "personal models' {} on clients' own rows"}
SPREAD = {"_p90": "90th percentile", "_p50": "median", "_p10": "10th percentile", "_worst_tenth": "mean of the worst tenth"}

_KEYS = {
    "random-fraction": "share of random data (random-fraction)",
    "batch": "batch size (examples)",
    "noise-multiplier": "noise multiplier (standard deviation over clip)",
    "clip": "clip bound (norm of a gradient)",
}


def metric_label(metric):
    """A metric's label for an axis or a column, with its unit; for an unknown metric, its name with spaces."""
    if found := re.fullmatch("(test|validation|train)_(accuracy|r2|loss)", metric):
        measure, unit = _MEASURES[found[2]]
        return f"{'training' if found[1] == 'train' else found[1]} {measure} ({unit})"
    if found := re.fullmatch("(own|personal)_(accuracy|r2|loss)(_p10|_p50|_p90|_worst_tenth|)", metric):
        return _OWNERS[found[1]].format(_MEASURES[found[2]][0]) + f" ({SPREAD.get(found[3], 'mean')})"
    if found := re.fullmatch("(test|validation)_(rounds|seconds|megabytes)_to_target", metric):
        unit = "virtual seconds" if found[2] == "seconds" else found[2]
        return f"{unit} to the target{' (validation rows)' if found[1] == 'validation' else ''}"
    return _METRICS.get(metric) or re.sub("[_-]", " ", metric)


def title_of_metric(metric):
    """The label without its unit, for the start of a title: "Test accuracy"."""
    title = metric_label(metric).split(" (")[0]
    return title[:1].upper() + title[1:]


def key_label(key):
    """A swept key's label for an axis."""
    return _KEYS.get(key) or re.sub("[_-]", " ", key)


def number_of(text):
    """The text as a finite number; None unless the whole text is one."""
    try:
        value = float(text) if re.fullmatch(r"[-+0-9.eE]+", text) else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def named(point):
    """The name of a point (pairs of key and value): "share 0, adadp". Numbers and switches are named by their keys."""
    return ", ".join(f"{key} {value}" if number_of(value) is not None or value in ("true", "false") else value
                     for key, value in point if value)


def is_share(metric):
    """Whether the metric is a share, from 0 to 1."""
    return bool(re.search(r"(accuracy|share|f1|auc|participation|_reached)$|^(own|personal)_accuracy|^backdoor_success$", metric))


def is_never_negative(metric):
    """Whether the metric cannot be below 0."""
    return is_share(metric) or bool(re.search(r"loss$|rate$|epsilon", metric))


def one_line(text):
    """The text without control characters and line breaks."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text)
