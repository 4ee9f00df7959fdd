"""The converter of other formats (python/fedstride_convert.py), and how the program uses it."""

import csv
import gzip
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import time
import types
import zipfile

import numpy as np
import pytest

from conftest import PROGRAM, SOURCE, names

_spec = importlib.util.spec_from_file_location("convert", SOURCE / "python/fedstride_convert.py")
convert = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(convert)
convert.np = np
h5py = pytest.importorskip("h5py")
Image = pytest.importorskip("PIL.Image")


def converted(form, train, *test, **options):
    """The arrays of the archive, by name."""
    given = {"inputs": "", "label": "", "client_column": "", "shape": "", "words": [], "protected": False, **options}
    train = [str(one) for one in (train if isinstance(train, list) else [train])]
    out = str(pathlib.Path(train[0]).parent / "converted.npz")
    convert.convert(types.SimpleNamespace(format=form, train=train, test=list(map(str, test)), out=out, **given))
    with np.load(out, allow_pickle=False) as arrays:
        return dict(arrays)


def refusal(*parts, form, train, **options):
    with pytest.raises(convert.Refused) as raised:
        converted(form, train, **options)
    assert names(str(raised.value), *parts), str(raised.value)
    return raised.value.code


def program(*words, code=0, **environment):
    """What the program prints: its results, or the line by which it refuses."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


RANDOM = np.random.default_rng(5)


def texts(array):
    return [text.decode() for text in array]


# HDF5

def hdf5(path, arrays):
    """A file with these arrays by path; lists are strings."""
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            if isinstance(array, list):
                file.create_dataset(name, data=array, dtype=h5py.string_dtype())
            else:
                file[name] = array
    return path


def clients(**groups):
    return {f"examples/{client}/{key}": array for client, keys in groups.items() for key, array in keys.items()}


def test_emnist_has_a_group_a_writer_and_test_rows_belong_to_their_writers(tmp_path):
    train = hdf5(tmp_path / "d_train.h5", clients(f2={"pixels": np.full((3, 28, 28), 0.2, np.float32), "label": np.arange(3)},
                                                  f1={"pixels": np.ones((2, 28, 28), np.float32), "label": np.arange(2)}))
    test = hdf5(tmp_path / "d_test.h5", clients(f2={"pixels": np.zeros((1, 28, 28), np.float32), "label": np.array([2])},
                                                f3={"pixels": np.zeros((0, 28, 28), np.float32), "label": np.array([], int)}))
    arrays = converted("hdf5", train, test)
    assert arrays["x"].dtype == np.float32 and arrays["x"].shape == (5, 28, 28) and arrays["x"][0, 0, 0] == 1
    assert arrays["y"].tolist() == [0, 1, 0, 1, 2] and texts(arrays["client"]) == ["f1", "f1", "f2", "f2", "f2"]
    assert texts(arrays["client_test"]) == ["f2"] and arrays["y_test"].tolist() == [2]


def test_cifar_100_has_color_images_and_the_label_that_is_named(tmp_path):
    images = np.arange(2 * 32 * 32 * 3).reshape(2, 32, 32, 3).astype(np.uint8)
    path = hdf5(tmp_path / "c.h5", clients(a={"image": images, "label": np.array([7, 0]), "coarse_label": np.array([1, 0])}))
    assert np.array_equal(converted("hdf5", path)["x"], images)
    assert converted("hdf5", path, label="coarse_label")["coarse_label"].tolist() == [1, 0]
    refusal("'a'", "color", form="hdf5", train=path, label="color")


def test_snippets_are_sequences_of_80_characters_with_the_next_ones_as_answers(tmp_path):
    arrays = converted("hdf5", hdf5(tmp_path / "s.h5", clients(HAMLET={"snippets": ["dh", "x" * 100, "@\r~é"]})))
    x, y = arrays["x"], arrays["y"]
    assert x.shape == (4, 80) and int(arrays["vocabulary"][0]) == int(arrays["classes"][0]) == len(arrays["class_names"]) == 90
    # 0 pads, "dhlptx..." from 1, 87 another, 88 the beginning, 89 the end.
    assert x[0, :5].tolist() == [88, 1, 2, 89, 0] and y[0, :4].tolist() == [1, 2, 89, -1]
    # 102 tokens of the second text: 81 in the first sequence, 21 and 60 pads in the other.
    assert x[1, :2].tolist() == [88, 6] and y[1, 79] == 6 and x[2, [0, 20, 21]].tolist() == [6, 89, 0] and y[2, 19:21].tolist() == [89, -1]
    assert x[3, :6].tolist() == [88, 7, 86, 87, 87, 89]


def test_sentences_have_the_training_parts_most_frequent_words_of_equals_the_first_as_texts(tmp_path):
    train = hdf5(tmp_path / "d_train.h5", clients(u={"tokens": ["b a  b", " ".join(["c"] * 25)]}))
    test = hdf5(tmp_path / "d_test.h5", clients(v={"tokens": ["a z"]}))
    arrays = converted("hdf5", train, test)
    assert texts(arrays["words"]) == ["c", "b", "a"]
    assert texts(arrays["class_names"]) == ["pad", "c", "b", "a", "other", "begin", "end"]
    assert arrays["x"][0, :6].tolist() == [5, 2, 3, 2, 6, 0] and arrays["y"][0, :5].tolist() == [2, 3, 2, 6, -1]
    assert arrays["x"][1, 19] == arrays["y"][1, 19] == 1  # cut after 20 words, without an end
    assert arrays["x_test"][0, :4].tolist() == [5, 3, 4, 6]
    assert converted("hdf5", train, words=["a"])["x"][0, :4].tolist() == [3, 2, 1, 2]
    refusal("--words", form="hdf5", train=train, protected=True)


def test_plain_arrays_keep_their_names_texts_and_single_numbers(tmp_path):
    path = hdf5(tmp_path / "plain.h5", {"x": np.arange(12, dtype=np.float32).reshape(6, 2), "y": ["cat", "dog", "cat", "emu", "a", "b"],
                                        "client": np.arange(6), "x_test": np.ones((1, 2)), "y_test": np.array([b"emu"]), "note": np.zeros(3)})
    arrays = converted("hdf5", path)
    assert sorted(arrays) == ["client", "notes", "x", "x_test", "y", "y_test"] and texts(arrays["y"])[3] == "emu"
    assert notes_of(arrays, "note")
    named = hdf5(tmp_path / "named.h5", {"features": np.ones((4, 3)), "target": np.array([0, 1, 0, 1]), "classes": 5})
    assert converted("hdf5", named, inputs="features", label="target")["classes"].tolist() == [5]
    refusal("'y'", "answers", form="hdf5", train=hdf5(tmp_path / "half.h5", {"features": np.ones((4, 3)), "answers": np.zeros(4)}))
    other = hdf5(tmp_path / "other.h5", {"signals": np.ones((4, 3))})
    refusal("'x'", "signals", "--inputs", "--label", form="hdf5", train=other)


@pytest.mark.parametrize("x, y, test_x, test_y", [
    ("train_images", "train_labels", "test_images", "test_labels"), ("X_train", "y_train", "X_test", "y_test"),
    ("train_data", "train_label", "test_data", "test_label"), ("train_set_x", "train_set_y", "test_set_x", "test_set_y"),
    ("train/images", "train/labels", "test/images", "test/labels"), ("features", "target", "features_val", "target_val")])
def test_usual_names_of_plain_arrays_are_known_and_what_is_not_used_is_named(tmp_path, x, y, test_x, test_y):
    train, test = RANDOM.normal(size=(6, 3)), RANDOM.normal(size=(2, 3))
    named = {x: train, y: np.arange(6), test_x: test, test_y: np.arange(2)}
    arrays = converted("hdf5", hdf5(tmp_path / "a.h5", {**named, "holdout_x": test}))
    assert np.array_equal(arrays["x"], train) and np.array_equal(arrays["x_test"], test) and arrays["y_test"].tolist() == [0, 1]
    assert notes_of(arrays, "holdout_x")
    refusal("'x'", "second", form="hdf5", train=hdf5(tmp_path / "b.h5", {"x_train": train, "x": train, "y": np.arange(6)}))


@pytest.mark.parametrize("parts, arrays", [
    (["'examples'", "z"], {"z": np.ones(3)}),
    (["'a'"], {"examples/a": np.ones(3)}),
    (["'a'", "x", "pixels"], {"examples/a/z": np.ones(3)}),
    (["'a'", "'x'", "y", "label"], {"examples/a/x": np.ones(3)}),
    (["'b'", "1", "'x'", "2", "'y'"], clients(a={"x": np.ones((2, 3)), "y": np.ones(2)}, b={"x": np.ones((1, 3)), "y": np.ones(2)})),
    (["'b'", "'x'"], clients(a={"x": np.ones((2, 3)), "y": np.ones(2)}, b={"x": np.ones((0, 3)), "y": np.ones(0)})),
    (["'x'", "3", "2"], clients(a={"x": np.ones((2, 3)), "y": np.ones(2)}, b={"x": np.ones((2, 2)), "y": np.ones(2)})),
    (["'b'"], {**clients(a={"x": np.ones((2, 3)), "y": np.ones(2)}), "examples/b": h5py.ExternalLink("/etc/other.h5", "/a")}),
    (["'b'"], {**clients(a={"x": np.ones((2, 3)), "y": np.ones(2)}), "examples/b": h5py.SoftLink("/examples/a")}),
    (["'y'", "link"], {"x": np.ones((4, 3)), "y": h5py.SoftLink("/x")}),
])
def test_other_layouts_missing_keys_and_links_are_refused(tmp_path, parts, arrays):
    refusal(*parts, form="hdf5", train=hdf5(tmp_path / "odd.h5", arrays))


@pytest.mark.parametrize("parts, options", [
    (["'x'", "more"], {"shape": (10**12, 3), "dtype": "f4", "chunks": (1000, 3)}),
    (["'x'", "12000"], {"shape": (1000, 3), "dtype": "f4", "chunks": (1000, 3)}),
    (["'x'"], {"shape": (2, 3), "dtype": h5py.ref_dtype, "data": np.array([[h5py.Reference()] * 3] * 2, h5py.ref_dtype)}),
    (["'x'", "file"], {"shape": (2, 3), "dtype": "f4", "external": [("/etc/passwd", 0, 24)]}),
])
def test_claims_without_bytes_references_and_numbers_of_other_files_are_refused(tmp_path, parts, options):
    with h5py.File(tmp_path / "odd.h5", "w") as file:
        file.create_dataset("examples/a/x", **options)
        file["examples/a/y"] = np.zeros(options["shape"][0] if options["shape"][0] < 10**6 else 1)
    refusal(*parts, form="hdf5", train=tmp_path / "odd.h5")


def test_a_file_that_is_cut_off_or_altered_is_refused_in_one_line_or_read_as_other_data(tmp_path):
    path = hdf5(tmp_path / "d.h5", clients(a={"x": np.random.default_rng(1).random((4, 3)), "y": np.arange(4)}))
    whole = path.read_bytes()
    for size in range(0, len(whole), 1 + len(whole) // 20):
        path.write_bytes(whole[:size])
        refusal("d.h5", form="hdf5", train=path)
    path.write_bytes(whole[:100] + b"\x55" * 60 + whole[160:])
    line = program("data", "show", path, code=1)
    assert line.count("\n") == 1 and "d.h5" in line


# LEAF

ONE, TWO = {"x": [[4, 5]], "y": [1]}, {"x": [[0.5, 1], [2, 3]], "y": [0, 1]}


def leaf(path, text=None, **users):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or json.dumps({"hierarchies": [["x"]], "users": list(users), "num_samples": [len(one["x"]) for one in users.values()],
                                        "user_data": users}))
    return path


def test_users_are_clients_x_lists_are_numbers_and_whole_y_stay_whole(tmp_path):
    files = [leaf(tmp_path / "one.json", a=TWO, b=ONE), leaf(tmp_path / "two.json", text='\ufeff{"user_data": {"c": {"y": [2], "x": [[6, 7]]}}}')]
    arrays = converted("leaf", files, leaf(tmp_path / "test.json", a=ONE, b={"x": [], "y": []}))
    assert arrays["x"].dtype == float and arrays["x"].tolist() == [[0.5, 1], [2, 3], [4, 5], [6, 7]]
    assert arrays["y"].dtype == np.int64 and texts(arrays["client"]) == ["a", "a", "b", "c"] and texts(arrays["client_test"]) == ["a"]
    assert converted("leaf", files, protected=True)["y"].dtype == float  # whatever the values


def test_y_may_be_numbers_texts_or_lists_and_missing_numbers_are_nan(tmp_path):
    for y, kind in (([0.5, 1], "f"), (["cat", "dög"], "S"), ([[0, 1], [1, 0]], "i"), ([True, False], "i"), ([None, 1], "f")):
        assert converted("leaf", leaf(tmp_path / "a.json", a={"x": [1, 2], "y": y}))["y"].dtype.kind == kind
    x = converted("leaf", leaf(tmp_path / "a.json", text='{"user_data": {"a": {"x": [NaN, null, 1], "y": [1, 1, 1]}}}'))["x"]
    assert np.isnan(x).tolist() == [True, True, False]


def test_texts_are_tokens_of_leafs_letters_and_the_answer_is_the_next_one(tmp_path):
    arrays = converted("leaf", leaf(tmp_path / "s.json", HAMLET={"x": ["\n To", "beé}"], "y": ["b", "#"]}))
    # "\n !\"&'(),-." are 0 to 10 with the blank 1, digits from 11, ":;>?" from 21, capitals from 25, "[]" from 51, small letters from 53, "}" 79.
    assert arrays["x"].tolist() == [[0, 1, 25 + 19, 53 + 14], [53 + 1, 53 + 4, 80, 79]] and arrays["y"].tolist() == [54, 80]
    assert arrays["class_names"][0] == b"newline" and len(arrays["class_names"]) == arrays["vocabulary"][0] == arrays["classes"][0] == 81
    assert len(converted("leaf", leaf(tmp_path / "t.json", a={"x": ["see a.jpg", "the b.jpg"], "y": ["b", "c"]}))["x"]) == 2


@pytest.mark.parametrize("parts, users", [
    (["'b'", "1", "0"], {"b": {"x": [[1, 2]]}}),
    (["'b'"], {"b": {"x": [], "y": []}}),
    (["'x'", "3", "2"], {"b": {"x": [[1, 2, 3]], "y": [1]}}),
    (["'b'", "'x'"], {"b": {"x": [[1, 2], [3]], "y": [1, 0]}}),
    (["'b'", "'x'"], {"b": {"x": [[1, "a"]], "y": [1]}}),
    (["'b'"], {"b": 3}),
    (["'b'", "x", "3", "2"], {"b": {"x": ["abc", "ab"], "y": ["d", "e"]}}),
    (["'b'", "y"], {"b": {"x": ["abc"], "y": ["de"]}}),
    (["'b'", "'000001.jpg'"], {"b": {"x": ["000001.jpg", "000012.jpg"], "y": [0, 1]}}),
])
def test_a_user_that_is_not_of_leafs_form_is_refused_by_name(tmp_path, parts, users):
    refusal(*parts, form="leaf", train=leaf(tmp_path / "a.json", text=json.dumps({"user_data": {"a": TWO, **users}})))


@pytest.mark.parametrize("parts, text", [
    (["JSON"], '{"users": ['),
    (["JSON", "character"], '{"user_data": {"a": {"x": [1], "y": [1]}} "b"'),
    (["user_data"], '{"a": 1}'),
    (["user_data"], '{"user_data": {}}'),
    (["nested"], '{"a": ' + "[" * 100000),
    (["num_samples", "5", "1"], json.dumps({"users": ["a", "b"], "num_samples": [2, 5], "user_data": {"a": TWO, "b": ONE}})),
    (["num_samples", "1"], json.dumps({"users": ["a", "b"], "num_samples": [2], "user_data": {"a": TWO, "b": ONE}})),
    (["'z'"], json.dumps({"users": ["z"], "user_data": {"a": TWO}})),
    (["'a'", "twice"], '{"user_data": {"a": {"x": [1], "y": [1]}, "a": {"x": [1], "y": [1]}}}'),
])
def test_what_is_not_leafs_form_is_refused(tmp_path, parts, text):
    refusal("all.json", *parts, form="leaf", train=leaf(tmp_path / "all.json", text=text))


RECORDS = [{"a": 0.5, "city": "Rome, Italy", "label": True}, {"a": None, "city": 'the "old"', "label": False}]
CSV = [["a", "city", "label"], ["0.5", "Rome, Italy", "1"], ["", 'the "old"', "0"]]


def table(form, path, **options):
    """The records of the CSV file into which a table is converted."""
    with pytest.raises(ValueError):  # it is no archive
        converted(form, path, tables=True, **options)
    with open(path.parent / "converted.npz", newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("form", ["records", "lines", "split", "columns", "lists", "table"])
def test_json_as_pandas_writes_it_is_a_table(tmp_path, form):
    columns = {key: [one[key] for one in RECORDS] for key in RECORDS[0]}
    forms = {"records": RECORDS, "split": {"columns": list(columns), "index": [0, 1], "data": [list(one.values()) for one in RECORDS]},
             "columns": {key: dict(zip("01", one)) for key, one in columns.items()}, "lists": columns, "table": {"schema": {}, "data": RECORDS}}
    text = "\n".join(map(json.dumps, RECORDS)) if form == "lines" else json.dumps(forms[form])
    for name in ("leaf", "other"):
        assert table(name, leaf(tmp_path / "r.json", text=text)) == CSV
    refusal("r.json", "JSON", "CSV", form="leaf", train=tmp_path / "r.json")  # by a program that reads archives alone
    refusal("r.json", "record 1", form="leaf", train=leaf(tmp_path / "r.json", text='[{"a": 1}, {"a": [2]}]'), tables=True)
    refusal("r.json", "JSON", "another form", form="leaf", train=leaf(tmp_path / "r.json", text="[1, 2]"), tables=True)


# Other kinds

def test_a_workbook_is_the_table_of_its_only_sheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [list(RECORDS[0]), *(list(one.values()) for one in RECORDS)]:
        book.active.append(row)
    book.create_sheet("empty")
    book.save(tmp_path / "a.xlsx")
    assert table("other", tmp_path / "a.xlsx") == CSV
    book["empty"].append([1])
    book.save(tmp_path / "a.xlsx")
    refusal("Excel", "2", form="other", train=tmp_path / "a.xlsx", tables=True)


def test_arff_and_libsvm(tmp_path):
    (tmp_path / "a.arff").write_text("% what\n@RELATION r\n@attribute 'a b' numeric\n@attribute class {x,'y z'}\n@data\n1, 'y z'\n?,x\n")
    assert table("other", tmp_path / "a.arff") == [["a b", "class"], ["1", "y z"], ["?", "x"]]
    (tmp_path / "a.svm").write_text("+1 1:0.5 3:-2 # first\n-1 2:1e-3\n")
    arrays = converted("other", tmp_path / "a.svm")
    assert arrays["x"].tolist() == [[0.5, 0, -2], [0, np.float32(1e-3), 0]] and arrays["y"].tolist() == [1, -1]
    refusal("columns", form="other", train=tmp_path / "a.svm", protected=True)
    (tmp_path / "a.svm").write_text("1 0:2 1:3\n0 1:4\n")
    assert converted("other", tmp_path / "a.svm")["x"].tolist() == [[2, 3], [0, 4]]
    (tmp_path / "a.svm").write_text("1 999999999:1\n")
    refusal("999999999", form="other", train=tmp_path / "a.svm")


def test_matlab_arrays_have_their_rows_first_or_last(tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    for x in (RANDOM.normal(size=(6, 5)), RANDOM.integers(0, 256, (4, 4, 3, 6), np.uint8)):
        scipy_io.savemat(tmp_path / "a.mat", {"X": x, "y": np.arange(6)[:, None], "words": np.array([[{}]], object)})
        arrays = converted("other", tmp_path / "a.mat")
        assert np.array_equal(arrays["x"], x if x.ndim == 2 else np.moveaxis(x, -1, 0)) and arrays["y"].tolist() == list(range(6))


@pytest.mark.parametrize("kind, data", [("Parquet", b"PAR1\x15\x04"), ("MATLAB", b"MATLAB 7.3 MAT-file"), ("pickle", b"\x80\x04\x95"), ("unknown", b"\0\1"),
                                        ("NumPy", b"\x93NUMPY\1\0")])
def test_what_cannot_be_read_is_named_for_what_it_is(tmp_path, kind, data):
    (tmp_path / "a").write_bytes(data)
    refusal("a", kind, form="other", train=tmp_path / "a")
    for member, what in (("net/data.pkl", "PyTorch"), ("cat/1.png", "zipped")):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr(member, b"data")
        refusal("a.zip", what, form="other", train=tmp_path / "a.zip")


# Images

def picture(path, value, mode="RGB", side=8, kind=None, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    array = value if isinstance(value, np.ndarray) else np.full((side, side, *[3] * (mode == "RGB")), value, np.uint8)
    Image.fromarray(array).save(path, kind or ("PNG" if path.suffix == ".png" else "JPEG"), **options)
    return path


def pets(folder):
    for i in range(3):
        picture(folder / f"train/dog/{i}.png", 10 * i)
        picture(folder / f"train/cat/{i}.JPG", 100 + 10 * i, quality=95)
    picture(folder / "test/cat/a.png", 200)
    return folder / "train", folder / "test"


def test_a_folder_of_images_has_a_folder_for_each_class_and_rows_in_the_order_of_paths(tmp_path):
    train, test = pets(tmp_path)
    (train / "cat/notes.txt").write_text("no image")
    picture(train / ".hidden/x.png", 1)
    arrays = converted("pictures", train, test)
    assert arrays["x"].shape == (6, 8, 8, 3) and texts(arrays["y"]) == ["cat"] * 3 + ["dog"] * 3 and texts(arrays["y_test"]) == ["cat"]
    assert abs(int(arrays["x"][1, 0, 0, 0]) - 110) <= 2 and arrays["x"][5, 0, 0, 0] == 20 and arrays["x_test"][0, 0, 0, 0] == 200
    assert len(arrays["notes"]) == 1 and names(texts(arrays["notes"])[0], "'train'", "1 .txt")


def test_gray_and_color_images_and_a_shape_that_says_the_channels(tmp_path):
    picture(tmp_path / "a/1.png", 7, "L")
    picture(tmp_path / "b/2.jpeg", 90, "L")
    assert converted("pictures", tmp_path)["x"].shape == (2, 8, 8)
    assert converted("pictures", tmp_path, shape="8x8x3")["x"][0, 0, 0].tolist() == [7, 7, 7]
    picture(tmp_path / "b/3.png", 9)
    refusal("3.png", "8x8x3", "8x8x1", "--shape", form="pictures", train=tmp_path)
    assert converted("pictures", tmp_path, shape="8x8x1")["x"][2, 0, 0] == 9
    red = picture(tmp_path / "b/3.jpg", np.full((8, 8, 3), (250, 10, 10), np.uint8), quality=95)
    (tmp_path / "b/3.png").unlink()
    assert np.array_equal(converted("pictures", tmp_path, shape="8x8x1")["x"][2], np.asarray(Image.open(red).convert("L")))


def notes_of(arrays, *parts):
    return any(names(note, *parts) for note in texts(arrays.get("notes", [])))


def test_transparency_is_dropped_as_pillow_does_and_a_note_says_so(tmp_path):
    half = RANDOM.integers(0, 256, (8, 8, 4), np.uint8)
    picture(tmp_path / "a/1.png", half)
    picture(tmp_path / "a/2.png", half[..., :3])
    palette = Image.fromarray(half[..., :3]).convert("P", palette=Image.ADAPTIVE)
    palette.save(tmp_path / "a/3.png", transparency=0)
    arrays = converted("pictures", tmp_path)
    assert (arrays["x"] == [half[..., :3], half[..., :3], np.asarray(palette.convert("RGB"))]).all()
    assert notes_of(arrays, "2 images", "alpha")
    assert not notes_of(converted("pictures", tmp_path, protected=True, shape="8x8x3"), "images")  # a count of protected rows


def test_16_bit_gray_is_kept_as_floats_and_color_is_noted(tmp_path):
    values = RANDOM.integers(0, 1 << 16, (8, 8), np.uint16)
    for name, kind in (("1.png", "PNG"), ("2.tif", "TIFF")):
        picture(tmp_path / "a" / name, values, kind=kind)
    arrays = converted("pictures", tmp_path)
    assert arrays["x"].dtype == np.float32 and notes_of(arrays, "2 images", "16-bit", "65535")
    assert np.array_equal(arrays["x"][0], values / np.float32(65535)) and np.array_equal(arrays["x"][0], arrays["x"][1])
    assert converted("pictures", tmp_path, shape="8x8x3")["x"].shape == (2, 8, 8, 3)
    rounded = converted("pictures", tmp_path, shape="8x8x1", protected=True)
    assert "notes" not in rounded and np.array_equal(rounded["x"][1], np.rint(values / 257))
    picture(tmp_path / "a/3.png", 51, "L")  # after 16 bits, 8 bits are floats too
    assert (converted("pictures", tmp_path)["x"][2] == np.float32(0.2)).all()
    picture(tmp_path / "a/0.png", 51, "L")
    refusal("1.png", "16-bit", "0.png", form="pictures", train=tmp_path)
    picture(tmp_path / "a/0.tif", values.astype(np.float32), kind="TIFF")
    refusal("0.tif", "F", "16-bit", form="pictures", train=tmp_path)


def of_sizes(folder, *sizes):
    """Images with these widths and heights, and their paths in the order of rows."""
    paths = [folder / f"cat/{i}.{'jpg' if i % 2 else 'png'}" for i in range(len(sizes))]
    return [picture(path, RANDOM.integers(0, 256, (height, width, 3), np.uint8)) for path, (width, height) in zip(paths, sizes)]


def bilinear(path, size, mode="RGB"):
    return np.asarray(Image.open(path).convert(mode).resize(size, Image.Resampling.BILINEAR))


def test_images_are_resized_as_pillow_does_and_a_note_says_from_what(tmp_path):
    paths = of_sizes(tmp_path, (40, 30), (9, 12), (6, 4), (3, 70))
    refusal("1.jpg", "12x9x3", "30x40x3", "--resize", form="pictures", train=tmp_path)
    arrays = converted("pictures", tmp_path, resize="6x4")
    assert arrays["x"].shape == (4, 4, 6, 3) and arrays["x"].dtype == np.uint8
    assert (arrays["x"] == [bilinear(path, (6, 4)) for path in paths]).all()
    assert (arrays["x"][2] == np.asarray(Image.open(paths[2]))).all()
    assert notes_of(arrays, "3 images", "6x4", "3 to 40", "12 to 70")  # one has this size
    gray = converted("pictures", tmp_path, resize="6x4", shape="4x6x1")["x"]
    assert (gray == [bilinear(path, (6, 4), "L") for path in paths]).all()
    assert not notes_of(converted("pictures", tmp_path, resize="6x4", shape="4x6x3", protected=True), "images")


def test_16_bit_gray_is_resized_in_floats(tmp_path):
    values = [RANDOM.integers(0, 1 << 16, (height, 9), np.uint16) for height in (7, 14)]
    picture(tmp_path / "a/1.png", values[0], kind="PNG")
    picture(tmp_path / "a/2.tif", values[1], kind="TIFF")
    resized = [np.asarray(Image.fromarray(one.astype(np.float32)).resize((5, 6), Image.Resampling.BILINEAR)) for one in values]
    x = converted("pictures", tmp_path, resize="5x6")["x"]
    assert x.dtype == np.float32 and np.array_equal(x, np.array(resized) / np.float32(65535))
    x = converted("pictures", tmp_path, resize="5x6", shape="6x5x1", protected=True)["x"]
    assert x.dtype == np.uint8 and np.array_equal(x, np.rint(np.array(resized) / 257))


def test_protected_images_of_any_size_are_resized(tmp_path):
    paths = of_sizes(tmp_path, (40, 30), (9, 12))
    (tmp_path / "cat/9.png").write_bytes(b"damaged")
    options = {"form": "pictures", "train": tmp_path, "protected": True}
    refusal("--shape", **options, resize="6x4")  # the channels must not be inferred either
    x = converted("pictures", tmp_path, resize="6x4", shape="4x6x3", protected=True)["x"]
    assert (x == [*(bilinear(path, (6, 4)) for path in paths), np.zeros((4, 6, 3))]).all()
    assert refusal("'6x4'", "'6x4x3'", **options, resize="6x4", shape="6x4x3") == 2


@pytest.mark.parametrize("resize", ["32", "0x32", "32x0", "32x32x3", "4097x4096", "99999999999x1", "-3x3", "axb", " 3x3", "3x3\n", "٣x3", "3 x 3"])
def test_a_size_that_is_none_is_refused(tmp_path, resize):
    of_sizes(tmp_path, (6, 4))
    assert refusal("resize", "WIDTHxHEIGHT", "32x32", str(1 << 24), form="pictures", train=tmp_path, resize=resize) == 2


def test_what_is_no_folder_of_images_is_not_resized(tmp_path):
    (tmp_path / "c.bin").write_bytes(bytes(3073))
    assert refusal("resize", "'8x8'", "c.bin", form="cifar", train=tmp_path / "c.bin", resize="8x8") == 2
    assert refusal("resize", "'8x8'", form="leaf", train=leaf(tmp_path / "a.json", a=ONE), resize="8x8") == 2


def test_other_kinds_of_images_are_read_and_other_files_are_counted_by_their_endings(tmp_path):
    pixels = RANDOM.integers(0, 256, (8, 8, 3), np.uint8)
    for name, kind, options in (("1.bmp", "BMP", {}), ("2.tiff", "TIFF", {}), ("3.webp", "WEBP", {"lossless": True}), ("4.ppm", "PPM", {})):
        picture(tmp_path / "a" / name, pixels, kind=kind, **options)
    frames = [Image.fromarray(pixels), Image.fromarray(255 - pixels)]
    frames[0].save(tmp_path / "a/5.tif", "TIFF", save_all=True, append_images=frames[1:])
    for name in ("6.gif", "7.dcm", "8.gif"):
        (tmp_path / "a" / name).write_bytes(b"other")
    picture(tmp_path / "a/nested/1.png", 1)
    picture(tmp_path / "1.png", 1)
    arrays = converted("pictures", tmp_path)
    assert len(arrays["x"]) == 5 and (arrays["x"] == pixels).all() and notes_of(arrays, "1 image", "first frame")
    assert notes_of(arrays, "2 .gif", "1 .dcm", "1 images outside", "1 folders")


def test_a_class_folder_without_images_is_refused_and_unused_folders_beside_train_are_named(tmp_path):
    train, test = pets(tmp_path)
    for part in ("holdout", "validation"):
        picture(tmp_path / part / "cat/1.png", 1)
    arrays = converted("pictures", train, test)
    assert notes_of(arrays, "holdout", "validation") and not notes_of(arrays, "test")
    (train / "ant").mkdir()
    (train / "ant/1.gif").write_bytes(b"GIF89a")
    refusal("'ant'", "--class-names", form="pictures", train=train)
    assert len(converted("pictures", train, shape="8x8x3", protected=True)["x"]) == 6


def test_a_folder_for_each_client_has_in_it_those_of_the_classes(tmp_path):
    for place in ("ann/cat/1.png", "ann/dog/1.png", "bob/dog/1.png"):
        picture(tmp_path / "train" / place, 1)
    arrays = converted("pictures", tmp_path / "train", client_column="folder")
    assert texts(arrays["folder"]) == ["ann", "ann", "bob"] and texts(arrays["y"]) == ["cat", "dog", "dog"]
    assert refusal("client-column", "'who'", "folder", form="pictures", train=tmp_path / "train", client_column="who") == 2


def test_images_that_cannot_be_read_or_lie_elsewhere_are_refused_by_name(tmp_path):
    train, _ = pets(tmp_path)
    good = picture(tmp_path / "elsewhere/dog/0.png", 3).read_bytes()
    for name, data in (("z.png", b"GIF89a"), ("z.png", b""), ("z.png", good[:len(good) // 2]), ("z.png", good[:16] + b"\x7f\xff\xff\xff" + good[20:]),
                       ("z.jpg", (train / "cat/0.JPG").read_bytes()[:200]), ("z.jpg", picture(tmp_path / "c.jpg", 1, side=9).read_bytes())):
        (train / "cat" / name).write_bytes(data)
        refusal(name, form="pictures", train=train)
        (train / "cat" / name).unlink()
    (train / "cat/z.png").symlink_to(train / "dog/0.png")
    assert len(converted("pictures", train)["x"]) == 7
    (train / "cat/y.png").symlink_to(tmp_path / "elsewhere/dog/0.png")
    refusal("y.png", "link", form="pictures", train=train)
    os.mkfifo(train / "cat/x.png")
    refusal("x.png", "regular", form="pictures", train=train)
    refusal("no images", form="pictures", train=train / "cat")


def test_a_bomb_is_refused_by_its_header(tmp_path):
    picture(tmp_path / "cat/1.png", np.zeros((4097, 4097), np.uint8))
    refusal("1.png", "4097x4097", form="pictures", train=tmp_path)
    small = picture(tmp_path / "dog/1.png", np.zeros((1024, 1024, 3), np.uint8)).read_bytes()
    (tmp_path / "cat/1.png").write_bytes(small)
    for i in range(100):  # 400 kB that are 300 MB
        (tmp_path / f"dog/{i}.png").write_bytes(small)
    refusal("unpacks", str(101 * 3 << 20), form="pictures", train=tmp_path)
    for i in range(1, 100):
        picture(tmp_path / f"dog/{i}.png", 0)
    (tmp_path / "cat/1.png").write_bytes((tmp_path / "dog/1.png").read_bytes())
    refusal("0.png", "1024x1024x3", "8x8x3", form="pictures", train=tmp_path)  # before it is decoded


def test_where_rows_are_protected_the_shape_is_named_and_an_image_that_cannot_be_read_is_black(tmp_path):
    train, _ = pets(tmp_path)
    refusal("--shape", form="pictures", train=train, protected=True)
    (train / "dog/9.png").write_bytes(b"damaged")
    picture(train / "dog/8.png", 99, side=11)
    x = converted("pictures", train, shape="8x8x3", protected=True)["x"]
    assert len(x) == 8 and not x[6:].any() and x[5].any()


# Files of bytes

def idx(array, claimed=None):
    array = np.asarray(array, np.uint8)
    return bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in claimed or array.shape) + array.tobytes()


def test_idx_files_of_two_to_four_dimensions_gzipped_or_not(tmp_path):
    images, labels = tmp_path / "images", tmp_path / "labels"
    for shape in ((3, 10), (3, 2, 5), (3, 2, 5, 3)):
        images.write_bytes(gzip.compress(idx(np.full(shape, 16))))
        labels.write_bytes(idx([0, 25, 3]))
        arrays = converted("idx", [images, labels])
        assert arrays["x"].shape == shape and arrays["x"].dtype == np.uint8 and arrays["y"].tolist() == [0, 25, 3]
    for data in (idx(np.ones((3, 2, 2)))[:-1], idx(np.ones((3, 2, 2))) + b"1", idx(np.ones((2, 2, 2))), idx([1], (3, 1 << 20, 1 << 18)),
                 idx(np.ones((0, 2, 2))), b"\0\0\x08", b"\0\0\x0d\x01", gzip.compress(idx(np.ones((3, 2, 2))))[:-9]):
        images.write_bytes(data)
        refusal("images", form="idx", train=[images, labels])
    images.write_bytes(gzip.compress(bytes(100 << 20)))
    refusal("images", "unpacks", form="idx", train=[images, labels])


def test_cifars_form_has_one_label_byte_or_two_of_which_the_second_counts(tmp_path):
    records = np.repeat(np.arange(6, dtype=np.uint8)[:, None], 3073, 1)
    records[:, 1] = 99  # the first pixel
    (tmp_path / "plain.bin").write_bytes(records.tobytes())
    (tmp_path / "fine.bin").write_bytes(np.hstack([np.full((6, 1), 5, np.uint8), records]).tobytes())
    for name in ("plain.bin", "fine.bin"):
        arrays = converted("cifar", tmp_path / name)
        assert arrays["y"].tolist() == list(range(6)) and arrays["x"].shape == (6, 32, 32, 3) and arrays["x"][2, 0, :2, 0].tolist() == [99, 2]
    (tmp_path / "short.bin").write_bytes(records.tobytes()[1:])
    refusal("short.bin", form="cifar", train=tmp_path / "short.bin")


# The program

def emnist(path, rows=3):
    return hdf5(path, clients(**{f"w{i}": {"x": np.random.default_rng(i).random((rows, 4, 4)), "y": np.arange(rows) % 2} for i in range(4)}))


def test_data_convert_writes_an_archive_that_only_its_owner_reads_and_is_the_same_data(tmp_path):
    emnist(tmp_path / "e.h5")
    program("data", "convert", tmp_path / "e.h5", "--out", tmp_path / "e.npz")
    assert (tmp_path / "e.npz").stat().st_mode & 0o777 == 0o600
    shown = [json.loads(program("data", "show", tmp_path / name, "--json")) for name in ("e.h5", "e.npz")]
    assert shown[0]["hash"] == shown[1]["hash"] and shown[0]["clients"] == shown[1]["clients"] and len(shown[0]["clients"]) == 4
    assert names(program("data", "convert", tmp_path / "e.npz", "--out", tmp_path / "f.npz", code=2)[11:], "npz")
    assert names(program("data", "convert", tmp_path / "e.h5", "--client-column", "who", "--out", tmp_path / "f.npz", code=2)[11:], "'who'")
    (tmp_path / "bad.h5").write_bytes(b"\x89HDF\r\n\x1a\nxx")
    program("data", "convert", tmp_path / "bad.h5", "--out", tmp_path / "e.npz", code=1)
    assert {path.name for path in tmp_path.iterdir()} == {"e.h5", "e.npz", "bad.h5"}
    assert json.loads(program("data", "show", tmp_path / "e.npz", "--json"))["hash"] == shown[0]["hash"]


def test_converted_data_are_kept_by_contents_settings_and_version(tmp_path):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "FEDSTRIDE_CACHE_LIMIT": ""}
    data = tmp_path / "data"
    data.mkdir()

    def kept(*words):
        program("data", "show", *words, **cache)
        return sorted(path.name for path in (tmp_path / "cache/fedstride/objects").glob("*.object"))

    first = kept(emnist(data / "e.h5"))
    os.utime(data / "e.h5", (1, 1))
    assert len(first) == 1 and kept(data / "e.h5") == first
    # What the archive holds is read, and not the file again.
    again = json.loads(program("data", "show", data / "e.h5", "--json", **cache, FEDSTRIDE_PYTHON="/bin/false"))
    assert again["training_rows"] + again["test_rows"] == 12
    assert len(kept(data / "e.h5", "--inputs", "x")) == 2
    assert len(kept(emnist(data / "e.h5", rows=4))) == 3
    for path in (tmp_path / "cache/fedstride/objects").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    assert "3 data sets" in program("data", "forget", **cache)
    assert not list((tmp_path / "cache/fedstride/objects").iterdir())


PRIVATE = ["--dp", "example", "--noise-multiplier", "1", "--classes", "2", "--range", "0,1"]


def test_rows_of_a_private_run_are_written_nowhere(tmp_path):
    emnist(tmp_path / "e.h5", rows=30)
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "temporary"), "FEDSTRIDE_CACHE_LIMIT": ""}
    (tmp_path / "temporary").mkdir()
    program("run", "--data", tmp_path / "e.h5", "--partition", "natural", "--model", "logistic", *PRIVATE, "--rounds", "1", "--out", tmp_path / "run",
            **cache)
    value = np.random.default_rng(0).random((30, 4, 4))[0, 0].tobytes()
    holders = [path for path in tmp_path.rglob("*") if path.is_file() and value in path.read_bytes()]
    assert holders == [tmp_path / "e.h5"]
    assert not (tmp_path / "cache").exists() and not list((tmp_path / "temporary").iterdir())


def sleeper(tmp_path):
    """A Python that hangs before it converts, and says so."""
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\ntrap '' TERM\nwhile :; do sleep 0.1; done\n")
    path.chmod(0o700)
    return path


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_converter_that_hangs_ends_with_the_program_and_leaves_nothing(tmp_path, sent):
    emnist(tmp_path / "e.h5")
    environment = {**os.environ, "FEDSTRIDE_PYTHON": str(sleeper(tmp_path)), "XDG_CACHE_HOME": str(tmp_path / "cache"), "FEDSTRIDE_CACHE_LIMIT": ""}
    running = subprocess.Popen([PROGRAM, "run", "--data", tmp_path / "e.h5", "--rounds", "1", "--out", tmp_path / "run"], env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            break
        time.sleep(0.05)
    converter = int((tmp_path / "pid").read_text())
    running.send_signal(sent)
    running.wait(10)
    for _ in range(100):
        try:
            os.kill(converter, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the converter still runs")
    if sent == signal.SIGTERM:
        assert [path.name for path in (tmp_path / "cache/fedstride/objects").iterdir()] == ["key"]


def test_what_is_missing_is_told_in_one_line_with_the_command_that_installs_it(tmp_path):
    emnist(tmp_path / "e.h5")
    picture(tmp_path / "pets/cat/1.png", 1)
    line = program("data", "show", tmp_path / "e.h5", code=1, FEDSTRIDE_PYTHON="no-such-python")
    assert line.count("\n") == 1 and "sudo apt install python3 " in line
    for module, package, data in (("numpy", "python3-numpy", "e.h5"), ("h5py", "python3-h5py", "e.h5"), ("PIL", "python3-pil", "pets")):
        hidden = tmp_path / module
        hidden.mkdir()
        (hidden / f"{module}.py").write_text(f"raise ModuleNotFoundError(\"No module named '{module}'\")\n")
        line = program("data", "show", tmp_path / data, code=1, PYTHONPATH=str(hidden) + ":" + os.environ.get("PYTHONPATH", ""))
        assert line.count("\n") == 1 and f"sudo apt install {package}" in line, line


def test_pickles_in_a_file_are_refused_and_files_of_the_current_folder_are_no_modules(tmp_path):
    np.savez(tmp_path / "p.npz", x=np.array([{}, {}], object), y=np.array([0, 1]))
    assert names(program("data", "show", tmp_path / "p.npz", code=1)[11:], "'x'")
    emnist(tmp_path / "e.h5")
    (tmp_path / "numpy.py").write_text("raise SystemExit('read from the current folder')\n")
    done = subprocess.run([PROGRAM, "data", "show", "e.h5"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
