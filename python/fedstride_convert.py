"""Converts data of other formats to a NumPy archive: HDF5, LEAF's JSON, folders of images, idx, CIFAR's binary form, libsvm,
MATLAB; and tables in JSON, Excel or ARFF to CSV (docs/data.md). Needs NumPy, and h5py, Pillow, openpyxl or SciPy for their
formats, never the compiled module. `fedstride data convert` and `--data` start it:

    python3 -m fedstride_convert OPTIONS.json   # {"format": "hdf5", "train": ["letters_train.h5"], "out": "letters.npz", ...}

The archive has x and y (under the names that `inputs` and `label` give), client if the data name clients, each also with
_test, and what the format states: classes, vocabulary, class_names (of labels that are numbers), words (of sentences), notes.
An error is one line on standard output, with exit code 2 for an invalid option and 1 for invalid data; progress goes to a
terminal on standard error.
"""

import atexit
import collections
import csv
import functools
import gzip
import importlib
import itertools
import json
import logging
import os
import re
import resource
import signal
import stat
import sys
import time
import types
import warnings
import zipfile

AT_ONCE = 1 << 22  # bytes written at once
ALWAYS_UNPACKED, MAX_UNPACKING = 64 << 20, 256  # as in data/input_file.hpp
MAX_WRITTEN = 8  # times what may be unpacked: a number takes more bytes than its text, and each row has its client's name
ALWAYS_IN_MEMORY, MAX_IN_MEMORY = 2 << 30, 16  # the process may use so many bytes, and so many times the size of the data
MAX_NAME = 1000  # bytes of a client's or a label's name
ALWAYS_SECONDS, SECONDS_A_MEGABYTE = 60, 60  # of processor time that the process may use, and more for each megabyte of data
MAX_PICTURE_BYTES, MAX_PIXELS, MAX_SCANS = 64 << 20, 1 << 24, 200  # scans of a JPEG file: each goes over all pixels
MAX_COLUMNS = 1 << 18  # of a table
ALWAYS_CHUNKS, BYTES_A_CHUNK = 1 << 16, 8  # of an HDF5 dataset: this many chunks, and one more for every 8 bytes of its file
ALWAYS_IN_WORKBOOK, MAX_IN_WORKBOOK, MAX_SHEETS = 4 << 20, 64, 100  # as for what is unpacked; XML takes longer to read
ALWAYS_NESTED = 1 << 20  # lists and objects in JSON, and one more for each byte of the file
PICTURE_FORMATS, PICTURE_KINDS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP", "PPM"), "PNG, JPEG, BMP, TIFF, WebP, PPM"
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
MAX_WHOLE = 9e15  # larger whole numbers are indistinguishable from their neighbors as floating-point numbers
MAX_TEXT = 1 << 16  # characters of an example


class Refused(Exception):
    """What is wrong, in one line; `code` is the exit code."""

    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


class Late(BaseException):
    """The processor time is used up. No handler of errors in data takes it for one."""


def needed(module, package):
    """The module, which is in a Debian package."""
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.split(".")[0]
        raise Refused(f"reading this format needs Python's {name}; install it with: sudo apt install {package}") from None


np = None  # NumPy, once main() has found it


def shown(name):
    return "".join(character if character.isprintable() else "?" for character in str(name)[:60])


def counted(count, noun):
    return f"{count} {noun}" + ("" if count == 1 else "s")


def bytes_of(name):
    """A client's or a label's name in UTF-8."""
    encoded = name.encode("utf-8", "replace") if isinstance(name, str) else name
    if len(encoded) > MAX_NAME:
        raise Refused(f"'{shown(name)}...' has {len(encoded)} bytes; a client's or a label's name has at most {MAX_NAME}")
    return encoded


class Bar:
    """Draws progress on standard error, in place, if that is a terminal and the work takes more than half a second."""

    def __init__(self, name):
        self.name, self.last, self.is_drawn = name, time.monotonic() + 0.4, False

    def show(self, done, total):
        if not sys.stderr.isatty() or time.monotonic() < self.last + 0.1:
            return
        if not self.is_drawn:
            atexit.register(print, file=sys.stderr)  # ends the line, also after an error
        self.last, self.is_drawn = time.monotonic(), True
        text = f"{self.name}  [{'=' * (30 * done // max(total, 1)):30}]  {100 * done // max(total, 1):3} %"
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def sizes_of(options):
    """The width and height to which images are resized; () if they are not."""
    text = getattr(options, "resize", "")
    if not text:
        return ()
    found = re.fullmatch(r"([1-9][0-9]{0,7})x([1-9][0-9]{0,7})", text)
    if not found or int(found[1]) * int(found[2]) > MAX_PIXELS:
        raise Refused(f"resize is '{shown(text)}'; valid: WIDTHxHEIGHT in pixels, such as 32x32, at most {MAX_PIXELS} in all", 2)
    if options.format != "pictures":
        raise Refused(f"resize is '{text}', but '{options.train[0]}' is no folder of images; leave the setting out", 2)
    return int(found[1]), int(found[2])


class Archive:
    """The archive to write. An array is a list of pieces of rows: NumPy's, or what has their shape and dtype and reads rows
    when it is sliced, so that only LEAF's numbers and texts are in memory as a whole."""

    def __init__(self, options):
        self.options, self.words, self.notes = options, [word.encode() for word in options.words], []
        self.source = options.train[0]
        self.bar = Bar("converting " + shown(os.path.basename(self.source)))
        self.arrays = collections.defaultdict(list)
        self.like, self.remarks = None, collections.Counter()  # the last Pictures; what was done to how many of them
        self.resize, self.resized = sizes_of(options), []  # width and height; those of images before they were resized
        self.packed = sum(os.path.getsize(file) for file in options.train + options.test if os.path.isfile(file))
        self.unpacked = self.decoded = 0  # bytes of pictures
        self.table = None  # rows of text to write as CSV in place of an archive

    def add_table(self, who, kind, header, rows):
        """Takes a table of texts, numbers and None. The program must read CSV (`tables`), which has no test part."""
        if not getattr(self.options, "tables", False) or len(self.options.train + self.options.test) > 1:
            raise Refused(f"{who} is {kind}; it must be written as CSV first, with pandas by to_csv(..., index=False)")
        if len(header) > MAX_COLUMNS:
            raise Refused(f"{who} has {len(header)} columns; valid: at most {MAX_COLUMNS}")
        self.table, size = [], 0
        for number, row in enumerate(itertools.chain([header], rows), -1):
            if len(row) != len(header) or any(isinstance(one, (list, dict)) for one in row):
                raise Refused(f"{who}, record {number} (counted from 0): it must have {len(header)} numbers or texts")
            self.table.append([int(one) if isinstance(one, bool) else "" if one is None else one for one in row])
            size += sum(1 + len(one) if isinstance(one, str) else 8 for one in self.table[-1])
            self.check_size(size)

    def check_size(self, size, times=1):
        """Raises Refused if the size in bytes exceeds that many times what files of this size may unpack to."""
        most = times * (ALWAYS_UNPACKED + MAX_UNPACKING * self.packed)
        if size > most:
            raise Refused(f"'{self.source}' unpacks to {size} bytes; files of {self.packed} bytes may hold at most {most}")

    def check_unpacked(self, rows, files):
        """Counts the bytes of these rows of pictures before they are read."""
        self.unpacked += rows.dtype.itemsize * int(np.prod(rows.shape, dtype=object))
        self.packed += sum(os.path.getsize(file) for file in files if os.path.isfile(file))
        self.check_size(self.unpacked)

    def add(self, x, y, client=None, as_test=False):
        """Adds rows: examples, answers and the client that they belong to."""
        end = "_test" if as_test else ""
        self.arrays[(self.options.inputs or "x") + end].append(x)
        self.arrays[(self.options.label or "y") + end].append(y)
        if client is not None:
            owners = np.broadcast_to(np.array(bytes_of(client)), (len(x),))
            self.arrays[(self.options.client_column or "client") + end].append(owners)

    def state(self, **facts):
        """Sets facts: numbers, or lists of texts."""
        for name, fact in facts.items():
            self.arrays[name] = [np.atleast_1d(np.array([one.encode() for one in fact] if isinstance(fact, list) else fact))]

    def write(self):
        if self.table:
            with open(self.options.out, "w", newline="", encoding="utf-8", errors="replace") as file:
                return csv.writer(file).writerows(self.table)
        self.done = self.total = 0
        for name, pieces in self.arrays.items():
            dtype, each = self.common(name, pieces)
            self.total += dtype.itemsize * int(np.prod([sum(map(len, pieces)), *each], dtype=object))
        self.check_size(self.total, MAX_WRITTEN)
        with open(self.options.out, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            for name in list(self.arrays):
                self.write_array(archive, name)
            # Remarks are counted while rows are read.
            if self.resized:
                (width, height), ranges = self.resize, [f"{min(one)} to {max(one)}" for one in zip(*self.resized)]
                self.remarks[f"resized to {width}x{height} from widths of {ranges[0]} and heights of {ranges[1]}, bilinear as by"
                             " Pillow"] = len(self.resized)
            self.notes += [f"{counted(count, 'image')}: {text}" for text, count in self.remarks.items()]
            if self.notes:
                self.state(notes=self.notes)
                self.write_array(archive, "notes")

    def write_array(self, archive, name):
        pieces = self.arrays[name]
        dtype, each = self.common(name, pieces)
        shape = (sum(map(len, pieces)), *each)
        step = max(1, AT_ONCE // max(1, dtype.itemsize * int(np.prod(each))))
        with archive.open(name + ".npy", "w", force_zip64=True) as member:
            descr = np.lib.format.dtype_to_descr(dtype)
            np.lib.format.write_array_header_2_0(member, {"descr": descr, "fortran_order": False, "shape": shape})
            for rows in (piece[at:at + step] for piece in pieces for at in range(0, len(piece), step)):
                self.done += member.write(np.ascontiguousarray(rows, dtype).tobytes())
                self.bar.show(self.done, self.total)

    def common(self, name, pieces):
        """The type of all pieces and the dimensions of a row."""
        where = f"'{self.source}', key '{name}': "
        each = pieces[0].shape[1:]
        for piece in pieces:
            if piece.shape[1:] != each:
                other, first = ("x".join(map(str, shape)) or "one number" for shape in (piece.shape[1:], each))
                raise Refused(where + f"rows of {other} after rows of {first}; all must have the same shape")
        kinds = {{"f": "floating-point", "S": "text"}.get(piece.dtype.kind, "whole") for piece in pieces}
        is_answer = name.removesuffix("_test") == (self.options.label or "y")
        if len(kinds) > 1 and not (is_answer and "text" not in kinds):
            raise Refused(where + f"{' and '.join(sorted(kinds))} values; all must have the same type")
        return np.result_type(*{piece.dtype for piece in pieces}), each


def most_unpacked(path):
    return ALWAYS_UNPACKED + MAX_UNPACKING * os.path.getsize(path)


def contents(path):
    """A file's bytes, unpacked if it is gzipped."""
    with open(path, "rb") as file:
        if file.peek(2)[:2] != b"\x1f\x8b":
            return file.read()
        try:
            data = gzip.GzipFile(fileobj=file).read(most_unpacked(path) + 1)
        except (EOFError, OSError, gzip.zlib.error) as error:
            raise Refused(f"'{path}' is damaged: {error}") from None
    if len(data) > most_unpacked(path):
        raise Refused(f"'{path}' unpacks to more than the {most_unpacked(path)} bytes that a file of its size may hold")
    return data


# Text as tokens. A character is a byte, or one token for all others.

LEAF_LETTERS = b"\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}"  # language_utils.py
# CHAR_VOCAB of TensorFlow Federated (simulation/baselines/shakespeare)
FEDERATED_LETTERS = b"dhlptx@DHLPTX $(,048cgkoswCGKOSW[_#'/37;?bfjnrvzBFJNRVZ\"&*.26:\naeimquyAEIMQUY]!%)-159\r"
SNIPPET, SENTENCE, FREQUENT_WORDS = 80, 20, 10000  # McMahan et al. 2017; Reddi et al. 2021


class Letters:
    """Tokens of characters: letters from `first` on, one for all others, and those of `more` names."""

    def __init__(self, letters, first, *more):
        self.other = first + len(letters)
        self.tokens = np.full(256, self.other, np.uint16)
        self.tokens[np.frombuffer(letters, np.uint8)] = np.arange(first, self.other, dtype=np.uint16)
        names = [{"\n": "newline", "\r": "return", " ": "blank"}.get(letter, letter) for letter in letters.decode()]
        self.names = ["pad"] * first + names + ["other", *more]

    def of(self, text):
        """The tokens of UTF-8, of which only a character's first byte counts."""
        array = np.frombuffer(text, np.uint8)
        return self.tokens[array[(array & 0xC0) != 0x80]]


def snippets(texts, letters):
    """Rows of 81 tokens: each text with its begin and end, padded."""
    rows = [np.pad(letters.of(text), 1, constant_values=(letters.other + 1, letters.other + 2)) for text in texts]
    return np.concatenate([np.pad(row, (0, -len(row) % (SNIPPET + 1))) for row in rows]).reshape(-1, SNIPPET + 1)


def sentences(texts, words):
    """Rows of 21 tokens: begin, the first 20 words and, if there are fewer, the end and padding."""
    numbers = {word: number for number, word in enumerate(words, 1)}
    other = len(words) + 1
    rows = np.zeros((len(texts), SENTENCE + 1), np.uint16)
    for row, text in zip(rows, texts):
        tokens = [other + 1, *(numbers.get(word, other) for word in text.split(b" ") if word), other + 2][:SENTENCE + 1]
        row[:len(tokens)] = tokens
    return rows


FACTS = ("classes", "vocabulary", "mean", "deviation", "shape", "columns")
USUAL = {"x": ("x", "images", "image", "data", "features", "inputs"), "y": ("y", "labels", "label", "targets", "target"),
         "client": ("client",)}


def in_part(base, *parts):
    """Names of an array of a part: x_train, train_x, x-train, train_set_x, xtrain."""
    return [name for part in parts for sign in "_-" for name in (
        base + sign + part, part + sign + base, f"{part}_set_{base}", base + part, part + base)]


def add_arrays(archive, who, keys, read, as_test):
    """Adds a file's arrays, read(key), by their names: an archive's, or for x and y also usual ones, in any case."""
    options = archive.options
    given = {key.lower().replace("/", "_"): key for key in keys} | {key: key for key in keys}
    used = {given[fact]: fact for fact in FACTS if fact in given}
    roles = {"x": options.inputs, "y": options.label, "client": options.client_column}
    for role, chosen in [*roles.items()] + [("client", "client")] * bool(options.client_column):
        bases = [chosen] if chosen else USUAL[role]
        base = next((one for one in bases if not given.keys().isdisjoint([one, *in_part(one, "train", "training")])), bases[0])
        parts = [[base, *in_part(base, "train", "training")], in_part(base, "test", "testing"),
                 in_part(base, "val", "valid", "validation")]
        train, test, validation = (sorted({given[name] for name in names if name in given}) for names in parts)
        if not test and not as_test and not options.test:
            test = validation
        for key in train + test:
            name = (chosen or role) + "_test" * (as_test or key in test)
            if name in archive.arrays or name in used.values():
                raise Refused(f"{who}: '{shown(key)}' is a second array for '{name}'; each part has one")
            used[key] = name
        if train and base != (chosen or role):
            setting = {"x": "inputs", "y": "label"}[role]
            archive.notes.append(f"{setting} auto: '{shown(train[0])}'; to change it: --{setting}")
    unused = ", ".join(shown(key) for key in keys if key not in used)[:400]
    for name in (options.inputs or "x", options.label or "y"):
        if {name, name + "_test"}.isdisjoint(used.values()):
            raise Refused(f"{who} has no group 'examples' and no array '{name}'" + f", but {unused}" * bool(unused) + "; valid:"
                          " arrays as in a NumPy archive, such as x and y, or those that --inputs and --label name; or"
                          " examples/CLIENT/KEY")
    for key, name in used.items():
        archive.arrays[name] = [read(key)]
    if unused:
        archive.notes.append(f"arrays of {who} that are not used: {unused}")


class Hdf5:
    """An HDF5 file of plain arrays with an archive's names, or in TensorFlow Federated's layout examples/CLIENT/KEY, whose keys
    determine what is read: x and y, pixels or image and label (--inputs and --label name others), snippets (Shakespeare) or
    tokens (StackOverflow)."""

    def __init__(self, path, archive, as_test):
        os.environ["HDF5_PLUGIN_PRELOAD"] = "::"  # loads no plugin that a file requests
        self.h5py = needed("h5py", "python3-h5py")
        self.name, self.archive, self.as_test, self.options = f"'{path}'", archive, as_test, archive.options
        self.most = self.left = most_unpacked(path)
        self.most_chunks = ALWAYS_CHUNKS + os.path.getsize(path) // BYTES_A_CHUNK
        try:
            self.file = self.h5py.File(path, "r", locking=False)
        except OSError:
            raise Refused(f"{self.name} cannot be read as an HDF5 file: it is damaged or truncated") from None

    def linked(self, group, key, kind, who):
        """The object under this key, which must be of this kind and in the file itself."""
        link = group.get(key, getlink=True)
        if link is None:
            raise Refused(f"{who} has no key '{key}'")
        if not isinstance(link, self.h5py.HardLink) or not isinstance(group[key], kind):
            raise Refused(f"{who}, key '{shown(key)}' is a link or not {'a group' if kind is self.h5py.Group else 'an array'}; "
                          "valid: arrays in the file itself, as in a NumPy archive or under examples/CLIENT/KEY")
        return group[key]

    def array(self, group, key, who):
        """The array under this key: numbers to read when sliced, or texts up to their first 0."""
        data = self.linked(group, key, self.h5py.Dataset, who)
        size = data.dtype.itemsize * int(data.size or 0)
        is_text = self.h5py.check_string_dtype(data.dtype) is not None
        wrong = None
        if data.is_virtual or data.external:
            wrong = "its numbers are in another file; they must be in this one"
        elif data.shape is None or data.ndim > 4:
            wrong = "it has no dimensions or more than 4, the first of which counts the examples"
        elif size > self.left or (size and not data.id.get_storage_size()):
            wrong = f"it claims {size} bytes; the file has none of them, or may still hold no more than {self.left}"
        elif data.chunks and (each := data.dtype.itemsize * int(np.prod(data.chunks, dtype=object))) > self.most:
            wrong = f"it claims {each} bytes for a chunk; the file may hold no more than {self.most}"
        elif data.chunks and (count := int(np.prod([-(-size // one) for size, one in zip(data.shape, data.chunks)],
                                                   dtype=object))) > self.most_chunks:
            wrong = f"it claims {count} chunks; a file of its size may have {self.most_chunks}"
        elif not is_text and (data.dtype.kind not in "biuf" or self.h5py.check_enum_dtype(data.dtype)):
            wrong = "its elements are of another type; valid: integers, floating-point numbers, booleans, strings"
        if wrong:
            raise Refused(f"{who}, key '{shown(key)}': {wrong}")
        self.left -= size
        if is_text:
            return np.array([text.split(b"\0")[0] for text in np.atleast_1d(data[()]).tolist()] or [b""])[:data.size]
        if data.ndim == 0 or data.dtype.itemsize > 8:
            return np.atleast_1d(data[()]).astype("f8" if data.dtype.itemsize > 8 else data.dtype)
        return data

    def read(self):
        if self.file.get("examples", getlink=True) is None:
            return self.read_plain()
        examples = self.linked(self.file, "examples", self.h5py.Group, self.name)
        if self.options.client_column:
            raise Refused(f"client-column (or user-column) is '{self.options.client_column}'; {self.name} has a group for each "
                          "client, named after it: leave the setting out", 2)
        whose = {client: f"{self.name}, client '{shown(client)}'" for client in sorted(examples, key=os.fsencode)}
        groups = [(client, self.linked(examples, client, self.h5py.Group, who), who) for client, who in whose.items()]
        if not groups:
            raise Refused(f"{self.name}: 'examples' has no clients")
        inputs, label = self.keys(*groups[0][1:])
        if inputs == "tokens" and not self.archive.words and not self.as_test:
            self.archive.words = self.frequent_words(groups)
        for done, (client, group, who) in enumerate(groups):
            self.add(client, group, who, inputs, label)
            self.archive.bar.show(done, len(groups))

    def read_plain(self):
        paths = list(self.file)
        for part in self.file:  # also train/images, as 'train_images'
            is_own = isinstance(self.file.get(part, getlink=True), self.h5py.HardLink)
            if is_own and isinstance(self.file[part], self.h5py.Group):
                paths += [f"{part}/{key}" for key in self.file[part]]
                paths.remove(part)
        add_arrays(self.archive, self.name, paths, lambda path: self.array(self.file, path, self.name), self.as_test)

    def keys(self, group, who):
        """The keys of examples and answers; no answers if they are the examples' next tokens."""
        inputs, label = self.options.inputs, self.options.label
        for key in ("snippets", "tokens"):
            if key in group and not label:
                return key, None
        for key in [inputs] if inputs else ("x", "pixels", "image"):
            for answer in [label] if label else ("y", "label"):
                if key in group and answer in group:
                    return key, answer
            if key in group:
                raise Refused(f"{who} has '{key}' but no '{label or 'y'}'; valid: y, label or the key that --label names")
        raise Refused(f"{who} has no " + (f"key '{inputs}'" if inputs else "known key") + "; valid: x, pixels or image with y"
                      " or label, or those that --inputs and --label name; snippets; or tokens")

    def texts(self, group, key, who):
        texts = self.array(group, key, who)
        if texts.ndim != 1 or texts.dtype.kind != "S":
            raise Refused(f"{who}, key '{key}': it must be a list of strings")
        return texts.tolist()

    def frequent_words(self, groups):
        if self.options.protected:
            raise Refused(f"{self.name}: under dp the vocabulary must not be chosen from the rows; give it with --words FILE")
        texts = (text for _, group, who in groups for text in self.texts(group, "tokens", who))
        counts = collections.Counter(word for text in texts for word in text.split(b" ") if word)
        self.left = self.most
        return sorted(counts, key=lambda word: (-counts[word], word))[:FREQUENT_WORDS]

    def add(self, client, group, who, inputs, label):
        x = self.array(group, inputs, who) if label else self.texts(group, inputs, who)
        if len(x) == 0:
            if self.as_test:
                return
            raise Refused(f"{who}, key '{inputs}': no rows; each client needs at least one")
        x, y = (x, self.array(group, label, who)) if label else self.sequences(x, inputs)
        if label and len(y) != len(x):
            raise Refused(f"{who} has {counted(len(x), 'row')} of '{inputs}' and {len(y)} of '{label}'; each example needs one")
        self.archive.add(x, y, client, self.as_test)

    def sequences(self, texts, inputs):
        """Tokens and the token after each, or -1 (no answer) for padding."""
        size = 6 * len(texts) * (SNIPPET if inputs == "snippets" else SENTENCE)
        if size > self.left:
            raise Refused(f"{self.name} unpacks to {size} bytes of '{inputs}'; it may still hold no more than {self.left}")
        self.left -= size
        if inputs == "snippets":
            letters = Letters(FEDERATED_LETTERS, 1, "begin", "end")
            names, rows = letters.names, snippets(texts, letters)
        else:
            words = self.archive.words
            names, rows = ["pad", *map(bytes.decode, words), "other", "begin", "end"], sentences(texts, words)
        if "class_names" not in self.archive.arrays:
            self.archive.state(classes=len(names), vocabulary=len(names), class_names=names)
            if inputs == "tokens":
                self.archive.arrays["words"] = [np.array(words)]
        return rows[:, :-1], np.where(rows[:, 1:] == 0, -1, rows[:, 1:].astype(np.int32))


class Leaf:
    """A LEAF file (Caldas et al. 2018): {"users": [name, ...], "num_samples": [n, ...], "user_data": {name: {"x": [...], "y":
    [...]}}}. An x is a number, a list of numbers (of lists, for images) or a text, a token for each character; a y is a number,
    a list of numbers, a text or, after a text, the character that follows."""

    def __init__(self, path, archive, as_test):
        self.name, self.path, self.archive, self.as_test = f"'{path}'", path, archive, as_test
        self.letters = Letters(LEAF_LETTERS, 0)

    def wrong(self, what):
        return Refused(f"{self.name}{what}; valid: the LEAF format with users, num_samples and user_data, or a list of records")

    def read(self):
        parsed = functools.partial(json.loads, object_pairs_hook=self.unique)
        try:
            text = contents(self.path).decode("utf-8-sig")
            nested, most = text.count("[") + text.count("{"), ALWAYS_NESTED + os.path.getsize(self.path)
            if nested > most:
                raise Refused(f"{self.name} unpacks to {nested} lists and objects; a file of its size may hold at most {most}")
            try:
                data = parsed(text)
            except json.JSONDecodeError as error:
                if error.msg != "Extra data":
                    raise
                data = [parsed(line) for line in text.splitlines() if line.strip()]  # JSON lines
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise self.wrong(f" is not JSON (character {getattr(error, 'pos', getattr(error, 'start', 0))})") from None
        except ValueError as error:
            raise self.wrong(f" has a number of too many digits ({shown(error)})") from None
        except RecursionError:
            raise self.wrong(" is nested too deeply") from None
        if not isinstance(data, dict) or not {"users", "user_data"} & set(data):
            return self.read_records(data)
        users = data.get("user_data")
        if not isinstance(users, dict) or not users:
            raise self.wrong(" has no object \"user_data\" with users")
        for done, name in enumerate(list(users)):
            users[name] = self.add(name, users[name])  # the number of rows; the values' memory is free again
            self.archive.bar.show(done, len(users))
        listed, samples = data.get("users") or list(users), data.get("num_samples")
        if sorted(map(str, listed)) != sorted(users):
            raise self.wrong(": \"users\" are not those of \"user_data\": " + shown(set(map(str, listed)) ^ set(users)))
        counts = [users[str(name)] for name in listed]
        if samples and samples != counts:
            raise self.wrong(f": \"num_samples\" is {shown(samples)}, but the users have {shown(counts)}")

    def read_records(self, data):
        """A table in one of the forms that pandas writes: records, also by lines or with a schema; split; columns."""
        if isinstance(data, dict) and isinstance(data.get("data"), list):
            data = [dict(zip(data["columns"], row)) for row in data["data"]] if "columns" in data else data["data"]
        elif isinstance(data, dict) and all(isinstance(one, (list, dict)) for one in data.values()):
            columns = [list(one.values()) if isinstance(one, dict) else one for one in data.values()]
            data = [dict(zip(data, row)) for row in zip(*columns)] if len(set(map(len, columns))) == 1 else None
        if not isinstance(data, list) or not data or not all(isinstance(one, dict) for one in data):
            raise self.wrong(" is JSON of another form, without \"user_data\"")
        if self.archive.options.protected:  # the columns would follow from rows
            raise Refused(f"{self.name} is JSON with records, whose columns under dp must not follow from the rows; write it as CSV", 2)
        header = list(dict.fromkeys(key for one in data for key in one))
        self.archive.check_size(8 * len(header) * len(data))
        self.archive.add_table(self.name, "JSON with records", header, ([one.get(key) for key in header] for one in data))

    def unique(self, pairs):
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = collections.Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise self.wrong(f": '{shown(twice)}' is listed twice")
        return found

    def add(self, name, user):
        """Adds a user's rows and returns their number."""
        who = f", user '{shown(name)}'"
        x, y = (user.get(key, []) if isinstance(user, dict) else None for key in "xy")
        sizes = [len(one) if isinstance(one, list) else -1 for one in (x, y)]
        if sizes[0] != sizes[1] or sizes[0] < (0 if self.as_test else 1):
            raise self.wrong(f"{who}: it needs lists 'x' and 'y' of one length, at least 1; it has {sizes} (-1: no list)")
        if x:
            is_text = all(isinstance(one, str) for one in x)
            examples = self.characters(x, "x", who) if is_text else self.numbers(x, "x", who, False)
            if not all(isinstance(one, str) for one in y):
                answers = self.numbers(y, "y", who, not self.archive.options.protected)
            elif is_text:
                answers = self.characters(y, "y", who)[:, 0]
            else:
                answers = np.array([bytes_of(one) for one in y])
            self.archive.add(examples, answers, name, self.as_test)
        return len(x)

    def numbers(self, values, key, who, keep_whole):
        """Whole numbers as int64 if they are kept, others as floating-point numbers; a missing one is NaN."""
        try:
            array = np.array(values)
            array = array.astype(float) if array.dtype.kind == "O" else array
        except (ValueError, TypeError, OverflowError):
            array = np.array("")
        if array.dtype.kind not in "biuf" or 0 in array.shape:
            raise self.wrong(f"{who}: its list '{key}' has more than numbers, or lists of different lengths")
        if keep_whole and array.dtype.kind in "biu" and np.abs(array.astype(float)).max() < MAX_WHOLE:
            return array.astype(np.int64)
        small = array.astype(np.float32)
        is_picture = np.abs(small * 255 - np.clip(np.rint(small * 255), 0, 255)).max() <= 1e-4  # kept in 8 bits
        return small if is_picture else array.astype(float)

    def characters(self, texts, key, who):
        if all(re.fullmatch(r"[^ \n\t]+\.(jpe?g|png|bmp|gif|tiff?|webp)", text, re.I) for text in texts):
            raise self.wrong(f"{who}: {key} has image file names ('{shown(texts[0])}'), and images are not read from other"
                             " files; give pixel values as lists in x or in a NumPy archive")
        rows = [self.letters.of(text.encode("utf-8", "replace")) for text in texts]
        sizes = {len(row) for row in rows}
        if len(sizes) > 1 or not 1 <= max(sizes) <= (MAX_TEXT if key == "x" else 1):
            raise self.wrong(f"{who}: texts of {min(sizes)} to {max(sizes)} characters in '{key}'; all must have one length" +
                             (f", 1 to {MAX_TEXT}" if key == "x" else ": the one character that follows x"))
        facts = {"vocabulary": len(self.letters.names)} if key == "x" else {"classes": len(self.letters.names)}
        self.archive.state(**facts, **({} if key == "x" else {"class_names": self.letters.names}))
        return np.stack(rows)


class Pictures:
    """The images of these files, decoded when rows are sliced: files x height x width (x 3 if in color), as Pillow's
    convert("L") or convert("RGB") gives them; 16-bit gray as floats from 0 to 1. All must be `like` those before them, or like
    the first file. `asked` (height, width, channels) is what they must have, if it is not empty. A protected image that has
    not, or cannot be read, is black, and 16 bits are rounded to 8: the type does not depend on rows. All are resized first
    (Pillow's bilinear filter, which averages where an image becomes smaller) if the archive's `resize` is set."""

    def __init__(self, root, files, like, archive):
        self.image = needed("PIL.Image", "python3-pil")
        self.image.MAX_IMAGE_PIXELS = None  # MAX_PIXELS is less
        self.root, self.files, self.archive = os.path.realpath(root), files, archive
        asked, self.protected = archive.options.shape, archive.options.protected
        self.asked = list(map(int, asked.split("x"))) if asked else []
        if archive.resize and self.asked and self.asked[:2] != [*archive.resize[::-1]]:
            raise Refused(f"resize is '{archive.options.resize}' (WIDTHxHEIGHT), but shape is '{asked}' (HEIGHTxWIDTHxCHANNELS);"
                          " they must have one size", 2)
        self.first = like.first if like else files[0]
        self.each = like.each if like else self.asked[:2] + self.asked[2:] * (self.asked[2:] != [1])
        self.dtype = like.dtype if like else np.dtype(np.uint8) if self.protected else None
        if self.dtype is None:
            pixels = self.decoded(self.first)
            self.each, self.dtype = list(pixels.shape), pixels.dtype
        self.shape = (len(files), *self.each)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, some):
        return np.stack([self.pixels(file) for file in self.files[some]])

    def pixels(self, file):
        if self.archive.resize and not self.protected:
            self.archive.check_size(self.archive.decoded)
        try:
            return self.decoded(file, self.archive.remarks)
        except Refused:
            if not self.protected:
                raise
            return np.zeros(self.each, np.uint8)

    def decoded(self, file, remarks=None):
        """The pixels. Counts in `remarks` what of the file they are not."""
        try:
            status = os.stat(file)
            if not os.path.realpath(file).startswith(self.root + os.sep):
                raise Refused(f"'{file}' is a link that leads out of the folder; images must be in it")
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_PICTURE_BYTES:
                raise Refused(f"'{file}' is not a regular file of at most {MAX_PICTURE_BYTES} bytes")
            image = self.image.open(file, formats=PICTURE_FORMATS)  # reads only the header
            if image.format in ("JPEG", "MPO"):
                with open(file, "rb") as whole:
                    scans = whole.read().count(b"\xff\xda")
                if scans > MAX_SCANS:
                    raise Refused(f"'{file}' has {scans} scans; valid: at most {MAX_SCANS}")
            kind = image.mode
            is_deep = kind.startswith("I;16") or kind == "I" and image.format in ("PNG", "PPM")  # 16-bit gray
            if image.width * image.height > MAX_PIXELS or kind[0] in "IF" and not is_deep:
                raise Refused(f"'{file}' has {image.width}x{image.height} pixels in {kind}; valid: at most {MAX_PIXELS}, of 8"
                              " bits a channel or 16-bit gray")
            has_color = not is_deep and kind not in ("1", "L", "LA")
            mode = {1: "L", 3: "RGB"}.get((self.asked or [0])[-1] if len(self.asked) != 2 else 1, "RGB" if has_color else "L")
            sizes = self.archive.resize or image.size
            each = [*sizes[::-1]] + [3] * (mode == "RGB")
            if self.each and each != self.each:
                size, wanted = ("x".join(map(str, [*shape, 1][:3])) for shape in (each, self.each))
                cure = "all must have one size: --resize WIDTHxHEIGHT resizes them"
                if each[:2] == self.each[:2]:
                    cure = "all must be in color or all gray: --shape HEIGHTxWIDTHx3 (or x1) reads them so"
                raise Refused(f"'{file}' is {size}, '{self.first}' {'must be' if self.asked else 'is'} {wanted}; {cure}")
            if is_deep and self.dtype == np.uint8 and not self.protected:
                raise Refused(f"'{file}' is 16-bit gray, '{self.first}' has 8 bits; all must have one depth")
            if remarks is not None and not self.protected:
                remarks.update(text for text, is_so in {
                    "transparency (alpha) is dropped": "A" in kind or "transparency" in image.info,
                    "16-bit gray is kept as floats, v / 65535": is_deep,
                    "16-bit color is read with 8 bits": not is_deep and ";16" in str(image.tile),
                    "only the first frame is read": image.format != "MPO" and getattr(image, "is_animated", False),
                }.items() if is_so)
                if image.size != sizes:
                    self.archive.resized.append(image.size)
            self.archive.decoded += image.width * image.height * len(mode)
            if not is_deep:
                pixels = np.asarray(self.resized(image.convert(mode), sizes))
                return pixels / np.float32(255) if self.dtype == np.float32 else pixels
            pixels = self.image.fromarray(np.asarray(image).astype(np.float32))
            pixels = np.asarray(self.resized(pixels, sizes))
            pixels = np.stack([pixels] * 3, -1) if mode == "RGB" else pixels
            return np.rint(pixels / 257).astype(np.uint8) if self.protected else pixels / np.float32(65535)
        except Refused:
            raise
        except Exception as error:  # Pillow's decoders raise many kinds
            raise Refused(f"'{file}' is not a complete image ({PICTURE_KINDS}): {shown(error)}") from None

    def resized(self, image, sizes):
        return image if image.size == sizes else image.resize(sizes, self.image.Resampling.BILINEAR)


def entries(folder, folders):
    """The folder's folders, or its other entries, by name, without hidden ones."""
    found = [entry.path for entry in os.scandir(folder) if not entry.name.startswith(".") and entry.is_dir() == folders]
    return sorted(found, key=os.fsencode)


def pictures_of(files):
    return [file for file in files if file.lower().endswith(PICTURE_ENDINGS)]


def read_pictures(folder, archive, as_test):
    options = archive.options
    has_clients = options.client_column == "folder"
    if options.client_column and not has_clients:
        raise Refused(f"client-column (or user-column) is '{options.client_column}'; for folders of images it must be 'folder':"
                      " one for each client, containing one for each class", 2)
    if options.protected and not options.shape:
        raise Refused(f"'{folder}': under dp the size must not be inferred from the rows; give --shape HEIGHTxWIDTHx3 (or x1)")
    left_out, classes = collections.Counter(), {}
    for client in entries(folder, True) if has_clients else [folder]:
        left_out["images outside of class folders"] += len(pictures_of(entries(client, False)))
        for one in entries(client, True):
            files, label = entries(one, False), os.fsencode(one).split(b"/")[-1]
            pictures = pictures_of(files)
            left_out["folders in class folders"] += len(entries(one, True))
            left_out.update(os.path.splitext(file)[1].lower() or "file" for file in set(files).difference(pictures))
            classes[label] = classes.get(label, 0) + len(pictures)
            if pictures:
                archive.like = rows = Pictures(folder, pictures, archive.like, archive)
                archive.check_unpacked(rows, pictures)
                owner = os.fsencode(client).split(b"/")[-1] if has_clients else None
                archive.add(rows, np.broadcast_to(np.array(bytes_of(label)), len(rows)), owner, as_test)
    others = ", ".join(f"{count} {shown(kind)}" for kind, count in sorted((+left_out).items()))
    if not any(classes.values()):
        places = "folders CLIENT/CLASS" if has_clients else "a folder for each class"
        raise Refused(f"'{folder}' has no images ({PICTURE_KINDS}) in {places}" + f", but {others}" * bool(others) +
                      "; docs/data.md names other files")
    for label, count in classes.items():
        if count == 0 and not as_test and not options.protected:
            raise Refused(f"'{folder}': the class folder '{shown(os.fsdecode(label))}' has no images ({PICTURE_KINDS}); fill or"
                          " remove it (--class-names also names classes without images)")
    if others:
        archive.notes.append(f"left out in '{os.path.basename(folder)}': {others}; images are {PICTURE_KINDS}")
    beside = entries(os.path.dirname(folder), True) if os.path.basename(folder) == "train" else []
    unused = [shown(os.path.basename(one)) for one in beside if one not in options.train + options.test]
    if unused:
        archive.notes.append(f"folders beside 'train' that are not used: {', '.join(unused)}")


def idx(path, least, most):
    """The array in an idx file of bytes (LeCun's format)."""
    data = contents(path)
    dimensions = data[3] if len(data) > 3 else 0
    begin = 4 + 4 * dimensions
    if data[:3] != b"\0\0\x08" or not least <= dimensions <= most or len(data) < begin:
        raise Refused(f"'{path}' is not an idx file of bytes in {least} to {most} dimensions; it must begin with the bytes 0 0"
                      " 8 and the number of dimensions")
    sizes = np.frombuffer(data, ">u4", dimensions, 4).tolist()
    claimed = int(np.prod(sizes, dtype=object))
    if claimed != len(data) - begin or claimed == 0:
        raise Refused(f"'{path}' has {len(data) - begin} bytes of contents; its header claims {claimed}")
    return np.frombuffer(data, np.uint8, offset=begin).reshape(sizes)


def read_idx(files, archive, as_test):
    images, labels = files
    x, y = idx(images, 2, 4), idx(labels, 1, 1)
    if len(x) != len(y):
        raise Refused(f"'{images}' has {counted(len(x), 'record')}, but '{labels}' has {len(y)}")
    archive.add(x, y, as_test=as_test)


def read_cifar(path, archive, as_test):
    """CIFAR's binary form: records of one label byte, or two of which the second counts, and planes of 32x32 pixels."""
    data = np.frombuffer(contents(path), np.uint8)
    label_bytes = 2 if len(data) % 3073 and len(data) % 3074 == 0 else 1
    if len(data) == 0 or len(data) % (3072 + label_bytes):
        raise Refused(f"'{path}' has {len(data)} bytes, which is not a whole number of records of 3073 bytes")
    records = data.reshape(-1, 3072 + label_bytes)
    planes = records[:, label_bytes:].reshape(-1, 3, 32, 32)
    archive.add(planes.transpose(0, 2, 3, 1), records[:, label_bytes - 1], as_test=as_test)


PICKLE = "a pickle, which could run code; save arrays with numpy.savez"
KINDS = {
    b"PAR1": "a Parquet file, which Debian cannot read; with pandas: read_parquet(FILE).to_csv(..., index=False)",
    b"ARROW1": "an Arrow file; write CSV or a NumPy archive",
    b"MATLAB 7.3": "a MATLAB file of version 7.3; save it with -v7",
    b"\x80": PICKLE,
    b"\x93NUMPY": "one NumPy array; save x and y together with numpy.savez",
    b"SQLite": "an SQLite database; export a CSV file",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls); save it as .xlsx or CSV",
    b"\x1f\x8b": "gzipped, and no table; unpack it",
    b"7z": "a 7z archive; unpack it",
    b"Rar!": "a RAR archive; unpack it",
    b"\x89PNG": "an image; give a folder with one folder for each class",
    b"\xff\xd8\xff": "an image; give a folder with one folder for each class",
    b"%PDF": "a PDF file; write CSV",
}
SPARSE_ROW = re.compile(r"([-+.\deE]+)((?:\s+\d+:[-+.\deE]+)*)\s*(?:#.*)?")


def read_other(path, archive, as_test):
    """A file of a kind that is known by its contents. What cannot be read is named for what it is."""
    who = f"'{path}'"
    with open(path, "rb") as file:
        begin = file.read(1 << 12)
    if zipfile.is_zipfile(path):
        names = zipfile.ZipFile(path).namelist()
        if "xl/workbook.xml" in names:
            return read_workbook(path, archive, who)
        is_pickled = any(name.endswith("data.pkl") for name in names)
        raise Refused(f"{who} is " + ("a PyTorch file: " + PICKLE if is_pickled else "a zipped folder; unpack it"))
    if begin.startswith(b"MATLAB 5"):
        return read_matlab(path, archive, who, as_test)
    if begin.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{"):
        return Leaf(path, archive, as_test).read()
    for magic, kind in KINDS.items():
        if begin.startswith(magic):
            raise Refused(f"{who} is {kind}")
    lines = [line.strip() for line in contents(path).decode("utf-8-sig", "replace").splitlines()]
    lines = [line for line in lines if line and line[0] not in "%#"]
    if lines and lines[0].lower().startswith("@relation"):
        return read_arff(lines, archive, who)
    rows = list(itertools.takewhile(bool, map(SPARSE_ROW.fullmatch, lines)))
    if not rows or len(rows) < len(lines) or not any(row[2] for row in rows):
        raise Refused(f"{who} has an unknown format; docs/data.md names those that are read")
    if archive.options.protected:
        raise Refused(f"{who}: under dp the number of columns must not be inferred from the rows; write CSV or a NumPy archive")
    pairs = [[(int(at), float(number)) for at, number in (one.split(":") for one in row[2].split())] for row in rows]  # libsvm
    numbered = {at for row in pairs for at, _ in row}
    first = min(numbered | {1})
    width = max(numbered) - first + 1
    if 4 * width * len(rows) > most_unpacked(path):
        raise Refused(f"{who} has {len(rows)} rows of {width} numbers, most of them 0, which are more than its size may hold")
    x = np.zeros((len(rows), width), np.float32)
    for row, some in zip(x, pairs):
        for at, number in some:
            row[at - first] = number
    y = np.array([float(row[1]) for row in rows])
    archive.add(x, y.astype(np.int64) if (y == np.rint(y)).all() else y, as_test=as_test)


def read_workbook(path, archive, who):
    most, openpyxl = ALWAYS_IN_WORKBOOK + MAX_IN_WORKBOOK * os.path.getsize(path), needed("openpyxl", "python3-openpyxl")
    with zipfile.ZipFile(path) as members:
        size = sum(one.file_size for one in members.infolist())
        if size > most:
            raise Refused(f"{who} unpacks to {size} bytes; a workbook of its size may hold at most {most}")
        sheets = len(re.findall(rb"<(?:\w+:)?sheet\s", members.read("xl/workbook.xml")))
        if sheets > MAX_SHEETS:
            raise Refused(f"{who} is an Excel workbook with {sheets} sheets; valid: one with data, of at most {MAX_SHEETS}")
    tables, cells = {}, 0
    for sheet in openpyxl.load_workbook(path, read_only=True, data_only=True).worksheets:
        sheet.reset_dimensions()  # which may be false
        for row in sheet.values:
            cells += 1 + len(row)
            archive.check_size(8 * cells)
            if any(one is not None for one in row):
                tables.setdefault(sheet.title, []).append(row)
    if len(tables) != 1:
        raise Refused(f"{who} is an Excel workbook with {len(tables)} sheets ({shown(', '.join(tables))}); valid: one, or CSV")
    (rows,) = tables.values()
    width = max(map(len, rows))
    archive.check_size(8 * width * len(rows))
    header, *rows = ([*row, *[None] * (width - len(row))] for row in rows)
    archive.add_table(who, "an Excel workbook", header, rows)


def read_arff(lines, archive, who):
    attribute = re.compile(r"(?i)@attribute\s+('[^']*'|\"[^\"]*\"|\S+)")
    names = [attribute.match(line) for line in lines if line.lower().startswith("@attribute")]
    rows = [line for line in lines if line[0] not in "@"]
    if not all(names) or any(line[0] == "{" for line in rows):
        raise Refused(f"{who} is an ARFF file of sparse rows or with an attribute without a name; dense rows are read")
    archive.add_table(who, "an ARFF file", [name[1].strip("'\"") for name in names],
                      csv.reader(rows, quotechar="'", skipinitialspace=True))


MATLAB_BYTES = {"double": 8, "single": 4, "logical": 1, "char": 4, **{f"{sign}int{8 * size}": size for sign in ("", "u")
                                                                      for size in (1, 2, 4, 8)}}


def read_matlab(path, archive, who, as_test):
    """Arrays of MATLAB, whose last dimension may count the rows."""
    scipy_io = needed("scipy.io", "python3-scipy")
    claimed = [(key, MATLAB_BYTES[kind] * int(np.prod(shape, dtype=object))) for key, shape, kind in scipy_io.whosmat(path)
               if kind in MATLAB_BYTES and not key.startswith("__")]
    archive.check_size(sum(size for _, size in claimed))
    found = scipy_io.loadmat(path, variable_names=[key for key, _ in claimed])
    arrays = {key: one.ravel() if 1 in one.shape and one.ndim == 2 else one for key, one in found.items()
              if getattr(one, "dtype", np.dtype(object)).kind in "biufU"}
    add_arrays(archive, who, list(arrays), arrays.get, as_test)
    for end in ("", "_test"):
        (x,), (y,) = (archive.arrays.get((chosen or name) + end, [None]) for chosen, name in (
            (archive.options.inputs, "x"), (archive.options.label, "y")))
        if x is not None and y is not None and len(x) != len(y) == x.shape[-1]:
            archive.arrays[(archive.options.inputs or "x") + end] = [np.moveaxis(x, -1, 0)]


def convert(options):
    archive = Archive(options)
    read = {"hdf5": lambda *of: Hdf5(*of).read(), "leaf": lambda *of: Leaf(*of).read(), "pictures": read_pictures,
            "idx": read_idx, "cifar": read_cifar, "other": read_other}[options.format]
    for as_test, files in ((False, options.train), (True, options.test)):
        for file in [files] * bool(files) if options.format == "idx" else files:
            read(file, archive, as_test)
    archive.write()


def bounded(sources):
    """Limits this process's memory and processor time by the size of the data, and returns both, in bytes and seconds."""
    files = [os.path.join(at, name) for source in sources for at, _, names in os.walk(source) for name in names] + sources
    size = sum(os.path.getsize(file) for file in files if os.path.isfile(file))
    memory, seconds = ALWAYS_IN_MEMORY + MAX_IN_MEMORY * size, ALWAYS_SECONDS + SECONDS_A_MEGABYTE * size // 10**6

    def stop(*_):
        raise Late

    signal.signal(signal.SIGXCPU, stop)
    # After the second limit, which C code reaches that does not return to Python, the process is killed.
    for kind, *limits in ((resource.RLIMIT_CPU, seconds, seconds + ALWAYS_SECONDS), (resource.RLIMIT_DATA, memory, memory)):
        allowed = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, [one if allowed == resource.RLIM_INFINITY else min(one, allowed) for one in limits])
    return memory, seconds


def silence_libraries():
    """Leaves standard error to the progress bar: libraries, also in C, write lines of their own about damaged data."""
    logging.disable()
    warnings.simplefilter("ignore")
    sys.stderr = os.fdopen(os.dup(2), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def main():
    global np
    silence_libraries()
    with open(sys.argv[1], encoding="utf-8") as file:
        options = types.SimpleNamespace(**json.load(file))
    source = options.train[0]
    try:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each thread would take memory
        np = needed("numpy", "python3-numpy")
        memory, seconds = bounded(options.train + options.test)
        convert(options)
        return 0
    except Refused as refused:
        print(refused)
        return refused.code
    except MemoryError:
        print(f"'{source}' needs more memory than the {memory} bytes allowed for data of its size")
    except Late:
        print(f"'{source}' needs more processor time than the {seconds} s allowed for data of its size")
    except KeyboardInterrupt:
        print(f"'{source}': stopped")
    except Exception as error:
        print(f"'{source}' cannot be converted: {type(error).__name__}: {shown(' '.join(str(error).split()))}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
