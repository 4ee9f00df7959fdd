"""Privacy accounting: the commands of `fedstride privacy`, with their flags as keywords.

    fedstride.privacy.epsilon(sampling_rate=0.01, noise_multiplier=4, steps=10_000, delta=1e-5)

Common keywords: `accountant` ("tight", "rdp", ...), `sampling` ("poisson", "full", "shuffle"), `neighbours`, `sampling_rate` (share of
the records in a lot), `noise_multiplier` (standard deviation of the noise on the sum, divided by the clip bound), `steps` (number of
releases), `epochs`, `epsilon`, `delta`. Each function raises UsageError if one is missing or invalid. With `details=True` it returns
the dict that the program prints as JSON.

Further functions account for single mechanisms, in the same units: noise in multiples of a record's clip bound, for neighbors
that add or remove one record (or zero it out). docs/privacy-mechanisms.md has their guarantees.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ._commands import asked
from ._load import _core
from ._settings import of_command, takes
from ._types import Place, Value

Event = tuple[str, float, float, int]  # sampling, rate, noise multiplier, steps

__all__ = ["adaptive_clip_noise", "audit", "audit_scores", "balls_in_bins", "buffered_toeplitz", "calibrate", "compare", "compose",
           "delta", "epsilon", "event", "fitted_audit", "measure", "one_run", "prefix_error", "selection", "sensitivity", "steps", "toeplitz", "tree", "user_rows"]


@takes(of_command("privacy epsilon"), describe=True)
def epsilon(*, details: bool = False, **question: Value) -> Any:
    """The epsilon that an accountant proves at `delta`, rounded up; math.inf if it proves none."""
    return _answer("epsilon", "epsilon", question, details)


@takes(of_command("privacy delta"), describe=True)
def delta(*, details: bool = False, **question: Value) -> Any:
    """The delta that an accountant proves at `epsilon`; otherwise like `epsilon()`."""
    return _answer("delta", "delta", question, details)


@takes(of_command("privacy calibrate"), describe=True)
def calibrate(*, details: bool = False, **question: Value) -> Any:
    """The smallest noise multiplier that meets epsilon and delta, rounded up to a multiple of 0.001."""
    return _answer("calibrate", "noise_multiplier", question, details)


@takes(of_command("privacy steps"), describe=True)
def steps(*, details: bool = False, **question: Value) -> Any:
    """The largest number of steps within epsilon and delta."""
    return _answer("steps", "steps", question, details)


@takes(of_command("privacy compare"), describe=True)
def compare(**question: Value) -> Any:
    """Compares all accountants: returns a dict whose "accountants" has a dict for each, with "unsound" if it proves nothing."""
    return _answer("compare", None, question, True)


def event(*, noise_multiplier: float, steps: int = 1, sampling_rate: float = 1, sampling: str | None = None) -> Event:
    """Describes releases of one kind for `compose()`: `steps` clipped sums with Gaussian noise. By default `sampling` is "full" at a
    sampling rate of 1, otherwise "poisson"; also valid: "shuffle", "without-replacement", ... Use another event if noise or rate
    changes."""
    return sampling or ("full" if sampling_rate == 1 else "poisson"), sampling_rate, noise_multiplier, steps


def compose(events: Sequence[Event], *, epsilon: float | None = None, delta: float | None = None, accountant: str = "tight",
            neighbours: str = "add-remove", conversion: str = "", orders: str = "") -> float:
    """The epsilon at `delta`, or the delta at `epsilon`, of several phases of training on the same records, fixed in advance;
    otherwise like `epsilon()`.

        phases = [event(sampling_rate=0.01, noise_multiplier=4, steps=5000), event(sampling_rate=0.02, noise_multiplier=6, steps=2000)]
        compose(phases, delta=1e-5)
    """
    _one_of(epsilon, delta)
    value, remark = _core.compose(list(events), neighbours, (accountant, conversion, orders), epsilon, delta)
    if remark:
        warnings.warn(remark, stacklevel=2)
    return float(value)


@takes(of_command("privacy audit"), describe=True)
def audit(folder: Place, **flags: Value) -> dict[str, Any]:
    """Audits a run's ledger. Returns a dict of what was released and its privacy cost. Raises Error if the audit fails."""
    return asked("privacy", "audit", folder, **flags)


@takes(of_command("privacy measure"), describe=True)
def measure(folder: Place | None = None, **flags: Value) -> dict[str, Any]:
    """Trains a run's configuration again (or the one in `config=FILE`) with canaries. In the dict returned, "levels" has a dict
    per privacy level with the ledger's epsilon and the lower bounds that the canaries show (docs/privacy-mechanisms.md). Raises
    Error if a bound is above the ledger's epsilon."""
    return asked("privacy", "measure", *([] if folder is None else [folder]), **flags)


def adaptive_clip_noise(noise_multiplier: float, clients: float, count_noise: float = 0) -> dict[str, float]:
    """Splits the noise between a sum of clipped updates and the count of clients within the bound, released together (Andrew et
    al. 2021, Theorem 1): "vector" is the noise multiplier of the sum, "count" the standard deviation of the noise on the count.
    Both together cost as much as `noise_multiplier` alone. `clients` is the expected number in a round; `count_noise` 0 means
    max(clients / 20, noise_multiplier)."""
    vector, count = _core.bound_noise("adaptive", {"clip-count-noise": count_noise}, noise_multiplier, clients)
    return {"vector": vector, "count": count}


def toeplitz(steps: int, bands: int = 0) -> list[float]:
    """The first column of the lower triangular Toeplitz matrix C that minimizes sensitivity times the largest error of prefix
    sums over `steps` releases (Fichtenberger, Henzinger & Upadhyay 2023). With `bands`, C has this many bands, for records whose
    rounds are at least that many rounds apart."""
    return list(_core.toeplitz(steps, bands))


def prefix_error(coefficients: Sequence[float], steps: int) -> float:
    """The largest standard deviation of a prefix sum's error, if step t has noise (C^-1 z)_t, where z has standard deviation 1.
    Multiplied by `sensitivity`, it is the error for a noise multiplier of 1."""
    return float(_core.prefix_error([float(one) for one in coefficients], steps))


def buffered_toeplitz(buffers: int, steps: int, separation: int = 0, most: int = 0) -> dict[str, list[float]]:
    """The buffered linear Toeplitz matrix, c_t = sum of scale x decay^(t-1), that minimizes sensitivity times largest error
    (Dvijotham et al. 2024) for records with at most `most` rounds (0: as many as fit) at least `separation` apart (0: one
    round)."""
    scale, decay = _core.buffered_toeplitz(buffers, steps, separation or steps, most)
    return {"scale": list(scale), "decay": list(decay)}


def sensitivity(values: Sequence[Any], steps: int, separation: int, most: int = 0) -> dict[str, Any]:
    """The largest change of C x that one record can cause, in clip bounds, if it has at most `most` rounds (0: as many as fit),
    any two of them at least `separation` apart. `values` are the first column of a Toeplitz C, or the rows of a lower triangular
    C. "exact" says whether "value" is attained. Releasing all of C x with noise multiplier z costs as much as one release with
    z / value: epsilon(sampling="full", noise_multiplier=z / value, steps=1, delta=...) (Denisov et al. 2022)."""
    rows = [list(one) for one in values] if len(values) and hasattr(values[0], "__len__") else None
    flat = [float(one) for row in rows for one in row] if rows is not None else [float(one) for one in values]
    value, exact = _core.sensitivity(flat, steps, rows is not None, separation, most)
    return {"value": value, "exact": exact}


def tree(steps: int, separation: int = 0, trees: int = 1) -> dict[str, float]:
    """The noise that a binary tree over this many steps adds to prefix sums (DP-FTRL, Kairouz et al. 2021). "depth": the number
    of nodes that cover a step. "sensitivity": as in `sensitivity()`, for rounds at least `separation` apart (0: one round per
    tree) in each of the `trees`, one after another. "variance": of the error of the last prefix sum, over all trees, for noise of
    variance 1 per node; "better_variance": the same with Honaker's estimator."""
    depth, moved, variance, better = _core.tree(steps, separation or steps)
    return {"depth": depth, "sensitivity": moved * trees**0.5, "variance": variance * trees, "better_variance": better * trees}


def balls_in_bins(noise_multiplier: float, bins: int, epochs: int = 1, *, epsilon: float | None = None, delta: float | None = None) -> Any:
    """The privacy of records that are each in one of `bins` lots of an epoch, drawn at random and the same in every epoch (Chua
    et al. 2024). With `epsilon`, returns a dict: the deltas in both directions ("remove", "add") and the larger one ("delta");
    with `delta`, returns the epsilon. Both are proven upper bounds, from the exact pair of distributions."""
    _one_of(epsilon, delta)
    first, second = _core.draw_curve("balls-in-bins", noise_multiplier, bins, epochs, epsilon, 0.5 if delta is None else delta)
    return {"remove": first, "add": second, "delta": max(first, second)} if epsilon is not None else first


def user_rows(noise_multiplier: float, rows: int, rate: float, releases: int = 1, *, epsilon: float | None = None,
              delta: float | None = None) -> float:
    """The privacy of a person with at most `rows` rows, each clipped and in a lot with probability `rate` (ELS, Charles et al.
    2024), from the mixture-of-Gaussians pair. With `epsilon`, returns the delta of one release; with `delta`, the epsilon, which
    is exact for one release and computed by Renyi divergences for more."""
    _one_of(epsilon, delta)
    if epsilon is not None and releases != 1:
        raise _core.UsageError("delta at a given epsilon is computed only for one release; for more, give delta= instead")
    return float(_core.user_mixture(rows, rate, noise_multiplier, releases, epsilon, 0.5 if delta is None else delta))


def selection(mean: float, delta: float, *, shape: float | str = 1, rho: float | None = None, noise_multiplier: float | None = None,
              sampling_rate: float = 1, steps: int = 1) -> float:
    """The epsilon of publishing only the best result of a random number of runs, `mean` on average (Papernot & Steinke 2022).
    `shape` is the eta of the truncated negative binomial distribution (Theorem 2; 1: geometric, 0: logarithmic) or
    "poisson" (Theorem 6). A run has `steps` releases with `noise_multiplier` at `sampling_rate`, or is `rho`-zCDP."""
    if (rho is None) == (noise_multiplier is None):
        raise _core.UsageError("give either rho or noise_multiplier, the privacy of one run")
    orders, found = _core.divergences([event(noise_multiplier=noise_multiplier or 1, sampling_rate=sampling_rate, steps=steps)], "add-remove")
    if rho is not None:
        found = [rho * order for order in orders]
    runs = "poisson" if shape == "poisson" else "negative-binomial"
    return float(_core.selection(runs, mean, 0 if runs == "poisson" else float(shape), orders, found, delta))


def one_run(canaries: int, guesses: int, right: int, delta: float, confidence: float = 0.95) -> dict[str, float]:
    """Lower bounds on epsilon from one run in which a fair coin included or excluded each of `canaries`, and `right` of the
    `guesses` about them are right: "epsilon" for any mechanism (Steinke, Nasr & Jagielski 2023, Theorem 5.2), "gaussian_epsilon"
    for a mechanism with a Gaussian's trade-off curve (Mahloujifar, Melis & Chaudhuri 2024)."""
    anyone, gaussian = _core.one_run(canaries, guesses, right, delta, 1 - confidence)
    return {"epsilon": anyone, "gaussian_epsilon": gaussian}


def audit_scores(inside: Sequence[float], outside: Sequence[float], delta: float, confidence: float = 0.95) -> dict[str, float]:
    """`one_run` from scores of included and excluded canaries (higher: looks included). The bounds are the best over thresholds
    at the corners of the ROC curve's convex hull, each tested at significance (1 - confidence) / "thresholds", their number."""
    anyone, gaussian, thresholds = _core.audit_scores([float(one) for one in inside], [float(one) for one in outside], delta, 1 - confidence)
    return {"epsilon": anyone, "gaussian_epsilon": gaussian, "thresholds": thresholds}


def fitted_audit(inside: Sequence[float], outside: Sequence[float], delta: float, confidence: float = 0.95) -> dict[str, float]:
    """What canaries' scores show if they are Gaussian, as those along a known direction of each noisy release are (white box;
    Andrew et al. 2023): "mu", the distance between the means in standard deviations; "least_mu", its lower bound at this
    confidence; and "epsilon", from the lower bound. Unlike `audit_scores`, it detects halved noise with a few hundred canaries,
    but it proves nothing about other mechanisms."""
    mu, least, found = _core.fitted_audit([float(one) for one in inside], [float(one) for one in outside], delta, 1 - confidence)
    return {"mu": mu, "least_mu": least, "epsilon": found}


def _one_of(epsilon, delta):
    if (epsilon is None) == (delta is None):
        raise _core.UsageError("give either epsilon or delta")


def _answer(ask, name, question, details):
    answer = asked("privacy", ask, **question)
    return answer if details else answer[name]


def __dir__() -> list[str]:
    return __all__
