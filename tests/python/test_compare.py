"""tools/bench/compare.py: PyTorch on a slow BLAS is never compared with, and the results file has the numbers that ratios are made of."""
import json
import sys

import pytest
from conftest import PROGRAM, SOURCE

sys.path.insert(0, str(SOURCE / "tools" / "bench"))
import _peers  # noqa: E402
import compare  # noqa: E402

PICKED = {"channels_last": True, "onednn": False}


class Fake:
    """A peer whose large product has this speed, and whose every step takes this long."""

    def __init__(self, flops, seconds=1.0, system="Debian here", package="libfast 1"):
        self.flops, self.seconds, self.asked = flops, seconds, 0
        self.about = {"system": system, "pytorch": "9.8", "blas": "/lib/libblas.so.3", "package": package}

    def ask(self, work, setting=None, **job):
        self.asked += 1
        if work == "settings":
            return [{**PICKED, "channels_last": False}, PICKED, {"unsupported": True}]
        return None if "unsupported" in setting else self.seconds * (1 if setting["channels_last"] else 2)

    def end(self):
        pass


def refusal(call):
    with pytest.raises(SystemExit) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_slow_product_is_refused():
    # The reference BLAS of Debian 12, beside a core's peak, both as measured.
    message = refusal(lambda: _peers.fast_enough([Fake(3.6e9, package="libblas3 3.11.0-2")], 117e9))
    for part in ("no ratio", "libblas3 3.11.0-2", "3.6 GFLOP/s", "70.2 GFLOP/s", "117.0"):
        assert part in message
    assert "no BLAS" in refusal(lambda: _peers.fast_enough([], 117e9))


def test_speed_decides_and_no_name():
    slow, fast = Fake(70.1e9, package="libopenblas0-serial 1"), Fake(70.3e9, package="libblas3 1")
    assert _peers.fast_enough([slow, fast], 117e9) == [fast]


def test_no_results_are_written_of_a_slow_peer(tmp_path):
    refusal(lambda: compare.main([PROGRAM, "--rows", "step logistic 10", "--results", str(tmp_path / "r.json")], lambda *_: [Fake(1e3)]))
    assert not (tmp_path / "r.json").exists()


def test_ratios_are_those_of_the_pairs_and_the_fastest_blas_counts(tmp_path, capsys):
    slow, fast, other = Fake(1e3, 1e-9), Fake(1e15, 2.0), Fake(1e15, 0.5)
    newer = Fake(1e15, 0.25, system="Debian unstable")
    path = tmp_path / "r.json"
    compare.main([PROGRAM, "--rows", "step logistic 10|round logistic 50", "--pairs", "2", "--seconds", "0.01", "--results", str(path)],
                 lambda *_: [slow, fast, other, newer])
    assert slow.asked == 0
    results = json.loads(path.read_text())
    for key in ("date", "command", "machine", "fedstride", "peak_flops_per_second"):
        assert results[key]
    assert [peer["compared"] for peer in results["peers"]] == [False, True, True, True]
    assert [(row["work"], row["batch"], row["optimizer"]) for row in results["rows"]] == [("step", 10, "sgd"), ("round", 50, "private")]
    for row in results["rows"]:
        faster, here, unstable = row["peers"]
        assert [peer["counts"] for peer in row["peers"]] == [True, False, True]
        assert [peer["setting"] for peer in row["peers"]] == ["channels_last"] * 3
        assert [peer["examples_per_second"] for peer in row["peers"]] == [[2.0, 2.0], [0.5, 0.5], [4.0, 4.0]]
        assert (here["system"], unstable["system"]) == ("Debian here", "Debian unstable")
        assert faster["ratios"] == [ours / 2.0 for ours in row["fedstride"]]
        assert min(row["fedstride"]) > 0
    assert "too slow, left out" in capsys.readouterr().out


def test_libraries_are_those_installed_in_a_system(tmp_path):
    for folder in ("blis-serial", "openblas-serial"):
        (tmp_path / "usr/lib/x86_64-linux-gnu" / folder).mkdir(parents=True)
        (tmp_path / "usr/lib/x86_64-linux-gnu" / folder / "libblas.so.3").touch()
    (tmp_path / "usr/lib/x86_64-linux-gnu/lapack").mkdir()
    assert _peers.libraries(tmp_path) == ["/usr/lib/x86_64-linux-gnu/blis-serial", "/usr/lib/x86_64-linux-gnu/openblas-serial"]


def test_a_pytorch_that_does_not_start_is_one_line(monkeypatch):
    monkeypatch.setattr(_peers, "PYTHON", "false")
    assert "'/nowhere'" in refusal(lambda: _peers.Peer("/nowhere"))


def test_the_worker_measures_and_skips_what_it_cannot():
    torch = pytest.importorskip("torch")
    peer = _peers.Peer(_peers.libraries()[0])
    assert peer.flops > 0 and peer.about["blas"].startswith(_peers.libraries()[0])
    for optimizer, work in (("sgd", "step"), ("adadp", "round"), ("private", "round")):
        settings = peer.ask(work="settings", name="logistic", optimizer=optimizer)
        assert len(settings) >= 4
        row = compare.Row(work, "logistic", 10, optimizer)
        assert compare.ask_time(peer, row, 0.1, settings[0], quick=True) > 0
    assert peer.ask(work="step", name="unknown", batch=10, optimizer="sgd", setting={}) is None
    peer.end()
    # Both ways to per-example gradients add up to the batch's gradient.
    import pytorch
    model, inputs, labels = pytorch.built("resnet8-gn", 3, False, False)
    parameters = list(model.parameters())
    whole = torch.autograd.grad(torch.nn.CrossEntropyLoss(reduction="sum")(model(inputs), labels), parameters)
    for way in ("vmap", "expanded"):
        for each, total in zip(pytorch.per_example_gradients(model, parameters, way)(inputs, labels), whole):
            assert torch.allclose(each.sum(0), total, atol=1e-4)
