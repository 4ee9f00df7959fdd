"""Random tables, read as Python's csv module and float() read them, under the rules of docs/data.md."""

import csv
import io
import math
import random
import re
import sys

import numpy
import pytest

import fedstride

TABLES = 2000
MISSING = {"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A", "<NA>"}
TARGETS = {"label", "target", "y", "class"}
# What float() reads as well are blanks, underscores and digits of other scripts.
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE)


class Refused(Exception):
    """The rules refuse the table."""


def number(field, comma=False):
    """The field as a number with a decimal point (or comma), or None. What is smaller than normal numbers is 0."""
    if comma:
        field = field.replace(",", ".") if field.count(",") == 1 and "." not in field else ""
    value = float(field) if NUMBER.fullmatch(field) else None
    return math.copysign(0, value) if value is not None and abs(value) < sys.float_info.min else value


def is_grouped(field):
    """1,234,567 and 1,234.5 and 1.234,5: separators of thousands."""
    digits = field.removeprefix("-") if field.startswith("-") else field.removeprefix("+")
    groups = re.split("[.,]", digits)
    both = "." in digits and "," in digits
    return bool(re.fullmatch("[0-9.,]+", digits)) and "," in digits and len(groups) > 2 and 1 <= len(groups[0]) <= 3 and all(
        len(group) == 3 for group in groups[1:-1 if both else None])


def separator_of(text):
    """What separates the fields of the first record: ; before tabs (if all commas are between digits) before commas."""
    text = text.lstrip(" \r\n")
    quoted, starts, was_quoted, seen, commas = False, True, False, set(), []
    for at, c in enumerate(text):
        if quoted:
            quoted = c != '"'
        elif c == '"' and (starts or was_quoted and text[at - 1] == '"'):
            quoted = was_quoted = True
        elif c in "\r\n":
            break
        elif c in ";\t,":
            seen.add(c)
            was_quoted = False
            commas += [at] if c == "," else []
        starts = c in ";\t," or starts and c == " "
    decimal = all(at > 0 and re.fullmatch("[0-9],[0-9]", text[at - 1:at + 2]) for at in commas)
    return ";" if ";" in seen else "\t" if "\t" in seen and decimal else ","


def records_of(text):
    named = re.match("sep=(.)[\r\n]", text)
    separator = named[1] if named else separator_of(text)
    text = text[named.end() - 1:] if named else text
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    rows = [[re.sub("\r\n|\r|\n", " ", field).strip(" \t\r\n") for field in row] for row in rows]
    return [row for row in rows if row not in ([], [""])]


def counts(numbers):
    return bool(numbers) and numbers[0] in (0, 1) and all(b == a + 1 for a, b in zip(numbers, numbers[1:]))


def first_numbers(row):
    return [one for one in ((number(field) if number(field) is not None else number(field, True)) for field in row) if one is not None]


def looks_like_header(row):
    numbers = first_numbers(row)
    signs = len(numbers) + (len(numbers) < len(row)) + (row[0] == "")
    return not numbers or signs >= 4 and counts(numbers) and MISSING.isdisjoint(row[1:])


def is_nameless(name):
    return name == "" or re.fullmatch(r"Unnamed: [0-9.]*", name) is not None


class Numbers:
    """The numbers of a table, whose decimal mark the first of them with a mark decides."""

    def __init__(self, mark):
        self.mark, self.is_named, self.first, self.is_certain = None if mark == "auto" else mark, mark != "auto", None, False

    def read(self, field):
        value = number(field)
        if value is not None:
            if "." not in field:
                return value
            self.mark = self.mark or "."
            if self.mark == "," and not self.is_named:
                raise Refused("both decimal marks")
            return value if self.mark == "." else None
        value = number(field, True)
        if self.mark == "." and self.is_named or value is None and not is_grouped(field):
            return None
        if is_grouped(field):
            raise Refused("thousands separators")
        if self.mark == "." and not self.is_named:
            raise Refused("both decimal marks")
        self.mark, self.first = ",", field
        self.is_certain = self.is_certain or not re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", field, re.ASCII)
        return value

    def check(self):
        if self.first is not None and not self.is_named and not self.is_certain:
            raise Refused("a decimal comma or a thousands separator")


def single(value):
    with numpy.errstate(over="ignore"):
        stored = numpy.float32(value)
    if not numpy.isfinite(stored):
        raise Refused("not a number of single precision")
    return value


def less_offset(values):
    """Values as stored: less the middle of their span where single precision would lose digits."""
    known = [value for value in values if not math.isnan(value)]
    if known and any(float(numpy.float32(value)) != value for value in known):
        low, high = min(known), max(known)
        if (high - low) * 4096 < max(abs(low), abs(high)):
            middle = low + (high - low) / 2
            offset = middle if high - low < 1 else math.copysign(math.floor(abs(middle) + 0.5), middle)
            values = [value - offset for value in values]
    stored = numpy.array(values, numpy.float64).astype(numpy.float32)
    return numpy.where(abs(stored) < numpy.finfo(numpy.float32).tiny, numpy.copysign(numpy.float32(0), stored), stored)


def expected(data, header="auto", decimal_mark="auto", missing="error", label="", encoding="utf-8"):
    """(x, y, names of classes) of a table. Raises Refused."""
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Refused("not UTF-8") from None
    rows = records_of(text)
    if not rows or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise Refused("no records, one column or ragged")
    first, width = rows[0], len(rows[0])
    has_header = header == "yes" or header == "auto" and looks_like_header(first)
    by_name = header != "no" and label != "" and label in first and (has_header or not label.isdigit())
    has_header = has_header or by_name
    may_be_header = not has_header and header == "auto" and len(first_numbers(first)) == width and counts(first_numbers(first))
    named = [k for k in range(width) if not (has_header and is_nameless(first[k]))]
    if by_name:
        if first.count(label) > 1:
            raise Refused("two columns of this name")
        answer = first.index(label)
    elif label:
        if not label.isdigit() or int(label) > width:
            raise Refused("no column of this name")
        answer = int(label) - 1
    else:
        targets = [k for k in named if has_header and first[k].lower() in TARGETS]
        if len(targets) > 1:
            raise Refused("two labels")
        answer = targets[0] if targets else named[-1] if named else width - 1
    inputs = [k for k in named if k != answer]
    if not inputs:
        raise Refused("no columns are left")

    numbers, columns, labels = Numbers({"point": ".", "comma": ","}.get(decimal_mark, "auto")), {k: [] for k in inputs}, []
    kinds, label_words = {}, 0
    for row in rows[has_header:]:
        if row[answer] in MISSING:
            if missing != "drop":
                raise Refused("a missing label")
            continue
        for k in inputs:
            if row[k] in MISSING:
                if missing == "error":
                    raise Refused("a missing value")
                columns[k].append(math.nan)
                continue
            value = number(row[k]) if kinds.get(k) is str else numbers.read(row[k])
            if kinds.setdefault(k, str if value is None else float) is not (str if value is None else float):
                raise Refused("words and numbers")
            columns[k].append(row[k] if value is None else single(value))
        value = number(row[answer]) if label_words else numbers.read(row[answer])
        if value is None:
            label_words += 1
            if len(row[answer].encode()) > 200:
                raise Refused("a long label")
        labels.append((row[answer], None if value is None else single(value)))
    if not labels:
        raise Refused("no records")
    if has_header and not by_name and header != "yes" and all(kinds.get(k) is str and first[k] in columns[k] for k in inputs):
        raise Refused("a header that may be a record")
    numbers.check()
    distinct = {k: sorted({one for one in columns[k] if isinstance(one, str)}, key=str.encode) for k in inputs if kinds.get(k) is str}
    if len(labels) >= 20 and any(2 * len(words) > len(labels) for words in distinct.values()):
        raise Refused("words that differ from row to row")

    y, names = answers_of([text for text, _ in labels], [value for _, value in labels], may_be_header)
    x = [less_offset(columns[k]) for k in inputs if k not in distinct]
    x += [numpy.array([one if isinstance(one, float) else one == word for one in columns[k]], numpy.float32)
          for k in distinct for word in distinct[k]]
    x = numpy.stack(x, 1)
    if y.ndim == 1 and len(set(y)) == 1 and (names or max(y) == 0):
        raise Refused("one class")
    if missing == "drop":  # of whose classes and words those of rows that are left out remain
        whole = ~numpy.isnan(x).any(1)
        x, y = x[whole], y[whole]
    if len(x) == 0:
        raise Refused("every row has a missing value")
    if len(x) == 1:
        raise Refused("one row cannot be split")
    return numpy.nan_to_num(x), y, names


def answers_of(texts, values, may_be_header):
    """(answers, names of classes)"""
    words = values.count(None)
    if words == 1 and values[0] is None and len(values) > 1:
        raise Refused("the first label alone is a word")
    if may_be_header and words > 1 and words + 1 == len(values) and values[0] is not None:
        raise Refused("the first label alone is a number")
    if words:
        texts = [re.sub("[\0-\x1f\x7f]", " ", text[:200]) for text in texts]
        names = sorted(set(texts), key=str.encode)
        return numpy.array([names.index(text) for text in texts]), names
    whole = [value == math.floor(value) for value in values]
    others = set(values[1:])
    if may_be_header and len(values) > 4 and (
            whole[0] and not any(whole[1:]) if not all(whole[1:]) else values[0] not in others and 2 * len(others) <= len(values) - 1):
        raise Refused("the first line may be a header")
    if not all(whole) or max(map(abs, values)) > 1e15:
        return less_offset(values)[:, None], []
    classes = sorted(set(map(int, values)))
    if classes[0] == 0 and classes[-1] > 65534:
        raise Refused("not classes")
    if classes[0] == 0:
        return numpy.array(values, numpy.int64), []
    return numpy.array([classes.index(int(value)) for value in values]), [str(one) for one in classes]


def as_read(path, **settings):
    """The same of the program; a line, if it refuses."""
    try:
        read = fedstride.load_dataset(data=path, format="csv", **settings)
    except fedstride.Error as error:
        return str(error)
    rows = numpy.concatenate([read["rows"], read["rows_test"]])
    order = numpy.argsort(rows)
    assert list(rows[order]) == list(range(len(rows)))
    both = [numpy.concatenate([read[key], read[f"{key}_test"]])[order] for key in "xy"]
    return *both, list(read["class_names"])


WORDS = ["red", "green", "blue", "Rome", "Zürich", "naïve", "東京", "a b", "it's", "x;y", "x,y", "x\ty", 'say "hi"', "two\nlines",
         "dos\r\nline", "-", "+", "e5", ".", "12 kg", "$5", "5%", "0x1A", "1_000", "1e", "--5", "+ 5", "1d5", "½", "٣", "1 000", "1.2.3",
         "true", "False", "yes", "NAN?", "none", "Na", "N.A.", "missing", "nano", "info", "inf.", "1.234.567", "2024-01-05", "sep=", "#",
         "=1+1", "'5'", "5'", 'a"b', "\u00a05", "Ünnamed"]
ODD = ["+-5", "-+5", "++5", "1e400", "-1e400", "0.95e3300", "10.5e400", "inf", "-Infinity", "+inf", "NAN", "-nan", "nan(1)", "0x1p3", "1_0",
       "1,234", "1,234,567", "1.234,5", "1,234.5", "1e5.0", "١٢", "3.5e38", "1e39", "infinit", "1e+", "0,5", "1,5e3", ",5", "5,", "1'000",
       "1e--5", "e", "\u22125", "5\u00a0", "1e1000000000000000000000"]
EXACT = ["1e5", ".5", "5.", "+3", "-0", "-0.0", "1E-3", "00012", "1.e5", "+.5e-1", "1e-400", "5e-324", "0.95e-3300", "9007199254740993",
         "16777217", "3.4e38", "0e9999", "0.1000000000000000055511151231257827021181583404541015625", "1e+05", "123456789.123456789",
         "-.0e-0", "4.9406564584124654e-324", "1.00000005960464477540", "0." + "0" * 320 + "1e300", "1" + "0" * 30 + "e-30", "+0",
         "1.17549435e-38", "7.0064923216240854e-46", "7.1e-46"]


def spelled(random, style):
    if style == "small":
        return str(random.randrange(-9, 10))
    if style == "time":
        return str(1_700_000_000 + random.randrange(10_000))
    if style == "fraction":
        return repr(round(random.gauss(0, 30), random.randrange(1, 12)))
    if style == "comma":
        return f"{random.gauss(0, 30):.{random.choice([1, 2, 4])}f}".replace(".", ",")
    return random.choice(EXACT)


def quoted(random, field, separator, blanks):
    """The field as CSV, in quotes where it must be or by chance, with blanks around it."""
    must = re.search("[;\t\n\r]|^[,\"]|[^0-9],|,[^0-9]|,$", field) or separator in field  # another separator would confuse readers
    if must or random.random() < 0.1:
        field = '"' + field.replace('"', '""') + '"'
    if random.random() < blanks:
        field = " " * random.randrange(3) + field + random.choice(["", " ", "  "])
    return field


def made(seed):
    """(bytes of a table, settings, whether its quotes are broken)"""
    chance = random.Random(seed)
    separator = chance.choice([",", ",", ",", ";", "\t"])
    width, height = chance.randrange(2, 7), chance.choice([0, 1, 2, 3, 6, 12, 12, 25, 40])
    odd, gaps, blanks = (chance.choice([0, 0, 0, some]) for some in (0.01, 0.03, 0.2))
    has_commas = chance.random() < (0.1 if separator == "," else 0.5)
    styles = [chance.choice(["small", "time", "comma" if has_commas else "fraction", "small" if has_commas else "exact", "words"])
              for _ in range(width)]
    words = [chance.sample(WORDS, chance.randrange(1, 5)) for _ in range(width)]
    if chance.random() < 0.6:
        styles[-1] = chance.choice(["label", "classes", "signs", "words", "from one"])
    head = chance.choice(["names"] * 6 + ["none", "none", "counted", "numbers", "odd"])
    names = {"names": [f"c{k}" for k in range(width)], "counted": [str(k) for k in range(width)], "odd": chance.choices(
        ["", "a", "b", "Unnamed: 0", "y", "Label", "class", "5", "NA", "two\nlines", "Größe", "nan", 'q"q', 'q""q', "a, b"], k=width),
        "numbers": [str(k + 1) for k in range(width)]}.get(head)
    if head == "names" and chance.random() < 0.3:
        names[chance.randrange(width)] = chance.choice(["label", "Target", "y", "CLASS"])
    if head == "counted" and chance.random() < 0.5:
        names[-1] = "kind"

    def field(k):
        if chance.random() < odd:
            return chance.choice(ODD + WORDS)
        if chance.random() < gaps:
            return chance.choice(sorted(MISSING))
        style = styles[k]
        own = {"label": ["0", "1", "2"], "classes": ["0", "1,0" if has_commas else "1.0", "2e0"], "signs": ["-1", "1"],
               "from one": ["1", "3"], "words": words[k]}.get(style)
        return chance.choice(own) if own else spelled(chance, style)

    rows = ([names] if names else []) + [[field(k) for k in range(width)] for _ in range(height)]
    if chance.random() < 0.04 and rows:
        row = chance.choice(rows)
        row.append("1") if chance.random() < 0.5 else row.pop()
    ends = chance.choice(["\n", "\n", "\r\n", "\r"])
    lines = [separator.join(quoted(chance, one, separator, blanks) for one in row) for row in rows]
    broken = chance.random() < 0.02 and len(lines) > 1
    if broken:
        lines.insert(chance.randrange(1, len(lines)), separator.join(['"a"b' if chance.random() < 0.5 else '"a'] + ["1"] * (width - 1)))
    while chance.random() < 0.1:
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(["", " ", "   "]))
    text = ends.join(lines) + (ends if chance.random() < 0.7 else "")
    if chance.random() < 0.05:
        text = f"sep={separator}{ends}" + text
    encoding = chance.choice(["utf-8"] * 8 + ["latin1"])
    data = text.encode(encoding, "replace")
    if chance.random() < 0.1 and encoding == "utf-8":
        data = b"\xef\xbb\xbf" + data
    settings = {"missing": chance.choice(["error", "zero", "drop"])}
    if encoding == "latin1" and chance.random() < 0.7:
        settings["encoding"] = encoding
    if chance.random() < 0.1:
        settings["header"] = chance.choice(["yes", "no"])
    if chance.random() < 0.1:
        settings["decimal_mark"] = chance.choice(["point", "comma"])
    if names and chance.random() < 0.1 and head == "names":
        settings["label"] = chance.choice(names)
    elif head == "none" and chance.random() < 0.2:
        settings["label"] = str(chance.randrange(width) + 1)
    return data, settings, broken


# Tables by which faults were found: numbers with two signs, words that begin as "nan" does, quotes within a field of the header, and
# labels that are no whole numbers before an offset is subtracted.
FOUND = [b"a,y\n1,0\n+-5,1\n2,0\n", b"a,y\nu,0\nnan(1),1\nu,0\n", b"inch\"\ty\n1\t0\n2\t1\n", b'a\tinch"\t"y, z"\n1\t2,5\t0\n3\t4,5\t1\n',
         b'inch",y\n1,"a;b"\n2,c\n', b"a,y\n1,0.1\n2,0.1\n"]


def difference(data, settings, is_broken, path):
    """(what should happen, how what the program does differs, or "")"""
    path.write_bytes(data)
    read = as_read(path, **settings)
    try:
        if is_broken:
            raise Refused("broken quotes")
        wanted = expected(data, **settings)
    except Refused as refused:
        if not isinstance(read, str):
            return "refused", f"read {read}, to be refused: {refused}"
        return "refused", "" if "\n" not in read else f"not a line: {read!r}"
    if isinstance(read, str):
        return "read", f"refused: {read}"
    for name, own, theirs in zip(("x", "y", "names"), read, wanted):
        if numpy.shape(own) != numpy.shape(theirs) or not numpy.array_equal(own, theirs):
            return "read", f"{name} is {own!r}, to be {theirs!r}"
    return "read", ""


@pytest.mark.parametrize("data", FOUND, ids=map(repr, FOUND))
def test_tables_by_which_faults_were_found(tmp_path, data):
    assert difference(data, {}, False, tmp_path / "t.csv")[1] == ""


def test_values_less_an_offset_are_still_values(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{row},{row % 3 + 0.5}\n" for row in range(12)))
    assert fedstride.load_dataset(data=tmp_path / "t.csv", offsets="y=0.5")["targets"] == "values"


def test_random_tables_are_read_as_python_reads_them(tmp_path):
    found = {"read": 0, "refused": 0}
    wrong = []
    for seed in range(TABLES):
        data, settings, is_broken = made(seed)
        kind, differs = difference(data, settings, is_broken, tmp_path / "t.csv")
        found[kind] += 1
        if differs:
            wrong.append(f"table {seed} with {settings}: {differs[:1000]}\n{data!r}")
    assert not wrong, f"{len(wrong)} of {TABLES} tables differ:\n" + "\n\n".join(wrong[:20])
    assert min(found.values()) > TABLES / 4, found
