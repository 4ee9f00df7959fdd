"""The words of tables and figures for metrics, swept keys and their values."""

import math
import re

METRICS = {
    "test_accuracy": "test accuracy (share of examples)",
    "best_test_accuracy": "highest test accuracy of all rounds (share of examples)",
    "validation_accuracy": "validation accuracy (share of examples)",
    "accuracy": "accuracy (share of examples)",
    "chance_accuracy": "accuracy of always predicting the commonest class (share of test examples)",
    "test_r2": "test R2 (share of the variance explained)",
    "validation_r2": "validation R2 (share of the variance explained)",
    "own_r2": "clients' R2 on their own rows (mean)",
    "personal_r2": "personal models' R2 on clients' own rows (mean)",
    "worst_client_accuracy": "accuracy of the worst client (share of examples)",
    "best_client_accuracy": "accuracy of the best client (share of examples)",
    "own_accuracy": "clients' accuracy on their own rows (mean)",
    "own_accuracy_worst_tenth": "clients' accuracy on their own rows (mean of the worst tenth)",
    "own_accuracy_p10": "clients' accuracy on their own rows (10th percentile)",
    "own_accuracy_p50": "clients' accuracy on their own rows (median)",
    "own_accuracy_p90": "clients' accuracy on their own rows (90th percentile)",
    "own_accuracy_deviation": "standard deviation over clients of the accuracy on their own rows",
    "own_loss": "clients' loss on their own rows (mean, nats per example)",
    "personal_accuracy": "personal models' accuracy on clients' own rows (mean)",
    "personal_accuracy_worst_tenth": "personal models' accuracy on clients' own rows (mean of the worst tenth)",
    "personal_accuracy_p10": "personal models' accuracy on clients' own rows (10th percentile)",
    "personal_accuracy_p50": "personal models' accuracy on clients' own rows (median)",
    "personal_accuracy_p90": "personal models' accuracy on clients' own rows (90th percentile)",
    "personal_accuracy_deviation": "standard deviation over clients of their personal models' accuracy",
    "personal_loss": "personal models' loss on clients' own rows (mean, nats per example)",
    "backdoor_success": "backdoor success (share of triggered images)",
    "test_loss": "test loss (nats per example)",
    "validation_loss": "validation loss (nats per example)",
    "train_loss": "training loss (nats per example)",
    "learning_rate_result": "learning rate after the last round",
    "uplink_bytes": "bytes of updates",
    "downlink_bytes": "bytes of models and requests",
    "wasted_bytes": "bytes to and from clients whose update is not in any sum",
    "megabytes": "megabytes sent and received",
    "test_rounds_to_target": "rounds to the target",
    "test_seconds_to_target": "virtual seconds to the target",
    "test_megabytes_to_target": "megabytes to the target",
    "validation_rounds_to_target": "rounds to the target (validation rows)",
    "validation_seconds_to_target": "virtual seconds to the target (validation rows)",
    "validation_megabytes_to_target": "megabytes to the target (validation rows)",
    "test_target_reached": "runs that reached the target (share)",
    "rejected_share": "share of rejected steps",
    "epsilon_spent": "example-level epsilon spent",
    "client_epsilon_spent": "client-level epsilon spent",
    "delta_spent": "example-level delta",
    "client_delta_spent": "client-level delta",
    "idle_rounds": "rounds in which no client kept a step",
    "seconds": "run time: training and averaging (seconds, on this machine)",
    "evaluation_seconds": "evaluation time (seconds, on this machine)",
    "examples_per_second": "speed (examples per second, on this machine)",
    # Of clients' reports: core/client_report.hpp.
    "rows": "rows (in the roster)",
    "examples": "gradient examples",
    "loss": "training loss (mean, nats per example)",
    "learning_rate": "learning rate (next step)",
    "rejected": "steps undone",
    "empty_lots": "releases of noise alone",
    "nonfinite": "examples left out",
    "gradient_norm": "gradient norm (mean over examples, before clipping)",
    "clipped_share": "share of clipped gradients",
    "update_norm": "norm of the update (as received)",
}

KEYS = {
    "random-fraction": "share of random data (random-fraction)",
    "batch": "batch size (examples)",
    "noise-multiplier": "noise multiplier (standard deviation over clip)",
    "clip": "clip bound (norm of a gradient)",
    "local-epochs": "local epochs per round",
}


def metric_label(metric):
    """A metric's label for an axis or a column, with its unit; for an unknown metric, its name with spaces."""
    return METRICS.get(metric) or re.sub("[_-]", " ", metric)


def title_of_metric(metric):
    """The label without its unit, for the start of a title: "Test accuracy"."""
    title = metric_label(metric).split(" (")[0]
    return title[:1].upper() + title[1:]


def key_label(key):
    """A swept key's label for an axis."""
    return KEYS.get(key) or re.sub("[_-]", " ", key)


def number_of(text):
    """The text as a finite number; None unless the whole text is one."""
    try:
        value = float(text) if re.fullmatch(r"[-+0-9.eE]+", text) else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def value_label(key, value):
    """A key's value as part of a line's name: "adadp", "random-fraction 0.33"."""
    is_name = number_of(value) is None and value not in ("true", "false")
    return value if is_name else f"{key} {value}"


def named(point):
    """The name of a point (pairs of key and value): "share 0, adadp"."""
    return ", ".join(value_label(key, value) for key, value in point if value)


def is_share(metric):
    """Whether the metric is a share, from 0 to 1."""
    return bool(re.search(r"(accuracy|share)$|^(own|personal)_accuracy|^backdoor_success$", metric))


def is_never_negative(metric):
    """Whether the metric cannot be below 0."""
    return is_share(metric) or bool(re.search(r"loss$|rate$|epsilon", metric))


def one_line(text):
    """The text without control characters and line breaks."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text)


def shortened(text, most):
    """The text, or its beginning with an ellipsis if it has more than `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"
