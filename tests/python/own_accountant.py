"""What releases cost, computed with numpy alone and by other ways than the program's: exact for Gaussian releases of every record, else
an interval in which the true epsilon is (the privacy losses rounded down, and up, to a grid). A release is (sampling, neighbours, rate,
noise multiplier, count)."""

import dataclasses
import functools
import math

import numpy as np

REACH = 12  # deviations of the noise beyond which outcomes count as lost: 1e-32 of them


def normal_cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def normal_cdfs(x):
    """Of an array; erfc is smooth, and numpy has none."""
    return np.fromiter((0.5 * math.erfc(-value / math.sqrt(2)) for value in x), float, len(x))


def gaussian_delta(mu, epsilon):
    """Balle & Wang 2018, Theorem 8, of N(0, 1) and N(mu, 1)."""
    other = normal_cdf(-mu / 2 - epsilon / mu)
    return normal_cdf(mu / 2 - epsilon / mu) - (math.exp(epsilon + math.log(other)) if other > 0 else 0)


def smallest_epsilon(delta_at, delta):
    if delta_at(0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while delta_at(high) > delta:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high


def distance(neighbours):
    return 2 if neighbours == "replace-one" else 1


@dataclasses.dataclass(frozen=True)
class Pair:
    """The loss log P/Q under P of one release: of "remove" and "add" (the record is in P alone, in Q alone) or "replace". It rises
    with the outcome x of the noisy sum in P's direction."""

    kind: str
    rate: float
    sigma: float

    def loss(self, x):
        s, q = self.sigma, self.rate
        drawn = lambda x: np.logaddexp(math.log1p(-q) if q < 1 else -math.inf, math.log(q) + (2 * x - 1) / (2 * s * s))
        if self.kind == "remove":
            return drawn(x)
        if self.kind == "add":
            return -drawn(-x)
        return drawn(x) - drawn(-x)

    def outcome(self, loss):
        """The x at which the loss is that; infinite where it never is."""
        s, q = self.sigma, self.rate
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.kind == "remove":
                inside = (np.exp(loss) - (1 - q)) / q
                return np.where(inside > 0, s * s * np.log(np.maximum(inside, 1e-300)) + 0.5, -math.inf)
            if self.kind == "add":
                inside = (np.exp(-loss) - (1 - q)) / q
                return np.where(inside > 0, -s * s * np.log(np.maximum(inside, 1e-300)) - 0.5, math.inf)
            # u = e^(x / s^2): q a u^2 + (1 - q)(1 - e^l) u - q a e^l = 0, a = e^(-1 / 2 s^2)
            a, b = q * math.exp(-1 / (2 * s * s)), (1 - q) * -np.expm1(loss)
            root = np.sqrt(b * b + 4 * a * a * np.exp(loss))
            return s * s * np.log(np.where(b > 0, 2 * a * np.exp(loss) / (b + root), (root - b) / (2 * a)))

    def below(self, x):
        """The probability under P of outcomes up to x."""
        if self.kind == "add":
            return normal_cdfs(x / self.sigma)
        return (1 - self.rate) * normal_cdfs(x / self.sigma) + self.rate * normal_cdfs((x - 1) / self.sigma)

    def ends(self):
        high = REACH * self.sigma + (0 if self.kind == "add" else 1)
        return float(self.loss(-REACH * self.sigma)), float(self.loss(high))


@functools.lru_cache(maxsize=64)
def _masses(pair, step):
    """The first bin's number and the probability of each bin ((k - 1) step, k step]."""
    low, high = pair.ends()
    first, last = math.floor(low / step), math.ceil(high / step) + 1
    edges = np.arange(first, last + 1) * step
    return first + 1, np.diff(pair.below(pair.outcome(edges)))


def _deltas(parts, upwards):
    """The curve delta(epsilon) of composed (pair, count)s, each loss rounded up or down to a grid."""
    count = sum(count for _, count in parts)
    step = 4e-3 / count
    assert max(pair.ends()[1] for pair, _ in parts) < 1e6 * step, "noise too small to be counted on a grid"
    coarse = [(pair, count, *_masses(pair, max(step, (pair.ends()[1] - pair.ends()[0]) / 2000))) for pair, count in parts]
    mean = variance = reach = 0
    for pair, count, first, mass in coarse:
        size = max(step, (pair.ends()[1] - pair.ends()[0]) / 2000)
        losses = (first + np.arange(len(mass))) * size
        middle = losses @ mass
        mean += count * middle
        variance += count * (mass @ (losses - middle) ** 2)
        reach = max(reach, *map(abs, pair.ends()))
    width = 2 * (abs(mean) + 12 * math.sqrt(variance) + reach)
    size = 1 << math.ceil(math.log2(width / step))
    assert size <= 1 << 22, "noise too small to be counted on a grid"
    spectrum = 1
    for pair, count in parts:
        first, mass = _masses(pair, step)
        ring = np.zeros(size)
        np.add.at(ring, (first - (0 if upwards else 1) + np.arange(len(mass))) % size, mass)
        spectrum = spectrum * np.fft.rfft(ring) ** count
    ring = np.fft.irfft(spectrum, size)
    losses = (np.arange(size) - size // 2) * step
    mass = np.roll(ring, size // 2)
    beyond = np.cumsum(mass[::-1])[::-1]
    weighed = np.cumsum((mass * np.exp(-np.maximum(losses, -600)))[::-1])[::-1]

    def delta(epsilon):
        at = int(np.searchsorted(losses, epsilon, side="right"))
        return 0.0 if at >= size else float(beyond[at] - math.exp(epsilon) * weighed[at])

    return delta


@functools.cache
def interval(releases, delta):
    """(low, high) around the true epsilon of a tuple of releases."""
    releases = [release for release in releases if release[4] > 0]
    if not releases:
        return 0.0, 0.0
    mu2 = sum(count * (distance(neighbours) / noise) ** 2
              for sampling, neighbours, rate, noise, count in releases if sampling in ("full", "shuffle"))
    drawn = [release for release in releases if release[0] not in ("full", "shuffle")]
    if not drawn:
        exact = smallest_epsilon(lambda epsilon: gaussian_delta(math.sqrt(mu2), epsilon), delta)
        return exact, exact
    replaces = drawn[0][1] == "replace-one"
    low = high = 0.0
    for kind in ["replace"] if replaces else ["remove", "add"]:
        parts = [(Pair(kind, rate, noise), count) for _, _, rate, noise, count in drawn]
        if mu2 > 0:
            parts.append((Pair("remove", 1, 1 / math.sqrt(mu2)), 1))
        low, high = (max(bound, smallest_epsilon(_deltas(parts, upwards), delta)) for bound, upwards in ((low, False), (high, True)))
    return low, high


@functools.cache
def without_replacement_epsilon(releases, delta):
    """An upper bound by whole Renyi orders: Wang, Balle & Kasiviswanathan 2019, Theorem 27, for noise that has no largest loss; from
    there to (epsilon, delta) by Canonne, Kamath & Steinke 2020, Proposition 12."""
    best = math.inf
    for order in range(2, 257):
        total = 0.0
        for _, neighbours, rate, noise, count in releases:
            at = lambda j: j * (distance(neighbours) / noise) ** 2 / 2
            if rate == 1:
                total += count * at(order)
                continue
            chosen = lambda j: math.lgamma(order + 1) - math.lgamma(j + 1) - math.lgamma(order - j + 1)
            second = math.log(min(4 * math.expm1(at(2)), 2 * math.exp(at(2)))) if at(2) < 600 else math.log(2) + at(2)
            terms = [0.0, 2 * math.log(rate) + chosen(2) + second]
            terms += [j * math.log(rate) + chosen(j) + (j - 1) * at(j) + math.log(2) for j in range(3, order + 1)]
            total += count * min(at(order), np.logaddexp.reduce(terms) / (order - 1))
        best = min(best, total + math.log1p(-1 / order) - math.log(delta * order) / (order - 1))
    return max(0.0, best)
