"""Converted data sets that are kept on disk: recognized, never stale, their owner's alone."""

import collections
import contextlib
import json
import logging
import os
import pathlib
import random
import subprocess
import sys
import threading

import numpy
import pytest
from conftest import program, refused

import fedstride
from fedstride import _kept
from fedstride._naming import NotNamed, digest_of

RANDOM = numpy.random.default_rng(5)
PICTURES = RANDOM.integers(0, 256, (60, 8, 9, 3), numpy.uint8)
LABELS = numpy.arange(60) % 4
OWN = {"model": "logistic", "clients": 3, "rounds": 1, "threads": 1, "partition": "dirichlet"}


@fedstride.named("rows", "1")
class Rows:
    """A data set that counts how often its rows are read."""

    reads = 0

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, row):
        Rows.reads += 1
        return self.x[row], int(self.y[row])


@fedstride.named("file", "1")
class File(Rows):
    """One whose rows are in a file."""

    def __init__(self, path):
        self.path = str(path)
        self.count = len(LABELS)

    def __len__(self):
        return self.count

    def __getitem__(self, row):
        Rows.reads += 1
        return numpy.fromfile(self.path, numpy.uint8).reshape(PICTURES.shape)[row], int(LABELS[row])


@pytest.fixture(autouse=True)
def objects(tmp_path, monkeypatch):
    """The folder of the cache, of this test alone, in which every conversion is worth being kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FEDSTRIDE_CACHE_LIMIT", "1G")
    monkeypatch.setattr(_kept, "_WORTH", -1)
    return tmp_path / "cache/fedstride/objects"


def reads(data, **settings):
    """How many rows are read to load the data set, and what is loaded."""
    before = Rows.reads
    loaded = fedstride.load_dataset(data=data, **settings)
    return Rows.reads - before, loaded["hash"]


def files(objects):
    return sorted(objects.glob("*.object"))


def test_a_second_run_converts_nothing_and_has_the_same_hash(tmp_path, objects):
    first = fedstride.run(**OWN, data=Rows(PICTURES, LABELS), out=tmp_path / "first")
    before = Rows.reads
    assert before >= 60
    second = fedstride.run(**OWN, data=Rows(PICTURES, LABELS), out=tmp_path / "second")
    plain = fedstride.run(**OWN, data=(PICTURES, LABELS), out=tmp_path / "plain")
    for key in ("model_hash", "data_hash", "notes"):
        assert first.summary[key] == second.summary[key] == plain.summary[key]
    fedstride.resume(second, data=Rows(PICTURES, LABELS), rounds=2)
    assert Rows.reads == before
    assert objects.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in objects.iterdir()} == {0o600}
    assert {path.name for path in objects.iterdir()} == {"key", files(objects)[0].name}
    assert len(files(objects)[0].stem) == 32


@pytest.mark.parametrize("x", [
    PICTURES, PICTURES[..., 0], PICTURES.transpose(0, 3, 1, 2), PICTURES.transpose(0, 3, 1, 2).astype(numpy.float32) / 255,
    PICTURES.astype(numpy.float32) / 255, (PICTURES > 99).astype(numpy.float32), RANDOM.normal(size=(60, 5)).astype(numpy.float32),
    RANDOM.normal(size=(60, 3, 8, 9)).astype(numpy.float32), RANDOM.normal(size=(60, 8, 9)), RANDOM.integers(0, 9, (60, 7)),
    PICTURES[:, :3, :4], PICTURES[:, :, :, :2]], ids=range(12))
def test_every_form_is_read_as_the_arrays_are(x):
    expected = fedstride.load_dataset(data=(x, LABELS))
    for _ in range(2):
        for y in (LABELS, LABELS.astype(str)):
            assert fedstride.load_dataset(data=Rows(x, y))["hash"] == expected["hash"]
        shaped = {"shape": "x".join(map(str, [*x.shape[1:], 1, 1][:3]))} if x.ndim > 2 else {}
        assert fedstride.load_dataset(data=Rows(x, LABELS), **shaped)["hash"] == fedstride.load_dataset(data=(x, LABELS), **shaped)["hash"]
    texts = numpy.array(["ant", "bee", "cow", "dog"])[LABELS]
    test = (x[:20], texts[:20])
    expected = fedstride.load_dataset(data={"x": x, "y": texts, "x_test": test[0], "y_test": test[1]})
    for _ in range(2):
        both = fedstride.load_dataset(data=(Texts(x, texts), Texts(*test)))
        assert both["hash"] == expected["hash"] and both["class_names"] == ["ant", "bee", "cow", "dog"]


@fedstride.named("texts", "1")
class Texts(Rows):
    def __getitem__(self, row):
        return self.x[row], str(self.y[row])


def test_under_dp_nothing_is_recognized_from_rows(tmp_path):
    floats = PICTURES.astype(numpy.float32) / 255
    private = {**OWN, "partition": "iid", "dp": "example", "noise_multiplier": 1, "batch": 4}
    for _ in range(2):  # converted, and then read
        with refused(fedstride.Error, "dp", "classes"):
            fedstride.run(**private, data=Rows(PICTURES, LABELS), out=tmp_path / "none")
        with refused(fedstride.UsageError, "dp", "range"):
            fedstride.run(**private, data=Rows(floats, LABELS), classes=4, out=tmp_path / "none")
    named = {"classes": 9, "range": "0,2"}
    hashes = [fedstride.run(**private, **named, data=data, out=tmp_path / str(at)).model()["fc1.weight"]
              for at, data in enumerate([(floats, LABELS), Rows(floats, LABELS), Rows(floats, LABELS)])]
    assert hashes[0].shape == (9, 216) and all((hashes[0] == one).all() for one in hashes)
    # A row that would change what is read off rows - a class more, a float that is no 255th - changes no form.
    other, labels = floats.copy(), LABELS.copy()
    other[7, 0, 0, 0], labels[7] = 0.3333, 8
    run = fedstride.run(**private, **named, data=Rows(other, labels), out=tmp_path / "other")
    config = tmp_path / "private.toml"
    config.write_text('dp = "example"\nclasses = 9\nrange = "0,2"\nnoise-multiplier = 1\nbatch = 4\n')
    filed = fedstride.run(**{**OWN, "partition": "iid"}, config=config, data=Rows(floats, LABELS), out=tmp_path / "filed")
    facts = [one.summary["privacy"][0]["assumptions"] for one in (run, filed, fedstride.open_run(tmp_path / "0"), fedstride.open_run(tmp_path / "2"))]
    assert all(one == facts[0] for one in facts)
    assert (filed.model()["fc1.weight"] == hashes[0]).all()


def test_what_changes_the_rows_is_noticed(tmp_path, objects):
    path = tmp_path / "pictures"
    PICTURES.tofile(path)
    assert [reads(File(path))[0] > 0 for _ in range(2)] == [True, False]
    before = reads(File(path))[1]
    changed = PICTURES.copy()
    changed[3] ^= 1
    status = path.stat()
    changed.tofile(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # the same size and time, but not that of its last change
    count, hash_now = reads(File(path))
    assert count > 0 and hash_now != before
    assert reads(Rows(PICTURES, LABELS))[0] > 0
    assert reads(Rows(PICTURES, LABELS))[0] == 0
    for other in (Rows(changed, LABELS), Rows(PICTURES, LABELS[::-1].copy()), Rows(PICTURES[:-1], LABELS[:-1])):
        assert reads(other)[0] > 0
    assert reads(Texts(PICTURES, LABELS))[0] == 0 and len(files(objects)) == 7  # its own code, hence an entry more


def test_code_without_a_name_is_converted_every_time(objects, caplog):
    class Own(Rows):
        """Inherits a name, which is not its own."""

    caplog.set_level(logging.INFO, "fedstride")
    assert [reads(Own(PICTURES, LABELS))[0] > 0 for _ in range(2)] == [True, True]
    assert "Own" in caplog.text and "fedstride.named" in caplog.text and not files(objects)
    with pytest.raises(NotNamed, match="lambda"):
        digest_of(Rows(PICTURES, lambda: 3))
    with pytest.raises(NotNamed, match="Lock|lock"):
        digest_of(threading.Lock())
    loop = []
    loop.append(loop)
    assert digest_of(loop) == digest_of(loop) != digest_of([[]])
    assert digest_of(["ab", "c"]) != digest_of(["a", "bc"])
    assert digest_of([1] * 70) != digest_of([1.0] * 70) != digest_of([True] * 70)
    assert digest_of({"a": None}) != digest_of({"a": "None"})
    array = numpy.arange(3 << 22, dtype=numpy.uint8)  # hashed in pieces
    name = digest_of(array)
    array[-1] ^= 1
    assert digest_of(array) != name and digest_of(array[:-1]) != digest_of(array)


@fedstride.named("listed", "1")
class Listed(list):
    pass


@fedstride.named("mapped", "1")
class Mapped(dict):
    pass


@fedstride.named("shaped", "1")
class Shaped(numpy.ndarray):
    pass


def test_what_hides_beside_or_behind_an_object_is_noticed():
    def with_scale(value, scale):
        value.scale = scale
        return value

    for make in (lambda: Listed([1]), lambda: Mapped(a=1), lambda: numpy.zeros(2).view(Shaped), lambda: Rows(1, 2)):
        assert digest_of(with_scale(make(), 2)) == digest_of(with_scale(make(), 2)) != digest_of(with_scale(make(), 3))
    # Methods of built-in objects, as in target_transform={"cat": 0}.get.
    assert digest_of({"cat": 0}.get) == digest_of({"cat": 0}.get) != digest_of({"cat": 1}.get)
    assert digest_of(collections.defaultdict(int, a=1)) != digest_of(collections.defaultdict(float, a=1))
    around, inside = Rows(0, Rows(0, 0)), Rows(0, Rows(0, 0))
    around.y.y, inside.y.y = around, inside.y
    assert digest_of(around) == digest_of(around) != digest_of(inside)
    for base, content in ((str, "a"), (int, 3), (frozenset, "ab"), (bytes, b"a"), (collections.deque, [1])):
        own = fedstride.named("own", "1")(type("Own", (base,), {}))
        with pytest.raises(NotNamed, match="Own"):
            digest_of(own(content))
    slotted = fedstride.named("slotted", "1")(type("Slotted", (list,), {"__slots__": ("scale",)}))
    with pytest.raises(NotNamed, match="Slotted"):
        digest_of(slotted())
    for draw in (random.random, numpy.random.default_rng(1).normal):
        with pytest.raises(NotNamed, match="Random|Generator"):
            digest_of(draw)


def test_a_text_that_is_the_root_names_no_files(monkeypatch):
    monkeypatch.setattr(os, "listdir", lambda path: pytest.fail(f"{path} was listed"))
    assert digest_of(Rows("/", "//")) != digest_of(Rows("/", "/"))


def test_pictures_of_two_types_are_refused_alike(monkeypatch):
    both = (Rows(PICTURES, LABELS), Rows((PICTURES / 256).astype(numpy.float32), LABELS))
    for limit in ("0", "1G", "1G"):
        monkeypatch.setenv("FEDSTRIDE_CACHE_LIMIT", limit)
        with refused(fedstride.Error, "type"):
            fedstride.load_dataset(data=both)


def test_another_version_of_a_library_converts_again(monkeypatch):
    name = digest_of(PICTURES)
    monkeypatch.setattr(numpy, "__version__", "0.0")
    assert digest_of(PICTURES) != name


def test_torchvision_sets_are_named_by_class_transform_and_memory(tmp_path, objects, monkeypatch):
    torchvision = pytest.importorskip("torchvision")
    transforms = torchvision.transforms
    from PIL import Image

    for kind in "ab":
        (tmp_path / "tree" / kind).mkdir(parents=True)
        for at in range(3):
            Image.fromarray(PICTURES[at]).save(tmp_path / "tree" / kind / f"{at}.png")
    folder = lambda *steps: torchvision.datasets.ImageFolder(tmp_path / "tree", transforms.Compose([*steps, transforms.ToTensor()]))  # noqa: E731
    name = digest_of(folder())
    assert digest_of(folder()) == name != digest_of(folder(transforms.CenterCrop(4))) != digest_of(folder(transforms.CenterCrop(5)))
    for draws in (transforms.RandomHorizontalFlip(), transforms.ColorJitter(), transforms.Lambda(lambda x: x)):
        with pytest.raises(NotNamed):
            digest_of(folder(draws))
    Image.fromarray(PICTURES[9]).save(tmp_path / "tree/b/2.png")
    assert digest_of(folder()) != name
    fake = torchvision.datasets.FakeData(20, (3, 8, 8), 4, transforms.ToTensor())
    first = fedstride.load_dataset(data=fake)["hash"]
    assert len(files(objects)) == 1
    with monkeypatch.context() as patched:
        patched.delattr(torchvision.datasets.FakeData, "__getitem__")
        assert fedstride.load_dataset(data=fake)["hash"] == first


def test_pytorch_subsets_and_hugging_face_sets(objects):
    torch = pytest.importorskip("torch")
    both = torch.utils.data.TensorDataset(torch.from_numpy(PICTURES), torch.from_numpy(LABELS))
    fedstride.load_dataset(data=both)
    assert not files(objects)  # its tensors are the arrays
    half = torch.utils.data.Subset(both, range(30))
    name = digest_of(half)
    assert name == digest_of(torch.utils.data.Subset(both, range(30))) != digest_of(torch.utils.data.Subset(both, range(1, 31)))
    both.tensors[0][0] ^= 1
    assert digest_of(half) != name
    both.tensors[0][0] ^= 1

    class HuggingFace:
        def __init__(self, fingerprint):
            self._fingerprint = fingerprint

    HuggingFace.__module__, HuggingFace.__qualname__ = "datasets.arrow_dataset", "Dataset"
    assert digest_of(HuggingFace("a")) == digest_of(HuggingFace("a")) != digest_of(HuggingFace("b"))


def test_damaged_and_foreign_files_are_converted_again(objects, caplog):
    data = Rows(PICTURES, LABELS)
    expected = reads(data)[1]
    path = files(objects)[0]
    whole = path.read_bytes()
    spots = [0, 25, 100, whole.index(b"\n", 90) + 3, len(whole) - 4096 * 3, len(whole) - 5]
    for spot in spots:
        path.write_bytes(whole[:spot] + bytes([whole[spot] ^ 4]) + whole[spot + 1 :])
        assert reads(data)[0] >= 60 and reads(data) == (0, expected), spot
    for part in (b"", whole[:50], whole[:-1], whole[:4096], whole + b"\0" * 4096, whole[: len(_kept._KIND) + 65] + b"{}\n" + whole[4000:]):
        path.write_bytes(part)
        assert reads(data)[0] >= 60 and reads(data) == (0, expected)
    os.chmod(path, 0o644)  # others may have written to it
    assert reads(data)[0] >= 60 and reads(data) == (0, expected)
    path.unlink()
    path.symlink_to("/dev/zero")
    assert reads(data)[1] == expected
    path.unlink()
    (objects / "key").write_bytes(b"short")
    assert reads(data)[0] >= 60
    assert "a key has 32" in caplog.text and "data forget" in caplog.text
    program("data", "forget")
    assert reads(data)[0] >= 60 and reads(data) == (0, expected)


def test_the_folder_is_closed_to_others(objects, caplog):
    objects.mkdir(parents=True, mode=0o755)
    reads(Rows(PICTURES, LABELS))
    assert objects.stat().st_mode & 0o777 == 0o700
    program("data", "forget")
    (objects).rename(objects.with_name("other"))
    objects.symlink_to(objects.with_name("other"))
    assert reads(Rows(PICTURES, LABELS))[0] >= 60
    assert "is not a folder that this user owns" in caplog.text


def test_the_least_recently_used_go_first(objects, monkeypatch, caplog):
    sets = [Rows(PICTURES, numpy.roll(LABELS, at)) for at in range(3)]
    reads(sets[0])
    size = files(objects)[0].stat().st_size
    monkeypatch.setenv("FEDSTRIDE_CACHE_LIMIT", str(2 * size))
    reads(sets[1])
    for at, path in enumerate(files(objects)):
        os.utime(path, (at, at))
    assert reads(sets[0])[0] == 0  # which is therefore newer than that of the second
    reads(sets[2])
    assert len(files(objects)) == 2
    assert [reads(one)[0] > 0 for one in (sets[0], sets[2])] == [False, False]
    assert reads(sets[1])[0] > 0
    monkeypatch.setenv("FEDSTRIDE_CACHE_LIMIT", str(size - 1))
    assert reads(Rows(PICTURES, 3 - LABELS))[0] > 0 and len(files(objects)) == 2
    assert "FEDSTRIDE_CACHE_LIMIT" in caplog.text
    monkeypatch.setenv("FEDSTRIDE_CACHE_LIMIT", "0")
    assert reads(sets[2])[0] > 0
    monkeypatch.setenv("FEDSTRIDE_CACHE_LIMIT", "much")
    with refused(fedstride.UsageError, "FEDSTRIDE_CACHE_LIMIT", "much", "10G"):
        reads(sets[2])


def test_what_another_process_removes_meanwhile_takes_no_room(objects, monkeypatch, caplog):
    assert reads(Rows(PICTURES, LABELS))[0] > 0 and len(files(objects)) == 1
    scandir = os.scandir

    def emptied(folder):
        entries = list(scandir(folder))
        for entry in entries:
            os.unlink(entry.path)
        return contextlib.nullcontext(entries)

    monkeypatch.setattr(os, "scandir", emptied)
    assert reads(Rows(PICTURES, LABELS[::-1].copy()))[0] > 0
    assert len(files(objects)) == 1 and not caplog.text


def test_without_room_or_a_home_the_run_goes_on(objects, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    expected = fedstride.load_dataset(data=(PICTURES, LABELS))["hash"]
    with monkeypatch.context() as patched:
        patched.setattr(os, "posix_fallocate", full)
        assert all(count >= 60 and found == expected for count, found in (reads(Rows(PICTURES, LABELS)) for _ in range(2)))
    assert "No space left" in caplog.text and list(objects.iterdir()) == [objects / "key"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    assert reads(Rows(PICTURES, LABELS))[1] == expected
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/none")
    assert reads(Rows(PICTURES, LABELS))[1] == expected


KILLED = """
import os, sys, signal
sys.path.insert(0, {folder!r})
import fedstride, test_kept
from fedstride import _kept
_kept._WORTH = -1
if {killed}:
    _kept._sums = lambda pages: os.kill(os.getpid(), signal.SIGKILL)
print(test_kept.reads(test_kept.Rows(test_kept.PICTURES, test_kept.LABELS)))
"""


def test_a_killed_and_two_concurrent_conversions(objects):
    expected = fedstride.load_dataset(data=(PICTURES, LABELS))["hash"]
    environment = {**os.environ, "FEDSTRIDE_CACHE_LIMIT": "1G"}

    def start(killed):
        # The module sets the limit to 0 as it is loaded, as for all tests.
        code = KILLED.format(folder=str(pathlib.Path(__file__).parent), killed=killed).replace("from fedstride", 'os.environ["FEDSTRIDE_CACHE_LIMIT"] = "1G"\nfrom fedstride', 1)
        return subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)

    dead = start(True)
    dead.communicate()
    assert dead.returncode == -9 and len(list(objects.glob(".new-*"))) == 1
    pair = [start(False) for _ in range(2)]
    assert all(expected in one.communicate()[0] for one in pair)
    assert len(files(objects)) == 1 and not list(objects.glob(".new-*"))
    assert reads(Rows(PICTURES, LABELS)) == (0, expected)


def test_forgetting(objects):
    assert "0 data sets" in program("data", "forget")
    for at in range(3):
        reads(Rows(PICTURES, numpy.roll(LABELS, at)))
    told = json.loads(program("data", "forget", "--dry-run", "--json"))
    assert len(told["files"]) == 3 and not told["forgotten"] and {one["made_of"] for one in told["files"]} == {"test_kept.Rows"}
    assert len(files(objects)) == 3
    name = told["files"][0]["name"]
    assert name in program("data", "forget", name[:8]) and not (objects / f"{name}.object").exists()
    assert len(files(objects)) == 2
    with pytest.raises(subprocess.CalledProcessError) as refusal:
        program("data", "forget", "none")
    assert refusal.value.returncode == 2 and "'none'" in refusal.value.stderr and refusal.value.stderr.count("\n") == 1
    assert "2 data sets" in program("data", "forget")
    assert list(objects.iterdir()) == []
