#!/usr/bin/env python3
"""Roles and their lines, as in TensorFlow Federated's Shakespeare; sentences, as in its StackOverflow.

speeches_hdf5.py FOLDER makes FOLDER/lines_train.h5 and FOLDER/sentences/questions_train.h5
fedstride data show FOLDER
fedstride data show FOLDER/sentences
"""
import pathlib
import sys

try:
    import h5py
except ModuleNotFoundError as error:
    sys.exit(f"speeches_hdf5.py: {error.name} is not installed; it is in Debian's python3-{error.name}, or 'pip install {error.name}'")

if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
    sys.exit(__doc__)

lines = {
    "HAMLET": ["To be, or not to be: that is the question:", "The rest is silence."],
    "OPHELIA": ["Good my lord, how does your honour for this many a day?"],
}
sentences = {
    "00000001": ["how do i sort a list in python", "how do i read a file"],
    "00000002": ["what is a segmentation fault in c and how do i find it without a debugger on a machine far away from me"],
}
folder = pathlib.Path(sys.argv[1])
(folder / "sentences").mkdir(parents=True, exist_ok=True)
with h5py.File(folder / "lines_train.h5", "w") as file:
    for role, said in lines.items():
        file.create_dataset(f"examples/{role}/snippets", data=said, dtype=h5py.string_dtype())
with h5py.File(folder / "sentences" / "questions_train.h5", "w") as file:
    for user, texts in sentences.items():
        file.create_dataset(f"examples/{user}/tokens", data=texts, dtype=h5py.string_dtype())
        file.create_dataset(f"examples/{user}/tags", data=["python"] * len(texts), dtype=h5py.string_dtype())
