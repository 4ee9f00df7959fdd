"""Means over seeds, their intervals, and paired tests."""

import math
from collections import namedtuple

import numpy as np
import pandas as pd
from scipy import special

from .labels import is_share

TIMINGS = ("seconds", "evaluation_seconds", "examples_per_second", "peak_memory_bytes")
"""Metrics that differ between repetitions of the same run."""

Statistics = namedtuple("Statistics", "n mean deviation low high")
Statistics.__doc__ = """The mean of n numbers, their standard deviation (divisor n - 1), and the mean's 95 % interval by Student's t,
for bounded numbers on the logit scale. The last three are NaN for n = 1; all but n for n = 0."""

UNBOUNDED, SHARE, DIFFERENCE_OF_SHARES = (-math.inf, math.inf), (0, 1), (-1, 1)


def is_to_target(metric):
    """True for metrics that a run lacks if it did not reach its target."""
    return metric.endswith("_to_target")


def best_lowest(metric):
    """True for metrics whose lowest value is the best."""
    return metric.endswith("loss") or is_to_target(metric)


def bounds_of(metric):
    """The least and the greatest value that a metric can have, as intervals need them."""
    return SHARE if is_share(metric) else UNBOUNDED


def interval_method(metrics):
    """How the intervals of these metrics' means are computed."""
    are_shares = [bounds_of(metric) == SHARE for metric in metrics]
    if all(are_shares):
        return "Student's t on the logit scale"
    return "Student's t" + ("; shares: on the logit scale" if any(are_shares) else "")


def statistics_of(values, least=-math.inf, most=math.inf):
    """n, mean, deviation, low and high over axis 0, without NaN. Sums differences from the first number, so that equal numbers
    have deviation 0.

    The interval of numbers from `least` to `most` is Student's t on the logit scale: with p = (mean - least) / (most - least), it
    is logit(p) ± half / (p (1 - p)), transformed back, by the delta method (Korn & Graubard 1999, for proportions)."""
    values = np.asarray(values, float)
    there = np.isfinite(values)
    n = there.sum(axis=0)
    first = np.take_along_axis(values, there.argmax(axis=0)[None], axis=0)[0]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = first + np.where(there, values - first, 0).sum(axis=0) / n
        deviation = np.sqrt(np.where(there, (values - mean) ** 2, 0).sum(axis=0) / np.where(n > 1, n - 1, np.nan))
        # Student's quantiles by n, from those of its square (F), which SciPy has to the last digits.
        quantiles = np.sqrt(np.append([np.nan, np.nan], special.fdtri(1, np.arange(1, len(values)), 0.95)))
        half = quantiles[n] * deviation / np.sqrt(n)
        span = np.subtract(most, least)
        p = (mean - least) / span
        on_logit, ends = half / span / (p * (1 - p)), (mean - half, mean + half)
        is_bounded = np.isfinite(span) & (half > 0) & (p > 0) & (p < 1)
        low, high = (np.where(is_bounded, least + span * special.expit(special.logit(p) + sign * on_logit), end)
                     for sign, end in zip((-1, 1), ends))
    return n, mean, deviation, low, high


def statistics(values, bounds=UNBOUNDED):
    """The Statistics of a list of numbers, which lie within the bounds."""
    if len(values) == 0:
        return Statistics(0, *[math.nan] * 4)
    n, *others = statistics_of(np.asarray(values, float)[:, None], *bounds)
    return Statistics(int(n[0]), *(float(one[0]) for one in others))


def statistics_of_frames(frames):
    """The statistics over frames (one per seed) with the same kind of index, as a frame with a row for each index and column that
    occur: "metric", n, mean, standard_deviation, low, high; both in ascending order. Leaves out timings."""
    frames = [frame for frame in frames if len(frame)]
    columns = sorted(set().union(*(frame.columns for frame in frames)) - set(TIMINGS))
    if not frames or not columns:
        return pd.DataFrame()
    index = frames[0].index
    for frame in frames[1:]:
        index = index.union(frame.index)
    index = index.sort_values()
    values = np.stack([frame.reindex(index=index, columns=columns).to_numpy(float) for frame in frames])
    n, *others = statistics_of(values, *np.transpose([bounds_of(column) for column in columns]))
    rows, metrics = np.nonzero(n)
    table = pd.DataFrame({"metric": np.asarray(columns, object)[metrics], "n": n[rows, metrics]}, index=index[rows])
    for name, numbers in zip(("mean", "standard_deviation", "low", "high"), others):
        table[name] = numbers[rows, metrics]
    return table


def paired_p(differences):
    """The two-sided p-value of the paired t-test that the mean difference is 0; 1 if all differences are 0; NaN if they are all
    equal but not 0, or fewer than two."""
    if len(differences) < 2:
        return math.nan
    all_of = statistics(differences)
    if all_of.deviation == 0:
        return 1.0 if all_of.mean == 0 else math.nan
    t = abs(all_of.mean) / (all_of.deviation / math.sqrt(all_of.n))
    return float(2 * special.stdtr(all_of.n - 1, -t))


def holm(p_values):
    """The p-values with Holm's correction (1979) for their number; NaN (no test) stays."""
    p_values = np.asarray(p_values, float)
    order, tested = np.argsort(p_values, kind="stable"), np.isfinite(p_values).sum()  # NaN comes last
    corrected = np.full(len(p_values), math.nan)
    corrected[order] = np.maximum.accumulate(np.minimum(p_values[order] * (tested - np.arange(len(order))), 1))
    return corrected.tolist()
