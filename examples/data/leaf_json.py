#!/usr/bin/env python3
"""Users and their samples in LEAF's format: leaf_json.py FOLDER

fedstride run --data FOLDER --partition natural --model logistic --optimizer sgd --learning-rate 0.02 --rounds 3
"""
import json
import pathlib
import sys

import numpy as np

if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
    sys.exit(__doc__)

draw = np.random.default_rng(1)
for part, count in ("train", 24), ("test", 4):
    folder = pathlib.Path(sys.argv[1]) / part
    folder.mkdir(parents=True, exist_ok=True)
    data = {}
    for user in range(10):
        y = draw.integers(0, 5, count)
        ink = draw.integers(0, 60, (count, 28, 28))
        for picture, what in zip(ink, y):
            picture[5 * what : 5 * what + 4] += 180
        data[f"f{user:04d}"] = {"x": (1 - ink.reshape(count, 784) / 255).tolist(), "y": y.tolist()}
    text = {"users": list(data), "num_samples": [count] * len(data), "user_data": data}
    (folder / "all_data_0.json").write_text(json.dumps(text))
