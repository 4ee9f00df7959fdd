#!/usr/bin/env python3
"""Images of another size, with labels, in MNIST's format: pictures_idx.py FOLDER

fedstride run --data FOLDER --model logistic --optimizer sgd --learning-rate 0.02 --rounds 3
"""
import pathlib
import struct
import sys

import numpy as np

if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
    sys.exit(__doc__)

draw = np.random.default_rng(1)
folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def write(path, array):
    header = struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(header + array.astype(np.uint8).tobytes())


for part, count in ("train", 300), ("t10k", 60):
    y = draw.integers(0, 12, count)
    x = draw.integers(0, 60, (count, 12, 20))
    x[np.arange(count), y] += 180
    write(folder / f"{part}-images-idx3-ubyte", x)
    write(folder / f"{part}-labels-idx1-ubyte", y)
