#!/usr/bin/env python3
"""Writes the vectors of shares_test.cpp with numpy, from the papers' formulas: rdp of noise in shares at orders 2 to 128 and 256."""
import math

import numpy as np

ORDERS = np.array([*range(2, 129), 256], float)


def epsilon(law, neighbours, step, multiplier, shares, dimension, rounds, delta):
    """In units of the clip bound; the multiplier is that of the sum."""
    distance = 2 if neighbours == "replace_one" else 1
    norm = 1 / step
    bound = min(norm + math.sqrt(dimension), math.sqrt(norm**2 + dimension / 4 + norm + math.sqrt(dimension) / 2))
    l2 = distance * bound
    l1 = min(math.sqrt(dimension) * l2, l2**2)
    variance = (multiplier / step) ** 2
    if law == "skellam":  # Agarwal, Kairouz & Liu 2021, theorem 3.5 in d dimensions
        rdp = ORDERS * l2**2 / (2 * variance) + np.minimum(((2 * ORDERS - 1) * l2**2 + 6 * l1) / (4 * variance**2),
                                                           3 * l1 / (2 * variance))
    else:  # Kairouz, Liu & Steinke 2021, proposition 14
        k = np.arange(1, shares)
        tau = 10 * np.exp(-2 * math.pi**2 * variance / shares * k / (k + 1)).sum()
        d2, d1 = l2 / math.sqrt(variance), l1 / math.sqrt(variance)
        rdp = np.minimum.reduce([ORDERS * d2**2 / 2 + tau * dimension,
                                 ORDERS / 2 * (d2**2 + 2 * d1 * tau + tau**2 * dimension),
                                 ORDERS / 2 * (d2 + math.sqrt(dimension) * tau) ** 2])
    total = rounds * rdp
    return (total + np.log1p(-1 / ORDERS) - np.log(delta * ORDERS) / (ORDERS - 1)).min()


random = np.random.default_rng(5)
for i in range(24):
    law = ("skellam", "discrete_gaussian")[i % 2]
    neighbours = ("zero_out", "replace_one")[i // 2 % 2]
    dimension = 2 ** int(random.integers(3, 23))
    shares = int(random.integers(1, 400))
    multiplier = round(float(np.exp(random.uniform(-0.7, 1.6))), 3)
    # From a hundredth of a share's deviation to half of it; Skellam up to twice it.
    step = multiplier / math.sqrt(shares) * 2.0 ** -int(random.integers(-1 if law == "skellam" else 1, 9))
    rounds = int(random.integers(1, 12))
    delta = 10.0 ** -int(random.integers(4, 9))
    value = epsilon(law, neighbours, step, multiplier, shares, dimension, rounds, delta)
    print("{NoiseLaw::%s, Neighbours::%s, %.17g, %g, %d, %d, %d, %g, %.12g}," %
          (law, neighbours, step, multiplier, shares, dimension, rounds, delta, value))
