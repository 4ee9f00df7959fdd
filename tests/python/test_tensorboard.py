"""TensorBoard's file while a run goes on, by a reader that follows the documents of TFRecord and protocol buffers."""

import struct

import pytest
from conftest import SMALL, program, refused

import fedstride

NAME = "events.out.tfevents.fedstride"


def masked(data):
    """CRC-32C, bit by bit, as TFRecord masks it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(data):
    """(number, value) of a message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}[key & 7] if key & 7 != 2 else varint()
        yield key >> 3, data[at : at + size]
        at += size


def events(path):
    """(step, scalars by tag) of each record."""
    data = path.read_bytes()
    found = []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8])
        event, data, (crc,) = data[12 : 12 + size], data[16 + size :], struct.unpack("<I", data[12 + size : 16 + size])
        assert crc == masked(event)
        step, scalars = 0, {}
        for number, value in fields(event):
            if number == 2:
                step = value
            if number == 3:
                assert value == b"brain.Event:2" and not found
            if number == 5:
                for one, scalar in fields(value):
                    parts = dict(fields(scalar))
                    assert one == 1
                    scalars[parts[1].decode()] = struct.unpack("<f", parts[2])[0]
        found.append((step, scalars))
    return found


def test_each_round_is_there_when_it_is_done(tmp_path):
    board = tmp_path / "board/run" / NAME
    seen = []

    def look(record):
        step, scalars = events(board)[-1]
        assert step == record["round"] and scalars["accuracy/test"] == pytest.approx(record["test_accuracy"], rel=1e-6)
        seen.append(step)

    run = fedstride.run(**SMALL, optimizer="adadp", tensorboard=tmp_path / "board", on_round=look, out=tmp_path / "run")
    assert run.settings["tensorboard"] == str(tmp_path / "board")
    before = board.read_bytes()
    fedstride.resume(run, rounds=5, on_round=look)
    assert seen == [1, 2, 3, 4, 5] and board.read_bytes().startswith(before)
    assert [step for step, _ in events(board)] == [0, 1, 2, 3, 4, 5]
    program("run", "--resume", run.folder, "--rounds", 6, "--quiet")  # the folder knows of the board
    assert [step for step, _ in events(board)] == [0, 1, 2, 3, 4, 5, 6]
    plain = fedstride.run(**{**SMALL, "rounds": 6}, optimizer="adadp", out=tmp_path / "plain")
    assert plain.summary["model_hash"] == fedstride.open_run(run.folder).summary["model_hash"]


def test_a_board_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with refused(fedstride.Error, str(tmp_path / "file/board")):
        fedstride.run(**SMALL, tensorboard=tmp_path / "file/board", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
