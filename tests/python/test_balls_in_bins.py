"""The curve of balls-in-bins lots computed a second time, by a Fourier transform, at random settings: no upper bound is below it."""

import math

import numpy
import pytest
from conftest import refused
from test_accounting import SETTINGS, normal, random

import fedstride
from fedstride import privacy


def lognormal_sum(mu, bins, points, last):
    """Probabilities of a mean of lognormals of mean 1, on a uniform grid, each cell split between its ends by its mean: by FFT."""
    grid = numpy.linspace(0, last, points + 1)
    with numpy.errstate(divide="ignore"):
        ends = numpy.log(grid) / mu + mu / 2
    chance = numpy.diff(normal(ends))
    mean = numpy.diff(normal(ends - mu))
    above = (mean - chance * grid[:-1]) / (grid[1] - grid[0])
    split = numpy.zeros(points + 1)
    split[:-1] += chance - above
    split[1:] += above
    size = 1 << (points * bins).bit_length() if bins <= 4 else 4 * points
    return numpy.fft.irfft(numpy.fft.rfft(split, size) ** bins, size), grid[1] - grid[0]


def test_balls_in_bins(random):
    assert privacy.balls_in_bins(1, 2, epsilon=1)["remove"] == pytest.approx(0.059206, abs=1e-6)
    for number in range(SETTINGS):
        z, epochs = random.uniform(1.0, 3), int(random.integers(1, 3))
        bins = int(random.integers(2, 5)) if number % 5 else int(random.integers(5, 30))
        epsilon = random.uniform(0.05, 1.5)
        mu = math.sqrt(epochs) / z
        found = privacy.balls_in_bins(z, bins, epochs, epsilon=epsilon)
        last = math.exp(mu * mu / 2 + 5.5 * mu)
        last = max(last, 60) if bins > 4 else last
        # The error of a grid is of second order: extrapolated from two.
        second = []
        for points in (1 << 12, 1 << 13):
            chances, width = lognormal_sum(mu, bins, points, last)
            mean = numpy.arange(len(chances)) * width / bins
            second.append(((chances * numpy.maximum(mean - math.exp(epsilon), 0)).sum(),
                           (chances * numpy.maximum(1 - math.exp(epsilon) * mean, 0)).sum()))
        remove, add = (4 * numpy.array(second[1]) - numpy.array(second[0])) / 3
        for ours, theirs, rough in ((found["remove"], remove, second[0][0]), (found["add"], add, second[0][1])):
            assert ours >= theirs - 3e-8 - 0.1 * abs(rough - theirs), (z, bins, epochs, epsilon)
            assert ours <= theirs + 4e-6 + abs(rough - theirs), (z, bins, epochs, epsilon)
    with refused(fedstride.UsageError, "bins are 0"):
        privacy.balls_in_bins(1, 0, epsilon=1)
    with refused(fedstride.UsageError, "either epsilon or delta"):
        privacy.balls_in_bins(1, 2)
