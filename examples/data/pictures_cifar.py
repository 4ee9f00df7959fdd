#!/usr/bin/env python3
"""32x32 images in CIFAR's binary format: pictures_cifar.py FOLDER

fedstride run --data FOLDER --model logistic --optimizer sgd --learning-rate 0.02 --rounds 3
"""
import pathlib
import sys

import numpy as np

if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
    sys.exit(__doc__)

draw = np.random.default_rng(1)
folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for part, count in ("train", 200), ("test", 40):
    y = draw.integers(0, 3, count)
    planes = draw.integers(0, 150, (count, 3, 32 * 32))
    planes[np.arange(count), y] += 100  # redder, greener or bluer
    records = np.hstack([y[:, None], planes.reshape(count, -1)]).astype(np.uint8)
    (folder / f"{part}.bin").write_bytes(records.tobytes())
