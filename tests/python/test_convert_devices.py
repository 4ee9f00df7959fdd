"""examples/convert_devices.py: the tables are those that the program reads, and a pickle that would run code does not."""
import json
import os
import pickle
import subprocess
import sys

import pytest

from conftest import SOURCE, program

SCRIPT = SOURCE / "examples/convert_devices.py"


def convert(trace, table, *words):
    return subprocess.run([sys.executable, SCRIPT, trace, table, *words], capture_output=True, text=True)


def test_fedscale_devices(tmp_path):
    trace = tmp_path / "client_device_capacity"
    trace.write_bytes(pickle.dumps({1: {"computation": 40.0, "communication": 8000.0}, 2: {"computation": 40, "communication": 8000}}))
    refused = convert(trace, tmp_path / "no.csv")
    assert refused.returncode != 0 and "--bandwidth-unit" in refused.stderr and not (tmp_path / "no.csv").exists()
    assert convert(trace, tmp_path / "devices.csv", "--bandwidth-unit", "kilobits").returncode == 0
    shown = json.loads(program("devices", "--devices", "table", "--device-table", tmp_path / "devices.csv", "--clients", "5", "--json"))
    assert shown["example_seconds"]["mean"] == pytest.approx(0.12)  # backward costs twice forward
    assert shown["upload_seconds"]["p50"] == pytest.approx(shown["upload_bytes"] / 1e6)


def test_fedscale_availability(tmp_path):
    trace = tmp_path / "client_behave_trace"
    trace.write_bytes(pickle.dumps({1: {"active": [10, 50], "inactive": [20, 60], "finish_time": 100, "duration": 200, "model": "x"}}))
    assert convert(trace, tmp_path / "a.csv", "--period", "155").returncode == 0
    assert (tmp_path / "a.csv").read_text().split() == [
        "client,from_seconds,to_seconds", "0,10.0,20.0", "0,50.0,60.0", "0,110.0,120.0", "0,150.0,155.0"]


def test_flhetbench(tmp_path):
    (tmp_path / "latency.json").write_text(json.dumps([{"Phone Model": "a", "ResNet Latency": 64.0}, {"Phone Model": "b", "Vit Latency": 1}]))
    assert convert(tmp_path / "latency.json", tmp_path / "l.csv", "--model", "ResNet", "--examples", "32").returncode == 0
    assert (tmp_path / "l.csv").read_text().split() == ["milliseconds_per_example", "2.0"]
    (tmp_path / "speeds.json").write_text(json.dumps([{"id": "7", "tcp_speed_results": [1000, 3000]}, {"tcp_speed_results": []}]))
    assert convert(tmp_path / "speeds.json", tmp_path / "s.csv", "--example-milliseconds", "5").returncode == 0
    assert (tmp_path / "s.csv").read_text().split()[1] == "5.0,2000.0,2000.0"
    timers = {"a": {"isSuccess": True, "trace_start": 1000, "trace_end": 1100, "ready_time": [[1010, 1030]]},
              "b": {"isSuccess": False, "trace_start": None, "trace_end": None, "ready_time": []}}
    (tmp_path / "timers.json").write_text(json.dumps(timers))
    assert convert(tmp_path / "timers.json", tmp_path / "t.csv", "--period", "100").returncode == 0
    assert (tmp_path / "t.csv").read_text().split()[1:] == ["0,10.0,30.0"]


class RunsCode:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("value", ["code", {1: {"computation": b"1", "communication": 1}}, {1: {"computation": -1, "communication": 1}}, {}, [3]])
def test_refused(tmp_path, value):
    made = str(tmp_path / "made")
    (tmp_path / "trace").write_bytes(pickle.dumps({1: RunsCode(made)} if value == "code" else value))
    refused = convert(tmp_path / "trace", tmp_path / "x.csv", "--bandwidth-unit", "bytes")
    assert refused.returncode != 0 and refused.stderr.count("\n") == 1
    assert not os.path.exists(made) and not (tmp_path / "x.csv").exists()
