#!/usr/bin/env python3
"""Writers and their characters, as in TensorFlow Federated's EMNIST: writers_hdf5.py FOLDER [WRITERS [ROWS]]

fedstride run --data FOLDER --partition natural --cohort fixed --cohort-size 5 --model logistic \\
  --optimizer sgd --learning-rate 0.02 --rounds 3
"""
import pathlib
import sys

try:
    import h5py
    import numpy as np
except ModuleNotFoundError as error:
    sys.exit(f"writers_hdf5.py: {error.name} is not installed; it is in Debian's python3-{error.name}, or 'pip install {error.name}'")

if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
    sys.exit(__doc__)

folder = pathlib.Path(sys.argv[1])
writers = int(sys.argv[2]) if len(sys.argv) > 2 else 12
rows = int(sys.argv[3]) if len(sys.argv) > 3 else 30
draw = np.random.default_rng(1)
folder.mkdir(parents=True, exist_ok=True)
for part, count in ("train", rows), ("test", max(1, rows // 6)):
    with h5py.File(folder / f"letters_{part}.h5", "w") as file:
        for writer in range(writers):
            label = draw.integers(0, 10, count).astype(np.int32)
            ink = draw.integers(0, 60, (count, 28, 28), dtype=np.uint8)
            for picture, what in zip(ink, label):
                picture[2 * what + 3 : 2 * what + 6, 4:24] += 150
            group = file.create_group(f"examples/f{writer:04d}_{writer % 50:02d}")
            group["pixels"] = 1 - ink.astype(np.float32) / 255  # white is 1
            group["label"] = label
