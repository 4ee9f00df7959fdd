#!/usr/bin/env python3
"""Makes the seeds of hdf5_fuzz: hdf5_seeds.py FOLDER. Small files of every kind of examples that the reader knows."""
import pathlib
import sys

import h5py
import numpy as np

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
text = h5py.string_dtype()


def made(name, libver="earliest"):
    return h5py.File(folder / name, "w", libver=libver)


for name, libver in ("pixels", "earliest"), ("pixels_latest", "latest"):
    with made(name, libver) as file:
        for writer in "f0", "f1":
            file[f"examples/{writer}/pixels"] = np.arange(8, dtype=np.float32).reshape(2, 2, 2) / 255
            file[f"examples/{writer}/label"] = np.array([1, 0], np.int32)
with made("image_packed") as file:
    image = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)
    file.create_dataset("examples/0/image", data=image, chunks=(1, 4, 4, 3), compression="gzip", shuffle=True, fletcher32=True)
    file["examples/0/label"] = np.array([7, 0])
with made("values") as file:
    file["examples/a/x"] = np.arange(6, dtype=">f8").reshape(2, 3)
    file["examples/a/y"] = np.array([0.5, -1], np.float16)
with made("words") as file:
    file["examples/a/x"] = np.arange(4, dtype=np.int64).reshape(2, 2)
    file["examples/a/y"] = np.array([b"cat", b"dog"])
with made("snippets") as file:
    file.create_dataset("examples/HAMLET/snippets", data=["to be", "or not"], dtype=text)
with made("tokens") as file:
    file.create_dataset("examples/u/tokens", data=["a b a", "c"], dtype=text)
