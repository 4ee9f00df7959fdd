"""Small files that unpack to, or claim, far too much: each reader of the converter refuses them in one line, in bounded memory and
time."""

import gzip
import io
import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest

from conftest import SOURCE, names

MEGABYTE = 1 << 20
MAX_SECONDS, MAX_PEAK = 60, 500 * MEGABYTE  # most take 1 s, and less than 100 MB
OPTIONS = {"inputs": "", "label": "", "client_column": "", "shape": "", "words": [], "protected": False, "tables": True}
START = """
import sys, fedstride_convert as convert
{}
code = convert.main()
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1], file=sys.stderr)
sys.exit(code)
"""


def converted(tmp_path, form, *train, patch="", peak=MAX_PEAK, **options):
    """The exit code and the lines of the converter in a process of its own."""
    given = {**OPTIONS, "format": form, "train": list(map(str, train)), "test": [], "out": str(tmp_path / "out"), **options}
    (tmp_path / "options.json").write_text(json.dumps(given))
    done = subprocess.run([sys.executable, "-c", START.format(patch), str(tmp_path / "options.json")], capture_output=True, text=True,
                          timeout=MAX_SECONDS, env={**os.environ, "PYTHONPATH": str(SOURCE / "python")})
    assert done.stderr.strip().isdigit() and int(done.stderr) << 10 < peak, done.stderr
    return done.returncode, done.stdout


def refusal(tmp_path, form, *train, most=3 * MEGABYTE, **options):
    """The line by which the converter refuses these files."""
    assert sum(path.stat().st_size for path in train if path.is_file()) < most, "this is no small file"
    code, said = converted(tmp_path, form, *train, **options)
    assert code == 1 and said.count("\n") == 1 and len(said) < 600, (code, said[:600])
    return said


def zeros(megabytes):
    """Zeros in zlib's form, made from those of a megabyte."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    one = packer.compress(bytes(MEGABYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    return b"\x78\xda" + one * megabytes + packer.flush() + struct.pack(">HH", megabytes * MEGABYTE % 65521, 1)


def each(*cases):
    """Parameters of tests: (name, value, ...)."""
    return [pytest.param(*values, id=name) for name, *values in cases]


def test_what_takes_too_long(tmp_path):
    (tmp_path / "c.bin").write_bytes(bytes(3073))
    patch = "convert.ALWAYS_SECONDS = convert.SECONDS_A_MEGABYTE = 1\nconvert.read_cifar = lambda *_: sum(1 for _ in iter(int, 1))"
    assert names(refusal(tmp_path, "cifar", tmp_path / "c.bin", patch=patch), "c.bin", "1")


# Bytes

def test_idx(tmp_path):
    images, labels = tmp_path / "images", tmp_path / "labels"
    labels.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 1, 0]))
    images.write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + zeros(1500)[2:])
    assert names(refusal(tmp_path, "idx", images, labels), "images", "unpacks")
    assert names(refusal(tmp_path, "cifar", images), "images", "unpacks")
    assert names(refusal(tmp_path, "leaf", images), "images", "unpacks")
    images.write_bytes(bytes([0, 0, 8, 4]) + b"\xff" * 16)
    assert names(refusal(tmp_path, "idx", images, labels), "images", str((2**32 - 1)**4))
    images.write_bytes(gzip.compress(b"") * 50000)  # members without contents
    assert names(refusal(tmp_path, "idx", images, labels), "images")


def test_cifar_of_part_of_a_record(tmp_path):
    (tmp_path / "c.bin").write_bytes(bytes(3073 + 1))
    (tmp_path / "d.bin").write_bytes(bytes(3073 * 2 + 5))
    assert names(refusal(tmp_path, "cifar", tmp_path / "d.bin"), "d.bin", str(3073 * 2 + 5), "3073")


# Images

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, pixels=None):
    """Gray; without pixels, those of a part of a row."""
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", pixels or zlib.compress(bytes(min(width, 4096) + 1))) + chunk(b"IEND", b""))


def of_class(tmp_path, name, data):
    (tmp_path / "pets/cat").mkdir(parents=True, exist_ok=True)
    (tmp_path / "pets/cat" / name).write_bytes(data)
    return tmp_path / "pets"


def saved(kind, width, height, **options):
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    image.new("L" if kind != "WEBP" else "RGB", (width, height)).save(file, kind, **options)
    return file.getvalue()


def tiff(*entries, width=30000, height=30000):
    """The first directory of a TIFF file of one gray strip: (tag, type, count, value)."""
    return directory([(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8), (277, 3, 1, 1),
                      (278, 4, 1, height), (279, 4, 1, width * height), *entries])


def directory(fields):
    fields = sorted(fields)
    return b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", len(fields)) + b"".join(struct.pack("<HHII", *one) for one in fields) + bytes(4)


@pytest.mark.parametrize("kind", ["one color", "gigapixel", "jpeg", "webp", "large webp", "tiff", "bmp", "ppm"])
def test_an_image_of_too_many_pixels(tmp_path, kind):
    jpeg, webp = saved("JPEG", 8, 8), saved("WEBP", 8, 8)
    key = webp.index(b"\x9d\x01\x2a") + 3
    at = jpeg.index(b"\xff\xc0") + 5  # height and width in the frame's header
    name, data, size = {
        "one color": lambda: ("a.png", png(30000, 30000, zlib.compress(bytes(30001 * 1000))), "30000x30000"),
        "gigapixel": lambda: ("a.png", png(2**31 - 1, 2**31 - 1), "2147483647x2147483647"),
        "jpeg": lambda: ("a.jpg", jpeg[:at] + struct.pack(">HH", 65500, 65500) + jpeg[at + 4:], "65500x65500"),
        "webp": lambda: ("a.webp", webp[:key] + struct.pack("<HH", 4000, 5000) + webp[key + 4:], "4000x5000"),
        "large webp": lambda: ("a.webp", webp[:key] + struct.pack("<HH", 16383, 16383) + webp[key + 4:], "a.webp"),
        "tiff": lambda: ("a.tif", tiff(), "30000x30000"),
        "bmp": lambda: ("a.bmp", b"BM" + struct.pack("<IIIIiiHH", 70, 0, 54, 40, 30000, 30000, 1, 24) + bytes(40), "30000x30000"),
        "ppm": lambda: ("a.ppm", b"P6 30000 30000 255\n" + bytes(100), "30000x30000"),
    }[kind]()
    for resize in ("", "32x32"):
        folder = of_class(tmp_path, name, data)
        assert names(refusal(tmp_path, "pictures", folder, resize=resize), name, size)


def test_many_images_that_unpack_to_too_much_together(tmp_path):
    pytest.importorskip("PIL.Image")
    data = png(4096, 4096, zlib.compress(bytes(4097 * 4096)))
    for i in range(40):
        folder = of_class(tmp_path, f"{i}.png", data)
    assert names(refusal(tmp_path, "pictures", folder), "pets", "unpacks", str(40 << 24))
    assert names(refusal(tmp_path, "pictures", folder, resize="8x8"), "pets", "unpacks")


def test_a_jpeg_file_of_many_scans(tmp_path):
    data = saved("JPEG", 4096, 4096, progressive=True)
    last, end = data.rindex(b"\xff\xda"), data.rindex(b"\xff\xd9")
    assert data.count(b"\xff\xda") <= 10
    folder = of_class(tmp_path, "a.jpg", data[:last] + data[last:end] * 1000 + data[end:])
    assert names(refusal(tmp_path, "pictures", folder, most=100 * MEGABYTE), "a.jpg", "scans")


@pytest.mark.parametrize("compression", [1, 5, 8])
def test_a_tiff_file_of_larger_tiles_than_the_image(tmp_path, compression):
    fields = [(256, 4, 1, 8), (257, 4, 1, 8), (258, 3, 1, 8), (259, 3, 1, compression), (262, 3, 1, 1), (277, 3, 1, 1),
              (322, 4, 1, 1 << 15), (323, 4, 1, 1 << 15), (324, 4, 1, 8), (325, 4, 1, 100)]
    folder = of_class(tmp_path, "a.tif", directory(fields) + zlib.compress(bytes(100 * MEGABYTE)))
    assert names(refusal(tmp_path, "pictures", folder), "a.tif")


def test_an_image_of_many_frames_is_read_once(tmp_path):
    pytest.importorskip("PIL.Image")
    first = tiff((305, 2, 1, 0), width=8, height=8)
    frames = 60000
    body = first[:-4] + struct.pack("<I", len(first)) + b"".join(
        struct.pack("<HHHII", 1, 256, 4, 1, 8) + struct.pack("<I", len(first) + 18 * (i + 1)) for i in range(frames)) + bytes(18)
    folder = of_class(tmp_path, "a.tif", body)
    of_class(tmp_path, "b.png", png(2**31 - 1, 9))
    assert names(refusal(tmp_path, "pictures", folder), "b.png", "2147483647x9")


# HDF5

def hdf5(path, fill):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        fill(file, h5py)
    return path


PACKED = {"compression": "gzip", "compression_opts": 9}


def hdf5_zeros(file, h5py):
    x = file.create_dataset("x", (1500 << 10, 1024), "u1", chunks=(1 << 14, 1024), **PACKED)
    packed = zlib.compress(bytes(1 << 24), 9)
    for at in range(0, len(x), 1 << 14):
        x.id.write_direct_chunk((at, 0), packed)
    file["y"] = np.zeros(10)


def hdf5_claim(file, h5py):
    file.create_dataset("x", (10**12, 1000), "f4", chunks=(1000, 1000), **PACKED)[0] = 1
    file["y"] = np.zeros(10)


def hdf5_wide_chunk(file, h5py):
    x = file.create_dataset("x", (10, 4), "f4", maxshape=(None, 4), chunks=(1 << 26, 4), **PACKED)
    x.id.write_direct_chunk((0, 0), zlib.compress(bytes(1 << 20)))
    file["y"] = np.zeros(10)


def hdf5_long_chunk(file, h5py):
    """A chunk that unpacks to more than a chunk has."""
    x = file.create_dataset("x", (10, 4), "f4", maxshape=(None, 4), chunks=(1 << 14, 4), **PACKED)
    x.id.write_direct_chunk((0, 0), zeros(2500))
    file["y"] = np.zeros(10)


def hdf5_many_chunks(file, h5py):
    x = file.create_dataset("x", (30 << 20,), "u1", chunks=(1,))
    x[5] = 1
    file["y"] = np.zeros(10)


def hdf5_shared_text(file, h5py):
    """Half a million texts that are the same one."""
    texts = file.create_dataset("y", (1 << 19,), h5py.string_dtype(), chunks=(1 << 19,), **PACKED)
    texts[0] = "a" * 60000
    first = np.frombuffer(zlib.decompress(texts.id.read_direct_chunk((0,))[1]), "V16")[0]
    texts.id.write_direct_chunk((0,), zlib.compress(np.full(1 << 19, first).tobytes(), 9))
    file["x"] = np.zeros((10, 2))


def hdf5_wide_text(file, h5py):
    """One long text among many short ones: NumPy makes each as wide."""
    texts = file.create_dataset("y", (1 << 19,), h5py.string_dtype(), chunks=(1 << 19,), **PACKED)
    texts[0] = "a" * 60000
    file["x"] = np.zeros((10, 2))


def hdf5_long_name(file, h5py):
    """Rows without contents, each of which would have its client's long name."""
    for key in "xy":
        rows = file.create_dataset(f"examples/{'c' * 1000}/{key}", (20 << 20,), "u1", chunks=(20 << 20,), **PACKED)
        rows.id.write_direct_chunk((0,), zlib.compress(bytes(20 << 20), 9))


def hdf5_snippets(file, h5py):
    texts = file.create_dataset("examples/c/snippets", (1 << 22,), h5py.string_dtype(), chunks=(1 << 22,), **PACKED)
    texts[0] = "a"


@pytest.mark.parametrize("fill, parts", [
    (hdf5_zeros, ["'x'", str(1500 << 20)]), (hdf5_claim, ["'x'", str(4 * 10**15)]), (hdf5_wide_chunk, ["'x'", str(1 << 30)]),
    (hdf5_long_chunk, []), (hdf5_many_chunks, ["'x'"]), (hdf5_shared_text, []), (hdf5_wide_text, []), (hdf5_long_name, []), (hdf5_snippets, [])])
def test_hdf5(tmp_path, fill, parts):
    # Only the memory allowed (ALWAYS_IN_MEMORY) bounds what a chunk holds and what texts share.
    peak = 2200 * MEGABYTE if fill in (hdf5_long_chunk, hdf5_shared_text) else MAX_PEAK
    assert names(refusal(tmp_path, "hdf5", hdf5(tmp_path / "a.h5", fill), peak=peak), "a.h5", *parts)


# JSON

@pytest.mark.parametrize("text", each(
    ("deep list", "[" * 100_000 + "]" * 100_000),
    ("deep object", '{"a":' * 100_000 + "1" + "}" * 100_000),
    ("deep lines", "[]\n" + "[" * 100_000),
    ("deep x", json.dumps({"user_data": {"a": {"x": "@", "y": [1]}}}).replace('"@"', "[" * 900 + "]" * 900)),
    ("long number", '{"user_data": {"a": {"x": [' + "9" * 1_000_000 + '], "y": [1]}}}'),
    ("long number of a record", '[{"a": ' + "9" * 1_000_000 + "}]"),
    ("large number", '{"user_data": {"a": {"x": [' + "9" * 4000 + ', "a"], "y": [1]}}}'),
    ("keys", json.dumps([{f"k{i}": 1} for i in range(60_000)])),
    ("twice", "{" + ",".join(f'"k{i}":1' for i in [*range(60_000), 59_999]) + "}"),
    ("wide text", json.dumps({"user_data": {"a": {"x": [*range(9000), "a" * 900_000], "y": [1] * 9001}}})),
    ("names", gzip.compress(json.dumps({"user_data": {"n" * 900: {"x": [1] * 900_000, "y": [1] * 900_000}}}).encode())),
))
def test_json(tmp_path, text):
    (tmp_path / "a.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert names(refusal(tmp_path, "leaf", tmp_path / "a.json"), "a.json")


def test_gzipped_json_of_many_objects(tmp_path):
    (tmp_path / "a.json").write_bytes(gzip.compress(b"[" + b"{}," * (20 << 20) + b"{}]"))
    assert names(refusal(tmp_path, "leaf", tmp_path / "a.json"), "a.json")


# Excel

SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def workbook(path, sheet, strings="", sheets=1, prolog=""):
    """A workbook with the sheet (a text, or pieces of bytes)."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
                               f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}.sharedStrings+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
                       '</Relationships>',
        "xl/workbook.xml": f'<workbook {SPACE} xmlns:r="{OFFICE}"><sheets>' + "".join(
            f'<sheet name="s{i}" sheetId="{i + 1}" r:id="r1"/>' for i in range(sheets)) + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" Type="{OFFICE}/worksheet" '
                                      'Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/sharedStrings.xml": f"<sst {SPACE}>{strings}</sst>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, text in parts.items():
            file.writestr(name, text)
        with file.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as member:
            for piece in [f"{prolog}<worksheet {SPACE}>{sheet}</worksheet>".encode()] if isinstance(sheet, str) else sheet:
                member.write(piece)
    return path


def rows(text):
    return f"<sheetData>{text}</sheetData>"


def cell(at, value="1"):
    return f'<c r="{at}"><v>{value}</v></c>'


ENTITIES = '<!DOCTYPE a [<!ENTITY a0 "aaaaaaaaaa">' + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)) + "]>"


@pytest.mark.parametrize("sheet, options", each(
    ("zeros", lambda: (bytes(MEGABYTE) for _ in range(400)), {}),
    ("blanks", lambda: (b" " * MEGABYTE for _ in range(60)), {}),
    ("last row", '<dimension ref="A1:XFD1048576"/>' + rows(f'<row r="1">{cell("A1")}</row><row r="9048576">{cell("XFD9048576")}</row>'), {}),
    ("row number", rows(f'<row r="1">{cell("A1")}</row><row r="1000000000000">{cell("A1000000000000")}</row>'), {}),
    ("rows", rows("<row/>" * 2_000_000), {}),
    ("last column", rows(f"<row>{cell('XFD1')}</row>" * 50_000), {}),
    ("one text", rows(f'<row>{"<c t=%ss%s><v>0</v></c>" % (chr(34), chr(34)) * 10}</row>' * 20_000), {"strings": f"<si><t>{'a' * 30_000}</t></si>"}),
    ("texts", rows(f'<row>{cell("A1")}</row>'), {"strings": "<si/>" * 2_000_000}),
    ("sheets", "<!--" + " " * 2_000_000 + "-->" + rows(f'<row>{cell("A1")}</row>'), {"sheets": 2000}),
    ("entities", rows("<row><c><v>&a11;</v></c></row>"), {"prolog": ENTITIES}),
    ("deep", rows("<row>" * 1_000_000), {}),
))
def test_excel(tmp_path, sheet, options):
    pytest.importorskip("openpyxl")
    workbook(tmp_path / "a.xlsx", sheet() if callable(sheet) else sheet, **options)
    assert names(refusal(tmp_path, "other", tmp_path / "a.xlsx"), "a.xlsx")


def test_a_claim_of_all_cells_of_excel_is_no_claim(tmp_path):
    pytest.importorskip("openpyxl")
    sheet = '<dimension ref="A1:XFD1048576"/>' + rows(f"<row>{cell('A1')}{cell('B1', 2)}</row><row>{cell('A2', 3)}</row>")
    assert converted(tmp_path, "other", workbook(tmp_path / "a.xlsx", sheet), peak=200 * MEGABYTE) == (0, "")
    assert (tmp_path / "out").read_text() == "1,2\n3,\n"


# MATLAB, libsvm, ARFF

def matlab(arrays, compress=True):
    scipy_io = pytest.importorskip("scipy.io")
    file = io.BytesIO()
    scipy_io.savemat(file, arrays, do_compression=compress)
    return file.getvalue()


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def test_matlab_of_compressed_zeros(tmp_path):
    (tmp_path / "a.mat").write_bytes(matlab({"x": np.zeros((100, 1 << 20), np.uint8), "y": np.arange(100)}))
    assert names(refusal(tmp_path, "other", tmp_path / "a.mat"), "a.mat", "unpacks")
    cells = np.empty((1, 1), object)  # of which nothing is read
    cells[0, 0] = np.zeros(150 << 20, np.uint8)
    (tmp_path / "a.mat").write_bytes(matlab({"cells": cells, "x": np.zeros((3, 2)), "y": np.arange(3)}))
    assert converted(tmp_path, "other", tmp_path / "a.mat", peak=400 * MEGABYTE) == (0, "")


def test_matlab_claims(tmp_path):
    header = matlab({})[:128]
    for sizes, claimed in (((2**31 - 1, 2**31 - 1), 2**32 - 8), ((2, 3), 3 << 30)):
        numbers = struct.pack("<II", 9, claimed) + bytes(48)
        body = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", *sizes)) + element(1, b"x") + numbers
        (tmp_path / "a.mat").write_bytes(header + element(14, body))
        assert names(refusal(tmp_path, "other", tmp_path / "a.mat"), "a.mat")


@pytest.mark.parametrize("text", each(
    ("index", "1 2147483648:1\n"), ("long index", "1 " + "9" * 1_000_000 + ":1\n"), ("far", "1 1:1 20000000:1\n" * 50),
    ("long number", "1 1:" + "9" * 1_000_000 + "e\n"), ("many", "1\n" * 900_000 + "x\n"), ("long line", "1 " * 900_000),
    ("attributes", "@relation a\n" + "@attribute a numeric\n" * 1_000_000 + "@data\n1\n"),
    ("sparse", "@relation a\n@attribute a numeric\n@data\n{1000000000 1}\n"),
    ("long field", "@relation a\n@attribute a numeric\n@data\n" + "1" * 1_000_000 + "\n"),
    ("open quote", "@relation a\n@attribute a numeric\n@data\n'" + "1\n" * 500_000),
))
def test_libsvm_and_arff(tmp_path, text):
    (tmp_path / "a").write_text(text)
    assert names(refusal(tmp_path, "other", tmp_path / "a", most=30 * MEGABYTE), "a")
