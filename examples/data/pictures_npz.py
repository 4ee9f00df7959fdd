#!/usr/bin/env python3
"""Images, labels and clients in a NumPy archive: pictures_npz.py pictures.npz

fedstride run --data pictures.npz --partition natural --model logistic --optimizer sgd --learning-rate 0.02 --rounds 3
"""
import sys

import numpy as np

if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
    sys.exit(__doc__)

draw = np.random.default_rng(1)


def pictures(count):
    """A bright bar in one of four rows, on noise: 12 x 12 bytes."""
    y = draw.integers(0, 4, count)
    x = draw.integers(0, 100, (count, 12, 12))
    for picture, label in zip(x, y):
        picture[3 * label : 3 * label + 3] += 120
    return x.astype(np.uint8), y


x, y = pictures(600)
x_test, y_test = pictures(120)
np.savez(
    sys.argv[1],
    x=x, y=y, client=draw.integers(0, 20, len(x)),
    x_test=x_test, y_test=y_test, client_test=draw.integers(0, 20, len(x_test)),
)
