"""Data sets of other libraries."""

import numpy
import pytest
from conftest import refused

import fedstride

RANDOM = numpy.random.default_rng(7)
PICTURES = RANDOM.integers(0, 256, (60, 3, 8, 8), numpy.uint8)
LABELS = numpy.arange(60) % 4
CLIENTS = numpy.arange(60) % 3
OWN = {"model": "logistic", "clients": 3, "rounds": 1, "threads": 1, "partition": "dirichlet"}


def hash_of(folder, data, **settings):
    settings = {**OWN, **settings}
    hash_of.count = getattr(hash_of, "count", 0) + 1
    return fedstride.run(**settings, data=data, out=folder / str(hash_of.count)).summary["model_hash"]


class Rows:
    """A data set as many have written one."""

    def __init__(self, *columns, wrap=tuple):
        self.columns, self.wrap = columns, wrap

    def __len__(self):
        return len(self.columns[0])

    def __getitem__(self, row):
        return self.wrap(column[row] for column in self.columns)


class Column(list):
    """What a Hugging Face data set answers for a column in NumPy's format, if its rows differ in shape."""


class Features:
    class Image: ...
    class ClassLabel: ...


class HuggingFace:
    """Stands in for a Hugging Face Dataset, which Debian has not: column_names, features, with_format, columns by name."""

    def __init__(self, columns, features=None, is_numpy=False):
        self.all, self.features, self.is_numpy = columns, features or {}, is_numpy
        self.column_names = list(columns)

    def __len__(self):
        return len(next(iter(self.all.values())))

    def __getitem__(self, name):
        assert isinstance(name, str) and self.is_numpy
        return self.all[name]

    def with_format(self, name):
        assert name == "numpy"
        return HuggingFace(self.all, self.features, True)


def test_rows_are_the_arrays_they_hold(tmp_path):
    expected = hash_of(tmp_path, (PICTURES, LABELS))
    assert hash_of(tmp_path, Rows(PICTURES, LABELS)) == expected
    assert hash_of(tmp_path, Rows(PICTURES, LABELS.tolist(), wrap=list)) == expected
    assert hash_of(tmp_path, Rows(PICTURES, LABELS, wrap=lambda row: dict(zip(("image", "label"), row)))) == expected
    names = numpy.array(["ant", "bee", "cow", "dog"])[LABELS]
    assert hash_of(tmp_path, Rows(PICTURES, names.tolist())) == hash_of(tmp_path, (PICTURES, names))
    own = Rows(PICTURES, LABELS, LABELS, wrap=lambda row: dict(zip(("picture", "kind", "label"), row)))
    assert hash_of(tmp_path, own, inputs="picture", label="kind") == expected


def test_clients_and_test_parts(tmp_path):
    natural = {"partition": "natural"}
    expected = hash_of(tmp_path, (PICTURES, LABELS, CLIENTS), **natural)
    assert hash_of(tmp_path, Rows(PICTURES, LABELS, CLIENTS), **natural) == expected
    keyed = Rows(PICTURES, LABELS, CLIENTS, wrap=lambda row: dict(zip(("x", "y", "writer"), row)))
    assert hash_of(tmp_path, keyed, client_column="writer", **natural) == expected
    test = (PICTURES[:20], LABELS[:20])
    both = hash_of(tmp_path, {"x": PICTURES, "y": LABELS, "x_test": test[0], "y_test": test[1]})
    assert hash_of(tmp_path, (Rows(PICTURES, LABELS), Rows(*test))) == both
    assert hash_of(tmp_path, {"train": Rows(PICTURES, LABELS), "test": Rows(*test)}) == both


def test_columns(tmp_path):
    expected = hash_of(tmp_path, (PICTURES, LABELS))
    columns = {"id": LABELS, "photo": PICTURES, "species": LABELS}
    data = HuggingFace(columns, {"photo": Features.Image(), "species": Features.ClassLabel()})
    assert hash_of(tmp_path, data) == expected
    assert hash_of(tmp_path, HuggingFace({"img": Column(PICTURES), "fine_label": LABELS, "text": LABELS})) == expected
    natural = HuggingFace({"x": PICTURES, "y": LABELS, "writer": CLIENTS})
    assert hash_of(tmp_path, natural, client_column="writer", partition="natural") == hash_of(tmp_path, (PICTURES, LABELS, CLIENTS), partition="natural")
    for data, settings, *parts in (
        (HuggingFace({"photo": PICTURES, "label": LABELS}), {}, "inputs", "photo", "label"),
        (HuggingFace({"x": PICTURES, "y": LABELS}), {"label": "z"}, "label", "'z'", "x", "y"),
        (HuggingFace({"x": Column([PICTURES[0], PICTURES[1][:, 1:]]), "y": LABELS[:2]}), {}, "data", "'x'", "row 1", "(3, 7, 8)", "(3, 8, 8)"),
    ):
        with refused(fedstride.UsageError, *parts):
            hash_of(tmp_path, data, **settings)


def test_a_frame(tmp_path):
    pandas = pytest.importorskip("pandas")
    x = RANDOM.normal(size=(120, 3)).astype(numpy.float32)
    y = RANDOM.integers(0, 3, 120)
    frame = pandas.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "kind": y})
    expected = hash_of(tmp_path, (x, y))
    assert hash_of(tmp_path, frame) == expected
    assert hash_of(tmp_path, frame[["kind", "a", "b", "c"]], label="kind") == expected
    named = frame.assign(who=numpy.arange(120) % 3, kind=numpy.array(["u", "v", "w"])[y])
    assert hash_of(tmp_path, named, label="kind", client_column="who", partition="natural") == hash_of(
        tmp_path, (x, named["kind"].to_numpy().astype(str), named["who"].to_numpy()), partition="natural")
    for data, settings, *parts in (
        (frame, {"label": "none"}, "label", "'none'", "kind"),
        (frame, {"client_column": "none"}, "client_column", "'none'"),
        (frame, {"inputs": "e"}, "inputs", "'e'"),
    ):
        with refused(fedstride.Error, *parts):
            hash_of(tmp_path, data, **settings)


def test_a_frame_is_what_its_csv_file_is(tmp_path):
    pandas = pytest.importorskip("pandas")
    x = RANDOM.normal(size=(120, 3)).astype(numpy.float32)
    y = RANDOM.integers(0, 3, 120)
    frame = pandas.DataFrame({"label": y, "a": x[:, 0], "b": x[:, 1], "time": 1_700_000_000 + numpy.arange(120) % 60})

    def csv(frame, **settings):
        frame.to_csv(tmp_path / "t.csv", index=False)
        return hash_of(tmp_path, tmp_path / "t.csv", **settings)

    assert hash_of(tmp_path, frame) == csv(frame)  # the label by its name; single precision would round the times
    gaps = frame.assign(a=frame["a"].where(frame["a"] < 1), c=pandas.array([1, None, 3] * 40, "Int64"), d=pandas.array([True, None] * 60, "boolean"))
    assert hash_of(tmp_path, gaps, missing="mean") == csv(gaps, missing="mean")
    for label in (pandas.array([0, 1, None] * 40, "Int64"), pandas.array(["u", None, "w"] * 40, "string"), ["u", "v", numpy.nan] * 40,
                  pandas.Categorical(["u", "v", None] * 40), [0.0, numpy.nan, 1.0] * 40):
        some = frame.assign(label=label)
        assert hash_of(tmp_path, some, missing="drop") == csv(some, missing="drop")
        with refused(fedstride.Error, "the label", "missing value"):
            hash_of(tmp_path, some)
    whole = frame.assign(label=pandas.array(y, "Int64"))
    assert hash_of(tmp_path, whole) == csv(whole)
    twice = pandas.DataFrame(numpy.c_[x, y], columns=["a", "a", "b", "label"])
    with refused(fedstride.UsageError, "'a'", "two"):
        hash_of(tmp_path, twice)
    with refused(fedstride.Error, "'label'", "'Target'", "label="):
        hash_of(tmp_path, frame.assign(Target=y))


def test_frames_and_columns_as_x_and_y(tmp_path):
    pandas = pytest.importorskip("pandas")
    x = pandas.DataFrame(RANDOM.normal(size=(120, 3)).astype(numpy.float32), columns=["a", "b", "c"])
    y = pandas.DataFrame({"kind": RANDOM.integers(0, 3, 120)})
    expected = hash_of(tmp_path, (x.to_numpy(), y["kind"].to_numpy()))
    assert hash_of(tmp_path, (x, y)) == hash_of(tmp_path, (x, y["kind"])) == hash_of(tmp_path, (x, y["kind"].astype("Int64"))) == expected
    names = pandas.Series(numpy.array(["u", "v", "w"])[y["kind"]])
    assert hash_of(tmp_path, (x, names.values)) == hash_of(tmp_path, (x, names.to_list())) == hash_of(tmp_path, (x, names)) == expected
    test = {"y": y, "y_test": y}
    assert hash_of(tmp_path, {"x": x, "x_test": x[["c", "a", "b"]], **test}) == hash_of(tmp_path, {"x": x, "x_test": x, **test})
    for label in (names.where(names != "u").values, ["u", numpy.nan] * 60):
        with refused(fedstride.Error, "the label", "missing value"):
            hash_of(tmp_path, (x, label))


def test_masked_values_are_missing(tmp_path):
    x = RANDOM.normal(size=(120, 3)).astype(numpy.float32)
    y = RANDOM.integers(0, 3, 120)
    hidden = x > 1
    expected = hash_of(tmp_path, (numpy.where(hidden, numpy.nan, x).astype(numpy.float32), y), missing="mean")
    assert hash_of(tmp_path, (numpy.ma.masked_array(x, hidden), y), missing="mean") == expected
    with refused(fedstride.Error, "'x'", "missing"):
        hash_of(tmp_path, (numpy.ma.masked_array(x, hidden), y))
    without = numpy.ma.masked_array(y, numpy.arange(120) % 5 == 0)
    assert hash_of(tmp_path, (x, without), missing="drop") == hash_of(tmp_path, (x[~without.mask], y[~without.mask]))
    assert "24" in str(fedstride.load_dataset(data=(x, without), missing="drop")["notes"])
    assert hash_of(tmp_path, (numpy.ma.masked_array(x), y)) == hash_of(tmp_path, (x, y))


def test_a_run_on_rows_goes_on_and_is_evaluated(tmp_path):
    data = Rows(PICTURES, LABELS, wrap=lambda row: dict(zip(("picture", "kind"), row)))
    settings = {**OWN, "inputs": "picture", "label": "kind"}
    run = fedstride.run(**settings, data=data, out=tmp_path / "run")
    again = fedstride.resume(run, data=data, rounds=2)
    assert again.summary["model_hash"] == fedstride.run(**{**settings, "rounds": 2}, data=data, out=tmp_path / "two").summary["model_hash"]
    assert run.evaluate(data=data)["accuracy"] == again.summary["test_accuracy"]
    assert [len(rows) for rows in fedstride.partition(**settings, data=data)]
    assert fedstride.load_dataset(data=data, inputs="picture", label="kind")["x"].shape[1:] == (3, 8, 8)


FLOATS = PICTURES.astype(numpy.float32) / numpy.float32(255)
FORMS = {
    "bytes": PICTURES,
    "bytes, channels last": numpy.ascontiguousarray(PICTURES.transpose(0, 2, 3, 1)),
    "bytes, gray": PICTURES[:, 0],
    "0 to 1": FLOATS,
    "0 to 1, channels last": numpy.ascontiguousarray(FLOATS.transpose(0, 2, 3, 1)),
    "normalized": (FLOATS - numpy.float32(0.47)) / numpy.float32(0.25),
    "64 bits": FLOATS.astype(numpy.float64) * 3,
    "flat": FLOATS.reshape(60, -1),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("how", ["arrays", "with a test part", "rows", "rows that are kept", "rows with dp"])
def test_a_task_has_rows_as_the_data_gave_them(tmp_path, monkeypatch, form, how):
    x = FORMS[form]
    data = {"arrays": (x, LABELS), "with a test part": {"x_train": x, "y_train": LABELS, "x_test": x[:5], "y_test": LABELS[:5]}}.get(
        how, Rows(x, LABELS))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if how == "rows that are kept":
        monkeypatch.setattr("fedstride._kept._WORTH", -1)
        monkeypatch.setenv("FEDSTRIDE_CACHE_LIMIT", "1G")
    seen = {}

    def train(weights, task):
        for row, label in zip(task.x, task.y):
            seen[row.tobytes()] = label
        assert task.x.dtype == x.dtype and task.x.shape == (task.examples, *x.shape[1:])
        return dict(weights)

    settings = {**OWN, "partition": "iid"}
    expected = sum(map(len, fedstride.partition(**settings, data=data)))
    if how == "rows with dp":
        settings |= {"dp": "client", "clip": 1, "noise_multiplier": 1, "classes": 4, "mean": 0.5, "deviation": 0.25}
    for again in range(2 if how == "rows that are kept" else 1):
        fedstride.run(**settings, data=data, train=train, out=tmp_path / str(again))
    labels = {row.tobytes(): label for row, label in zip(x, LABELS)}
    assert len(seen) == expected and all(labels[row] == label for row, label in seen.items())


def test_a_list_of_rows(tmp_path):
    expected = hash_of(tmp_path, (PICTURES, LABELS))
    rows = list(zip(PICTURES, LABELS))
    assert hash_of(tmp_path, rows) == hash_of(tmp_path, [{"x": x, "y": y} for x, y in rows]) == expected
    assert hash_of(tmp_path, [(x, int(y), int(client)) for (x, y), client in zip(rows, CLIENTS)], partition="natural") == hash_of(
        tmp_path, (PICTURES, LABELS, CLIENTS), partition="natural")
    tested = {"x": PICTURES, "y": LABELS, "x_test": PICTURES[:20], "y_test": LABELS[:20]}
    assert hash_of(tmp_path, (rows, rows[:20])) == hash_of(tmp_path, {"train": rows, "test": rows[:20]}) == hash_of(tmp_path, tested)
    with refused(fedstride.UsageError, "no rows"):
        hash_of(tmp_path, [])


def test_what_is_no_data_set_is_refused_by_name(tmp_path):
    def breaks(row):
        raise OSError("the disk is gone")

    class Lies(Rows):
        def __len__(self):
            return 61

    holes = RANDOM.normal(size=(60, 5)).astype(numpy.float32)
    holes[7, 2] = numpy.nan
    mixed = [(PICTURES[0], 0), (PICTURES[1], 1, 2)]
    keyed = [{"x": PICTURES[0], "y": 0}, {"x": PICTURES[1]}]

    class Listed(Rows):
        """Rows that are what they are."""

        def __getitem__(self, row):
            return self.columns[0][row]

    for data, *parts in (
        (Rows(holes, LABELS), "data", "'x'", "example 7", "number 2", "NaN", "missing"),
        (Rows(PICTURES, numpy.where(LABELS == 1, numpy.nan, LABELS)), "data", "'y'", "answer 1", "finite"),
        (Lies(PICTURES.tolist(), LABELS.tolist()), "data", "row 60 of 61", "IndexError"),
        (Listed(mixed), "data", "row 1", "3 values", "2"),
        (Listed(keyed), "data", "row 1 of 2", "KeyError", "'y'"),
        (Listed([3, 4]), "data", "int", "(x, y)"),
        (Rows(PICTURES, LABELS, wrap=breaks), "data", "row 0 of 60", "OSError", "the disk is gone"),
        ((Rows(PICTURES, LABELS), Rows([], [])), "the test part of data", "no rows"),
        (Rows([], []), "data", "no rows"),
        (Rows(PICTURES, LABELS, CLIENTS, CLIENTS), "data", "tuple", "(x, y)"),
        (Rows([3, "a"], [0, 1]), "data", "'inputs'", "row 1"),
        (Rows([numpy.zeros(3), numpy.zeros(4)], [0, 1]), "data", "'inputs'", "row 1", "(4,)", "(3,)"),
        (Rows([object(), object()], [0, 1]), "data", "'inputs'", "row 0", "object"),
        ((Rows(PICTURES, LABELS), Rows(PICTURES[:, :, 1:], LABELS)), "data"),
    ):
        with refused(fedstride.Error, *parts):
            hash_of(tmp_path, data)
    with pytest.raises(fedstride.Error) as raised:
        hash_of(tmp_path, Rows(PICTURES, LABELS, wrap=breaks))
    assert isinstance(raised.value.__cause__, OSError)


def test_pytorch_data_sets(tmp_path):
    torch = pytest.importorskip("torch")
    expected = hash_of(tmp_path, (PICTURES, LABELS))
    tensors = torch.utils.data.TensorDataset(torch.from_numpy(PICTURES), torch.from_numpy(LABELS))
    assert hash_of(tmp_path, tensors) == expected

    class Own(torch.utils.data.Dataset):
        def __len__(self):
            return 60

        def __getitem__(self, row):
            return torch.from_numpy(PICTURES[row]).float() / 255, int(LABELS[row])

    assert hash_of(tmp_path, Own()) == expected
    half = torch.utils.data.Subset(tensors, range(30))
    assert hash_of(tmp_path, half) == hash_of(tmp_path, (PICTURES[:30], LABELS[:30]))
    assert hash_of(tmp_path, torch.utils.data.random_split(tensors, [40, 20], torch.Generator().manual_seed(1)))


def test_torchvision_data_sets(tmp_path):
    torchvision = pytest.importorskip("torchvision")
    size = (3, 8, 8)
    plain = torchvision.datasets.FakeData(40, size, 4)
    tensors = torchvision.datasets.FakeData(40, size, 4, torchvision.transforms.ToTensor())
    x = numpy.stack([numpy.asarray(picture) for picture, _ in plain])
    y = numpy.array([int(label) for _, label in plain])
    expected = hash_of(tmp_path, (x, y))
    assert hash_of(tmp_path, plain) == expected
    assert hash_of(tmp_path, tensors) == expected
