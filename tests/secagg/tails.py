#!/usr/bin/env python3
"""Writes the vectors of plan_test.cpp: hypergeometric tails in exact fractions."""
from fractions import Fraction
from math import comb, log2


def tail(population, marked, drawn, least):
    return Fraction(sum(comb(marked, i) * comb(population - marked, drawn - i) for i in range(least, min(marked, drawn) + 1)),
                    comb(population, drawn))


def log2_of(fraction):
    shift = max(0, fraction.denominator.bit_length() - 1000)
    return log2(fraction.numerator) - log2(fraction.denominator)


for case in ((99, 5, 20, 3), (99, 10, 40, 10), (999, 50, 60, 20), (9999, 500, 120, 40), (99999, 1000, 150, 30), (10, 3, 5, 1)):
    print("{%d, %d, %d, %d, %.12g}," % (*case, log2_of(tail(*case))))
