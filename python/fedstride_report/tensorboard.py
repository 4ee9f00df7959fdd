"""TensorBoard's event files: TFRecords of TensorFlow's Event protocol buffers, of which a few fields are needed."""

import re
import struct
from collections import Counter

import numpy as np

from .text import Failure, UsageFailure, write_file

EVENT_FILE = "events.out.tfevents.fedstride"
MAX_CLIENTS = 32  # only clients with numbers below this get their own curves
_MAX_RUN_NAME = 180  # file systems allow 255 bytes

# Metrics whose tag does not follow from their last word.
_TAGS = [
    (r"(client_)?(epsilon|delta)_spent", r"privacy/\1\2"),
    (r"(worst|best)_client_accuracy", r"clients/\1_accuracy"),
    (r"client_accuracy_deviation", r"clients/accuracy_deviation"),
    (r"(own|personal)_(accuracy|r2)(_worst_tenth)?", r"clients/\1_\2\3"),
    (r"failed_updates", r"clients/failed_updates"),
    (r"backdoor_success", r"attack/backdoor_success"),
    (r"(seconds|evaluation_seconds|examples_per_second)", r"time/\1"),
    (r"(accuracy|r2|loss)", r"\1/\1"),
    (r"(.*)_(accuracy|r2|loss)", r"\2/\1"),
    (r"(.*epsilon.*)", r"privacy/\1"),
]


def tag(metric):
    """The tag of a metric of the federation, such as "accuracy/test" or "privacy/epsilon"."""
    for pattern, form in _TAGS:
        if found := re.fullmatch(pattern, metric):
            return found.expand(form)
    return "training/" + metric


def _crc_table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ 0x82F63B78 * (value & 1)
        yield value


_CRC_TABLE = list(_crc_table())


def masked_crc32c(data):
    """CRC-32C (Castagnoli, RFC 3720) of the bytes, masked as in TFRecords."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC_TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(value):
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _field(number, data):
    """A field of bytes (wire type 2, protobuf.dev/programming-guides/encoding)."""
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _record(wall_time, rest):
    """A TFRecord of Event{wall_time, rest}; `wall_time`: seconds since 1970."""
    event = b"\x09" + struct.pack("<d", wall_time) + rest
    size = struct.pack("<Q", len(event))
    return size + struct.pack("<I", masked_crc32c(size)) + event + struct.pack("<I", masked_crc32c(event))


def first_event(wall_time):
    """The first record of a file: Event{wall_time, file_version: "brain.Event:2"}."""
    return _record(wall_time, _field(3, b"brain.Event:2"))


def scalar_event(wall_time, step, scalars):
    """A step's record: Event{wall_time, step, summary: {value: {tag, simple_value}}} of pairs of tag and value. Values are
    rounded to float."""
    with np.errstate(over="ignore"):
        values = [_field(1, tag.encode()) + b"\x15" + np.float32(value).tobytes() for tag, value in scalars]
    return _record(wall_time, b"\x10" + _varint(step) + _field(5, b"".join(_field(1, value) for value in values)))


def _scalars(row, form):
    """Pairs of tag and value of a frame's row, in order of the metrics' names; `form` gives a metric's tag."""
    return [(form(metric), row[metric]) for metric in sorted(row) if not np.isnan(row[metric])]


def _rounds_in(path):
    """The number of rounds in a file of whole records; 0 if there is none."""
    data, count = path.read_bytes() if path.exists() else b"", 0
    while len(data) >= 12:
        count, data = count + 1, data[16 + struct.unpack("<Q", data[:8])[0] :]
    return max(count - 1, 0)


def _events(cell, end, done=0):
    """The bytes of a cell's file, or those after its first `done` rounds. Wall times are those of an uninterrupted run that ended
    at `end`."""
    of_clients = {number: [] for number in cell.rounds.index}
    for row in cell.clients[cell.clients["client"] < MAX_CLIENTS].to_dict("records") if len(cell.clients) else []:
        number, client = row.pop("round"), row.pop("client")
        of_clients[number] += _scalars(row, lambda metric: f"clients/{metric}/{client}")  # noqa: B023
    seconds = cell.rounds.reindex(columns=["seconds"])["seconds"].fillna(0)
    start = end - seconds.sum()
    data = [scalar_event(start + time, number, _scalars(row, tag) + of_clients[number])
            for (number, row), time in zip(cell.rounds.to_dict("index").items(), seconds.cumsum())]
    return b"".join(data[done:] if done else [first_event(start), *data])


def _folder_name(text):
    """A valid folder name made from the text: letters, digits and a few symbols."""
    name = re.sub(r"[^0-9A-Za-z=,.+_-]", "_", text)
    return (name if name and name[0] != "." else "_" + name)[:_MAX_RUN_NAME]


def _run_names(sweep):
    """One name for each cell, of the keys whose values differ between cells ("optimizer=adadp,seed=1")."""
    cells = sweep.cells
    keys = [key for key in sweep.swept_keys if len({cell.value(key) for cell in cells}) > 1]
    names = [",".join(f"{key}={cell.value(key)}" for key in keys if cell.value(key)) for cell in cells]
    names = [_folder_name(name or sweep.experiment["name"]) for name in names]
    # Appends the cell's key to duplicate names, then the index if points share a run.
    for ends in ([_folder_name(cell.key) for cell in cells], range(len(cells))):
        again = Counter(names)
        names = [f"{name}-{end}" if again[name] > 1 else name for name, end in zip(names, ends)]
    return names


def _place(cell):
    """What tells a cell from the others of a sweep, of which some may share a folder."""
    return cell.folder, *cell.point.items()


def export(sweep, folder, adds=False, follows=False):
    """Writes FOLDER/RUN/events.out.tfevents.fedstride, one step a round, for each run that has a round. Replaces files or, if it
    adds, appends the rounds that they lack, so that TensorBoard sees them at once.

    Returns {"folder", "runs": names of the folders, "without_rounds": number of cells without a round yet, "clients_left_out":
    number of clients beyond MAX_CLIENTS, in the cell with most, "unfinished": number of cells that may have more rounds}. Raises
    UsageFailure for results of other commands, and Failure if there is no round unless it follows, or a file cannot be written.
    """
    if sweep.experiment["command"] != "run":
        raise UsageFailure(f"'{sweep.folder}' contains results of '{sweep.experiment['command']}'; TensorBoard shows rounds, "
                           "which only 'run' has")
    names = {_place(cell): name for cell, name in zip(sweep.cells, _run_names(sweep))}
    unfinished = sum(cell.status in ("missing", "unfinished") for cell in sweep.cells)
    written = {"folder": str(folder), "runs": [], "without_rounds": 0, "clients_left_out": 0, "unfinished": unfinished}
    for cell in (cell for seeds in sweep.read_groups() for cell in seeds):
        if not len(cell.rounds):
            written["without_rounds"] += 1
            continue
        clients = cell.clients["client"].max() + 1 if len(cell.clients) else 0
        written["clients_left_out"] = max(written["clients_left_out"], int(clients) - MAX_CLIENTS)
        run = folder / names[_place(cell)]
        try:
            run.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Failure(f"cannot make the folder '{run}': {error.strerror}") from None
        end = (cell.folder / "rounds.jsonl").stat().st_mtime_ns / 1e9
        if done := _rounds_in(run / EVENT_FILE) if adds else 0:
            with open(run / EVENT_FILE, "ab") as file:
                file.write(_events(cell, end, done))
        else:
            write_file(run / EVENT_FILE, _events(cell, end))
        written["runs"].append(run.name)
    if not written["runs"] and not follows:
        raise Failure(f"'{sweep.folder}' has no finished round yet; there is nothing to export")
    written["runs"].sort(key=list(names.values()).index)  # in the grid's order
    return written
