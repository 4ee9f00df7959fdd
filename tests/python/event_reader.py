"""Reads TensorBoard's event files, by the documents of TFRecord and protocol buffers."""

import struct

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
    return [record[1:] for record in timed_events(path)]


def timed_events(path):
    """(wall time in seconds since 1970, step, scalars by tag) of each record."""
    data = path.read_bytes()
    found = []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8])
        event, data, (crc,) = data[12 : 12 + size], data[16 + size :], struct.unpack("<I", data[12 + size : 16 + size])
        assert crc == masked(event)
        time, step, scalars = 0, 0, {}
        for number, value in fields(event):
            if number == 1:
                (time,) = struct.unpack("<d", value)
            if number == 2:
                step = value
            if number == 3:
                assert value == b"brain.Event:2" and not found
            if number == 5:
                for one, scalar in fields(value):
                    parts = dict(fields(scalar))
                    assert one == 1
                    scalars[parts[1].decode()] = struct.unpack("<f", parts[2])[0]
        found.append((time, step, scalars))
    return found
