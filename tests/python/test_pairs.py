"""Pairs of a file and a Python object with the same rows: both are read alike, or refused for the same reason."""

import re

import numpy
import pytest

import fedstride

pandas = pytest.importorskip("pandas")
ROWS = 60
RANDOM = numpy.random.default_rng(3)
KIND = numpy.arange(ROWS) % 3
WORDS = numpy.array(["u", "v", "w"])
PLAIN = pandas.DataFrame({"a": RANDOM.normal(size=ROWS).round(3), "b": RANDOM.integers(0, 50, ROWS), "c": RANDOM.normal(size=ROWS).round(2)})
HALVES = [1.5, 2.5] * (ROWS // 2)
RUN = {"model": "dense classes", "rounds": 1, "clients": 2, "partition": "iid", "threads": 1, "progress": False}
BYTES = RANDOM.integers(0, 256, (ROWS, 64)).astype("uint8")
TIMES = 1_700_000_000 + numpy.arange(ROWS) % 7


def like(kind=KIND, **columns):
    """A frame of three columns of numbers, with other columns or others instead, and the label `kind`."""
    return PLAIN.assign(**columns, kind=kind)


def gaps(values, every=3, gap=None):
    return [gap if row % every == 1 else value for row, value in enumerate(values)]


def nullable(values, kind):
    return pandas.array(list(values), kind)


class Fact:
    """A frame and settings. `refused`: what each refusal says; `only`: the ways in which the object is given, all if empty; `differs`:
    by way, why the object is read otherwise."""

    def __init__(self, frame, refused="", only=(), differs=None, **settings):
        self.frame, self.refused, self.only, self.differs, self.settings = frame, refused, only, differs or {}, settings

    @property
    def label(self):
        usual = [name for name in self.frame.columns if str(name).strip().lower() in ("label", "target", "y", "class")]
        return self.settings.get("label", usual[0] if usual else self.frame.columns[-1])


FIELDS = {way: "texts beside inputs are what they are, not fields of a table" for way in ("arrays", "npz")}
IGNORED = {way: "settings of tables are refused" for way in ("arrays", "masked", "npz")}
WHOLE = {way: "floating-point labels that do not repeat are values, in tables only if not whole (docs/data.md)"
         for way in ("arrays", "masked", "npz")}
NOT_FINITE = {way: "a label that is NaN is called not finite, not missing" for way in ("arrays", "masked", "npz")}

PRIVATE = {"clip": 1, "noise_multiplier": 1, "classes": 3, "range": "a=-5..50,b=-5..50,c=-5..50"}

FACTS = {
    "the label is the last column": Fact(like()),
    "the label is in front": Fact(like()[["kind", "a", "b", "c"]].rename(columns={"kind": "Label"})),
    "the label is named": Fact(like()[["a", "kind", "b", "c"]], label="kind"),
    "the label is numbered": Fact(like()[["a", "kind", "b", "c"]], label="2", only=["frame"]),
    "two columns may be the label": Fact(like(label=KIND, target=KIND), "'label' and 'target' may both be the label", only=["frame"]),
    "several labels": Fact(like(p=HALVES, q=PLAIN["a"] * 2), label="p,q", only=["frame"]),
    "flags": Fact(like(p=KIND % 2, q=1 - KIND % 2), label="p,q", only=["frame"]),
    "32-bit whole numbers": Fact(like().astype("int32")),
    "single precision": Fact(like(b=1).astype({"a": "float32", "b": "float32", "c": "float32"})),
    "multiples of 1/255": Fact(pandas.DataFrame({"a": BYTES[:, 0] / 255, "b": BYTES[:, 1] / 255, "kind": KIND}), only=["frame", "pair"]),
    "64 columns of bytes": Fact(pandas.DataFrame(BYTES, columns=[f"p{k}" for k in range(64)]).assign(kind=KIND), only=["frame", "pair"]),
    "the label has the number of another": Fact(pandas.DataFrame(numpy.c_[PLAIN, KIND], columns=list("0123")), label="2", only=["frame"]),
    "one input": Fact(like()[["a", "kind"]]),
    "no input": Fact(like()[["kind"]], "1 column|one column", only=["frame"]),
    "no rows": Fact(like()[:0], "no records|no training examples"),
    "one class": Fact(like(kind=0), "at least two classes"),

    "a gap": Fact(like(c=gaps(HALVES, 50)), "missing"),
    "a gap becomes the mean": Fact(like(c=gaps(HALVES)), missing="mean"),
    "a gap becomes zero": Fact(like(c=gaps(HALVES)), missing="zero"),
    "a gap has an indicator": Fact(like(c=gaps(HALVES)), missing="indicator"),
    "a row with a gap is dropped": Fact(like(c=gaps(HALVES)), missing="drop"),
    "nullable whole numbers": Fact(like(b=nullable(gaps(range(ROWS)), "Int64")), missing="mean"),
    "nullable numbers": Fact(like(c=nullable(gaps(HALVES), "Float64")), missing="mean"),
    "nullable truths": Fact(like(c=nullable(gaps(KIND == 1), "boolean")), missing="mean"),
    "truths": Fact(like(c=KIND == 1)),
    "an infinite number": Fact(like(c=[*HALVES[1:], numpy.inf]), "infinite|not finite"),
    "a number too large": Fact(like(c=[*HALVES[1:], 1e300]), "too large"),
    "large whole numbers": Fact(like(t=2**60 + numpy.arange(ROWS))),
    "large unsigned numbers": Fact(like(t=numpy.arange(ROWS).astype("uint64") + 2**63)),
    "times": Fact(like(t=TIMES)),
    "times less a named offset": Fact(like(t=TIMES), offsets="t=1700000000"),
    "times less a numbered offset": Fact(like(t=TIMES), offsets="4=1700000000", only=["frame", "pair"]),
    "an offset of no column": Fact(like(), "'z'", offsets="z=1", differs={way: "an offset of an unknown name is of no effect" for way in ("arrays", "masked", "npz")}),

    "words": Fact(like(c=WORDS[KIND])),
    "nullable words": Fact(like(c=nullable(gaps(WORDS[KIND]), "string")), missing="mean"),
    "categories": Fact(like(c=pandas.Categorical(WORDS[KIND]))),
    "named categories": Fact(like(c=WORDS[KIND]), categories="c=w,v,u"),
    "numbers as named categories": Fact(like(c=KIND), categories="c=2,1,0", differs=IGNORED),
    "objects that are numbers": Fact(like(c=pandas.Series(HALVES, dtype=object))),
    "a word among numbers": Fact(like(c=pandas.Series([*HALVES[1:], "x"], dtype=object)), "'c'.*(not a number|type object)", only=["frame", "pair"]),
    "dates": Fact(like(c=pandas.date_range("2024-01-01", periods=ROWS)), "'c'.*date", only=["frame", "pair"]),

    "texts as labels": Fact(like(WORDS[KIND])),
    "texts with gaps as labels": Fact(like(gaps(WORDS[KIND], 4)), missing="drop"),
    "a label that is no text": Fact(like(gaps(WORDS[KIND])), "missing value|no value"),
    "categories as labels": Fact(like(pandas.Categorical(WORDS[KIND], categories=["w", "v", "u"]))),
    "texts with blanks as labels": Fact(like(gaps(WORDS[KIND], 4, " u")), differs=FIELDS),
    "texts of several lines as labels": Fact(like(gaps(WORDS[KIND], 4, "dos\r\nunix\nmac\rquote\"")), differs=FIELDS),
    "NA as a label": Fact(like(gaps(WORDS[KIND], 4, "NA")), "missing value|no value", differs=FIELDS),
    "texts of numbers as labels": Fact(like([str(one + 9) for one in KIND])),
    "texts and numbers as labels": Fact(like(gaps(list(map(int, KIND)), 4, "u"))),
    "objects of numbers as labels": Fact(like(pandas.Series([0.5 + one for one in KIND], dtype=object)), only=["frame", "pair"]),
    "dates as labels": Fact(like(pandas.to_datetime(["2024-01-01", "2024-01-02"] * (ROWS // 2))), only=["frame", "pair"]),
    "truths as labels": Fact(like(KIND == 1), differs={way: "True and False are words in a table, numbers in an array" for way in ("arrays", "npz")}),
    "nullable truths as labels": Fact(like(nullable(KIND == 1, "boolean")), only=["frame"]),
    "labels with gaps": Fact(like(gaps(KIND * 1.0, 4, numpy.nan)), missing="drop",
                             differs={"npz": "in an archive, a label that is NaN is refused, also with missing=drop"}),
    "nullable labels": Fact(like(nullable(gaps(KIND, 4), "Int64")), missing="drop"),
    "a label that is NaN": Fact(like(gaps(KIND * 1.0, 4, numpy.nan)), "missing value|no value", missing="zero", differs=NOT_FINITE),
    "labels from 1": Fact(like(KIND + 1)),
    "signs as labels": Fact(like(numpy.where(KIND == 1, 1, -1))),
    "negative labels": Fact(like(KIND - 1)),
    "whole numbers as floats": Fact(like(KIND * 1.0)),
    "whole numbers from 1 as floats": Fact(like(KIND + 1.0)),
    "signs as floats": Fact(like(numpy.where(KIND == 1, 1.0, -1.0))),
    "each label once": Fact(like(numpy.arange(ROWS))),
    "each label once, as a float": Fact(like(numpy.arange(ROWS) * 1.0), differs=WHOLE),
    "each label once, as a float, as classes": Fact(like(numpy.arange(ROWS) * 1.0), targets="classes"),
    "values": Fact(like(numpy.arange(ROWS) / 2)),
    "whole numbers as values": Fact(like(), targets="values"),
    "values less an offset": Fact(like(1_700_000_000.5 + numpy.arange(ROWS)),
                                  differs={way: "the label of arrays has no name" for way in ("arrays", "masked", "npz")}),
    "named classes": Fact(like(WORDS[KIND]), class_names="w,v,u"),
    "named classes that are numbers": Fact(like(KIND + 1), class_names="3,2,1"),
    "a class without a name": Fact(like(WORDS[KIND]), "'u'.*class-names|'u'.*class_names", class_names="w,v"),

    "clients": Fact(like(who=WORDS[KIND]), client_column="who"),
    "numbered clients": Fact(like(who=KIND + 8), client_column="who"),
    "clients that are floats": Fact(like(who=KIND + 8.0), client_column="who", only=["frame"]),
    "clients with blanks": Fact(like(who=gaps(WORDS[KIND], 4, " u")), client_column="who", only=["frame", "pair"]),
    "clients with gaps": Fact(like(who=gaps(WORDS[KIND], 4)), client_column="who", missing="drop"),
    "a row without a client": Fact(like(who=gaps(WORDS[KIND], 4)), "missing value|no value", client_column="who"),
    "users": Fact(like(who=KIND), only=["frame"], user_column="who", **PRIVATE, dp="user"),
    "protected rows": Fact(like(), **PRIVATE, dp="example"),
    "protected rows without facts": Fact(like(), "dp.*classes", dp="example", clip=1, noise_multiplier=1),
    "a column named client": Fact(like(client=KIND), only=["frame", "pair"]),

    "named mean and deviation": Fact(like(), mean="0,25,0", deviation="1,14,1"),
    "a named range": Fact(like(), range="-5,50"),
    "input columns": Fact(like(), inputs="c, a", only=["frame"]),
    "numbered input columns": Fact(like(), inputs="1,3", only=["frame"]),
    "an unknown input column": Fact(like(), "'?z'?.*a, b, c", inputs="z", only=["frame"]),
    "dropped columns": Fact(like(), drop_columns="a", differs=IGNORED),
    "an unknown dropped column": Fact(like(), "'z'|column: z", drop_columns="z", differs=IGNORED),
    "a column used twice": Fact(like(), "twice", drop_columns="kind", label="kind", only=["frame"]),
    "columns without a name": Fact(like().rename(columns={"a": "Unnamed: 0"}), only=["frame", "pair"]),
    "a column with the name of nothing": Fact(like().rename(columns={"a": ""}), only=["frame", "pair"]),
    "names with blanks": Fact(like().rename(columns={"a": " a "}), only=["frame", "pair"]),
    "names with separators": Fact(like().rename(columns={"a": "a;b,c=d"})),
    "columns of one name": Fact(pandas.DataFrame(numpy.c_[PLAIN, KIND], columns=["a", "a", "b", "kind"]), only=["frame"],
                                differs={"frame": "a table may have two columns of one name"}),
}


def frame_of(fact):
    return fact.frame, fact.settings


def pair_of(fact):
    """(X, y) or (X, y, clients) of pandas."""
    settings = {key: value for key, value in fact.settings.items() if key not in ("label", "client_column")}
    names = [fact.label, *([fact.settings["client_column"]] if "client_column" in fact.settings else [])]
    return (fact.frame.drop(columns=names), *(fact.frame[name] for name in names)), settings


def arrays_of(fact):
    """A dict of NumPy arrays; None if an input is no number."""
    (x, y, *clients), settings = pair_of(fact)
    if any(getattr(kind, "kind", "") not in tuple("iuf") for kind in x.dtypes):
        return None
    texts = y.dtype.kind in "O" or str(y.dtype) in ("string", "category")
    y = y.to_numpy(object if y.isna().any() and (texts or y.dtype.kind != "f") else str if texts else None)
    clients = [one.to_numpy(str if one.dtype.kind == "O" and not one.isna().any() else None) for one in clients]
    arrays = {"x": x.to_numpy("float64", na_value=numpy.nan), "y": y, "columns": numpy.array([str(name) for name in x.columns])}
    return arrays | ({"client": clients[0]} if clients else {}), settings


def masked_of(fact):
    """The same, where what is missing is masked; None if nothing is."""
    found = arrays_of(fact)
    if found is None or not (numpy.isnan(found[0]["x"]).any() or fact.frame[fact.label].isna().any()):
        return None
    arrays, settings = found
    gone = fact.frame[fact.label].isna().to_numpy()
    held = fact.frame[fact.label].dropna().iloc[0]
    y = numpy.array([held if gap else one for one, gap in zip(arrays["y"], gone)])
    hidden = numpy.isnan(arrays["x"])
    return arrays | {"x": numpy.ma.masked_array(numpy.where(hidden, 5.0, arrays["x"]), hidden), "y": numpy.ma.masked_array(y, gone)}, settings


def archive_of(fact):
    """The same as the dict, for an .npz file; None if something is missing among texts."""
    found = arrays_of(fact)
    return None if found is None or any(array.dtype == object for array in found[0].values()) else found


WAYS = {"frame": frame_of, "pair": pair_of, "arrays": arrays_of, "masked": masked_of, "npz": archive_of}


def outcome(data, folder, settings):
    """The schema that a run keeps and its model after a round; a line, if it is refused."""
    has_clients = settings.get("client_column") or isinstance(data, tuple) and len(data) > 2 or isinstance(data, dict) and "client" in data
    try:
        run = fedstride.run(**RUN | ({"partition": "natural"} if has_clients else {}) | settings, data=data, out=folder)
    except fedstride.Error as error:
        assert "\n" not in str(error)
        return str(error)
    schema = run.schema
    schema.get("columns", {}).pop("answers", None)  # the label of arrays has no name
    return schema, run.summary["model_hash"] if "dp" not in settings else None  # whose noise depends on names


PAIRS = [(name, way) for name, fact in FACTS.items() for way in fact.only or WAYS if WAYS[way](fact) is not None]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """What happens to each fact's rows in a file, by name."""
    folder, known = tmp_path_factory.mktemp("files"), {}

    def of(name):
        if name not in known:
            fact, path = FACTS[name], folder / f"{len(known)}.csv"
            fact.frame.to_csv(path, index=False)
            known[name] = outcome(path, folder / f"run{len(known)}", fact.settings)
        return known[name]

    return of


@pytest.mark.parametrize(("name", "way"), PAIRS, ids=[f"{name}: {way}" for name, way in PAIRS])
def test_an_object_is_what_its_file_is(files, request, tmp_path, name, way):
    fact = FACTS[name]
    data, settings = WAYS[way](fact)
    if way == "npz":
        numpy.savez(tmp_path / "data.npz", **data)
        settings = settings | ({"partition": "natural"} if "client" in data else {})
        data = tmp_path / "data.npz"
    by_file = files(name)
    if fact.refused:
        assert isinstance(by_file, str) and re.search(fact.refused, by_file), by_file
    else:
        assert not isinstance(by_file, str), by_file
    if way in fact.differs:
        request.applymarker(pytest.mark.xfail(strict=True, reason=fact.differs[way]))
    by_object = outcome(data, tmp_path / "run", settings)
    if fact.refused:
        assert isinstance(by_object, str) and re.search(fact.refused, by_object), by_object
    else:
        assert by_object == by_file


TURNED = ["kind", "c", "a", "b"]
GIVEN = {"file": lambda frame, path: (frame.to_csv(path, index=False), path)[1], "frame": lambda frame, path: frame}
@pytest.mark.parametrize("tested", GIVEN)
@pytest.mark.parametrize("trained", GIVEN)
def test_a_run_is_tested_alike_on_both(tmp_path, trained, tested):
    run = fedstride.run(**RUN, data=GIVEN[trained](like(), tmp_path / "train.csv"), out=tmp_path / "run")
    other = like().iloc[::-1][TURNED]
    expected = fedstride.run(**RUN, data=GIVEN["file"](like(), tmp_path / "same.csv"), out=tmp_path / "same")
    wanted = expected.evaluate(data=GIVEN["file"](other, tmp_path / "wanted.csv"))
    inputs = other.drop(columns="kind")
    assert run.predict(GIVEN[tested](inputs, tmp_path / "new.csv"))["class"] == expected.predict(inputs)["class"]
    assert run.evaluate(data=GIVEN[tested](other, tmp_path / "other.csv"))["loss"] == wanted["loss"]


def test_truths_are_predicted_from_the_frame_of_the_run(tmp_path):
    frame = like(c=KIND == 1)
    run = fedstride.run(**RUN, data=frame, out=tmp_path / "run")
    assert len(run.predict(frame.drop(columns="kind"))["class"]) == ROWS


def test_the_label_has_its_name(tmp_path):
    assert fedstride.run(**RUN, data=like(), out=tmp_path / "run").schema["columns"]["answers"] == ["kind"]
